//! What a GeoTIFF is to be.

/// Type of every stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PixelType {
    /// 32-bit floats.
    Float32,
    /// Whole numbers from 0 to 255.
    Byte,
}

/// How blocks are compressed; nothing is lost by any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not at all.
    None,
    /// Deflate, which every reader knows.
    #[default]
    Deflate,
    /// Zstandard, known to libtiff 4.0.10 and later when built with it.
    Zstd,
}

/// One band.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GeotiffBand {
    /// Name, kept as GDAL's band description.
    pub name: String,
    /// What it holds, for a person; kept in the band's metadata.
    pub description: String,
    /// Unit of its values; may be empty.
    pub unit: String,
}

/// What a [`GeotiffWriter`](crate::GeotiffWriter) writes.
#[derive(Debug, Clone, PartialEq)]
pub struct GeotiffOptions {
    /// Type of every band's values.
    pub pixels: PixelType,
    /// The bands in order, at least one.
    pub bands: Vec<GeotiffBand>,
    /// Value that stands for nodata in the file. NaN handed to the writer is
    /// stored as it.
    pub nodata: Option<f64>,
    /// Marks posts as points rather than as areas; they lie at the same map
    /// coordinates either way.
    pub point: bool,
    /// Items of the file's metadata.
    pub metadata: Vec<(String, String)>,
    /// How blocks are compressed.
    pub compression: Compression,
    /// Lays the finished file out as a Cloud Optimized GeoTIFF, with overviews:
    /// averages of floats, nearest values of bytes.
    pub cloud_optimized: bool,
}

impl GeotiffOptions {
    /// 32-bit floats, NaN for nodata, posts as points.
    pub fn floats(bands: Vec<GeotiffBand>) -> Self {
        Self {
            pixels: PixelType::Float32,
            bands,
            nodata: Some(f64::NAN),
            point: true,
            metadata: Vec::new(),
            compression: Compression::default(),
            cloud_optimized: false,
        }
    }

    /// Bytes, such as classes; `nodata` is the one that stands for none.
    pub fn bytes(bands: Vec<GeotiffBand>, nodata: Option<u8>) -> Self {
        Self { pixels: PixelType::Byte, nodata: nodata.map(f64::from), ..Self::floats(bands) }
    }

    pub(super) fn predictor(&self) -> &'static str {
        match self.pixels {
            PixelType::Float32 => "3",
            PixelType::Byte => "2",
        }
    }
}

impl Compression {
    pub(super) fn gdal_name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Deflate => "DEFLATE",
            Self::Zstd => "ZSTD",
        }
    }
}
