//! The heights that a map is evaluated on.

use super::DerivedError;

/// Heights on a square grid with a margin of posts on every side, row-major
/// from the north-west; NaN is a hole, also where the margin leaves the raster.
#[derive(Debug, Clone, PartialEq)]
pub struct HeightWindow {
    /// Columns that are evaluated.
    pub columns: usize,
    /// Rows that are evaluated.
    pub rows: usize,
    /// Posts around them on every side.
    pub margin: usize,
    /// Distance between posts, metres.
    pub posting_m: f64,
    /// (`columns` + 2 `margin`) * (`rows` + 2 `margin`) heights, metres.
    pub heights_m: Vec<f64>,
}

impl HeightWindow {
    /// Columns with both margins.
    pub fn padded_columns(&self) -> usize {
        self.columns + 2 * self.margin
    }

    /// Rows with both margins.
    pub fn padded_rows(&self) -> usize {
        self.rows + 2 * self.margin
    }

    pub(super) fn check(&self, needed_margin: usize) -> Result<(), DerivedError> {
        let expected = self.padded_columns() * self.padded_rows();
        if self.heights_m.len() != expected {
            return Err(DerivedError::HeightCount { expected, given: self.heights_m.len() });
        }
        if !(self.posting_m.is_finite() && self.posting_m > 0.0) {
            return Err(DerivedError::Posting { posting_m: self.posting_m });
        }
        if self.margin < needed_margin {
            return Err(DerivedError::Margin { needed: needed_margin, given: self.margin });
        }
        Ok(())
    }

    /// The row `below` rows south of an evaluated one (north when negative),
    /// with `reach` posts more than the evaluated columns on either side. Rows
    /// and reach stay within the margin.
    pub(super) fn line_m(&self, row: usize, below: isize, reach: usize) -> &[f64] {
        let row = (row + self.margin).wrapping_add_signed(below);
        let first = row * self.padded_columns() + self.margin - reach;
        &self.heights_m[first..first + self.columns + 2 * reach]
    }

    /// The rows around an evaluated one, each with one post more on either side.
    pub(super) fn lines_m(&self, row: usize) -> [&[f64]; 3] {
        [-1, 0, 1].map(|below| self.line_m(row, below, 1))
    }
}

/// Three by three posts, `[row][column]` from the north-west; NaN is a hole.
pub(super) type Block = [[f64; 3]; 3];

/// The block around each evaluated post of a row, from the west.
pub(super) fn blocks(lines: [&[f64]; 3]) -> impl Iterator<Item = Block> {
    let [north, middle, south] = lines;
    let around = north.windows(3).zip(middle.windows(3)).zip(south.windows(3));
    around.map(|((n, m), s)| [[n[0], n[1], n[2]], [m[0], m[1], m[2]], [s[0], s[1], s[2]]])
}

/// The block with its missing posts continuing the slope of those that are
/// there. The centre must not be a hole.
pub(super) fn continued(block: &Block) -> Block {
    let centre = block[1][1];
    let there = |row: usize, column: usize| Some(block[row][column]).filter(|height| !height.is_nan());
    let beside = |row: usize, column: usize| {
        let opposite = || there(2 - row, 2 - column).map(|opposite| 2.0 * centre - opposite);
        there(row, column).or_else(opposite).unwrap_or(centre)
    };
    let at = |row: usize, column: usize| match (row, column) {
        (1, _) | (_, 1) => beside(row, column),
        _ => there(row, column).unwrap_or_else(|| beside(1, column) + beside(row, 1) - centre),
    };
    [0, 1, 2].map(|row| [0, 1, 2].map(|column| at(row, column)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_posts_continue_the_slope_and_present_ones_stay() {
        let plane = |row: f64, column: f64| 7.0 + 2.0 * column - 3.0 * row;
        let whole: Block = [0.0, 1.0, 2.0].map(|row| [0.0, 1.0, 2.0].map(|column| plane(row, column)));
        let mut broken = whole;
        for (row, column) in [(0, 0), (0, 1), (1, 2), (2, 2)] {
            broken[row][column] = f64::NAN;
        }
        assert_eq!(continued(&broken), whole);
        assert_eq!(continued(&whole), whole);
    }
}
