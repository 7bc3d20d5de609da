//! Places from a CSV file.

use crate::Failure;
use crate::ground::Ground;
use crate::query::Place;
use std::path::Path;
use terrane_core::Diagnostic;

/// The most places of a file.
const MOST_PLACES: usize = 10_000_000;

fn refused(title: &str, detail: impl Into<String>) -> Diagnostic {
    Diagnostic::error("places", title).with_detail(detail)
}

/// Places of a CSV file whose first line names its columns: `x_m` and `z_m`
/// (site frame, metres), or `lon_deg` and `lat_deg`, in any place among others.
/// Returns site x and z, metres.
pub fn read_places(path: &Path, is_lon_lat: bool, ground: &Ground) -> Result<Vec<(f64, f64)>, Failure> {
    let at = |line: Option<u64>| {
        let place = terrane_core::Place::file(path.display().to_string());
        match line {
            Some(line) => place.at(u32::try_from(line).unwrap_or(u32::MAX), None),
            None => place,
        }
    };
    let unread = |error: csv::Error| {
        let line = error.position().map(csv::Position::line);
        refused("places can't be read", error.to_string()).with_place(at(line))
    };
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .flexible(true)
        .from_path(path)
        .map_err(unread)?;
    let header = reader.headers().map_err(unread)?.clone();
    let names = if is_lon_lat { ["lon_deg", "lat_deg"] } else { ["x_m", "z_m"] };
    let column = |name: &str| header.iter().position(|found| found.trim_start_matches('\u{feff}') == name);
    let (Some(first), Some(second)) = (column(names[0]), column(names[1])) else {
        let found = header.iter().collect::<Vec<_>>().join(",");
        let is_other = column("lon_deg").is_some() || column("x_m").is_some();
        let help = match (is_other, is_lon_lat) {
            (true, false) => "longitude and latitude take --lon-lat",
            (true, true) => "leave out --lon-lat for site x and z",
            _ => "the first line names the columns",
        };
        return Err(refused(
            "file has no places",
            format!("expected columns {},{}; found {found}", names[0], names[1]),
        )
        .with_place(at(Some(1)))
        .with_help(help)
        .into());
    };
    let mut places_xz_m = Vec::new();
    for record in reader.records() {
        let record = record.map_err(unread)?;
        let line = record.position().map(csv::Position::line);
        let number = |column: usize, name: &str| {
            let text = record.get(column).unwrap_or_default();
            text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| {
                let found = if text.is_empty() { "it is missing".to_owned() } else { format!("found `{text}`") };
                refused("file has a bad row", format!("expected a number in {name}; {found}")).with_place(at(line))
            })
        };
        let (a, b) = (number(first, names[0])?, number(second, names[1])?);
        let place = if is_lon_lat { Place::LonLat(a, b) } else { Place::Site(a, b) };
        places_xz_m.push(place.xz_m(ground)?);
        if places_xz_m.len() > MOST_PLACES {
            let detail = format!("more than {MOST_PLACES} places");
            return Err(refused("file is too long", detail).with_place(at(line)).into());
        }
    }
    Ok(places_xz_m)
}
