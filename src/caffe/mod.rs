//! What the process's Caffe is, and what its `Caffe::mode()` says.
//!
//! `Caffe::mode()` is inline in Caffe: it reads a field of the object that `caffe::Caffe::Get()` returns, per
//! thread. The function is looked for in every loaded object, since pycaffe loads its libcaffe `RTLD_LOCAL`, and
//! nothing is ever loaded for it. A Caffe that is linked into a program which does not export its symbols is not
//! found: then nothing is page-locked, unless a callback says that the mode is GPU.
//!
//! [`build`] is asked for every new host block. A GPU build that was found once is found for good, which costs one
//! load. Anything else may change with the next `dlopen`, so the answer is kept together with the number of
//! objects loaded so far, which is compared again only where the caller says that the block is worth it: some tens
//! of nanoseconds.
#![expect(unsafe_code, reason = "Caffe's functions are found by name and called")]

mod asking;
mod callback;
mod search;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::platform::cancel_guard::Uncancelled;
use crate::platform::loaded;
pub use callback::{set as set_callback, syncedmem_mode_callback_t};
use search::{Finding, Mode};

/// What kind of Caffe is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// None that can be seen.
    NoCaffe,
    /// One built with `CPU_ONLY`, where the mode never matters.
    CpuOnly,
    /// One that knows CUDA.
    Gpu,
}

/// A GPU build's [`Mode`], packed; 0 until one was found.
// Relaxed throughout: each word says all there is to say, and what it names was there before this library was asked.
static GPU: AtomicU64 = AtomicU64::new(0);

/// Whatever else was found, in the lowest bit, and above it the number of objects that were loaded by then; 0 before
/// the first look.
static OTHER: AtomicU64 = AtomicU64::new(0);
const CPU_ONLY: u64 = 1;

/// What Caffe is loaded. With `look_again`, objects that were loaded since the last look are noticed.
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
    let (finding, loaded) = search::search();
    match finding {
        Finding::Gpu(mode) => {
            GPU.store(mode.pack(), Ordering::Relaxed);
            Build::Gpu
        }
        Finding::CpuOnly => {
            OTHER.store(loaded << 1 | CPU_ONLY, Ordering::Relaxed);
            Build::CpuOnly
        }
        Finding::Nothing => {
            OTHER.store(loaded << 1, Ordering::Relaxed);
            Build::NoCaffe
        }
    }
}

/// Whether `Caffe::mode()` is GPU on this thread: the registered callback knows, else Caffe's own field, else not.
///
/// It calls foreign code, which may use the library: nothing may be held. An exception from it ends the process.
/// `Get()` makes the thread's Caffe with its cuBLAS handle: to be asked only where Caffe itself would have asked, never
/// when memory is freed.
#[inline]
pub fn is_gpu(look_again: bool) -> bool {
    let is_known = OTHER.load(Ordering::Relaxed) != 0 && GPU.load(Ordering::Relaxed) == 0;
    let nobody_to_ask = is_known && !look_again && !callback::is_registered();
    !nobody_to_ask && ask(look_again)
}

#[cold]
fn ask(look_again: bool) -> bool {
    // A callback, or a Caffe that is just being made, may use the library: it is not asked again for that.
    let Some(_asking) = asking::begin() else { return false };
    let _uncancelled = Uncancelled::begin();
    if let Some(answer) = callback::ask() {
        return answer == search::BREW_GPU;
    }
    if build(look_again) != Build::Gpu {
        return false;
    }
    Mode::unpack(GPU.load(Ordering::Relaxed)).is_some_and(|mode| mode.read() == Some(search::BREW_GPU))
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
