//! Names the shared library for the loader and keeps it mapped for the life of the process.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The soname changes with the C API's major version, never with the crate's.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsyncedmem.so.0");
    // Caffe's objects and pthread_atfork keep pointers into us: unloading is never safe.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
