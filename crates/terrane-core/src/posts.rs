//! Heights that are read window by window, so that a raster never has to fit
//! in memory.

use std::fmt::Debug;

/// A rectangle of posts, counted from a grid's north-west post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostWindow {
    /// First column.
    pub column: usize,
    /// First row.
    pub row: usize,
    /// Columns in it.
    pub columns: usize,
    /// Rows in it.
    pub rows: usize,
}

impl PostWindow {
    /// How many posts it holds.
    pub fn len(&self) -> usize {
        self.columns * self.rows
    }

    /// True when it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Heights could not be read: a damaged file, a lost connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: {message}")]
pub struct PostReadError {
    /// The file, or whatever the heights come from.
    pub source_name: String,
    /// Why, in the reader's own words.
    pub message: String,
}

/// Heights of one grid, read window by window from any thread.
///
/// The same window always reads the same bits, and a post's height does not
/// depend on the window that it is read with.
pub trait PostSource: Send + Sync + Debug {
    /// Columns and rows of the grid.
    fn size(&self) -> (usize, usize);

    /// Columns and rows that are best read at once. Reading windows of whole
    /// blocks, in rows from the north, reads the underlying file once.
    fn block_size(&self) -> (usize, usize);

    /// Fills `heights_m` (row-major, `window.len()` long) with heights above
    /// the vertical datum, metres; a hole is NaN. The window lies inside the
    /// grid.
    fn read(&self, window: PostWindow, heights_m: &mut [f32]) -> Result<(), PostReadError>;

    /// Marks the posts of a window whose heights were not measured but filled
    /// in. By default none was.
    fn read_filled(&self, window: PostWindow, filled: &mut [bool]) -> Result<(), PostReadError> {
        let _ = window;
        filled.fill(false);
        Ok(())
    }

    /// True when no post of the source can be a filled one.
    fn is_all_measured(&self) -> bool {
        true
    }
}

/// A grid of posts in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryPosts {
    columns: usize,
    rows: usize,
    heights_m: Vec<f32>,
}

impl MemoryPosts {
    /// `columns * rows` heights, row-major; NaN is a hole. `None` when the
    /// count is another.
    pub fn new(columns: usize, rows: usize, heights_m: Vec<f32>) -> Option<Self> {
        (columns.checked_mul(rows) == Some(heights_m.len())).then_some(Self { columns, rows, heights_m })
    }

    /// All heights, row-major.
    pub fn heights_m(&self) -> &[f32] {
        &self.heights_m
    }
}

impl PostSource for MemoryPosts {
    fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    fn block_size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    fn read(&self, window: PostWindow, heights_m: &mut [f32]) -> Result<(), PostReadError> {
        for (row, out) in heights_m.chunks_exact_mut(window.columns.max(1)).enumerate() {
            let first = (window.row + row) * self.columns + window.column;
            out.copy_from_slice(&self.heights_m[first..first + window.columns]);
        }
        Ok(())
    }
}
