//! A stand-in for cuBLAS on the simulated driver (`cublas.c`), loaded into the process as the library looks for it.

use std::ffi::{CStr, CString, c_int};

use super::driver::simulated;
use super::*;

/// The stand-in, and what it counts.
pub struct Cublas {
    library: *mut std::ffi::c_void,
    _folder: Folder,
}

/// Whether the process has a cuBLAS, or could load one.
pub fn is_installed() -> bool {
    [c"libcublas.so.13", c"libcublas.so.12", c"libcublas.so.11"]
        .iter()
        .any(|name| !unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) }.is_null())
}

impl Cublas {
    /// Compiles and loads it. In a process of its own: it stays.
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
        let file = CString::new(file.to_str().unwrap()).unwrap();
        let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "{}", unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy());
        Cublas { library, _folder: folder }
    }

    fn function<T>(&self, name: &CStr) -> T {
        let found = unsafe { libc::dlsym(self.library, name.as_ptr()) };
        assert!(!found.is_null(), "{name:?}");
        unsafe { std::mem::transmute_copy(&found) }
    }

    fn count(&self, name: &CStr) -> c_int {
        let count: extern "C" fn() -> c_int = self.function(name);
        count()
    }

    /// Handles made, handles destroyed, calls of the others.
    pub fn counts(&self) -> [c_int; 3] {
        [c"blas_made", c"blas_ended", c"blas_calls"].map(|name| self.count(name))
    }

    /// The next call returns `status`.
    pub fn fail(&self, status: c_int) {
        let fail: extern "C" fn(c_int) = self.function(c"blas_fail");
        fail(status);
    }

    /// The next creation of a handle returns `status`.
    pub fn fail_create(&self, status: c_int) {
        let fail: extern "C" fn(c_int) = self.function(c"blas_fail_create");
        fail(status);
    }
}

/// Skips a test that needs a process without cuBLAS.
pub fn without() {
    if is_installed() {
        skip("this machine has a cuBLAS");
    }
}
