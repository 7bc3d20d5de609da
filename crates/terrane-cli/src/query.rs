//! `terrane query`: a question in, an answer for a person or as JSON out.

use crate::args::QueryKind;
use crate::print::{self, say};
use crate::progress::Bar;
use glam::DVec3;
use terrane_core::Diagnostic;
use terrane_site::ground::Ground;
use terrane_site::query::{self, FootprintAnswer, Place, PlaceRow, ProfileRow, RayAnswer, SightAnswer};
use terrane_site::{Failure, OpenSite};

/// Answers one question.
pub fn answer(
    site: &OpenSite,
    ground: &Ground,
    kind: &QueryKind,
    lon_lat: bool,
    json: bool,
    progress: &Bar,
) -> Result<(), Failure> {
    let place = |a: f64, b: f64| if lon_lat { Place::LonLat(a, b) } else { Place::Site(a, b) }.xz_m(ground);
    match kind {
        QueryKind::Height { x, z } => {
            let (x_m, z_m) = place(*x, *z)?;
            let answer = query::query_height(ground, x_m, z_m)?;
            progress.finish();
            if json { print::json(&answer) } else { print::height(&answer) }
        }
        QueryKind::Places { file } => {
            let places = terrane_site::places::read_places(file, lon_lat, ground)?;
            let rows = query::query_places(ground, &places)?;
            progress.finish();
            if json { print::json(&rows) } else { say_places(&rows) }
        }
        QueryKind::Raycast { ray, far } => {
            let [x, y, z, dx, dy, dz] = six(ray)?;
            if lon_lat {
                let detail = "a ray is given in the site frame; --lon-lat is for places on the ground";
                return Err(Diagnostic::error("query", "no such ray").with_detail(detail).into());
            }
            let caster = query::ray_caster(site, ground, progress)?;
            let answer = query::query_ray(&caster, DVec3::new(x, y, z), DVec3::new(dx, dy, dz), *far)?;
            progress.finish();
            if json { print::json(&answer) } else { say_ray(&answer) }
        }
        QueryKind::LineOfSight { ends } => {
            let [x0, z0, over0, x1, z1, over1] = six(ends)?;
            let caster = query::ray_caster(site, ground, progress)?;
            let answer = query::query_sight(&caster, (place(x0, z0)?, over0), (place(x1, z1)?, over1))?;
            progress.finish();
            if json { print::json(&answer) } else { say_sight(&answer) }
        }
        QueryKind::Profile { corners, step } => {
            if !corners.len().is_multiple_of(2) {
                let detail = format!("{} numbers do not make pairs", corners.len());
                return Err(Diagnostic::error("query", "no such line").with_detail(detail).into());
            }
            let corners = corners.chunks_exact(2).map(|pair| place(pair[0], pair[1])).collect::<Result<Vec<_>, _>>()?;
            let rows = query::query_profile(ground, &corners, *step)?;
            progress.finish();
            if json { print::json(&rows) } else { say_profile(&rows) }
        }
        QueryKind::Footprint { x, z, heading, wheelbase, track } => {
            let answer = query::query_footprint(ground, place(*x, *z)?, *heading, *wheelbase, *track)?;
            progress.finish();
            if json { print::json(&answer) } else { say_footprint(answer.as_ref()) }
        }
    }
    Ok(())
}

fn six(numbers: &[f64]) -> Result<[f64; 6], Failure> {
    let detail = || format!("six numbers are needed, not {}", numbers.len());
    numbers.try_into().map_err(|_| Diagnostic::error("query", "numbers are missing").with_detail(detail()).into())
}

fn say_ray(answer: &RayAnswer) {
    let Some(hit) = &answer.hit else {
        say!("no hit within {} m", answer.ray.most_m);
        return;
    };
    let (p, n) = (hit.position_m, hit.normal);
    say!("hit       {:.4} m along the ray{}", hit.distance_m, if hit.is_from_below { ", from below" } else { "" });
    say!("position  {:.4}, {:.4}, {:.4} m (site x, y, z)", p.x, p.y, p.z);
    say!("normal    {:.6}, {:.6}, {:.6}", n.x, n.y, n.z);
}

fn say_sight(answer: &SightAnswer) {
    match &answer.sight.blocked {
        None => say!("clear     over {:.3} m", answer.sight.distance_m),
        Some(hit) => {
            let p = hit.position_m;
            say!("blocked   {:.4} m from the first end, of {:.3} m", hit.distance_m, answer.sight.distance_m);
            say!("at        {:.4}, {:.4}, {:.4} m (site x, y, z)", p.x, p.y, p.z);
        }
    }
}

fn say_places(rows: &[PlaceRow]) {
    say!("x_m,z_m,y_m,datum_height_m,slope_deg,origin,class,source");
    for PlaceRow { x_m, z_m, ground } in rows {
        match ground {
            Some(ground) => say!(
                "{x_m:.4},{z_m:.4},{:.4},{:.4},{:.4},{},{},{}",
                ground.y_m,
                ground.datum_height_m,
                ground.slope_deg,
                print::origin(ground.origin),
                ground.class,
                ground.source
            ),
            None => say!("{x_m:.4},{z_m:.4},,,,,,"),
        }
    }
}

/// As CSV: what people do with a profile is to plot it.
fn say_profile(rows: &[ProfileRow]) {
    say!("distance_m,x_m,z_m,y_m,datum_height_m,slope_deg,origin,class,source");
    for ProfileRow { distance_m, x_m, z_m, ground } in rows {
        match ground {
            Some(ground) => say!(
                "{distance_m:.4},{x_m:.4},{z_m:.4},{:.4},{:.4},{:.4},{},{},{}",
                ground.y_m,
                ground.datum_height_m,
                ground.slope_deg,
                print::origin(ground.origin),
                ground.class,
                ground.source
            ),
            None => say!("{distance_m:.4},{x_m:.4},{z_m:.4},,,,,,"),
        }
    }
}

fn say_footprint(footprint: Option<&FootprintAnswer>) {
    let Some(footprint) = footprint else {
        say!("no ground under a wheel: outside the data, or in a hole");
        return;
    };
    say!("height    y {:.4} m at the centre", footprint.y_m);
    say!("pitch     {:.3} degrees, nose up", footprint.pitch_deg);
    say!("roll      {:.3} degrees, left side up", footprint.roll_deg);
    say!("slope     {:.3} degrees", footprint.slope_deg);
    say!("uneven    {:.4} m between a wheel's contact and the plane", footprint.unevenness_m);
}
