//! Numbers that pictures are compared by.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

/// Pearson's correlation of the pairs that are both finite.
pub fn correlation(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let pairs: Vec<(f64, f64)> =
        a.iter().zip(b).filter(|(a, b)| a.is_finite() && b.is_finite()).map(|(a, b)| (*a, *b)).collect();
    let count = pairs.len() as f64;
    let mean = pairs.iter().fold((0.0, 0.0), |m, p| (m.0 + p.0 / count, m.1 + p.1 / count));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (a, b) in pairs {
        let (a, b) = (a - mean.0, b - mean.1);
        ab += a * b;
        aa += a * a;
        bb += b * b;
    }
    ab / (aa * bb).sqrt()
}

/// The share of `true`, 0 to 1; NaN of nothing.
pub fn share(of: impl IntoIterator<Item = bool>) -> f64 {
    let (mut yes, mut all) = (0_u64, 0_u64);
    for is in of {
        yes += u64::from(is);
        all += 1;
    }
    yes as f64 / all as f64
}

/// The value that a share of the others do not exceed.
pub fn quantile(mut values: Vec<f64>, at: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * at).round() as usize]
}

/// A square picture in the frequency domain, after its mean is taken off and
/// its edges are faded out (Hann).
fn spectrum(picture: &[f64], side: usize) -> Vec<Complex<f64>> {
    assert!(picture.iter().all(|value| value.is_finite()), "every pixel holds a value");
    let mean = picture.iter().sum::<f64>() / picture.len() as f64;
    let hann = |k: usize| 0.5 - 0.5 * (std::f64::consts::TAU * (k as f64 + 0.5) / side as f64).cos();
    let mut values: Vec<Complex<f64>> =
        (0..side * side).map(|k| Complex::new((picture[k] - mean) * hann(k % side) * hann(k / side), 0.0)).collect();
    let fft = FftPlanner::new().plan_fft_forward(side);
    for _ in 0..2 {
        fft.process(&mut values);
        values = (0..side * side).map(|k| values[(k % side) * side + k / side]).collect();
    }
    values
}

/// How far `b`'s content lies right of and below `a`'s, pixels: the peak of the
/// phase correlation (Kuglin and Hines 1975), refined by the slope of the
/// cross-spectrum's phase at low frequencies, weighted by its amplitude (Stone
/// et al. 2001, "A fast direct Fourier-based algorithm for subpixel
/// registration of images").
pub fn phase_shift(a: &[f64], b: &[f64], side: usize) -> (f64, f64) {
    let (a, b) = (spectrum(a, side), spectrum(b, side));
    let cross: Vec<Complex<f64>> = a.iter().zip(&b).map(|(a, b)| a * b.conj()).collect();
    let mut surface: Vec<Complex<f64>> = cross.iter().map(|c| c / c.norm().max(1e-12)).collect();
    let inverse = FftPlanner::new().plan_fft_inverse(side);
    for _ in 0..2 {
        inverse.process(&mut surface);
        surface = (0..side * side).map(|k| surface[(k % side) * side + k / side]).collect();
    }
    let signed = |k: usize| if k > side / 2 { k as f64 - side as f64 } else { k as f64 };
    let peak = (0..side * side).max_by(|i, j| surface[*i].re.total_cmp(&surface[*j].re)).unwrap_or(0);
    let whole = (-signed(peak % side), -signed(peak / side));

    // Cross-spectrum's phase is 2 pi (k . shift) / side; what the whole shift
    // leaves over is small.
    let (mut xx, mut xy, mut yy, mut xp, mut yp) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (index, value) in cross.iter().enumerate() {
        let (fx, fy) = (signed(index % side), signed(index / side));
        if fx.hypot(fy) > 0.15 * side as f64 || index == 0 {
            continue;
        }
        let turn = std::f64::consts::TAU / side as f64;
        let left = value * Complex::from_polar(1.0, -turn * (fx * whole.0 + fy * whole.1));
        let (weight, phase) = (value.norm(), left.arg() / turn);
        xx += weight * fx * fx;
        xy += weight * fx * fy;
        yy += weight * fy * fy;
        xp += weight * fx * phase;
        yp += weight * fy * phase;
    }
    let determinant = xx * yy - xy * xy;
    (whole.0 + (xp * yy - yp * xy) / determinant, whole.1 + (yp * xx - xp * xy) / determinant)
}
