//! A written GeoTIFF in another CRS, out of core.

use super::stream::open_with;
use super::template::{escaped, geotransform, number, numbers};
use super::{GeotiffBand, GeotiffOptions, GeotiffWriter, PixelType};
use crate::open::{open, unreadable};
use crate::{Crs, GeoError, PostGrid, raster_info};
use gdal::raster::GdalDataType;
use gdal::{Dataset, GdalOpenFlags, Metadata};
use std::path::Path;
use terrane_core::{Progress, RasterSettings};

/// Rows that are warped at once.
const ROWS_AT_ONCE: usize = 256;

/// Parts of each side of a raster, between which its outline is converted.
const PARTS: usize = 64;

/// How far GDAL may be off when it interpolates between converted points, in
/// posts of the source.
const MAX_ERROR_POSTS: f64 = 0.01;

/// Warps a raster of bytes or floats to another CRS of the same body with
/// GDAL's warper, `posting_m` metres apart (along a meridian of a geographic
/// CRS; as fine as the source when `None`): bilinear, or `nearest` for classes
/// and angles. What holds no data stays nodata; bilinear beside it goes by the
/// neighbours that hold some. Names, units and metadata are kept. Memory is
/// bounded whatever the size. Gives columns and rows.
pub fn reproject_geotiff(
    from: &Path,
    to: &Path,
    crs: &Crs,
    posting_m: Option<f64>,
    nearest: bool,
    progress: &dyn Progress,
) -> Result<(usize, usize), GeoError> {
    let source = open(from)?;
    let info = raster_info(from, &RasterSettings::default())?;
    let source_crs = info.crs.ok_or_else(|| GeoError::NoCrs { path: from.to_owned() })?;
    source_crs.same_body(crs)?;
    let gt = info.geotransform.ok_or_else(|| GeoError::NoGeotransform { path: from.to_owned() })?;
    let metres_per_degree = crs.body.semi_major_m.to_radians();
    let posting_m = posting_m.map(|posting_m| if crs.projected { posting_m } else { posting_m / metres_per_degree });
    let (grid, scale) = covering_grid(from, &source_crs, gt, (info.columns, info.rows), crs, posting_m)?;
    let options = options_like(from, &source)?;
    let warp = warp_text(from, &source_crs, gt, crs, (&grid, scale), &options, nearest)?;
    let failed = |error| unreadable(from, error);
    let warped = open_with(Path::new(&warp), "VRT", GdalOpenFlags::GDAL_OF_READONLY).map_err(failed)?;
    let bands = options.bands.len();
    let mut writer = GeotiffWriter::create(to, crs, &grid, options)?;
    progress.begin("reprojecting", grid.rows as u64);
    for first in (0..grid.rows).step_by(ROWS_AT_ONCE) {
        progress.check()?;
        let size = (grid.columns, ROWS_AT_ONCE.min(grid.rows - first));
        for band in 0..bands {
            let read =
                warped.rasterband(band + 1).and_then(|band| band.read_as::<f32>((0, first as isize), size, size, None));
            writer.write_rows(band, first, read.map_err(failed)?.data())?;
        }
        progress.advance(size.1 as u64);
    }
    writer.finish(progress)?;
    Ok((grid.columns, grid.rows))
}

/// Types, names, units and metadata of what is warped.
fn options_like(path: &Path, source: &Dataset) -> Result<GeotiffOptions, GeoError> {
    let unfit = |what: String| GeoError::UnfitValues { path: path.to_owned(), what };
    let failed = |error| unreadable(path, error);
    let (mut bands, mut kinds, mut nodata) = (Vec::new(), Vec::new(), Vec::new());
    for band in source.rasterbands() {
        let band = band.map_err(failed)?;
        kinds.push(band.band_type());
        nodata.push(band.no_data_value());
        bands.push(GeotiffBand {
            name: band.description().unwrap_or_default(),
            description: band.metadata_item("definition", "").unwrap_or_default(),
            unit: band.unit(),
        });
    }
    let of = |kind: GdalDataType| kinds.iter().all(|k| *k == kind);
    let mut options = if of(GdalDataType::UInt8) {
        // Ground outside the raster has to be told apart from a class.
        let nodata = nodata.first().copied().flatten();
        let nodata = nodata.ok_or_else(|| unfit("its bytes have no nodata value for what lies around it".into()))?;
        GeotiffOptions::bytes(bands, Some(nodata as u8))
    } else if of(GdalDataType::Float32) {
        GeotiffOptions { nodata: nodata.first().copied().flatten().or(Some(f64::NAN)), ..GeotiffOptions::floats(bands) }
    } else {
        return Err(unfit("only rasters of bytes or of 32-bit floats are reprojected".into()));
    };
    let items = source.metadata_domain("").unwrap_or_default();
    options.metadata =
        items.iter().filter_map(|item| item.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    options.point = options.metadata.iter().any(|(key, value)| key == "AREA_OR_POINT" && value == "Point");
    options.metadata.retain(|(key, _)| key != "AREA_OR_POINT");
    Ok(options)
}

/// The grid in `crs` that covers all of a raster's pixels, and how many of its
/// posts there are along one of the raster's own, at most 1.
fn covering_grid(
    path: &Path,
    own: &Crs,
    gt: [f64; 6],
    (columns, rows): (usize, usize),
    crs: &Crs,
    posting_m: Option<f64>,
) -> Result<(PostGrid, f64), GeoError> {
    let unfit = |what: String| GeoError::UnfitGrid { path: path.to_owned(), what };
    let (w, h, unit) = (columns as f64, rows as f64, own.metres_per_unit);
    // Edge and inside: a pole inside of a raster is no part of its outline.
    let part = || (0..=PARTS).map(|i| i as f64 / PARTS as f64);
    let places = part().flat_map(|u| part().map(move |v| (u * w, v * h)));
    let point = |(c, r): (f64, f64)| ((gt[0] + c * gt[1] + r * gt[2]) * unit, (gt[3] + c * gt[4] + r * gt[5]) * unit);
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = places.map(point).unzip();
    own.transform_to(crs, &mut x, &mut y)?;
    let range = |values: &[f64]| {
        let finite = values.iter().copied().filter(|value| value.is_finite());
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let ((x0, x1), (y0, y1)) = (range(&x), range(&y));
    let own_posting_m = cell_side(&x, &y) / (w * h).sqrt() * PARTS as f64;
    let posting_m = posting_m.unwrap_or(own_posting_m);
    if !(x0 < x1 && y0 < y1 && posting_m.is_finite() && posting_m > 0.0) {
        return Err(unfit(format!("it has no place in {} at a posting of {posting_m}", crs.name)));
    }
    // What rounding adds to an edge is no pixel of its own.
    let count = |length: f64| (length / posting_m - 1e-6).ceil().max(1.0);
    let (columns, rows) = (count(x1 - x0), count(y1 - y0));
    if columns.max(rows) > f64::from(i32::MAX) {
        return Err(unfit(format!("at a posting of {posting_m} it would have {columns} x {rows} posts")));
    }
    let grid = PostGrid {
        easting_m: x0 + 0.5 * posting_m,
        northing_m: y1 - 0.5 * posting_m,
        posting_m,
        columns: columns as usize,
        rows: rows as usize,
    };
    Ok((grid, (own_posting_m / posting_m).min(1.0)))
}

/// Side of a square as large as the median cell between `PARTS` + 1 points
/// each way; NaN when none has a place.
fn cell_side(x: &[f64], y: &[f64]) -> f64 {
    let width = PARTS + 1;
    let corners = (0..PARTS * PARTS).map(|cell| cell / PARTS * width + cell % PARTS);
    let area = |k: usize| {
        let side = |to: usize| (x[to] - x[k], y[to] - y[k]);
        let (a, b) = (side(k + 1), side(k + width));
        (a.0 * b.1 - a.1 * b.0).abs()
    };
    let mut areas: Vec<f64> = corners.map(area).filter(|area| area.is_finite()).collect();
    areas.sort_by(f64::total_cmp);
    areas.get(areas.len() / 2).map_or(f64::NAN, |area| area.sqrt())
}

/// The geotransform that turns map coordinates into columns and rows.
fn inverse(gt: [f64; 6]) -> [f64; 6] {
    let determinant = gt[1] * gt[5] - gt[2] * gt[4];
    let (a, b, c, d) = (gt[5] / determinant, -gt[2] / determinant, -gt[4] / determinant, gt[1] / determinant);
    [-gt[0] * a - gt[3] * b, a, b, -gt[0] * c - gt[3] * d, c, d]
}

/// A warped VRT: GDAL's warper, set up in words, that warps what is read.
/// Left alone, GDAL takes the scale from the bounding box of each portion, so
/// that a turned grid would be blurred, and each portion differently.
fn warp_text(
    from: &Path,
    own: &Crs,
    gt: [f64; 6],
    crs: &Crs,
    (grid, scale): (&PostGrid, f64),
    options: &GeotiffOptions,
    nearest: bool,
) -> Result<String, GeoError> {
    let unreadable = |message: String| GeoError::Unreadable { path: from.to_owned(), message };
    let file = std::path::absolute(from).map_err(|error| unreadable(error.to_string()))?;
    let file = file.to_str().ok_or_else(|| unreadable("its path is not Unicode, which a warp needs".into()))?;
    let to = geotransform(crs, grid);
    let nodata = number(options.nodata.unwrap_or(f64::NAN));
    let kind = if options.pixels == PixelType::Byte { "Byte" } else { "Float32" };
    let each = |text: &dyn Fn(usize) -> String| (1..=options.bands.len()).map(text).collect::<String>();
    let bands = each(&|n| {
        format!(
            "<VRTRasterBand dataType=\"{kind}\" band=\"{n}\" subClass=\"VRTWarpedRasterBand\"><NoDataValue>{nodata}</NoDataValue></VRTRasterBand>"
        )
    });
    let mappings = each(&|n| {
        format!(
            "<BandMapping src=\"{n}\" dst=\"{n}\"><SrcNoDataReal>{nodata}</SrcNoDataReal><SrcNoDataImag>0</SrcNoDataImag><DstNoDataReal>{nodata}</DstNoDataReal><DstNoDataImag>0</DstNoDataImag></BandMapping>"
        )
    });
    Ok(format!(
        "<VRTDataset rasterXSize=\"{columns}\" rasterYSize=\"{rows}\" subClass=\"VRTWarpedDataset\">\
         <SRS>{target}</SRS><GeoTransform>{to}</GeoTransform>{bands}\
         <BlockXSize>512</BlockXSize><BlockYSize>{ROWS_AT_ONCE}</BlockYSize>\
         <GDALWarpOptions><WarpMemoryLimit>67108864</WarpMemoryLimit><ResampleAlg>{algorithm}</ResampleAlg>\
         <WorkingDataType>{kind}</WorkingDataType><Option name=\"INIT_DEST\">NO_DATA</Option>\
         <Option name=\"UNIFIED_SRC_NODATA\">NO</Option>\
         <Option name=\"XSCALE\">{scale}</Option><Option name=\"YSCALE\">{scale}</Option>\
         <Option name=\"ERROR_OUT_IF_EMPTY_SOURCE_WINDOW\">FALSE</Option>\
         <SourceDataset relativeToVRT=\"0\">{file}</SourceDataset>\
         <Transformer><ApproxTransformer><MaxError>{MAX_ERROR_POSTS}</MaxError><BaseTransformer><GenImgProjTransformer>\
         <SrcGeoTransform>{gt}</SrcGeoTransform><SrcInvGeoTransform>{gt_inverse}</SrcInvGeoTransform>\
         <DstGeoTransform>{to}</DstGeoTransform><DstInvGeoTransform>{to_inverse}</DstInvGeoTransform>\
         <ReprojectTransformer><ReprojectionTransformer><SourceSRS>{source}</SourceSRS><TargetSRS>{target}</TargetSRS>\
         </ReprojectionTransformer></ReprojectTransformer></GenImgProjTransformer></BaseTransformer></ApproxTransformer></Transformer>\
         <BandList>{mappings}</BandList></GDALWarpOptions></VRTDataset>",
        scale = number(scale),
        columns = grid.columns,
        rows = grid.rows,
        target = escaped(crs.wkt()),
        source = escaped(own.wkt()),
        file = escaped(file),
        algorithm = if nearest { "NearestNeighbour" } else { "Bilinear" },
        gt = numbers(gt),
        gt_inverse = numbers(inverse(gt)),
        to_inverse = numbers(inverse(to)),
        to = numbers(to),
    ))
}
