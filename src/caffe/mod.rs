//! Finds the process's Caffe and reads its `Caffe::mode()`.
//!
//! `Caffe::mode()` is inline: it reads a field of the object that `caffe::Caffe::Get()` returns for each thread.
//!
//! [`build`] is called for every new host block. The answer [`Build::Gpu`] is final and costs one load. Any other answer may
//! change with the next `dlopen`, so it is stored with the number of objects loaded by then; comparing that number
//! (`look_again`) costs some tens of nanoseconds.
#![expect(unsafe_code, reason = "Caffe's functions are found by name and called")]

mod callback;
mod search;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::observe::trace;
use crate::platform::cancel_guard::CancelGuard;
use crate::platform::loaded;
use crate::platform::thread_pointer::ThreadPointer;
use crate::state::flags::{self, MAY_PIN};
pub use callback::{set as set_callback, syncedmem_mode_callback_t};
use search::{Finding, Mode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    NoCaffe,
    /// Built with `CPU_ONLY`: its mode is never GPU.
    CpuOnly,
    Gpu,
}

/// A GPU build's [`Mode`], packed; 0 until one was found.
// Relaxed throughout: each word is complete in itself, and describes a Caffe that was loaded before.
static GPU: AtomicU64 = AtomicU64::new(0);

/// Any other answer: `CPU_ONLY`, and above it the number of objects loaded by then; 0 before the first search.
static OTHER: AtomicU64 = AtomicU64::new(0);
const CPU_ONLY: u64 = 1;

/// With `look_again`, also searches the objects loaded since the last search.
#[inline]
pub fn build(look_again: bool) -> Build {
    if GPU.load(Ordering::Relaxed) != 0 {
        return Build::Gpu;
    }
    let other = OTHER.load(Ordering::Relaxed);
    if other == 0 || (look_again && loaded::loaded_so_far() != other >> 1) {
        return look();
    }
    if other & CPU_ONLY != 0 { Build::CpuOnly } else { Build::NoCaffe }
}

#[cold]
fn look() -> Build {
    trace::caffes();
    let (finding, loaded) = search::search();
    if let Finding::Gpu(mode) = finding {
        GPU.store(mode.pack(), Ordering::Relaxed);
        flags::raise_if(true, MAY_PIN);
        return Build::Gpu;
    }
    let cpu_only = if finding == Finding::CpuOnly { CPU_ONLY } else { 0 };
    OTHER.store(loaded << 1 | cpu_only, Ordering::Relaxed);
    if cpu_only != 0 { Build::CpuOnly } else { Build::NoCaffe }
}

/// Whether [`is_gpu`] can be true. A change raises [`MAY_PIN`].
pub fn may_be_gpu() -> bool {
    callback::is_registered() || build(false) == Build::Gpu
}

/// Whether `Caffe::mode()` is GPU on this thread, by the registered callback, else by Caffe's own field.
///
/// Calls foreign code, which may use the library: the caller holds no lock. An exception from that code ends the process.
/// `Get()` creates the thread's cuBLAS handle: call this only where Caffe itself would ask, never when memory is freed.
#[inline]
pub fn is_gpu(look_again: bool) -> bool {
    let is_known = OTHER.load(Ordering::Relaxed) != 0 && GPU.load(Ordering::Relaxed) == 0;
    let nobody_to_ask = is_known && !look_again && !callback::is_registered();
    !nobody_to_ask && ask(look_again)
}

/// A pointer that is not NULL while the thread asks for the mode.
static ASKING: ThreadPointer = ThreadPointer::new(None);

struct Asking(());

impl Drop for Asking {
    fn drop(&mut self) {
        ASKING.set(std::ptr::null_mut());
    }
}

/// `None` if this thread is asking already, or there is no memory to note that.
fn begin_asking() -> Option<Asking> {
    let is_first = ASKING.get().is_null() && ASKING.set((&raw const ASKING).cast_mut().cast());
    // `then_some` would drop an `Asking` at once, and so clear the mark.
    is_first.then(|| Asking(()))
}

#[cold]
fn ask(look_again: bool) -> bool {
    // Do not ask again: this may be a callback, or a Caffe under construction, that uses the library.
    let Some(_asking) = begin_asking() else { return false };
    let _cancel_guard = CancelGuard::begin();
    if let Some(answer) = callback::ask() {
        return answer == search::BREW_GPU;
    }
    build(look_again) == Build::Gpu
        && Mode::unpack(GPU.load(Ordering::Relaxed)).is_some_and(|mode| mode.read() == Some(search::BREW_GPU))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_a_caffe_is_seen_as_one() {
        assert_eq!(build(false), Build::NoCaffe);
        assert_eq!(build(true), Build::NoCaffe);
    }

    #[test]
    fn what_was_found_is_kept_with_the_number_of_objects_loaded_by_then() {
        build(true);
        assert_eq!(OTHER.load(Ordering::Relaxed) >> 1, loaded::loaded_so_far());
    }
}
