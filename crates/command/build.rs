//! Gives the command the folder that it is built in, where `cargo install` leaves the library. Not with
//! SYNCEDMEM_RELOCATABLE: an installed command finds the library from its own place, and names no folder of the machine
//! that built it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SYNCEDMEM_RELOCATABLE");
    // target/release/build/syncedmem-command-…/out
    let built = std::env::var_os("OUT_DIR").map(std::path::PathBuf::from);
    let built = built.as_deref().and_then(|out| out.ancestors().nth(3));
    if let (None, Some(built)) = (std::env::var_os("SYNCEDMEM_RELOCATABLE"), built) {
        println!("cargo::rustc-env=SYNCEDMEM_BUILT_IN={}", built.display());
    }
}
