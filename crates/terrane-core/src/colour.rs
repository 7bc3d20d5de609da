//! The sRGB transfer function (IEC 61966-2-1), in one place.

/// Encoded value, 0 to 1, of a linear one; clipped to that range.
pub fn srgb_from_linear(linear: f32) -> f32 {
    let v = linear.clamp(0.0, 1.0);
    if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 }
}

/// Linear value of an encoded one, 0 to 1.
pub fn linear_from_srgb(encoded: f32) -> f32 {
    if encoded <= 0.04045 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

/// [`srgb_from_linear`] as a byte.
pub fn srgb_byte_from_linear(linear: f32) -> u8 {
    (srgb_from_linear(linear) * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_the_way_to_linear_and_back() {
        for byte in 0..=255 {
            assert_eq!(srgb_byte_from_linear(linear_from_srgb(f32::from(byte) / 255.0)), byte);
        }
        assert_eq!([-1.0, 0.214_041_14, 9.0].map(srgb_byte_from_linear), [0, 128, 255]);
    }
}
