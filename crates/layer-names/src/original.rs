//! The functions behind this library.

use std::ffi::{CStr, CString, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::detour;

/// The function behind a symbol that this library defines too.
pub struct Original<F> {
    symbol: &'static str,
    found: AtomicPtr<c_void>,
    of: PhantomData<F>,
}

impl<F: Copy> Original<F> {
    pub const fn new(symbol: &'static str) -> Self {
        assert!(size_of::<F>() == size_of::<*mut c_void>());
        Original { symbol, found: AtomicPtr::new(null_mut()), of: PhantomData }
    }

    /// Ends the process if no loaded file has the function, as the dynamic linker would.
    pub fn get(&self) -> F {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            let Some(function) = detour::original(self.symbol).or_else(|| find(self.symbol)) else {
                eprintln!(
                    "libsyncedmem_names.so: {} is in no other loaded file; run without names (--no-names)",
                    self.symbol
                );
                std::process::abort();
            };
            found = function;
            self.found.store(found, Ordering::Relaxed);
        }
        // SAFETY: `new` checked the size, and its caller gave the type of the symbol's function.
        unsafe { std::mem::transmute_copy::<*mut c_void, F>(&found) }
    }
}

/// Searches outside of this library: in the files behind it in the order of look-ups, or, for a Caffe that Python
/// loaded for itself (RTLD_LOCAL), in any loaded file.
pub fn find(symbol: &str) -> Option<*mut c_void> {
    let symbol = CString::new(symbol).ok()?;
    // SAFETY: the symbol is NUL-terminated.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, symbol.as_ptr()) };
    if !next.is_null() {
        return Some(next);
    }
    loaded_files().iter().find_map(|file| in_file(file, &symbol))
}

/// Searches that file and those that it needs, but not this library.
fn in_file(file: &CStr, symbol: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is NUL-terminated; RTLD_NOLOAD runs no initialiser.
    let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: dlopen returned the handle; the symbol is NUL-terminated.
    let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
    // SAFETY: as above. The file stays loaded by those that loaded it.
    unsafe { libc::dlclose(handle) };
    (!found.is_null() && base_of(found) != base_of(in_file as *mut c_void)).then_some(found)
}

fn base_of(function: *mut c_void) -> *mut c_void {
    let mut file = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr takes any address; the structure is writable.
    unsafe { libc::dladdr(function, file.as_mut_ptr()) };
    // SAFETY: zeros are a value of it.
    unsafe { file.assume_init() }.dli_fbase
}

fn loaded_files() -> Vec<CString> {
    unsafe extern "C" fn add(file: *mut libc::dl_phdr_info, _: usize, files: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid structure.
        let name = unsafe { (*file).dlpi_name };
        if !name.is_null() {
            // SAFETY: `loaded_files` passes a pointer to its vector, which is borrowed for the call.
            let files = unsafe { &mut *files.cast::<Vec<CString>>() };
            // SAFETY: the loader's names are NUL-terminated.
            files.push(unsafe { CStr::from_ptr(name) }.to_owned());
        }
        0
    }
    let mut files: Vec<CString> = Vec::new();
    // SAFETY: `add` gets a pointer to `files`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut files).cast()) };
    // The program itself has an empty name, which dlopen does not take.
    files.retain(|file| !file.is_empty());
    files
}
