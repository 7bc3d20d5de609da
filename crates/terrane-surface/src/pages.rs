//! The posts of a DEM: in memory whole, or read page by page and kept within a
//! budget.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use terrane_core::{PostReadError, PostSource, PostWindow};

/// Bytes of heights that one paged DEM keeps in memory.
const BUDGET_BYTES: usize = 192 << 20;

/// Heights of a grid. Cheap to clone; clones share what was read.
#[derive(Debug, Clone)]
pub struct Posts(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    Whole { columns: usize, rows: usize, heights_m: Vec<f32> },
    Level { columns: usize, rows: usize, height_m: f32 },
    Paged(Pages),
}

type Page = Arc<OnceLock<Arc<Vec<f32>>>>;

#[derive(Debug)]
struct Pages {
    source: Arc<dyn PostSource>,
    size: (usize, usize),
    page: (usize, usize),
    most: usize,
    resident: Mutex<Resident>,
    failure: OnceLock<PostReadError>,
}

#[derive(Debug, Default)]
struct Resident {
    pages: HashMap<(usize, usize), (Page, u64)>,
    clock: u64,
}

impl Posts {
    /// Posts in memory, row-major; NaN is a hole.
    pub fn whole(columns: usize, rows: usize, heights_m: Vec<f32>) -> Self {
        Self(Arc::new(Kind::Whole { columns, rows, heights_m }))
    }

    /// Posts of one height.
    pub fn level(columns: usize, rows: usize, height_m: f32) -> Self {
        Self(Arc::new(Kind::Level { columns, rows, height_m }))
    }

    /// True when nobody has measured them: when they are one level.
    pub fn is_level(&self) -> bool {
        matches!(&*self.0, Kind::Level { .. })
    }

    /// Posts that are read when they are asked for.
    pub fn paged(source: Arc<dyn PostSource>) -> Self {
        let (size, block) = (source.size(), source.block_size());
        let page = (block.0.clamp(1, size.0.max(1)), block.1.clamp(1, size.1.max(1)));
        let most = (BUDGET_BYTES / (page.0 * page.1 * size_of::<f32>())).max(4);
        let (resident, failure) = (Mutex::default(), OnceLock::new());
        Self(Arc::new(Kind::Paged(Pages { source, size, page, most, resident, failure })))
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        match &*self.0 {
            Kind::Whole { columns, rows, .. } | Kind::Level { columns, rows, .. } => (*columns, *rows),
            Kind::Paged(pages) => pages.size,
        }
    }

    /// False when the number of heights is not columns times rows.
    pub(crate) fn is_consistent(&self) -> bool {
        match &*self.0 {
            Kind::Whole { columns, rows, heights_m } => columns.checked_mul(*rows) == Some(heights_m.len()),
            Kind::Paged(_) | Kind::Level { .. } => true,
        }
    }

    /// The height at a post, metres above the datum; `None` in a hole or
    /// outside.
    pub fn at(&self, column: i64, row: i64) -> Option<f64> {
        let (columns, rows) = self.size();
        if !((0..columns as i64).contains(&column) && (0..rows as i64).contains(&row)) {
            return None;
        }
        let (column, row) = (column as usize, row as usize);
        let height = match &*self.0 {
            Kind::Whole { heights_m, .. } => heights_m[row * columns + column],
            Kind::Level { height_m, .. } => *height_m,
            Kind::Paged(pages) => pages.at(column, row),
        };
        (!height.is_nan()).then_some(f64::from(height))
    }

    /// Fills `heights_m` with a window that lies inside the grid, row-major.
    pub fn window(&self, window: PostWindow, heights_m: &mut [f32]) {
        match &*self.0 {
            Kind::Whole { columns, heights_m: all, .. } => {
                for (row, out) in heights_m.chunks_exact_mut(window.columns.max(1)).enumerate() {
                    let first = (window.row + row) * columns + window.column;
                    out.copy_from_slice(&all[first..first + window.columns]);
                }
            }
            Kind::Level { height_m, .. } => heights_m.fill(*height_m),
            Kind::Paged(pages) => pages.window(window, heights_m),
        }
    }

    /// True when no post's height was filled in.
    pub fn is_all_measured(&self) -> bool {
        match &*self.0 {
            Kind::Whole { .. } | Kind::Level { .. } => true,
            Kind::Paged(pages) => pages.source.is_all_measured(),
        }
    }

    /// True when the post's height was filled in and not measured.
    pub fn is_filled(&self, column: i64, row: i64) -> bool {
        let Kind::Paged(pages) = &*self.0 else { return false };
        let (columns, rows) = pages.size;
        let inside = (0..columns as i64).contains(&column) && (0..rows as i64).contains(&row);
        if !inside || pages.source.is_all_measured() {
            return false;
        }
        let mut filled = [false];
        let window = PostWindow { column: column as usize, row: row as usize, columns: 1, rows: 1 };
        pages.note(pages.source.read_filled(window, &mut filled));
        filled[0]
    }

    /// Marks the filled posts of a window that lies inside the grid; `None`
    /// when all posts of the grid are measured.
    pub fn filled(&self, window: PostWindow) -> Option<Vec<bool>> {
        let Kind::Paged(pages) = &*self.0 else { return None };
        if pages.source.is_all_measured() {
            return None;
        }
        let mut filled = vec![false; window.len()];
        pages.note(pages.source.read_filled(window, &mut filled));
        Some(filled)
    }

    /// The first failure to read, if there was one. Posts that could not be
    /// read count as holes until then, so whoever trusts an answer asks.
    pub fn failure(&self) -> Option<PostReadError> {
        match &*self.0 {
            Kind::Whole { .. } | Kind::Level { .. } => None,
            Kind::Paged(pages) => pages.failure.get().cloned(),
        }
    }
}

impl Pages {
    fn note(&self, result: Result<(), PostReadError>) {
        if let Err(error) = result {
            // The first failure is the one to report.
            let _ = self.failure.set(error);
        }
    }

    fn at(&self, column: usize, row: usize) -> f32 {
        let place = (column / self.page.0, row / self.page.1);
        let page = self.page(place);
        let width = self.page.0.min(self.size.0 - place.0 * self.page.0);
        page[(row - place.1 * self.page.1) * width + column - place.0 * self.page.0]
    }

    fn window(&self, window: PostWindow, heights_m: &mut [f32]) {
        let (last_column, last_row) = (window.column + window.columns, window.row + window.rows);
        for page_row in window.row / self.page.1..last_row.div_ceil(self.page.1) {
            for page_column in window.column / self.page.0..last_column.div_ceil(self.page.0) {
                let page = self.page((page_column, page_row));
                let (first_column, first_row) = (page_column * self.page.0, page_row * self.page.1);
                let width = self.page.0.min(self.size.0 - first_column);
                let columns = window.column.max(first_column)..last_column.min(first_column + width);
                for row in window.row.max(first_row)..last_row.min(first_row + self.page.1) {
                    let from = (row - first_row) * width + columns.start - first_column;
                    let to = (row - window.row) * window.columns + columns.start - window.column;
                    heights_m[to..to + columns.len()].copy_from_slice(&page[from..from + columns.len()]);
                }
            }
        }
    }

    /// A page, read now unless it is resident. Whoever asks for a page that
    /// another thread is reading waits for it.
    fn page(&self, place: (usize, usize)) -> Arc<Vec<f32>> {
        let page = {
            let mut resident = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
            resident.clock += 1;
            let now = resident.clock;
            if resident.pages.len() >= self.most && !resident.pages.contains_key(&place) {
                resident.make_room(self.most);
            }
            let (page, used) = resident.pages.entry(place).or_default();
            *used = now;
            Arc::clone(page)
        };
        Arc::clone(page.get_or_init(|| self.read(place)))
    }

    fn read(&self, place: (usize, usize)) -> Arc<Vec<f32>> {
        let (column, row) = (place.0 * self.page.0, place.1 * self.page.1);
        let (columns, rows) = (self.page.0.min(self.size.0 - column), self.page.1.min(self.size.1 - row));
        let window = PostWindow { column, row, columns, rows };
        let mut heights_m = vec![0.0; window.len()];
        let result = self.source.read(window, &mut heights_m);
        if result.is_err() {
            heights_m.fill(f32::NAN);
        }
        self.note(result);
        Arc::new(heights_m)
    }
}

impl Resident {
    /// Drops the least recently used quarter, so that the search for them is
    /// rare.
    fn make_room(&mut self, most: usize) {
        let mut ages: Vec<u64> = self.pages.values().map(|(_, used)| *used).collect();
        ages.sort_unstable();
        let oldest_kept = ages[(most / 4).clamp(1, ages.len() - 1)];
        self.pages.retain(|_, (_, used)| *used >= oldest_kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Debug)]
    struct Ramp {
        reads: AtomicUsize,
    }

    impl PostSource for Ramp {
        fn size(&self) -> (usize, usize) {
            (2000, 1500)
        }

        fn block_size(&self) -> (usize, usize) {
            (256, 128)
        }

        fn read(&self, window: PostWindow, heights_m: &mut [f32]) -> Result<(), PostReadError> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            if window.column + window.columns == 2000 && window.row == 0 {
                return Err(PostReadError { source_name: "ramp".into(), message: "torn".into() });
            }
            for (k, height) in heights_m.iter_mut().enumerate() {
                *height = ((window.row + k / window.columns) * 2000 + window.column + k % window.columns) as f32;
            }
            Ok(())
        }
    }

    #[test]
    fn windows_and_posts_agree_whatever_pages_they_cross() {
        let posts = Posts::paged(Arc::new(Ramp { reads: AtomicUsize::new(0) }));
        let window = PostWindow { column: 200, row: 100, columns: 700, rows: 300 };
        let mut heights_m = vec![0.0; window.len()];
        posts.window(window, &mut heights_m);
        for (k, height) in heights_m.iter().enumerate() {
            let (column, row) = (200 + k % 700, 100 + k / 700);
            assert_eq!(*height, (row * 2000 + column) as f32);
        }
        assert_eq!(posts.at(1999, 1499), Some(2_999_999.0));
        assert_eq!(posts.at(2000, 0), None);
        assert!(posts.failure().is_none());
    }

    #[test]
    fn a_page_is_read_once_while_it_is_resident_and_memory_is_bounded() {
        let ramp = Arc::new(Ramp { reads: AtomicUsize::new(0) });
        let posts = Posts::paged(Arc::clone(&ramp) as Arc<dyn PostSource>);
        for _ in 0..3 {
            assert!(posts.at(5, 300).is_some());
        }
        assert_eq!(ramp.reads.load(Ordering::Relaxed), 1);
        let mut resident = Resident::default();
        for k in 0..40_u64 {
            resident.pages.insert((k as usize, 0), (Page::default(), k));
        }
        resident.make_room(40);
        assert_eq!(resident.pages.len(), 30);
        assert!(!resident.pages.contains_key(&(3, 0)) && resident.pages.contains_key(&(39, 0)));
    }

    #[test]
    fn a_failed_read_is_a_hole_that_tells() {
        let posts = Posts::paged(Arc::new(Ramp { reads: AtomicUsize::new(0) }));
        assert_eq!(posts.at(1990, 5), None);
        assert_eq!(posts.failure().unwrap().message, "torn");
    }
}
