//! The files that the dynamic linker has loaded: the file at an address, the files that define a symbol, and the file that called this library.
#![expect(unsafe_code, reason = "functions of the dynamic linker and the unwinder are called")]

use std::ffi::{CStr, CString, c_int, c_void};
use std::ops::Range;

/// A loaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Empty for the program itself.
    name: CString,
    pub range: Range<usize>,
}

/// A handle of `dlopen`. Its drop closes the file.
struct Handle(*mut c_void);

impl Handle {
    fn of(file: &File, flags: c_int) -> Option<Handle> {
        let name = if file.name.is_empty() { std::ptr::null() } else { file.name.as_ptr() };
        // SAFETY: the name is NUL-terminated, or NULL for the program; RTLD_NOLOAD runs no initialiser.
        let handle = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD | flags) };
        (!handle.is_null()).then(|| Handle(handle))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: dlopen returned the handle, which is closed once.
        unsafe { libc::dlclose(self.0) };
    }
}

impl File {
    /// Searches the file and its dependencies, but not this library.
    pub fn find(&self, symbol: &CStr) -> Option<*mut c_void> {
        let handle = Handle::of(self, 0)?;
        // SAFETY: the handle is open; the symbol is NUL-terminated.
        let found = unsafe { libc::dlsym(handle.0, symbol.as_ptr()) };
        (!found.is_null() && !is_own(found.addr())).then_some(found)
    }

    /// Searches only the file.
    pub fn defines(&self, symbol: &CStr) -> Option<*mut c_void> {
        self.find(symbol).filter(|found| self.range.contains(&found.addr()))
    }

    /// Keeps the file loaded until the process exits. False: it has been unloaded, and another file may be in its place.
    pub fn hold(&self) -> bool {
        self.is_loaded() && Handle::of(self, libc::RTLD_NODELETE).is_some() && self.is_loaded()
    }

    pub fn is_loaded(&self) -> bool {
        file_at(self.range.start).is_some_and(|file| file == *self)
    }
}

/// The next definition in the global scope, after this library's.
pub fn next(symbol: &CStr) -> Option<*mut c_void> {
    // SAFETY: the symbol is NUL-terminated.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, symbol.as_ptr()) };
    (!next.is_null()).then_some(next)
}

/// A number that changes whenever a file is loaded or unloaded; never 0.
pub fn generation() -> u64 {
    let mut generation = 1;
    walk(|file| {
        generation = file.dlpi_adds.wrapping_shl(32).wrapping_add(file.dlpi_subs).wrapping_add(1);
        true
    });
    generation
}

/// The files after this library, in load order. A call reaches this library only if neither the program nor a library that is preloaded before
/// it has a definition, or if that one passes the call on.
pub fn files() -> Vec<File> {
    let mut files = Vec::new();
    walk(|file| {
        match read(file) {
            Some(file) if file.range.contains(&own_address()) => files.clear(),
            file => files.extend(file.filter(|file| !file.name.is_empty())),
        }
        false
    });
    files
}

pub fn file_at(address: usize) -> Option<File> {
    let mut found = None;
    walk(|file| {
        found = read(file).filter(|file| file.range.contains(&address));
        found.is_some()
    });
    found
}

/// The return address of the outermost function of this library on the stack.
pub fn caller() -> Option<usize> {
    extern "C" fn visit(context: *mut c_void, caller: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes a valid context.
        let address = unsafe { _Unwind_GetIP(context) };
        // SAFETY: `caller` passes its variable, and does not use it meanwhile.
        let caller = unsafe { &mut *caller.cast::<Option<usize>>() };
        // The return address may be the first of the next function.
        if is_own(address.wrapping_sub(1)) {
            return GO_ON;
        }
        *caller = (address != 0).then_some(address);
        END_OF_STACK
    }
    let mut caller: Option<usize> = None;
    // SAFETY: `visit` gets a pointer to `caller`, which outlives the call.
    unsafe { _Unwind_Backtrace(visit, (&raw mut caller).cast()) };
    caller
}

fn own_address() -> usize {
    own_address as fn() -> usize as usize
}

fn is_own(address: usize) -> bool {
    static OWN: [std::sync::atomic::AtomicUsize; 2] = [const { std::sync::atomic::AtomicUsize::new(0) }; 2];
    use std::sync::atomic::Ordering::Relaxed;
    if OWN[1].load(Relaxed) == 0 {
        let Some(own) = file_at(own_address()) else { return false };
        OWN[0].store(own.range.start, Relaxed);
        OWN[1].store(own.range.end, Relaxed);
    }
    (OWN[0].load(Relaxed)..OWN[1].load(Relaxed)).contains(&address)
}

/// `None`: the file has no segments.
fn read(file: &libc::dl_phdr_info) -> Option<File> {
    // SAFETY: the table has `dlpi_phnum` entries; dl_iterate_phdr keeps the file loaded during the walk.
    let headers = unsafe { std::slice::from_raw_parts(file.dlpi_phdr, usize::from(file.dlpi_phnum)) };
    let segments = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let base = file.dlpi_addr as usize;
    let ranges = segments.map(|header| (header.p_vaddr as usize, (header.p_vaddr + header.p_memsz) as usize));
    let (start, end) = ranges.reduce(|(start, end), (from, to)| (start.min(from), end.max(to)))?;
    let name = if file.dlpi_name.is_null() {
        CString::default()
    } else {
        // SAFETY: dl_iterate_phdr passes NUL-terminated names.
        unsafe { CStr::from_ptr(file.dlpi_name) }.to_owned()
    };
    Some(File { name, range: base.wrapping_add(start)..base.wrapping_add(end) })
}

/// Visits the loaded files until the visitor returns true.
fn walk<F: FnMut(&libc::dl_phdr_info) -> bool>(mut is_enough: F) {
    unsafe extern "C" fn visit<F: FnMut(&libc::dl_phdr_info) -> bool>(
        file: *mut libc::dl_phdr_info,
        _: usize,
        is_enough: *mut c_void,
    ) -> c_int {
        // SAFETY: `walk` passes its visitor, and does not use it meanwhile.
        let is_enough = unsafe { &mut *is_enough.cast::<F>() };
        // SAFETY: dl_iterate_phdr passes a valid structure, which has all members in glibc.
        c_int::from(is_enough(unsafe { &*file }))
    }
    // SAFETY: `visit` gets a pointer to the visitor, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit::<F>), (&raw mut is_enough).cast()) };
}

/// Itanium C++ ABI: Exception Handling, level 1, with `_Unwind_Backtrace` of GCC and LLVM.
type Visitor = extern "C" fn(*mut c_void, *mut c_void) -> c_int;
unsafe extern "C" {
    fn _Unwind_Backtrace(visit: Visitor, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

const GO_ON: c_int = 0;
const END_OF_STACK: c_int = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_an_address_and_defines_its_own_symbols() {
        let file = file_at(libc::getenv as *const () as usize).unwrap();
        assert_eq!(file.defines(c"getenv").map(|found| file.range.contains(&found.addr())), Some(true));
        assert_eq!(file.defines(c"no_such_function"), None);
        assert!(files().iter().any(|other| other.range == file.range));
        assert!(files().iter().all(|other| !other.range.contains(&own_address())), "this library is no Caffe");
    }

    #[test]
    fn loading_a_file_changes_the_generation() {
        let before = generation();
        assert_eq!(generation(), before);
        // SAFETY: these libraries come with the C library, and have no harmful initialisers.
        let opened = [c"libresolv.so.2", c"libutil.so.1", c"libnsl.so.1"]
            .map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) });
        assert!(opened.iter().any(|handle| !handle.is_null()));
        assert_ne!(generation(), before);
    }
}
