//! What shapes the ground beyond its DEMs, folded in order: craters,
//! synthesised detail, edits.
//!
//! A [`ModifierSpec`] is plain data; a [`Modifier`] is the same made ready on
//! the ground below it. Each says where it changes anything, how fine the
//! lattice has to be to show it, and a key of what it depends on.

mod craters;
mod edits;
mod overzoom;
#[cfg(test)]
mod tests;

pub use craters::{CraterSpec, MOST_CRATERS, PopulationSpec, SizeLaw};
pub use edits::{EditKind, EditSpec};
pub use overzoom::OverzoomSpec;

use crate::{DemGrid, Lattice, SiteRect, Surface, SurfaceError};
use craters::Population;
use edits::Edit;
use overzoom::Overzoom;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use terrane_core::{ContentKey, KeyBuilder};

/// Changes of the rules below that change heights count this up.
const RULE_VERSION: u32 = 1;

/// One modifier, as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModifierSpec {
    /// What it is called in messages and query answers: its prim path.
    pub name: String,
    /// What it does.
    pub shape: Shape,
}

/// What a modifier does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// One crater.
    Crater(CraterSpec),
    /// A seeded population of craters.
    Craters(PopulationSpec),
    /// Synthesised detail between posts.
    Overzoom(OverzoomSpec),
    /// An edit.
    Edit(EditSpec),
}

/// How fine posts have to be in a rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wish {
    pub(crate) rect: SiteRect,
    /// Largest posting that will do, metres.
    pub(crate) posting_m: f64,
}

impl Wish {
    /// Tiles that it takes, about.
    pub(crate) fn tiles(&self) -> f64 {
        let (width_m, height_m) = self.rect.size_m();
        let side_m = f64::from(crate::TILE_CELLS) * self.posting_m;
        (width_m / side_m + 3.0) * (height_m / side_m + 3.0)
    }
}

/// A modifier made ready on the ground below it.
#[derive(Debug)]
pub struct Modifier {
    spec: ModifierSpec,
    key: ContentKey,
    bounds: SiteRect,
    ready: Ready,
}

#[derive(Debug)]
enum Ready {
    Crater(CraterSpec),
    Craters(Population),
    Overzoom(Overzoom),
    Edit(Edit),
}

impl ModifierSpec {
    /// True for an edit.
    pub fn is_edit(&self) -> bool {
        matches!(self.shape, Shape::Edit(_))
    }

    /// Where it changes anything.
    pub fn bounds(&self) -> SiteRect {
        match &self.shape {
            Shape::Crater(crater) => crater.bounds(),
            Shape::Craters(spec) => spec.region.grown(CraterSpec::fresh(0.0, 0.0, spec.diameter_m[1]).support_m()),
            Shape::Overzoom(spec) => spec.region,
            Shape::Edit(edit) => edit.bounds(),
        }
    }

    /// Everything that it says, as a key; not what it is called.
    fn own_key(&self) -> ContentKey {
        let key = KeyBuilder::new("modifier", RULE_VERSION);
        let rect = |rect: &SiteRect| [rect.x_m[0], rect.x_m[1], rect.z_m[0], rect.z_m[1]];
        match &self.shape {
            Shape::Crater(c) => {
                key.numbers("crater", &[c.x_m, c.z_m, c.diameter_m, c.depth_ratio, c.rim_ratio]).finish()
            }
            Shape::Craters(p) => key
                .bytes("craters", &p.seed.to_le_bytes())
                .numbers("law", &[p.density_per_km2, p.diameter_m[0], p.diameter_m[1], p.law as u8 as f64])
                .numbers("ratios", &[p.depth_ratio.unwrap_or(-1.0), p.rim_ratio.unwrap_or(-1.0), p.relief_scale])
                .numbers("region", &rect(&p.region))
                .finish(),
            Shape::Overzoom(o) => key
                .bytes("overzoom", &o.seed.to_le_bytes())
                .numbers("features", &[o.amplitude_m, o.min_feature_m, o.max_feature_m])
                .numbers("region", &rect(&o.region))
                .finish(),
            Shape::Edit(e) => key
                .bytes("edit", e.kind.name().as_bytes())
                .numbers("numbers", &[e.x_m, e.z_m, e.radius_m, e.amount])
                .finish(),
        }
    }

    /// What is wrong with it, if anything is.
    fn fault(&self) -> Option<String> {
        let within = |name: &str, value: f64, low: f64, high: f64| {
            (!(low..=high).contains(&value)).then(|| format!("its {name} is {value}; it goes from {low} to {high}"))
        };
        let above_zero = |name: &str, value: f64| {
            let is_good = value > 0.0 && value <= MOST_SIZE_M;
            (!is_good).then(|| format!("its {name} is {value} m; it goes from above 0 to {MOST_SIZE_M} m"))
        };
        let place = |x_m: f64, z_m: f64| {
            (!(x_m.abs() <= MOST_PLACE_M && z_m.abs() <= MOST_PLACE_M))
                .then(|| format!("its place is {x_m}, {z_m}; site x and z go to {MOST_PLACE_M} m"))
        };
        let region = |rect: &SiteRect| {
            let [x, z] = [rect.x_m, rect.z_m];
            place(x[0], z[0]).or(place(x[1], z[1]))
        };
        match &self.shape {
            Shape::Crater(c) => place(c.x_m, c.z_m)
                .or(above_zero("diameter", c.diameter_m))
                .or(within("depth over diameter", c.depth_ratio, 0.0, 1.0))
                .or(within("rim height over diameter", c.rim_ratio, 0.0, 1.0)),
            Shape::Craters(p) => {
                let [low, high] = p.diameter_m;
                region(&p.region)
                    .or(above_zero("smallest diameter", low))
                    .or(above_zero("largest diameter", high))
                    .or((low >= high).then(|| format!("its sizes go from {low} to {high} m: the largest has to be larger")))
                    .or(within("depth over diameter", p.depth_ratio.unwrap_or(0.0), 0.0, 1.0))
                    .or(within("rim height over diameter", p.rim_ratio.unwrap_or(0.0), 0.0, 1.0))
                    .or(within("relief scale", p.relief_scale, 0.0, 10.0))
                    .or((p.density_per_km2.is_nan() || p.density_per_km2 < 0.0)
                        .then(|| format!("its density is {}; it is 0 or more", p.density_per_km2)))
                    .or((p.count() > MOST_CRATERS).then(|| {
                        format!(
                            "it asks for {:.0} craters, and {MOST_CRATERS:.0} are the most; lower the density or the region",
                            p.count()
                        )
                    }))
            }
            Shape::Overzoom(o) => region(&o.region)
                .or(within("amplitude", o.amplitude_m, 0.0, MOST_HEIGHT_M))
                .or(above_zero("shortest feature", o.min_feature_m))
                .or(above_zero("longest feature", o.max_feature_m))
                .or((o.max_feature_m < o.min_feature_m)
                    .then(|| format!("its features go from {} to {} m", o.min_feature_m, o.max_feature_m))),
            Shape::Edit(e) => {
                let amount = match e.kind {
                    EditKind::Brush | EditKind::Flatten => {
                        within("amount, metres,", e.amount, -MOST_HEIGHT_M, MOST_HEIGHT_M)
                    }
                    EditKind::Crater => {
                        let most_m = 2.0 * e.radius_m;
                        let is_good = (0.0..=most_m).contains(&e.amount);
                        (!is_good).then(|| format!("its depth is {} m; it goes from 0 to its diameter", e.amount))
                    }
                    EditKind::Smooth => within("length, metres,", e.amount, 0.0, MOST_SIZE_M),
                    EditKind::Hole => within("amount", e.amount, -MOST_HEIGHT_M, MOST_HEIGHT_M),
                    EditKind::Paint => (e.amount.fract() != 0.0 || !(0.0..=255.0).contains(&e.amount))
                        .then(|| format!("its class is {}; a class is a whole number from 0 to 255", e.amount)),
                };
                place(e.x_m, e.z_m).or(above_zero("radius", e.radius_m)).or(amount)
            }
        }
    }
}

/// Largest sizes, distances from the origin and heights of modifiers, metres.
const MOST_SIZE_M: f64 = 1e6;
const MOST_PLACE_M: f64 = 1e8;
const MOST_HEIGHT_M: f64 = 1e5;

impl Modifier {
    /// Made ready on `below`, the ground of everything before it.
    pub(crate) fn new(spec: ModifierSpec, below: &Surface) -> Result<Self, SurfaceError> {
        if let Some(what) = spec.fault() {
            return Err(SurfaceError::BadModifier { name: spec.name, what });
        }
        let bounds = spec.bounds();
        let ready = match &spec.shape {
            Shape::Crater(crater) => Ready::Crater(*crater),
            Shape::Craters(population) => Ready::Craters(Population::new(population)),
            Shape::Overzoom(overzoom) => Ready::Overzoom(Overzoom::new(overzoom)),
            Shape::Edit(edit) => Ready::Edit(Edit::new(edit, below)),
        };
        // What it finds below depends on everything that reaches it.
        let found = below.modifiers().iter().filter(|earlier| earlier.bounds.meets(&bounds));
        let key = found.fold(KeyBuilder::new("ready", RULE_VERSION).key("own", &spec.own_key()), |key, earlier| {
            key.key("below", &earlier.key)
        });
        Ok(Self { key: key.finish(), spec, bounds, ready })
    }

    /// What it is, as data.
    pub fn spec(&self) -> &ModifierSpec {
        &self.spec
    }

    /// Key of what it says and of every modifier below that reaches it: equal
    /// keys do the same to the same DEMs.
    pub fn key(&self) -> &ContentKey {
        &self.key
    }

    /// Where it changes anything.
    pub fn bounds(&self) -> SiteRect {
        self.bounds
    }

    /// How fine posts have to be where to show it.
    pub(crate) fn wishes(&self) -> Vec<Wish> {
        match &self.ready {
            Ready::Crater(crater) => vec![crater.wish()],
            Ready::Craters(population) => population.wishes().collect(),
            Ready::Overzoom(_) => vec![],
            Ready::Edit(edit) => edit.spec.wish().into_iter().collect(),
        }
    }

    /// Halvings of a posting that its single wishes need.
    pub(crate) fn halvings(&self, posting_m: f64) -> u8 {
        match &self.ready {
            // Its finest wish is that of its smallest crater.
            Ready::Craters(population) => {
                population.finest_wish().map_or(0, |wish| Lattice::halvings(posting_m, &wish))
            }
            _ => self.wishes().iter().map(|wish| Lattice::halvings(posting_m, wish)).max().unwrap_or(0),
        }
    }

    /// The same for a whole region.
    pub(crate) fn region_wish(&self) -> Option<Wish> {
        match &self.spec.shape {
            Shape::Overzoom(spec) => Some(spec.wish()),
            _ => None,
        }
    }
}

/// The modifiers that reach a rectangle, in order, with what of them does.
#[derive(Debug, Default)]
pub(crate) struct Reaching(Vec<(Arc<Modifier>, Vec<u32>)>);

impl Reaching {
    pub(crate) fn of(modifiers: &[Arc<Modifier>], rect: &SiteRect) -> Self {
        let reaching = modifiers.iter().filter(|modifier| modifier.bounds.meets(rect));
        Self(
            reaching
                .map(|modifier| match &modifier.ready {
                    Ready::Craters(population) => (Arc::clone(modifier), population.reaching(rect)),
                    _ => (Arc::clone(modifier), vec![]),
                })
                .collect(),
        )
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True when heights depend on which DEM gives them.
    pub(crate) fn needs_dem(&self) -> bool {
        self.0.iter().any(|(modifier, _)| matches!(modifier.ready, Ready::Overzoom(_)))
    }

    /// Height above the datum after all of them.
    pub(crate) fn apply(&self, dems: &[DemGrid], dem: usize, x_m: f64, z_m: f64, height_m: f64) -> Option<f64> {
        self.0.iter().try_fold(height_m, |height_m, (modifier, craters)| match &modifier.ready {
            Ready::Crater(crater) => Some(height_m + crater.relief_m(x_m, z_m)),
            Ready::Craters(population) => Some(height_m + population.relief_m(craters, x_m, z_m)),
            Ready::Overzoom(overzoom) => Some(height_m + overzoom.relief_m(dems, dem, x_m, z_m)),
            Ready::Edit(edit) => edit.apply(x_m, z_m, height_m),
        })
    }

    /// Indices, among these, of those that change the ground at a place, and
    /// the modifiers.
    pub(crate) fn shaping<'a>(
        &'a self,
        dems: &[DemGrid],
        dem: usize,
        (x_m, z_m, height_m): (f64, f64, f64),
    ) -> Vec<&'a Modifier> {
        let (mut height_m, mut shaping) = (height_m, Vec::new());
        for (modifier, craters) in &self.0 {
            let one = Reaching(vec![(Arc::clone(modifier), craters.clone())]);
            match one.apply(dems, dem, x_m, z_m, height_m) {
                Some(after_m) if after_m == height_m => {}
                Some(after_m) => {
                    shaping.push(&**modifier);
                    height_m = after_m;
                }
                None => {
                    shaping.push(&**modifier);
                    return shaping;
                }
            }
        }
        shaping
    }

    /// The class that was painted last at a place.
    pub(crate) fn class(&self, x_m: f64, z_m: f64) -> Option<u8> {
        self.0.iter().rev().find_map(|(modifier, _)| match &modifier.ready {
            Ready::Edit(edit) => edit.class(x_m, z_m),
            _ => None,
        })
    }
}
