//! A VRT without pixels that says all a GeoTIFF's header holds.
//!
//! GDAL's C API sets units and the like one call each, not all of which the
//! `gdal` crate offers; a copy of a VRT carries everything at once.

use super::{GeotiffOptions, PixelType};
use crate::{Crs, PostGrid};

/// Text for the inside of an XML element or attribute. Characters that XML
/// can't hold become spaces.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

/// A number as GDAL reads it, to the last bit.
pub(super) fn number(value: f64) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{value:?}") }
}

pub(super) fn numbers(values: [f64; 6]) -> String {
    values.map(number).join(", ")
}

/// GDAL's geotransform of a grid: corner-based and in the CRS's units.
pub(super) fn geotransform(crs: &Crs, grid: &PostGrid) -> [f64; 6] {
    let unit = crs.metres_per_unit;
    let step = grid.posting_m / unit;
    let (west, north) = (grid.easting_m / unit - 0.5 * step, grid.northing_m / unit + 0.5 * step);
    [west, step, 0.0, north, 0.0, -step]
}

pub(super) fn template(crs: &Crs, grid: &PostGrid, options: &GeotiffOptions) -> String {
    let items = |items: &[(&str, &str)]| -> String {
        let item = |(key, value): &(&str, &str)| format!("<MDI key=\"{}\">{}</MDI>", escaped(key), escaped(value));
        format!("<Metadata>{}</Metadata>", items.iter().map(item).collect::<String>())
    };
    let mut metadata: Vec<(&str, &str)> =
        options.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    if options.point {
        metadata.push(("AREA_OR_POINT", "Point"));
    }
    let kind = match options.pixels {
        PixelType::Float32 => "Float32",
        PixelType::Byte => "Byte",
    };
    let mut text = format!(
        "<VRTDataset rasterXSize=\"{}\" rasterYSize=\"{}\"><SRS>{}</SRS><GeoTransform>{}</GeoTransform>{}",
        grid.columns,
        grid.rows,
        escaped(crs.wkt()),
        numbers(geotransform(crs, grid)),
        items(&metadata),
    );
    for (index, band) in options.bands.iter().enumerate() {
        text += &format!("<VRTRasterBand dataType=\"{kind}\" band=\"{}\">", index + 1);
        if !band.description.is_empty() {
            text += &items(&[("definition", &band.description)]);
        }
        text += &format!("<Description>{}</Description>", escaped(&band.name));
        text += &format!("<UnitType>{}</UnitType>", escaped(&band.unit));
        if let Some(nodata) = options.nodata {
            text += &format!("<NoDataValue>{}</NoDataValue>", number(nodata));
        }
        text += "</VRTRasterBand>";
    }
    text + "</VRTDataset>"
}
