//! Files: all of them, or none.

use crate::{CameraDescription, Exposure, Images, Label, range_from_depth};
use exr::prelude::*;
use image::{ExtendedColorType, ImageEncoder, codecs::png::PngEncoder};
use std::path::{Path, PathBuf};
use terrane_core::colour::srgb_byte_from_linear;
use terrane_core::{Diagnostic, Place};

/// Why images could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct FeedError {
    /// The file or folder.
    pub path: PathBuf,
    /// Why.
    pub message: String,
}

impl FeedError {
    /// The message for a person.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::error("write-failed", "images can't be written")
            .with_place(Place::file(self.path.display().to_string()))
            .with_detail(self.message.clone())
    }
}

/// Writes `rgb.png`, `rgb.exr`, `depth.exr`, `range.exr`, `normal.exr`,
/// `labels.png`, `labels.json` and `camera.json` into a folder. They are made
/// aside and moved in when all of them are whole; an earlier picture's files
/// of the same names are replaced. Returns the files, in order.
pub fn write_images(
    folder: &Path,
    images: &Images<'_>,
    description: &CameraDescription,
    exposure: &Exposure,
    labels: &[Label],
) -> std::result::Result<Vec<PathBuf>, FeedError> {
    let failed =
        |path: &Path, error: &dyn std::fmt::Display| FeedError { path: path.to_owned(), message: error.to_string() };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let aside =
        tempfile::Builder::new().prefix(".partial-").tempdir_in(folder).map_err(|error| failed(folder, &error))?;

    let size = (description.width as usize, description.height as usize);
    let scale = exposure.linear_per_cd_m2 as f32;
    let rgb: Vec<[f32; 3]> = images.radiance.iter().map(|rgb| rgb.map(|value| value * scale)).collect();
    let range_m = range_from_depth(images.depth_m, &description.intrinsics());
    let bytes: Vec<u8> = rgb.iter().flat_map(|rgb| rgb.map(srgb_byte_from_linear)).collect();
    let ids: Vec<u8> =
        images.labels.iter().flat_map(|id| u16::try_from(*id).unwrap_or(u16::MAX).to_ne_bytes()).collect();
    let labels = serde_json::json!({ "labels": labels });

    type Write<'a> = Box<dyn Fn(&Path) -> std::result::Result<(), String> + 'a>;
    let files: [(&str, Write<'_>); 8] = [
        ("rgb.png", Box::new(|path| png(path, &bytes, size, ExtendedColorType::Rgb8))),
        ("rgb.exr", Box::new(|path| exr_vectors(path, &rgb, size, ["R", "G", "B"]))),
        ("depth.exr", Box::new(|path| exr_scalars(path, images.depth_m, size))),
        ("range.exr", Box::new(|path| exr_scalars(path, &range_m, size))),
        ("normal.exr", Box::new(|path| exr_vectors(path, images.normal, size, ["X", "Y", "Z"]))),
        ("labels.png", Box::new(|path| png(path, &ids, size, ExtendedColorType::L16))),
        ("labels.json", Box::new(|path| json(path, &labels))),
        ("camera.json", Box::new(|path| json(path, description))),
    ];
    if let Some((name, _)) = files.iter().find(|(name, _)| folder.join(name).is_dir()) {
        return Err(failed(&folder.join(name), &"a folder stands where the file goes"));
    }
    for (name, write) in &files {
        write(&aside.path().join(name)).map_err(|message| failed(&folder.join(name), &message))?;
    }
    files
        .iter()
        .map(|(name, _)| {
            let target = folder.join(name);
            std::fs::rename(aside.path().join(name), &target).map_err(|error| failed(&target, &error))?;
            Ok(target)
        })
        .collect()
}

fn png(path: &Path, bytes: &[u8], size: (usize, usize), colour: ExtendedColorType) -> std::result::Result<(), String> {
    let file = std::fs::File::create(path).map_err(|error| error.to_string())?;
    let encoder = PngEncoder::new(std::io::BufWriter::new(file));
    encoder.write_image(bytes, size.0 as u32, size.1 as u32, colour).map_err(|error| error.to_string())
}

fn json(path: &Path, value: &impl serde::Serialize) -> std::result::Result<(), String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
    std::fs::write(path, text + "\n").map_err(|error| error.to_string())
}

/// ZIP16 on one thread: the same bytes whatever the machine.
fn encoding() -> Encoding {
    Encoding { compression: Compression::ZIP16, blocks: Blocks::ScanLines, line_order: LineOrder::Increasing }
}

fn exr_scalars(path: &Path, values: &[f32], size: (usize, usize)) -> std::result::Result<(), String> {
    let channel = AnyChannel::new("Z", FlatSamples::F32(values.to_vec()));
    exr_write(path, size, vec![channel])
}

fn exr_vectors(
    path: &Path,
    values: &[[f32; 3]],
    size: (usize, usize),
    names: [&str; 3],
) -> std::result::Result<(), String> {
    let channel = |k: usize| AnyChannel::new(names[k], FlatSamples::F32(values.iter().map(|value| value[k]).collect()));
    exr_write(path, size, vec![channel(0), channel(1), channel(2)])
}

fn exr_write(
    path: &Path,
    size: (usize, usize),
    channels: Vec<AnyChannel<FlatSamples>>,
) -> std::result::Result<(), String> {
    let layer = Layer::new(size, LayerAttributes::default(), encoding(), AnyChannels::sort(channels.into()));
    let image = exr::prelude::Image::from_layer(layer);
    image.write().non_parallel().to_file(path).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContentKeys, DISTORTION_NONE, DepthConvention, ExposureDescription};
    use glam::DVec3;
    use terrane_core::Pose;
    use terrane_core::camera::{ApertureFit, Lens};

    #[test]
    fn every_file_is_written_and_reads_back_exactly_at_odd_sizes() {
        for (width, height) in [(1, 1), (63, 7), (321, 5)] {
            let k = Lens::default().intrinsics(width, height, ApertureFit::Horizontal).unwrap();
            let count = (width * height) as usize;
            let radiance: Vec<[f32; 3]> = (0..count).map(|i| [i as f32, 2.0, 0.0]).collect();
            let depth_m: Vec<f32> =
                (0..count).map(|i| if i % 5 == 4 { f32::INFINITY } else { 1.0 + i as f32 }).collect();
            let normal = vec![[0.0, 1.0, 0.0]; count];
            let labels: Vec<u32> = (0..count as u32).map(|i| i * 300).collect();
            let pose = Pose::look_at(DVec3::new(1.0, 2.0, 3.0), DVec3::ZERO);
            let description = CameraDescription {
                version: 1,
                camera: "/C".into(),
                width,
                height,
                projection: k.projection,
                k: k.k(),
                distortion_model: DISTORTION_NONE.0.into(),
                distortion_coefficients: DISTORTION_NONE.1.into(),
                pose_usd: pose.into(),
                pose_optical: pose.optical_from_usd_camera().into(),
                near_m: 0.1,
                far_m: 10.0,
                time_jd: None,
                sun: None,
                exposure: ExposureDescription {
                    linear_per_cd_m2: 0.5,
                    stops: -1.0,
                    source: "authored".into(),
                    tone_curve: "none".into(),
                },
                depth: DepthConvention::default(),
                keys: ContentKeys::default(),
            };
            let folder = tempfile::tempdir().unwrap();
            let images = Images { radiance: &radiance, depth_m: &depth_m, normal: &normal, labels: &labels };
            let files = write_images(folder.path(), &images, &description, &Exposure::authored(-1.0), &[]).unwrap();
            assert_eq!(files.len(), 8);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 8, "nothing else is left behind");

            let depth = exr::prelude::read_first_flat_layer_from_file(folder.path().join("depth.exr")).unwrap();
            let read: Vec<f32> = depth.layer_data.channel_data.list[0].sample_data.values_as_f32().collect();
            assert_eq!(read, depth_m);
            let ids = image::open(folder.path().join("labels.png")).unwrap().into_luma16().into_raw();
            assert!(ids.iter().zip(&labels).all(|(read, id)| u32::from(*read) == (*id).min(65535)));
            let text = std::fs::read_to_string(folder.path().join("camera.json")).unwrap();
            assert_eq!(serde_json::from_str::<CameraDescription>(&text).unwrap(), description);
        }
    }
}
