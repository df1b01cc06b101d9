//! A stand-in for cuBLAS on the simulated driver (`cublas.c`), loaded into the process as the library looks for it.

use std::ffi::c_int;

use super::driver::{open, simulated, symbol};
use super::*;

/// The stand-in, and what it counts.
pub struct Cublas {
    library: *mut std::ffi::c_void,
    _folder: Folder,
}

impl Cublas {
    /// Compiles and loads it. In its own process: it stays.
    pub fn load() -> Cublas {
        let folder = Folder::new();
        let source = folder.source("cublas.c", include_str!("cublas.c"));
        let driver = simulated();
        let arguments = [
            "-shared".into(),
            "-fPIC".into(),
            "-Wl,-soname,libcublas.so.12".into(),
            source,
            driver.clone(),
            "-lm".into(),
        ];
        let file = folder.compile("libcublas.so.12", &arguments);
        Cublas { library: open(file.to_str().unwrap()), _folder: folder }
    }

    fn function<T>(&self, name: &str) -> T {
        unsafe { std::mem::transmute_copy(&symbol(self.library, name)) }
    }

    /// Handles made, handles destroyed, calls of the others.
    pub fn counts(&self) -> [c_int; 3] {
        ["blas_made", "blas_ended", "blas_calls"].map(|name| self.function::<extern "C" fn() -> c_int>(name)())
    }

    /// The next call returns `status`.
    pub fn fail(&self, status: c_int) {
        self.function::<extern "C" fn(c_int)>("blas_fail")(status);
    }

    /// The next creation of a handle returns `status`.
    pub fn fail_create(&self, status: c_int) {
        self.function::<extern "C" fn(c_int)>("blas_fail_create")(status);
    }
}

/// Skips a test that needs a process which has no cuBLAS and can load none.
pub fn without() {
    let names = [c"libcublas.so.13", c"libcublas.so.12", c"libcublas.so.11"];
    if names.iter().any(|name| !unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) }.is_null()) {
        skip("this machine has a cuBLAS");
    }
}
