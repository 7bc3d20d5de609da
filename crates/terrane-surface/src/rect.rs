//! Rectangles of the site, along its axes.

use serde::{Deserialize, Serialize};

/// A rectangle in site x and z, metres; its borders belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SiteRect {
    /// West and east border, site x.
    pub x_m: [f64; 2],
    /// North and south border, site z.
    pub z_m: [f64; 2],
}

impl SiteRect {
    /// A square around a place.
    pub fn around(x_m: f64, z_m: f64, half_side_m: f64) -> Self {
        let side = |middle: f64| [middle - half_side_m, middle + half_side_m];
        Self { x_m: side(x_m), z_m: side(z_m) }
    }

    /// With a margin on every side, metres.
    pub fn grown(self, margin_m: f64) -> Self {
        let grow = |[low, high]: [f64; 2]| [low - margin_m, high + margin_m];
        Self { x_m: grow(self.x_m), z_m: grow(self.z_m) }
    }

    /// The smallest rectangle around both.
    pub fn joined(self, other: Self) -> Self {
        let join = |a: [f64; 2], b: [f64; 2]| [a[0].min(b[0]), a[1].max(b[1])];
        Self { x_m: join(self.x_m, other.x_m), z_m: join(self.z_m, other.z_m) }
    }

    /// What both cover.
    pub fn common(self, other: Self) -> Option<Self> {
        let common = |a: [f64; 2], b: [f64; 2]| [a[0].max(b[0]), a[1].min(b[1])];
        let rect = Self { x_m: common(self.x_m, other.x_m), z_m: common(self.z_m, other.z_m) };
        (rect.x_m[0] <= rect.x_m[1] && rect.z_m[0] <= rect.z_m[1]).then_some(rect)
    }

    /// True when both share a place.
    pub fn meets(&self, other: &Self) -> bool {
        self.common(*other).is_some()
    }

    /// True when the place lies in it or on its border.
    pub fn contains(&self, x_m: f64, z_m: f64) -> bool {
        (self.x_m[0]..=self.x_m[1]).contains(&x_m) && (self.z_m[0]..=self.z_m[1]).contains(&z_m)
    }

    /// How far a place inside lies from the border, metres; negative outside.
    pub fn depth_m(&self, x_m: f64, z_m: f64) -> f64 {
        let within = |[low, high]: [f64; 2], place: f64| (place - low).min(high - place);
        within(self.x_m, x_m).min(within(self.z_m, z_m))
    }

    /// Site x and z of its middle, metres.
    pub fn middle_m(&self) -> (f64, f64) {
        (0.5 * (self.x_m[0] + self.x_m[1]), 0.5 * (self.z_m[0] + self.z_m[1]))
    }

    /// Width and height, metres.
    pub fn size_m(&self) -> (f64, f64) {
        (self.x_m[1] - self.x_m[0], self.z_m[1] - self.z_m[0])
    }

    /// Area, square kilometres.
    pub fn area_km2(&self) -> f64 {
        let (width_m, height_m) = self.size_m();
        width_m * height_m * 1e-6
    }

    /// True when all of its borders are numbers.
    pub fn is_finite(&self) -> bool {
        self.x_m.iter().chain(&self.z_m).all(|border| border.is_finite())
    }
}
