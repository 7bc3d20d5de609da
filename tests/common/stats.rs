//! Numbers that pictures are compared by.

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
