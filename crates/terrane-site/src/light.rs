//! The stage's lights as the renderer takes them.

use crate::{Failure, OpenSite};
use glam::DVec3;
use terrane_core::{Diagnostic, Place, Pose, Severity};
use terrane_render::Lighting;
use terrane_stage::spec::{LightKind, LightSpec};

/// A thousand suns at the Earth's distance; more is a slip of the pen.
const MAX_LUX: f64 = 1.3e8;

impl OpenSite {
    /// The sun (the first visible DistantLight) and the sky (all DomeLights),
    /// in the site frame. A stage without a sun is unlit and says so.
    pub fn lighting(&self, site_from_world: &Pose) -> Result<(Lighting, Vec<Diagnostic>), Failure> {
        let mut warnings = Vec::new();
        let mut warn = |code: &str, title: &str, prim: Option<&str>, detail: String| {
            let place = Place {
                file: Some(self.stage.display().to_string()),
                prim: prim.map(str::to_owned),
                ..Place::default()
            };
            warnings.push(Diagnostic::new(Severity::Warning, code, title).with_place(place).with_detail(detail));
        };
        let visible =
            |kind: LightKind| self.spec.lights.iter().filter(move |light| light.visible && light.kind == kind);
        let mut suns = visible(LightKind::Distant);
        let sun = suns.next();
        for other in suns {
            let detail = format!("the sun is {}", sun.map_or("", |sun| sun.prim.as_str()));
            warn("light-not-drawn", "a second DistantLight has no effect", Some(&other.prim), detail);
        }
        if sun.is_none() {
            warn(
                "stage-no-sun",
                "stage has no sun",
                None,
                "no visible DistantLight; the ground is lit by domes alone".into(),
            );
        }
        for light in self.spec.lights.iter().filter(|light| light.visible) {
            let colour = light.color.map(|channel| channel * light.intensity);
            let what = if colour.iter().any(|channel| !(0.0..=MAX_LUX).contains(channel)) {
                format!(
                    "intensity {} with colour {:?}; both have to be positive and of this world",
                    light.intensity, light.color
                )
            } else if light.kind == LightKind::Distant && !(0.0..=180.0).contains(&light.angle_deg) {
                format!("inputs:angle is {} degrees; it goes from 0 to 180", light.angle_deg)
            } else {
                continue;
            };
            let mut error = self.error("light-value", "light has an impossible value", what);
            error.place.prim = Some(light.prim.clone());
            return Err(error.into());
        }
        let colour = |light: &LightSpec| light.color.map(|channel| channel * light.intensity);
        let mut sky_luminance = [0.0; 3];
        for dome in visible(LightKind::Dome) {
            sky_luminance.iter_mut().zip(colour(dome)).for_each(|(sum, value)| *sum += value);
        }
        let lighting = match sun {
            Some(sun) => Lighting {
                to_sun: (site_from_world.rotation * (sun.pose.rotation * DVec3::Z)).normalize(),
                sun_illuminance_lux: colour(sun),
                sun_radius_rad: 0.5 * sun.angle_deg.to_radians(),
                sky_luminance,
            },
            None => Lighting { to_sun: DVec3::Y, sun_illuminance_lux: [0.0; 3], sun_radius_rad: 0.0, sky_luminance },
        };
        Ok((lighting, warnings))
    }
}
