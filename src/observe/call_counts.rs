//! Counts the calls of the C++ entry points, to show that Caffe's calls arrive in this library.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::observe::control;
use crate::state::flags::{self, ACCOUNT};

#[derive(Clone, Copy, Debug)]
pub enum Call {
    Construct,
    Destroy,
    CpuData,
    MutableCpuData,
    GpuData,
    MutableGpuData,
    SetCpuData,
    SetGpuData,
    AsyncGpuPush,
    Resize,
    MallocHost,
    FreeHost,
    CheckDevice,
}

const NAMES: [&str; Call::CheckDevice as usize + 1] = [
    "construct",
    "destroy",
    "cpu_data",
    "mutable_cpu_data",
    "gpu_data",
    "mutable_gpu_data",
    "set_cpu_data",
    "set_gpu_data",
    "async_gpu_push",
    "resize",
    "malloc_host",
    "free_host",
    "check_device",
];

impl Call {
    pub const fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

static COUNTS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

#[inline(always)]
pub fn count(call: Call) {
    if flags::is_observed() {
        count_if_on(call);
    }
}

#[cold]
#[inline(never)]
fn count_if_on(call: Call) {
    control::read_settings();
    if flags::has(ACCOUNT) {
        COUNTS[call as usize].fetch_add(1, Relaxed);
    }
}

/// Resets the counts in a forked child, which counts its own calls.
pub fn forget() {
    COUNTS.iter().for_each(|count| count.store(0, Relaxed));
}

pub fn are_any() -> bool {
    COUNTS.iter().any(|count| count.load(Relaxed) > 0)
}

/// Prints the counts that are not 0: ` construct=2 destroy=1`.
pub struct Calls;

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = NAMES.iter().zip(&COUNTS).map(|(name, count)| (name, count.load(Relaxed)));
        counts.filter(|&(_, count)| count > 0).try_for_each(|(name, count)| write!(f, " {name}={count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_its_name() {
        assert_eq!(Call::Construct.name(), "construct");
        assert_eq!(Call::AsyncGpuPush.name(), "async_gpu_push");
        assert_eq!(Call::FreeHost.name(), "free_host");
    }
}
