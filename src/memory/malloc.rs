#![expect(unsafe_code, reason = "posix_memalign and malloc_trim are called")]

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::platform::loaded;
use crate::settings;

/// Blocks of more than [`SMALL`] bytes start on a multiple of this: a cache line, and an AVX-512 register.
pub const ALIGNMENT: usize = 64;

/// Blocks of up to this many bytes are malloc's, one by one.
pub const SMALL: usize = 4 << 10;

/// glibc's per-thread cache serves malloc up to this size, and calloc not at all.
pub const TINY: usize = 1032;

/// Allocates memory that `free()` takes, aligned to [`ALIGNMENT`].
pub fn aligned(bytes: usize) -> Option<NonNull<c_void>> {
    let mut address = std::ptr::null_mut();
    // Under `malloc_only` the block ends where its object does, so that valgrind sees writes after its end.
    let is_exact = settings::malloc_only() || of_this_malloc().is_none();
    let bytes = if is_exact { bytes } else { to_end_of_chunk(bytes) };
    // SAFETY: `address` is writable; the alignment is a power of two and a multiple of a pointer's size.
    let failed = unsafe { libc::posix_memalign(&mut address, ALIGNMENT, bytes) };
    if failed == 0 { NonNull::new(address) } else { None }
}

/// Rounds up so that glibc's chunk, with its header of one word, ends where an aligned block may begin. Otherwise glibc
/// cuts off a small chunk there, which keeps its large neighbours from joining: a program of random sizes needed a
/// third more memory.
fn to_end_of_chunk(bytes: usize) -> usize {
    const HEADER: usize = size_of::<usize>();
    (bytes + HEADER).next_multiple_of(ALIGNMENT) - HEADER
}

type Trim = unsafe extern "C" fn(usize) -> i32;

/// Calls malloc_trim if malloc is glibc's. A block must have been allocated before: it has initialised the arenas, which malloc_trim would
/// initialise without a lock.
pub fn return_to_system() {
    if let Some(trim) = of_this_malloc() {
        // SAFETY: malloc_trim has no preconditions.
        unsafe { trim(0) };
    }
}

/// Finds malloc_trim if this process's malloc is glibc's: the first object that exports a part of malloc's family exports all of it. If
/// there is another malloc, glibc's malloc_trim would initialise arenas that nothing uses.
fn of_this_malloc() -> Option<Trim> {
    const UNKNOWN: usize = 0;
    const NONE: usize = 1;
    static FOUND: AtomicUsize = AtomicUsize::new(UNKNOWN);
    // Relaxed: two threads that search find the same function.
    let mut address = FOUND.load(Ordering::Relaxed);
    if address == UNKNOWN {
        address = look().unwrap_or(NONE);
        FOUND.store(address, Ordering::Relaxed);
    }
    // SAFETY: malloc_trim of an object that is never unloaded: malloc is bound to it.
    (address != NONE).then(|| unsafe { std::mem::transmute::<usize, Trim>(address) })
}

fn look() -> Option<usize> {
    let mut trim = None;
    loaded::each(|object| {
        let Some(symbols) = object.symbols() else { return ControlFlow::Continue(()) };
        let family = [c"malloc", c"posix_memalign", c"malloc_trim"].map(|name| symbols.find(name));
        if let [Some(_), Some(_), Some(address)] = family {
            trim = Some(address.as_ptr().expose_provenance());
        }
        if family.iter().any(Option::is_some) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    trim
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_next_chunk_begins_aligned_and_less_than_a_line_is_spent_on_that() {
        for bytes in 1..10_000 {
            let all = to_end_of_chunk(bytes);
            assert!((bytes..bytes + ALIGNMENT).contains(&all) && (all + 8) % ALIGNMENT == 0, "{bytes}: {all}");
        }
    }

    #[test]
    fn glibcs_malloc_is_trimmed_by_its_own_function() {
        assert_eq!(look(), Some((libc::malloc_trim as *const ()).expose_provenance()));
    }
}
