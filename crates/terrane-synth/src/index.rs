//! Finds the craters that reach a rectangle, in the order in which they were laid.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::noise::mix;

/// Discs of each cell of one level.
type Cells = HashMap<(i64, i64), Vec<u32>, BuildHasherDefault<CellHasher>>;

/// Hashes cell coordinates; laying asks for millions of cells and needs no
/// protection from chosen keys.
#[derive(Debug, Clone, Copy, Default)]
struct CellHasher(u64);

impl Hasher for CellHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0.rotate_left(23) ^ value.wrapping_add(0x9e37_79b9_7f4a_7c15));
    }

    fn write_i64(&mut self, value: i64) {
        self.write_u64(value as u64);
    }
}

/// Discs sorted by size into grids whose cells are as large as the discs.
#[derive(Debug, Clone, Default)]
pub struct DiscIndex {
    /// Cell side of each level, and the discs of each of its cells.
    levels: Vec<(f64, Cells)>,
    discs: Vec<[f64; 3]>,
}

impl DiscIndex {
    /// An index of nothing, for discs whose radii are at least `smallest_m`.
    pub fn new(smallest_m: f64, largest_m: f64) -> Self {
        let mut levels = Vec::new();
        let mut side = smallest_m.max(1.0) * 2.0;
        loop {
            levels.push((side, Cells::default()));
            if side >= largest_m {
                return Self { levels, discs: Vec::new() };
            }
            side *= 2.0;
        }
    }

    /// Adds a disc; its number is how many were added before.
    pub fn push(&mut self, x: f64, y: f64, radius: f64) {
        let number = self.discs.len() as u32;
        self.discs.push([x, y, radius]);
        let last = self.levels.len() - 1;
        let level = self.levels.iter().position(|(side, _)| *side >= radius).unwrap_or(last);
        let (side, cells) = &mut self.levels[level];
        cells.entry(cell(x, y, *side)).or_default().push(number);
    }

    /// Numbers of the discs that touch the rectangle, ascending, into `found`.
    ///
    /// Discs of less than `smallest` radius are left out.
    pub fn query(&self, min: [f64; 2], max: [f64; 2], smallest: f64, found: &mut Vec<u32>) {
        found.clear();
        if !min.iter().chain(&max).all(|edge| edge.is_finite()) {
            return;
        }
        for (side, cells) in &self.levels {
            if *side < smallest {
                continue;
            }
            // A disc lies in the cell of its centre and is no larger than a cell.
            let (x0, y0) = cell(min[0] - side, min[1] - side, *side);
            let (x1, y1) = cell(max[0] + side, max[1] + side, *side);
            for y in y0..=y1 {
                for x in x0..=x1 {
                    let Some(numbers) = cells.get(&(x, y)) else { continue };
                    found.extend(numbers.iter().copied().filter(|&n| self.touches(n, min, max, smallest)));
                }
            }
        }
        found.sort_unstable();
    }

    fn touches(&self, number: u32, min: [f64; 2], max: [f64; 2], smallest: f64) -> bool {
        let [x, y, radius] = self.discs[number as usize];
        let (dx, dy) = (x - x.clamp(min[0], max[0]), y - y.clamp(min[1], max[1]));
        radius >= smallest && dx * dx + dy * dy < radius * radius
    }
}

fn cell(x: f64, y: f64, side: f64) -> (i64, i64) {
    ((x / side).floor() as i64, (y / side).floor() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::uniform;

    #[test]
    fn the_index_finds_what_a_search_of_all_discs_finds() {
        let mut index = DiscIndex::new(2.0, 900.0);
        for i in 0..3000 {
            let radius = 2.0 * (450f64).powf(uniform(1, i, 2));
            index.push(uniform(1, i, 0) * 4000.0 - 2000.0, uniform(1, i, 1) * 4000.0 - 2000.0, radius);
        }
        let mut found = Vec::new();
        for q in 0..50 {
            let min = [uniform(2, q, 0) * 4000.0 - 2000.0, uniform(2, q, 1) * 4000.0 - 2000.0];
            let max = [min[0] + 64.0, min[1] + 32.0];
            index.query(min, max, 5.0, &mut found);
            let all: Vec<u32> = (0..3000).filter(|&n| index.touches(n, min, max, 5.0)).collect();
            assert_eq!(found, all);
        }
    }
}
