//! libsyncedmem_net.so, which also needs jumps at the entries of functions of nets and solvers.
#![expect(unsafe_code, reason = "a function of another library is called")]

use std::ffi::{CStr, c_char};

use syncedmem_caffe_file::jump::Site;
use syncedmem_caffe_file::names::{FUNCTIONS, HOOKS};
use syncedmem_core::text::Escaped;

use super::file::File;
use crate::platform::loaded::{self, Object};
use crate::platform::text::warn;

/// Signature of `syncedmem::in_front`.
type InFront = unsafe extern "C" fn(
    *const c_char,
    usize,
    *const u8,
    usize,
    &[usize; HOOKS.len()],
    &mut [Site; HOOKS.len()],
) -> usize;

pub struct NetLibrary {
    in_front: InFront,
    /// Addresses of `HOOKS`; 0 where the library has no such function.
    hooks: [usize; HOOKS.len()],
    /// Addresses of the library's constructors among `FUNCTIONS`; 0 for other functions.
    pub functions: [usize; FUNCTIONS.len()],
}

impl NetLibrary {
    pub fn find() -> Option<NetLibrary> {
        loaded::find_map(|object| {
            let symbols = object.symbols()?;
            let find = |name: &CStr| symbols.find(name).map_or(0, |function| function.addr().get());
            let in_front = symbols.find(c"_ZN9syncedmem8in_frontEPKcmPKhmPKmPNS_4SiteE")?;
            // SAFETY: libsyncedmem_net.so gives this name this signature.
            let in_front = unsafe { std::mem::transmute::<*mut std::ffi::c_void, InFront>(in_front.as_ptr()) };
            Some(NetLibrary { in_front, hooks: HOOKS.map(find), functions: FUNCTIONS.map(find) })
        })
    }

    /// Appends the jumps that the library needs in a loaded file, and returns their number. If it cannot have them, warns and
    /// appends none.
    pub fn append(&self, object: &Object, file: &File, sites: &mut [Site], path: &CStr) -> usize {
        let (bytes, mut found) = (file.bytes(), [Site::default(); HOOKS.len()]);
        // SAFETY: the file is the object's, which the loader's lock keeps loaded; the type fixes the tables' lengths.
        let count = unsafe {
            (self.in_front)(path.as_ptr(), object.base(), bytes.as_ptr(), bytes.len(), &self.hooks, &mut found)
        };
        let found = &found[..count.min(sites.len())];
        if !found.iter().all(|site| super::is_unchanged(object, file, site)) {
            let path = Escaped(path.to_bytes());
            warn(format_args!("the layers of {path} have no names: a function in memory differs from the file"));
            return 0;
        }
        sites[..found.len()].copy_from_slice(found);
        found.len()
    }
}
