//! What the stage's layers do to the ground: craters, synthesised detail,
//! edits, as the surface takes them.

use crate::{Failure, OpenSite};
use terrane_core::{Diagnostic, Place};
use terrane_stage::spec::{TerrainLayer, TerrainSpec};
use terrane_surface::{
    CraterSpec, EditKind, EditSpec, ModifierSpec, OverzoomSpec, PopulationSpec, Shape, SiteRect, SizeLaw,
};

/// Layer kinds that shape the ground.
pub(crate) const KINDS: &[&str] = &["craters", "overzoom", "edit"];

/// What layers without numbers of their own are measured by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// The finest DEM's posting, metres.
    pub posting_m: f64,
    /// All ground.
    pub whole: SiteRect,
}

impl OpenSite {
    /// The modifiers of a terrain in the order in which they are folded: layers
    /// in prim order, then edits in path order, since an edit is made to the
    /// ground as it is seen.
    pub(crate) fn modifiers(&self, terrain: &TerrainSpec, scale: &Scale) -> Result<Vec<ModifierSpec>, Failure> {
        let layers = terrain.layers.iter().filter(|layer| layer.enabled && KINDS.contains(&layer.kind.as_str()));
        let (mut edits, shapes): (Vec<&TerrainLayer>, Vec<&TerrainLayer>) =
            layers.partition(|layer| layer.kind == "edit");
        edits.sort_by(|a, b| a.prim.cmp(&b.prim));
        let (mut modifiers, mut faults) = (Vec::new(), Vec::new());
        for layer in shapes.into_iter().chain(edits) {
            let reading = LayerReading { layer, stage: self.stage.display().to_string() };
            let shape = match layer.kind.as_str() {
                "craters" => craters(&reading, scale),
                "overzoom" => overzoom(&reading, scale),
                _ => edit(&reading),
            };
            match shape {
                Ok(shape) => modifiers.push(ModifierSpec { name: layer.prim.clone(), shape }),
                Err(fault) => faults.push(*fault),
            }
        }
        Failure::if_any(&faults)?;
        Ok(modifiers)
    }
}

type Read<T> = Result<T, Box<Diagnostic>>;

struct LayerReading<'a> {
    layer: &'a TerrainLayer,
    stage: String,
}

impl LayerReading<'_> {
    fn fault(&self, title: &str, name: &str, detail: impl Into<String>) -> Box<Diagnostic> {
        let place =
            Place { file: Some(self.stage.clone()), prim: Some(self.layer.attribute(name)), ..Place::default() };
        Box::new(Diagnostic::error("layer-value", title).with_place(place).with_detail(detail))
    }

    /// A number; authored as something else, it is a fault.
    fn number(&self, name: &str) -> Read<Option<f64>> {
        match self.layer.number(name) {
            None if self.layer.params.contains_key(name) => {
                Err(self.fault("layer's value has the wrong type", name, "a number is needed"))
            }
            found => Ok(found),
        }
    }

    fn needed(&self, name: &str, what: &str) -> Read<f64> {
        self.number(name)?.ok_or_else(|| self.fault("layer lacks a value", name, format!("it says {what}")))
    }

    fn above_zero(&self, name: &str, fallback: f64) -> Read<f64> {
        let found = self.number(name)?.unwrap_or(fallback);
        let is_good = found > 0.0;
        is_good
            .then_some(found)
            .ok_or_else(|| self.fault("layer's value is out of range", name, format!("{found} is not above 0")))
    }

    fn seed(&self) -> Read<u64> {
        // Negative seeds are as good as others.
        Ok(self.number("layer:seed")?.unwrap_or(0.0) as i64 as u64)
    }

    fn text(&self, name: &str) -> Read<Option<&str>> {
        match self.layer.text(name) {
            None if self.layer.params.contains_key(name) => {
                Err(self.fault("layer's value has the wrong type", name, "a token is needed"))
            }
            found => Ok(found),
        }
    }

    /// The square around `layer:x`, `layer:z` that the layer fills; all ground
    /// when `layer:regionM` is 0 or not authored.
    fn region(&self, scale: &Scale) -> Read<SiteRect> {
        let side_m = self.number("layer:regionM")?.unwrap_or(0.0);
        if side_m < 0.0 {
            return Err(self.fault("layer's value is out of range", "layer:regionM", format!("{side_m} is negative")));
        }
        if side_m == 0.0 {
            if let Some(name) = ["layer:x", "layer:z"].into_iter().find(|name| self.layer.params.contains_key(*name)) {
                let detail = "it places the square of lunco:layer:regionM, which is not authored";
                return Err(self.fault("layer's place has no effect", name, detail));
            }
            return Ok(scale.whole);
        }
        let middle = |name: &str| -> Read<f64> { Ok(self.number(name)?.unwrap_or(0.0)) };
        Ok(SiteRect::around(middle("layer:x")?, middle("layer:z")?, 0.5 * side_m))
    }
}

/// One crater, or a population when a density is authored.
fn craters(reading: &LayerReading<'_>, scale: &Scale) -> Read<Shape> {
    let relief_scale = reading.number("layer:reliefScale")?.unwrap_or(1.0);
    let (depth_ratio, rim_ratio) = (reading.number("layer:depthRatio")?, reading.number("layer:rimRatio")?);
    let Some(density_per_km2) = reading.number("layer:density")? else {
        let diameter_m = reading.needed(
            "layer:size",
            "the diameter of a single crater, metres; a population has lunco:layer:density instead",
        )?;
        let is_good = diameter_m > 0.0;
        if !is_good {
            return Err(reading.fault(
                "layer's value is out of range",
                "layer:size",
                format!("{diameter_m} is not above 0"),
            ));
        }
        let place = |name: &str| -> Read<f64> { Ok(reading.number(name)?.unwrap_or(0.0)) };
        let fresh = CraterSpec::fresh(place("layer:x")?, place("layer:z")?, diameter_m);
        let crater = fresh.with_ratios(depth_ratio, rim_ratio, relief_scale);
        return Ok(Shape::Crater(crater));
    };
    let sizes = "the range of diameters, metres";
    let diameter_m = [reading.needed("layer:sizeMin", sizes)?, reading.needed("layer:sizeMax", sizes)?];
    let law = match reading.text("layer:sizeMode")? {
        None => SizeLaw::default(),
        Some(name) => SizeLaw::named(name).ok_or_else(|| {
            let detail = format!("`{name}` is none of equilibrium, production, uniform");
            reading.fault("layer's value is unknown", "layer:sizeMode", detail)
        })?,
    };
    Ok(Shape::Craters(PopulationSpec {
        seed: reading.seed()?,
        density_per_km2,
        diameter_m,
        law,
        depth_ratio,
        rim_ratio,
        relief_scale,
        region: reading.region(scale)?,
    }))
}

/// Detail from two postings down to an eighth of one, a twentieth of a posting
/// high at most, unless the layer says otherwise.
fn overzoom(reading: &LayerReading<'_>, scale: &Scale) -> Read<Shape> {
    let relief_scale = reading.number("layer:reliefScale")?.unwrap_or(1.0);
    let amplitude_m = reading.number("layer:amplitude")?.unwrap_or(0.05 * scale.posting_m);
    let min_feature_m = reading.above_zero("layer:minFeature", 0.125 * scale.posting_m)?;
    Ok(Shape::Overzoom(OverzoomSpec {
        seed: reading.seed()?,
        amplitude_m: amplitude_m * relief_scale,
        min_feature_m,
        max_feature_m: reading.above_zero("layer:maxFeature", (2.0 * scale.posting_m).max(min_feature_m))?,
        region: reading.region(scale)?,
    }))
}

fn edit(reading: &LayerReading<'_>) -> Read<Shape> {
    let names = || EditKind::NAMED.map(|(name, _)| name).join(", ");
    let kind = reading
        .text("edit:kind")?
        .ok_or_else(|| reading.fault("layer lacks a value", "edit:kind", format!("an edit is one of {}", names())))?;
    let kind = EditKind::named(kind).ok_or_else(|| {
        reading.fault("layer's value is unknown", "edit:kind", format!("`{kind}` is none of {}", names()))
    })?;
    let [x_m, z_m] =
        reading.layer.vector("edit:center").and_then(|center| center.try_into().ok()).ok_or_else(|| {
            reading.fault("layer lacks a value", "edit:center", "two numbers are needed: site x and z, metres")
        })?;
    Ok(Shape::Edit(EditSpec {
        kind,
        x_m,
        z_m,
        radius_m: reading.needed("edit:radius", "how far the edit reaches, metres")?,
        amount: match kind {
            EditKind::Brush => reading.needed("edit:amount", "how far the ground rises in the middle, metres")?,
            EditKind::Paint => reading.needed("edit:amount", "the class, 0 to 255")?,
            _ => reading.number("edit:amount")?.unwrap_or(0.0),
        },
    }))
}
