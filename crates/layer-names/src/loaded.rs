//! The files that the dynamic linker has loaded: which file an address is in, which files define a symbol, and which file called this library.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ops::Range;

/// A loaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Empty for the program itself.
    name: CString,
    pub range: Range<usize>,
}

/// `dlopen`'s handle. A handle that is dropped closes the file again.
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
        // SAFETY: dlopen returned the handle.
        unsafe { libc::dlclose(self.0) };
    }
}

impl File {
    /// Searches the file and those that it needs, but never this library.
    pub fn find(&self, symbol: &CStr) -> Option<*mut c_void> {
        let handle = Handle::of(self, 0)?;
        // SAFETY: the handle is open; the symbol is NUL-terminated.
        let found = unsafe { libc::dlsym(handle.0, symbol.as_ptr()) };
        (!found.is_null() && !is_own(found.addr())).then_some(found)
    }

    /// Searches the file alone.
    pub fn defines(&self, symbol: &CStr) -> Option<*mut c_void> {
        self.find(symbol).filter(|found| self.range.contains(&found.addr()))
    }

    /// Keeps the file loaded until the process exits. False: it is loaded no more, and another one may be in its place.
    pub fn hold(&self) -> bool {
        self.is_loaded() && Handle::of(self, libc::RTLD_NODELETE).is_some() && self.is_loaded()
    }

    pub fn is_loaded(&self) -> bool {
        file_at(self.range.start).is_some_and(|file| file == *self)
    }
}

/// The next definition in the global scope, behind this library.
pub fn next(symbol: &CStr) -> Option<*mut c_void> {
    // SAFETY: the symbol is NUL-terminated.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, symbol.as_ptr()) };
    (!next.is_null()).then_some(next)
}

/// Changes whenever a file is loaded or unloaded. Never 0.
pub fn generation() -> u64 {
    let mut generation = 1;
    walk(|file| {
        generation = file.dlpi_adds.wrapping_shl(32).wrapping_add(file.dlpi_subs).wrapping_add(1);
        true
    });
    generation
}

/// The files behind this library, in the order in which they were loaded. A call that leads here does not lead to a definition in the program,
/// or in a library that is preloaded in front of this one: those come before all others, and may pass it on to here.
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

/// The address at which the program continues when the outermost function of this library that is on the stack returns.
pub fn caller() -> Option<usize> {
    extern "C" fn visit(context: *mut c_void, caller: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes a context of its own.
        let address = unsafe { _Unwind_GetIP(context) };
        // SAFETY: `caller` passes its variable, which is borrowed for the call.
        let caller = unsafe { &mut *caller.cast::<Option<usize>>() };
        // The address behind a call may be the first one of the next function.
        if is_own(address.wrapping_sub(1)) {
            return GO_ON;
        }
        *caller = (address != 0).then_some(address);
        END_OF_STACK
    }
    let mut caller: Option<usize> = None;
    // SAFETY: `visit` gets a pointer to `caller`, which outlives the call. Unwinding only reads the stack.
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
    // SAFETY: the loader's table of program headers has `dlpi_phnum` entries and stays while the file is loaded, as during the walk.
    let headers = unsafe { std::slice::from_raw_parts(file.dlpi_phdr, usize::from(file.dlpi_phnum)) };
    let segments = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let base = file.dlpi_addr as usize;
    let ranges = segments.map(|header| (header.p_vaddr as usize, (header.p_vaddr + header.p_memsz) as usize));
    let (start, end) = ranges.reduce(|(start, end), (from, to)| (start.min(from), end.max(to)))?;
    let name = if file.dlpi_name.is_null() {
        CString::default()
    } else {
        // SAFETY: the loader's names are NUL-terminated.
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
        // SAFETY: `walk` passes its own visitor, borrowed for the call.
        let is_enough = unsafe { &mut *is_enough.cast::<F>() };
        // SAFETY: dl_iterate_phdr passes a valid structure; glibc's has all members.
        c_int::from(is_enough(unsafe { &*file }))
    }
    // SAFETY: `visit` gets a pointer to the visitor, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit::<F>), (&raw mut is_enough).cast()) };
}

/// From the C++ ABI for exceptions, chapter 1 ("Base ABI"), and the extensions of GCC and LLVM.
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
        // SAFETY: libraries of the C library's.
        let opened = [c"libresolv.so.2", c"libutil.so.1", c"libnsl.so.1"]
            .map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) });
        assert!(opened.iter().any(|handle| !handle.is_null()));
        assert_ne!(generation(), before);
    }
}
