//! Values between the posts of a grid with holes.

/// A row-major grid of samples; NaN is a hole.
#[derive(Debug, Clone, Copy)]
pub struct Samples<'a> {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// `columns * rows` values.
    pub values: &'a [f32],
}

/// A fraction of a cell this small is rounding, not a place between posts.
const ON_POST: f64 = 1e-6;

/// Weights of the Catmull-Rom spline for the four samples around a fraction
/// (Catmull and Rom 1974; Keys 1981, eq. 15 with a = -1/2). They interpolate:
/// at 0 the result is the second sample, bit for bit.
fn catmull_rom_weights(t: f64) -> [f64; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [-0.5 * t3 + t2 - 0.5 * t, 1.5 * t3 - 2.5 * t2 + 1.0, -1.5 * t3 + 2.0 * t2 + 0.5 * t, 0.5 * t3 - 0.5 * t2]
}

/// The place, or the post that it is within rounding of.
#[inline]
pub fn snap_to_post(place: f64) -> f64 {
    // What `round` gives near a post, without a call to the C library.
    let nearest = (place + 0.5_f64.copysign(place)) as i64 as f64;
    if (place - nearest).abs() < ON_POST { nearest } else { place }
}

/// Bilinear value of any grid with holes; posts with zero weight may be holes.
pub fn bilinear(at: impl Fn(i64, i64) -> Option<f64>, column: f64, row: f64) -> Option<f64> {
    let (c, r) = (column.floor(), row.floor());
    let (u, v) = (column - c, row - r);
    let mut sum = 0.0;
    for (dr, wr) in [(0, 1.0 - v), (1, v)] {
        for (dc, wc) in [(0, 1.0 - u), (1, u)] {
            if wr * wc != 0.0 {
                sum += wr * wc * at(c as i64 + dc, r as i64 + dr)?;
            }
        }
    }
    Some(sum)
}

/// Catmull-Rom value of any grid with holes, where all sixteen posts around
/// hold data, else bilinear. Within a millionth of a post it is the post, bit
/// for bit.
pub fn catmull_rom(at: impl Fn(i64, i64) -> Option<f64>, column: f64, row: f64) -> Option<f64> {
    if !(column.is_finite() && row.is_finite()) {
        return None;
    }
    let (column, row) = (snap_to_post(column), snap_to_post(row));
    let (c, r) = (column.floor(), row.floor());
    if (column, row) == (c, r) {
        return at(c as i64, r as i64);
    }
    let (wx, wy) = (catmull_rom_weights(column - c), catmull_rom_weights(row - r));
    let mut sum = 0.0;
    for (dr, wr) in (-1..).zip(wy) {
        for (dc, wc) in (-1..).zip(wx) {
            if wr * wc != 0.0 {
                match at(c as i64 + dc, r as i64 + dr) {
                    Some(value) => sum += wr * wc * value,
                    None => return bilinear(at, column, row),
                }
            }
        }
    }
    Some(sum)
}

impl Samples<'_> {
    /// The sample at a post, `None` in a hole or outside.
    pub fn at(&self, column: i64, row: i64) -> Option<f64> {
        let inside = (0..self.columns as i64).contains(&column) && (0..self.rows as i64).contains(&row);
        let value = f64::from(*self.values.get(inside.then(|| row as usize * self.columns + column as usize)?)?);
        (!value.is_nan()).then_some(value)
    }

    /// Bilinear value; posts with zero weight may be holes.
    pub fn bilinear(&self, column: f64, row: f64) -> Option<f64> {
        bilinear(|c, r| self.at(c, r), column, row)
    }

    /// Catmull-Rom value where all sixteen posts around hold data, else
    /// bilinear. Within a millionth of a post it is the post, bit for bit.
    pub fn catmull_rom(&self, column: f64, row: f64) -> Option<f64> {
        catmull_rom(|c, r| self.at(c, r), column, row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spline_reproduces_posts_exactly_and_ramps_closely() {
        let values: Vec<f32> = (0..64).map(|i| (i % 8) as f32 * 2.0 + (i / 8) as f32 * 3.0).collect();
        let samples = Samples { columns: 8, rows: 8, values: &values };
        assert_eq!(samples.catmull_rom(3.0, 4.0), Some(18.0));
        assert!((samples.catmull_rom(3.25, 4.5).unwrap() - (6.5 + 13.5)).abs() < 1e-12);
    }

    #[test]
    fn a_hole_stays_a_hole_and_touches_only_its_own_cells() {
        let mut values = vec![5.0_f32; 64];
        values[3 * 8 + 3] = f32::NAN;
        let samples = Samples { columns: 8, rows: 8, values: &values };
        assert_eq!(samples.catmull_rom(3.0, 3.0), None);
        assert_eq!(samples.catmull_rom(3.5, 3.5), None);
        assert_eq!(samples.catmull_rom(4.5, 4.5), Some(5.0));
        assert_eq!(samples.catmull_rom(4.0, 3.0), Some(5.0));
        assert_eq!(samples.catmull_rom(-0.1, 3.0), None);
        assert_eq!(samples.catmull_rom(f64::NAN, 3.0), None);
    }
}
