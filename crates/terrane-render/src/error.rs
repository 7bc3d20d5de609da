//! What can go wrong between a request and its picture.

use terrane_core::Diagnostic;
use terrane_tiles::ArchiveError;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// No Vulkan device, not even a software one.
    #[error("no GPU adapter: {0}")]
    NoAdapter(String),
    /// The device can't be opened.
    #[error("the GPU device can't be opened: {0}")]
    NoDevice(String),
    /// The image is larger than the device draws, or empty.
    #[error("an image of {width} x {height} can't be drawn; a side goes from 1 to {limit}, all pixels to 33177600")]
    ImageSize {
        /// Width, pixels.
        width: u32,
        /// Height, pixels.
        height: u32,
        /// Largest side of this device.
        limit: u32,
    },
    /// The device refused something.
    #[error("the GPU refused: {0}")]
    Device(String),
    /// More DEMs than a picture reads.
    #[error("the site has {count} DEMs; a picture reads at most {limit}")]
    TooManyMaps {
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A tile can't be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

impl RenderError {
    /// The message for a person.
    pub fn diagnostic(&self) -> Diagnostic {
        let (code, title, help) = match self {
            Self::NoAdapter(_) | Self::NoDevice(_) => (
                "gpu-missing",
                "no GPU to draw with",
                "install a Vulkan driver; mesa-vulkan-drivers and libvulkan1 draw on the CPU",
            ),
            Self::ImageSize { .. } => ("image-size", "image size not possible", ""),
            Self::Device(_) => ("gpu-error", "drawing failed", ""),
            Self::TooManyMaps { .. } => ("too-many-dems", "too many DEMs", ""),
            Self::Archive(ArchiveError::Damaged { .. }) => {
                (terrane_tiles::DAMAGED, "baked data is damaged", "run `terrane bake`, which mends it")
            }
            Self::Archive(_) => ("archive", "baked data can't be read", "run `terrane bake` again"),
        };
        Diagnostic::error(code, title).with_detail(self.to_string()).with_help(help)
    }
}
