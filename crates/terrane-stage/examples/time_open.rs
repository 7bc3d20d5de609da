//! Reads stages in the confined reader and says how long each took:
//! `cargo run -p terrane-stage --example time_open -- FILE...`

use std::time::Instant;
use terrane_stage::{ConfinedReader, ReadRequest};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    terrane_stage::run_reader_child_if_asked();
    let reader = ConfinedReader::this_program()?;
    for stage in std::env::args_os().skip(1) {
        let started = Instant::now();
        let read = reader.read(&ReadRequest::new(&stage));
        println!("{:.3} s  {}", started.elapsed().as_secs_f64(), stage.to_string_lossy());
        match read {
            Ok(site) => {
                println!("  {} prims, {} layers", site.prim_count, site.layers.len());
                site.diagnostics.iter().for_each(|diagnostic| println!("{diagnostic}"));
            }
            Err(error) => println!("{}", error.diagnostic()),
        }
    }
    Ok(())
}
