//! The smallest program that a confined reader can start; tests use it, and so
//! may embedders whose own `main` can't be changed.

fn main() {
    terrane_stage::run_reader_child_if_asked();
    eprintln!("this program reads USD stages for a terrane_stage::ConfinedReader, which starts it");
    std::process::exit(2);
}
