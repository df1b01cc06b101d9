//! Takes the place of `mmap`, `munmap` and `mremap` in this program, and counts the mappings that could hold a large block.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::support::pools::MIB;

static MAPPED: AtomicUsize = AtomicUsize::new(0);
static UNMAPPED: AtomicUsize = AtomicUsize::new(0);
/// Whether `main` is done, as far as the test goes: mappings that end from now on are printed.
pub static EXITING: AtomicBool = AtomicBool::new(false);

/// Whether a mapping may get another size, and another address.
pub static MAY_MOVE: AtomicBool = AtomicBool::new(true);

#[unsafe(no_mangle)]
extern "C" fn mmap(at: *mut c_void, len: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void {
    MAPPED.fetch_add(usize::from(len >= 2 * MIB), Relaxed);
    unsafe { libc::syscall(libc::SYS_mmap, at, len, access, flags, file, offset) as *mut c_void }
}

#[unsafe(no_mangle)]
extern "C" fn munmap(at: *mut c_void, len: usize) -> c_int {
    UNMAPPED.fetch_add(usize::from(len >= 2 * MIB), Relaxed);
    if EXITING.load(Relaxed) && len >= 2 * MIB {
        eprintln!("unmapped {len} bytes at exit");
    }
    unsafe { libc::syscall(libc::SYS_munmap, at, len) as c_int }
}

#[unsafe(no_mangle)]
extern "C" fn mremap(at: *mut c_void, len: usize, new_len: usize, flags: c_int, new: *mut c_void) -> *mut c_void {
    if !MAY_MOVE.load(Relaxed) {
        return libc::MAP_FAILED;
    }
    unsafe { libc::syscall(libc::SYS_mremap, at, len, new_len, flags, new) as *mut c_void }
}

/// How many mappings were made and ended since the last call.
pub fn mappings() -> (usize, usize) {
    (MAPPED.swap(0, Relaxed), UNMAPPED.swap(0, Relaxed))
}
