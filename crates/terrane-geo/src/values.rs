//! From stored values to heights.

use crate::{GeoError, RasterInfo};
use gdal::Dataset;
use std::path::Path;
use terrane_core::{Diagnostic, Place, RasterSettings};

/// Changes whenever the same file and settings give other heights.
pub(crate) const RULE_VERSION: u32 = 2;

/// How a stored value becomes a height.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeightRule {
    pub scale: f64,
    pub offset: f64,
    pub unit_m: f64,
    pub nodata: Option<f64>,
    /// Subtracted from radii; 0 for heights.
    pub radius_m: f64,
    /// Heights beyond this are none, metres.
    pub most_m: f64,
    pub valid_range_m: Option<[f64; 2]>,
    /// Stored values below the first or above the second are special pixels.
    pub special: Option<(f64, f64)>,
    /// True when a mask or alpha band says which posts are valid.
    pub masked: bool,
    /// True when every stored value is exact as a 32-bit float.
    pub fits_f32: bool,
    pub float32: bool,
}

impl HeightRule {
    pub fn new(
        path: &Path,
        dataset: &Dataset,
        info: &RasterInfo,
        settings: &RasterSettings,
        body_radius_m: f64,
    ) -> Result<(Self, Vec<Diagnostic>), GeoError> {
        let unfit = |what: String| GeoError::UnfitValues { path: path.to_owned(), what };
        if !(info.scale.is_finite() && info.scale != 0.0 && info.offset.is_finite()) {
            return Err(unfit(format!(
                "its scale is {} and its offset {}; heights need finite ones, and a scale that is not 0",
                info.scale, info.offset
            )));
        }
        if info.pixel_type.starts_with('C') {
            return Err(unfit(format!("its values are complex numbers ({})", info.pixel_type)));
        }
        if let Some([low, high]) =
            settings.valid_range_m.filter(|[low, high]| low.partial_cmp(high).is_none_or(|order| order.is_gt()))
        {
            return Err(unfit(format!("its valid range, {low} to {high} m, is empty")));
        }
        let (unit_m, note) = vertical_unit(info, path);
        if let (Some(unit), Some(_)) = (&settings.unit, &note) {
            return Err(unfit(format!("the unit `{unit}` that was stated for it is none of m, km, ft and us-ft")));
        }
        let isis = info.driver.starts_with("ISIS");
        let band = dataset.rasterband(1).map_err(|error| crate::open::unreadable(path, error))?;
        // ISIS marks holes by values, and its driver derives a mask from them.
        let masked = !isis && band.mask_flags().is_ok_and(|flags| !flags.is_all_valid() && !flags.is_nodata());
        // Small bodies are far from round: Vesta's south lies 0.27 of its
        // radius below its equator.
        let share = if body_radius_m > 1.0e6 { 0.25 } else { 0.5 };
        let rule = Self {
            scale: info.scale,
            offset: info.offset,
            unit_m,
            nodata: info.nodata,
            radius_m: 0.0,
            most_m: share * body_radius_m,
            valid_range_m: settings.valid_range_m,
            special: isis.then(|| special_pixels(&info.pixel_type)).flatten(),
            masked,
            fits_f32: ["Byte", "UInt8", "Int8", "Int16", "UInt16", "Float32"].contains(&info.pixel_type.as_str()),
            float32: info.pixel_type == "Float32",
        };
        Ok((rule, note.into_iter().collect()))
    }

    /// A stored value in metres, before radii are told from heights; `None`
    /// when it is no data.
    pub fn metres(&self, stored: f64) -> Option<f64> {
        let nodata =
            self.nodata.is_some_and(|nodata| stored == nodata || (self.float32 && stored as f32 == nodata as f32));
        let special = self.special.is_some_and(|(low, high)| stored < low || stored > high);
        let data = stored.is_finite() && !nodata && !special && stored.abs() <= 1e30;
        data.then_some((stored * self.scale + self.offset) * self.unit_m)
    }

    /// Metres above the datum, or `None` when that can't be a height.
    pub fn above_datum(&self, metres: f64, radius_m: f64) -> Option<f64> {
        let height = metres - radius_m;
        let valid = self.valid_range_m.is_none_or(|[low, high]| (low..=high).contains(&height));
        (height.abs() <= self.most_m && valid).then_some(height)
    }

    /// The height of a stored value; a hole is NaN.
    pub fn height(&self, stored: f64) -> f32 {
        self.metres(stored)
            .and_then(|metres| self.above_datum(metres, self.radius_m))
            .map_or(f32::NAN, |height| height as f32)
    }

    /// Heights in place of stored values that are exact as 32-bit floats; a
    /// hole is NaN.
    pub fn heights(&self, values: &mut [f32]) {
        let is_metres = self.scale == 1.0 && self.offset == 0.0 && self.unit_m == 1.0 && self.radius_m == 0.0;
        if !is_metres || self.special.is_some() || !self.float32 {
            values.iter_mut().for_each(|value| *value = self.height(f64::from(*value)));
            return;
        }
        // The same in fewer steps: most rasters hold metres as they are.
        let most_m = self.most_m.min(1e30);
        let [low_m, high_m] = self.valid_range_m.unwrap_or([-most_m, most_m]);
        let (low_m, high_m) = (low_m.max(-most_m), high_m.min(most_m));
        let nodata = self.nodata.map_or(f32::NAN, |nodata| nodata as f32);
        for value in values {
            let height_m = f64::from(*value);
            let is_ground = (height_m >= low_m) & (height_m <= high_m) & (*value != nodata);
            *value = if is_ground { *value } else { f32::NAN };
        }
    }

    /// Step between neighbouring heights of integer pixels, metres.
    pub fn quantum_m(&self, pixel_type: &str) -> Option<f64> {
        (!pixel_type.starts_with("Float")).then(|| (self.scale * self.unit_m).abs())
    }
}

/// The range of valid stored values of an ISIS cube (ISIS SpecialPixel.h);
/// the special values of 32-bit floats are all beyond 1e30.
fn special_pixels(pixel_type: &str) -> Option<(f64, f64)> {
    match pixel_type {
        "Byte" | "UInt8" => Some((1.0, 254.0)),
        "Int16" => Some((-32_752.0, 32_767.0)),
        "UInt16" => Some((3.0, 65_522.0)),
        "Int32" => Some((-8_388_614.0, f64::MAX)),
        "UInt32" => Some((3.0, 4_294_967_282.0)),
        _ => None,
    }
}

/// A declared vertical unit in metres; an unknown one counts as metres and is
/// reported.
fn vertical_unit(info: &RasterInfo, path: &Path) -> (f64, Option<Diagnostic>) {
    match info.unit.trim().to_ascii_lowercase().as_str() {
        "" | "m" | "metre" | "meter" | "metres" | "meters" => (1.0, None),
        "km" | "kilometre" | "kilometer" | "kilometers" | "kilometres" => (1000.0, None),
        "ft" | "foot" | "feet" | "international foot" => (0.3048, None),
        "us-ft" | "ftus" | "us survey foot" | "us_survey_foot" | "foot_us" => (1200.0 / 3937.0, None),
        other => {
            let note = Diagnostic::warning("raster-unit-unknown", "vertical unit not understood")
                .with_place(Place::file(path.display().to_string()))
                .with_detail(format!("the band's unit is `{other}`; its values are taken as metres"))
                .with_help("state it: unit = \"m\" (or km, ft, us-ft) under [rasters] in twin.toml");
            (1.0, Some(note))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> HeightRule {
        HeightRule {
            scale: 0.5,
            offset: 10.0,
            unit_m: 1000.0,
            nodata: Some(-9999.0),
            radius_m: 0.0,
            most_m: 400_000.0,
            valid_range_m: None,
            special: special_pixels("Int16"),
            masked: false,
            fits_f32: true,
            float32: false,
        }
    }

    #[test]
    fn scale_offset_and_unit_apply_in_that_order() {
        assert_eq!(rule().height(4.0), 12_000.0);
    }

    #[test]
    fn what_is_no_height_is_a_hole() {
        let rule = rule();
        for stored in [-9999.0, -32_768.0, -32_764.0, f64::NAN, f64::INFINITY, -3.4e38, 30_000.0] {
            assert!(rule.height(stored).is_nan(), "{stored}");
        }
        let rule = HeightRule { valid_range_m: Some([0.0, 11_000.0]), ..rule };
        assert!(rule.height(4.0).is_nan() && rule.height(1.0) == 10_500.0);
    }
}
