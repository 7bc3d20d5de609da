//! Colour of a light by its temperature, as UsdLux defines it.
//!
//! Source: `UsdLuxBlackbodyTemperatureAsRgb`, OpenUSD `pxr/usd/usdLux/blackbody.cpp`:
//! a Catmull-Rom spline through the linear Rec. 709 colours of a black body
//! every 500 K from 1000 K to 10000 K, scaled to the luminance of white, negative
//! components cut off. The colours are those of J. Walker, "Colour Rendering of
//! Spectra".

const FIRST_K: f64 = 1000.0;
const STEP_K: f64 = 500.0;

/// Linear Rec. 709, brightest component 1, from 1000 K in steps of 500 K.
const COLOURS: [[f64; 3]; 19] = [
    [1.0, 0.027490, 0.0],
    [1.0, 0.149664, 0.0],
    [1.0, 0.256644, 0.008095],
    [1.0, 0.372033, 0.067450],
    [1.0, 0.476725, 0.153601],
    [1.0, 0.570376, 0.259196],
    [1.0, 0.653480, 0.377155],
    [1.0, 0.726878, 0.501606],
    [1.0, 0.791543, 0.628050],
    [1.0, 0.848462, 0.753228],
    [1.0, 0.898581, 0.874905],
    [1.0, 0.942771, 0.991642],
    [0.906947, 0.890456, 1.0],
    [0.828247, 0.841838, 1.0],
    [0.765791, 0.801896, 1.0],
    [0.715255, 0.768579, 1.0],
    [0.673683, 0.740423, 1.0],
    [0.638992, 0.716359, 1.0],
    [0.609681, 0.695588, 1.0],
];

/// Linear Rec. 709 colour of luminance 1 for a temperature in kelvins, held at
/// the ends outside of 1000 K to 10000 K.
pub(crate) fn linear_rgb(kelvins: f64) -> [f64; 3] {
    let last = COLOURS.len() - 1;
    let place = ((kelvins - FIRST_K) / STEP_K).clamp(0.0, last as f64);
    let segment = (place.floor() as usize).min(last);
    let u = place - segment as f64;
    let knot = |offset: isize| COLOURS[segment.saturating_add_signed(offset).min(last)];
    let (k0, k1, k2, k3) = (knot(-1), knot(0), knot(1), knot(2));
    let rgb: [f64; 3] = std::array::from_fn(|i| {
        let a = 0.5 * (-k0[i] + 3.0 * k1[i] - 3.0 * k2[i] + k3[i]);
        let b = k0[i] - 2.5 * k1[i] + 2.0 * k2[i] - 0.5 * k3[i];
        let c = 0.5 * (k2[i] - k0[i]);
        ((a * u + b) * u + c) * u + k1[i]
    });
    let luminance = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
    rgb.map(|component| (component / luminance).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luminance_is_one_and_warm_is_red_and_cold_is_blue() {
        for kelvins in [500.0, 1000.0, 1300.0, 3200.0, 6500.0, 9999.0, 10_000.0, 1e9] {
            let [r, g, b] = linear_rgb(kelvins);
            let luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
            assert!((luminance - 1.0).abs() < 0.02, "{kelvins}: {luminance}");
        }
        let (warm, cold) = (linear_rgb(3000.0), linear_rgb(9000.0));
        assert!(warm[0] > warm[2] && cold[2] > cold[0]);
    }

    #[test]
    fn a_knot_is_its_colour_over_its_luminance() {
        let [r, g, b] = linear_rgb(6500.0);
        let luminance = 0.2126 + 0.7152 * 0.942771 + 0.0722 * 0.991642;
        for (value, expected) in [(r, 1.0), (g, 0.942771), (b, 0.991642)] {
            assert!((value - expected / luminance).abs() < 1e-12);
        }
    }
}
