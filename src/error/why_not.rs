//! Why no GPU can be used: a sentence for each reason, with the remedy.

use std::fmt;
use std::sync::OnceLock;

/// Determined once in a process, except `NotNow` and the last three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    NoLibrary,
    /// The loader's message.
    NotLoadable(&'static str),
    /// The resource that is exhausted at present.
    NotNow(&'static str),
    /// The function that `libcuda.so.1` lacks.
    NoFunction(&'static str),
    /// The library is the CUDA toolkit's, which is for linking only.
    Stub,
    /// The driver's version and the oldest that serves, in the format of `cuDriverGetVersion`.
    TooOld(i32, i32),
    /// `cuInit`, or a call right after it, failed.
    Init(DriverFailure),
    NoDevice,
    /// `CUDA_VISIBLE_DEVICES` leaves no device.
    Hidden,
    Forked,
    Exiting,
    /// The process's own Caffe is a build with CPU_ONLY, so C++ device calls fail as they do there.
    CpuOnlyCaffe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverFailure {
    /// Such as `cuMemAlloc_v2`.
    pub call: &'static str,
    /// A `CUresult`, which may be newer than this library.
    pub status: i32,
}

/// A status's name and text, such as `CUDA_ERROR_OUT_OF_MEMORY` and `out of memory`; empty if the driver knows none.
pub type Describe = fn(status: i32) -> (&'static str, &'static str);

/// Kept outside the errors, so that these and a `Result` of them stay small.
static DESCRIBE: OnceLock<Describe> = OnceLock::new();

/// Called once a driver is loaded; later calls change nothing.
pub fn describe_with(describe: Describe) {
    DESCRIBE.get_or_init(|| describe);
}

impl DriverFailure {
    pub fn description(&self) -> (&'static str, &'static str) {
        DESCRIBE.get().map_or(("", ""), |describe| describe(self.status))
    }
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            WhyNot::NoLibrary => f.write_str(
                "the NVIDIA driver's libcuda.so.1 is not installed, or not where the loader looks; install the driver, \
                 or, in a container, let it see the GPU",
            ),
            WhyNot::NotLoadable(words) => write!(f, "libcuda.so.1 cannot be loaded: {words}"),
            WhyNot::NotNow(want) => write!(f, "libcuda.so.1 cannot be loaded now: {want}; free some and try again"),
            WhyNot::NoFunction(name) => {
                write!(f, "libcuda.so.1 has no function {name}; install a complete and newer NVIDIA driver")
            }
            WhyNot::Stub => f.write_str(
                "libcuda.so.1 is the CUDA toolkit's stub, which is for linking only; take its folder out of \
                 LD_LIBRARY_PATH, so that the driver's own is found",
            ),
            WhyNot::TooOld(version, oldest) => {
                write!(f, "the driver is for CUDA {}", Version(version))?;
                write!(f, ", and {} is the oldest that can serve; install a newer NVIDIA driver", Version(oldest))
            }
            WhyNot::Init(failure) => write!(f, "the driver does not start: {failure}{}", Advice(failure.status)),
            WhyNot::NoDevice => f.write_str("the driver finds no device; nvidia-smi lists those that there are"),
            WhyNot::Hidden => f.write_str(
                "CUDA_VISIBLE_DEVICES hides every device; unset it, or let it name one that nvidia-smi lists",
            ),
            WhyNot::Forked => f.write_str(
                "this process was forked from one that had used CUDA, and a driver does not survive that; fork before \
                 CUDA is used, or start a new program",
            ),
            WhyNot::Exiting => f.write_str("the process is exiting, and the driver is used no more"),
            WhyNot::CpuOnlyCaffe => f.write_str("this Caffe was built with CPU_ONLY; use a GPU build of it"),
        }
    }
}

impl fmt::Display for DriverFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, words) = self.description();
        let name = if name.is_empty() { "an unknown status" } else { name };
        write!(f, "{} returned {name} ({})", self.call, self.status)?;
        if words.is_empty() { Ok(()) } else { write!(f, ": {words}") }
    }
}

/// The format is that of `cuDriverGetVersion`: 1000 times the major number plus 10 times the minor one.
pub struct Version(pub i32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// The remedy for a status of `cuInit` (CUDA Driver API, list of errors).
struct Advice(i32);

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            802 => "; the system is not ready (on machines with NVSwitch, nvidia-fabricmanager must run)",
            803 => {
                "; the kernel's NVIDIA module and libcuda.so.1 are of different versions: reboot, or install one pair"
            }
            804 => "; a forward compatibility package is used on a device that it does not serve",
            304 => "; the operating system refused: look at the permissions of /dev/nvidia*",
            3 => "; this happens in a process forked from one that had used CUDA",
            _ => "; nvidia-smi may say more",
        })
    }
}
