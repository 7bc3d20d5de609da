//! Rebuilds the crate when a file of the library appears, changes or goes.

fn main() {
    for folder in ["../../shaders", "../../stages"] {
        println!("cargo:rerun-if-changed={folder}");
    }
}
