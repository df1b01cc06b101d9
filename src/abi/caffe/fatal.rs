//! Failures of C++ entry points. Exceptions pass this code, so it runs outside of the panic guard and without locks.

use std::fmt::Write;

use syncedmem_core::text::Text;

use super::{callback, throw};
use crate::abi::guard::guard;
use crate::abi::per_thread::{self, Sentence};
use crate::error::{Cause, Error};
use crate::object::report::{Circumstances, account};
use crate::observe::call_counts::Call;
use crate::observe::report;
use crate::platform::local_time;
use crate::platform::text::to_stderr;
use crate::platform::thread;
use crate::settings;

#[derive(Clone, Copy, Debug)]
pub struct Failure {
    pub call: Call,
    pub error: Error,
}

#[cold]
#[inline(never)]
pub fn fail(failure: Failure) -> ! {
    let mut sentence = Sentence::new();
    failure.write(&mut sentence);
    per_thread::keep(&sentence);
    failure.log(&sentence);
    callback::call(failure.error.into(), &sentence);
    // A read of contents that were given up throws whatever the policy is, because a program may go on without them.
    if settings::throws() || matches!(failure.error, Error::GivenUp { .. }) {
        let file = throw::throw(failure.error, &sentence);
        to_stderr(no_runtime(file).as_bytes());
    }
    abort()
}

/// Writes the report and aborts. Not inlined into `fail`, whose frame exceptions pass and so must have no handlers.
#[inline(never)]
fn abort() -> ! {
    let _ = guard::<_, Error>(|| {
        report::write_to_file(account);
        Ok(())
    });
    // SAFETY: abort has no preconditions.
    unsafe { libc::abort() }
}

/// Reports the failure of a destructor, which must not throw.
#[cold]
#[inline(never)]
pub fn report_only(failure: Failure) {
    let mut sentence = Sentence::new();
    failure.write(&mut sentence);
    per_thread::keep(&sentence);
    to_stderr(Text::<1100>::of(format_args!("libsyncedmem: {}; nothing was freed\n", sentence.as_ref())).as_bytes());
}

fn no_runtime(file: impl std::fmt::Display) -> Text<500> {
    Text::of(format_args!(
        "libsyncedmem: an exception is to be thrown, but {file}, which called, shows no C++ runtime to throw with: it has none, or \
         has it linked in and does not export it; link the shared one, or export it (-rdynamic), or throw from a callback of \
         your own (syncedmem_set_error_callback); aborting\n"
    ))
}

impl Failure {
    /// Writes Caffe's words, then this library's.
    fn write(&self, sentence: &mut Sentence) {
        let _ = match self.error {
            // Compat: the text of CUDA_CHECK. The runtime's status numbers are the driver's.
            Error::OutOfMemory { cause: Cause::Device { .. }, .. } => {
                sentence.write_str("Check failed: error == cudaSuccess (2 vs. 0)  out of memory ")
            }
            Error::Driver(failure) | Error::Pending(failure) | Error::Captured(failure) => {
                let (_, words) = failure.description();
                write!(sentence, "Check failed: error == cudaSuccess ({} vs. 0)  {words} ", failure.status)
            }
            Error::WrongDevice { .. } => sentence.write_str("Check failed: device == device_ "),
            Error::OutOfMemory { asked, .. } => {
                // Compat: Caffe printed a size_t through an ostream.
                write!(sentence, "Check failed: *ptr host allocation of size {} failed: ", asked)
            }
            Error::NullData { .. } => sentence.write_str("Check failed: data "),
            Error::NotAtCpu { .. } => sentence.write_str("Check failed: head_ == HEAD_AT_CPU "),
            Error::NoGpu { .. } => sentence.write_str("Cannot use GPU in CPU-only Caffe: check mode. "),
            _ => Ok(()),
        };
        let _ = write!(sentence, "SyncedMemory::{}: {}{}", self.call.name(), self.error, Circumstances(self.error));
    }

    /// Compat: file and line of the failure in BVLC's master, which log filters match. For a push it is the line where the device
    /// first fails.
    fn origin(&self) -> &'static str {
        match (self.error, self.call) {
            (Error::OutOfMemory { cause: Cause::Device { .. }, .. }, Call::AsyncGpuPush) => "syncedmem.cpp:160",
            (Error::OutOfMemory { cause: Cause::Device { .. }, .. }, _) => "syncedmem.cpp:71",
            (Error::OutOfMemory { .. }, _) => "syncedmem.hpp:33",
            (Error::WrongDevice { .. }, _) => "syncedmem.cpp:175",
            (Error::NullData { .. }, Call::SetCpuData) => "syncedmem.cpp:101",
            (Error::NullData { .. }, _) => "syncedmem.cpp:124",
            (Error::NotAtCpu { .. }, _) => "syncedmem.cpp:158",
            (Error::NoGpu { .. }, Call::GpuData) => "syncedmem.cpp:116",
            (Error::NoGpu { .. }, Call::SetGpuData) => "syncedmem.cpp:132",
            (Error::NoGpu { .. }, Call::MutableGpuData) => "syncedmem.cpp:150",
            (Error::NoGpu { .. }, Call::AsyncGpuPush) => "syncedmem.cpp:160",
            (Error::NoGpu { .. }, _) => "syncedmem.cpp:57",
            // Caffe has no check for these.
            _ => "libsyncedmem:1",
        }
    }

    /// Logs a line in glog's form: `F0102 03:04:05.678901 2345 syncedmem.hpp:33] Check failed: …`. Not inlined, so that its buffer
    /// is off the stack when the report is made.
    #[inline(never)]
    fn log(&self, sentence: &Sentence) {
        let now = local_time::now();
        let mut line = Text::<1200>::new();
        let _ = writeln!(
            line,
            "F{:02}{:02} {:02}:{:02}:{:02}.{:06} {:5} {}] {}",
            now.month,
            now.day,
            now.second_of_day / 3600,
            now.second_of_day / 60 % 60,
            now.second_of_day % 60,
            now.microsecond,
            thread::id(),
            self.origin(),
            sentence.as_ref()
        );
        to_stderr(line.as_bytes());
    }
}
