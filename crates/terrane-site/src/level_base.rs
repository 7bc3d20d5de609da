//! Sites without a DEM: a level base that nobody has measured, placed by the
//! anchor, for layers to shape.

use crate::modifiers::Scale;
use crate::{Failure, OpenSite};
use terrane_core::{Diagnostic, ParamValue, SiteFrame};
use terrane_geo::Crs;
use terrane_stage::spec::TerrainSpec;
use terrane_surface::{DemGrid, ModifierSpec, SiteRect};

/// Side of a base that nothing asks to be larger, metres.
const LEAST_SIDE_M: f64 = 1000.0;
/// Posts a side that an unauthored posting leads to, at most.
const MOST_POSTS: f64 = 4096.0;
/// Posts a side at most.
const MOST_POSTS_AUTHORED: f64 = 262_144.0;

/// Bodies by NAIF id, with the spheres and ellipsoids that their maps use
/// (Archinal et al. 2018; WGS 84).
const FIGURES: &[(i64, &str)] =
    &[(301, "+R=1737400"), (499, "+R=3396190"), (399, "+ellps=WGS84"), (199, "+R=2439700"), (299, "+R=6051800")];

impl OpenSite {
    /// A stereographic map around the anchor, and the frame at it. Without an
    /// anchor the site lies where the schema's fallbacks put it: on the Moon,
    /// at 0 east and 0 north, and says so.
    pub(crate) fn frame_without_dem(
        &self,
        terrain: &TerrainSpec,
    ) -> Result<(Crs, SiteFrame, Vec<Diagnostic>), Failure> {
        let (body, lat_deg, lon_deg, height_m) = match &self.spec.anchor {
            Some(anchor) => (anchor.body, anchor.lat_deg, anchor.lon_deg, anchor.height_m),
            None => (301, 0.0, 0.0, 0.0),
        };
        let figure = FIGURES.iter().find_map(|(id, figure)| (*id == body).then_some(figure)).ok_or_else(|| {
            let known = FIGURES.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>().join(", ");
            let detail = format!("lunco:anchor:body is {body}; without a DEM its figure is known of {known} alone");
            let mut error = self.error("anchor-body", "body's figure is not known", detail);
            error.place.prim = self.spec.anchor.as_ref().map(|anchor| anchor.prim.clone());
            error.with_help("a dem layer brings the figure of its own body")
        })?;
        let mut crs = Crs::parse(&format!(
            "+proj=stere +lat_0={lat_deg} +lon_0={lon_deg} +k=1 +x_0=0 +y_0=0 {figure} +units=m +no_defs +type=crs"
        ))?;
        crs.name = format!("stereographic around {lon_deg} E, {lat_deg} N");
        let mut note = Diagnostic::note("terrain-level-base", "terrain stands on a level base")
            .with_place(terrane_core::Place::file(self.stage.display().to_string()))
            .with_detail(format!(
                "it has no enabled layer of kind `dem`; the base lies around {lon_deg} E, {lat_deg} N on body {body}"
            ))
            .with_help("lunco:anchor:* places it, lunco:terrain:baseSizeM and basePostingM size it");
        note.place.prim = Some(terrain.prim.clone());
        let frame = SiteFrame { origin_easting_m: 0.0, origin_northing_m: 0.0, origin_height_m: height_m };
        Ok((crs, frame, vec![note]))
    }

    /// The base, as large as the layers reach, and the layers on it.
    pub(crate) fn level_base(
        &self,
        terrain: &TerrainSpec,
        crs: &Crs,
        frame: &SiteFrame,
    ) -> Result<(DemGrid, Vec<ModifierSpec>), Failure> {
        let has_layers =
            terrain.layers.iter().any(|layer| layer.enabled && crate::modifiers::KINDS.contains(&&*layer.kind));
        let (side_m, posting_m) = (self.base_number(terrain, "baseSizeM")?, self.base_number(terrain, "basePostingM")?);
        if !has_layers && side_m.is_none() {
            let mut error =
                self.error("terrain-no-dem", "terrain has no DEM", "it has no enabled layer of kind `dem`".into());
            error.place.prim = Some(terrain.prim.clone());
            return Err(error
                .with_help(
                    "add a child with lunco:layer = \"dem\" and lunco:layer:demSource; or lunco:terrain:baseSizeM for a level base",
                )
                .into());
        }
        let scale = |side_m: f64, posting_m: f64| Scale { posting_m, whole: SiteRect::around(0.0, 0.0, 0.5 * side_m) };
        let posting_for = |side_m: f64| posting_m.unwrap_or((side_m / MOST_POSTS).max(1.0));
        let side_m = match side_m {
            Some(side_m) => side_m,
            None => {
                let modifiers = self.modifiers(terrain, &scale(LEAST_SIDE_M, posting_for(LEAST_SIDE_M)))?;
                // Edits do not make a base larger: what is edited is there before.
                let shapes = modifiers.iter().filter(|modifier| !modifier.is_edit());
                let reach = shapes.map(|modifier| modifier.bounds()).flat_map(|rect| [rect.x_m, rect.z_m]);
                reach.flatten().fold(0.5 * LEAST_SIDE_M, |reach_m, border| reach_m.max(border.abs())) * 2.0
            }
        };
        let posting_m = posting_for(side_m);
        let posts = (side_m / posting_m).round() + 1.0;
        let reach_m = 0.5 * crs.body.semi_major_m;
        let is_sane = side_m <= 2.0 * reach_m && (2.0..=MOST_POSTS_AUTHORED).contains(&posts);
        if !is_sane {
            let detail = format!(
                "a base of {side_m} m with posts {posting_m} m apart would have {posts} posts a side; it may have 2 to {MOST_POSTS_AUTHORED}, and be {} m wide at most",
                2.0 * reach_m
            );
            let mut error = self.error("terrain-level-base", "level base can't be used", detail);
            error.place.prim = Some(terrain.prim.clone());
            return Err(error.with_help("author lunco:terrain:baseSizeM and lunco:terrain:basePostingM").into());
        }
        let posts = posts as usize;
        let base = DemGrid::level(&terrain.prim, frame.origin_height_m as f32, posting_m, (posts, posts));
        let modifiers = self.modifiers(terrain, &scale(side_m, posting_m))?;
        Ok((base, modifiers))
    }

    fn base_number(&self, terrain: &TerrainSpec, name: &str) -> Result<Option<f64>, Failure> {
        let Some(authored) = terrain.params.get(name) else { return Ok(None) };
        let number = match authored.value {
            ParamValue::Float(value) => value,
            ParamValue::Int(value) => value as f64,
            _ => f64::NAN,
        };
        if number > 0.0 {
            return Ok(Some(number));
        }
        let mut error =
            self.error("terrain-level-base", "level base can't be used", "a number above 0 is needed".into());
        error.place.prim = Some(authored.path.clone());
        Err(error.into())
    }
}
