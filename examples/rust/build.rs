//! Makes Rust of the headers of syncedmem, and links with the library.

use std::env;
use std::path::PathBuf;

fn main() {
    // Of an installed library `pkg-config --variable=includedir --variable=libdir syncedmem` says where they are.
    let include = PathBuf::from("../../include");
    let mut headers: Vec<_> =
        include.read_dir().expect("it is there").map(|entry| entry.expect("it is readable").path()).collect();
    headers.retain(|path| path.extension().is_some_and(|extension| extension == "h"));
    let library =
        PathBuf::from(env::var_os("SYNCEDMEM_LIBRARY").expect("SYNCEDMEM_LIBRARY is the path of libsyncedmem.so"));
    let folder = library.parent().expect("a file is in a folder");

    let bindings = bindgen::Builder::default()
        .headers(headers.iter().map(|path| path.to_string_lossy()))
        .allowlist_item("(syncedmem|SYNCEDMEM|CaffeMallocHost|CaffeFreeHost).*")
        .prepend_enum_name(false)
        .derive_default(true)
        .generate()
        .expect("bindgen reads the headers");
    let bindings_rs = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo says where")).join("bindings.rs");
    bindings.write_to_file(bindings_rs).expect("its folder is writable");

    println!("cargo::rerun-if-changed={}", include.display());
    println!("cargo::rerun-if-env-changed=SYNCEDMEM_LIBRARY");
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=dylib=syncedmem");
}
