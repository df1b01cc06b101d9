//! Gives the library the soname that programs open, and keeps it loaded: its threads and its exit handler run code of it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
