//! Helpers of several suites: an object in storage of the test's own, watched from outside through its bytes.
#![allow(dead_code, unused_imports, reason = "each test takes what it needs")]
#![allow(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

pub mod as_shipped;
#[cfg(feature = "blob")]
pub mod blob;
#[cfg(feature = "blob")]
pub mod blob_model;
pub mod captures;
pub mod command_file;
#[cfg(feature = "blob")]
pub mod cublas;
pub mod driver;
pub mod figures;
pub mod folder;
pub mod gpu;
pub mod harness;
pub mod model;
pub mod object;
pub mod own;
pub mod plain;
pub mod pools;
pub mod random;
pub mod sequences;
pub mod sides;
pub mod states;
pub mod tensor;
pub mod traced;
pub mod world;

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

pub use folder::Folder;
pub use gpu::*;
pub use harness::skip;
pub use object::*;
pub use random::Random;
// The names that a program has from the headers.
#[cfg(feature = "blob")]
pub use syncedmem::abi::blob::{arrays::*, handle::*, math::*, shape::*};
pub use syncedmem::abi::c::object::syncedmem_head_t::*;
pub use syncedmem::abi::c::pools::syncedmem_memory_t::*;
pub use syncedmem::abi::c::{
    access::*, account::*, caffe_host::*, cuda::*, dlpack::*, errors::*, object::*, policy::*, pools::*, stats::*,
    trace::*, transfer::*,
};
#[cfg(all(feature = "blob", feature = "caffe2"))]
pub use syncedmem::abi::caffe2::init_net::*;
#[cfg(feature = "caffe2")]
pub use syncedmem::abi::caffe2::{blob::*, cpu::*, data::*, info::*, tensor::*, typemeta::*, workspace::*};
pub use syncedmem::abi::element::{syncedmem_array_t::*, syncedmem_type_t, syncedmem_type_t::*};
#[cfg(feature = "blob")]
pub use syncedmem::abi::model::{
    blob_file::*, info::syncedmem_model_kind_t::*, info::syncedmem_torch_role_t::*, info::*, open::*, read::*,
};
pub use syncedmem::abi::status::syncedmem_status_t::{self, *};

/// Seconds that are never needed, however busy the machine is: whatever takes longer hangs.
pub const HANGS_AFTER: u32 = 300;

/// Fills storage before an object is made in it.
pub const FILL: u8 = 0xA5;

/// Storage for an object, with guards behind it.
#[repr(C, align(8))]
pub struct Storage(pub [u8; 64]);

impl Storage {
    pub fn new() -> Box<Storage> {
        Box::new(Storage([FILL; 64]))
    }

    pub fn mem(&mut self) -> *mut syncedmem_t {
        self.0.as_mut_ptr().cast()
    }

    pub fn construct(&mut self, bytes: usize) -> syncedmem_status_t {
        let mut mem = std::ptr::null_mut();
        unsafe { syncedmem_construct(self.0.as_mut_ptr().cast(), 64, bytes, &mut mem) }
    }

    pub fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    /// The word at `offset`, read as another program's code would: not cached from before.
    pub fn word(&self, offset: usize) -> usize {
        unsafe { std::ptr::read_volatile(self.0.as_ptr().add(offset).cast()) }
    }

    pub fn head(&self) -> u32 {
        self.word(24) as u32
    }

    /// Bytes 28 to 31: the flags, and the byte of the library's own.
    pub fn flags(&self) -> [u8; 4] {
        ((self.word(24) >> 32) as u32).to_le_bytes()
    }

    pub fn guard_is_whole(&self) -> bool {
        self.0[32..].iter().all(|&byte| byte == FILL)
    }
}

/// A handle that threads share.
#[derive(Clone, Copy)]
pub struct Shared(pub *mut syncedmem_t);
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

impl Shared {
    /// An address to read on the device or on the host.
    pub fn read(self, device: bool) -> Outcome {
        let mut data = std::ptr::null();
        let read = if device { syncedmem_gpu_data } else { syncedmem_cpu_data };
        answer(unsafe { read(self.0, &mut data) }, data.cast_mut().cast())
    }
}

/// Does `work` on `threads` threads at once, each with its number. Returns their results.
pub fn at_once<R: Send>(threads: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let (start, work) = (&Barrier::new(threads), &work);
    let run = move |thread| {
        start.wait();
        work(thread)
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Does `act` while `threads` threads do `work` again and again, each at least once, with its number and the number of the turn. Returns
/// how often they did.
pub fn beside(threads: usize, work: impl Fn(usize, usize) + Sync, act: impl FnOnce()) -> usize {
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let outcome = std::thread::scope(|scope| {
        for thread in 0..threads {
            let (work, stop, done) = (&work, &stop, &done);
            scope.spawn(move || {
                for turn in 0.. {
                    work(thread, turn);
                    done.fetch_add(1, Relaxed);
                    if stop.load(Relaxed) {
                        break;
                    }
                }
            });
        }
        let outcome = catch_unwind(AssertUnwindSafe(act));
        stop.store(true, Relaxed);
        outcome
    });
    outcome.unwrap_or_else(|panic| resume_unwind(panic));
    done.into_inner()
}

pub type Answer<T = ()> = Result<T, syncedmem_status_t>;

/// `value`, which a call that returned `status` wrote.
pub fn answer<T>(status: syncedmem_status_t, value: T) -> Answer<T> {
    if status == SYNCEDMEM_SUCCESS { Ok(value) } else { Err(status) }
}

/// The value that `call` writes.
pub fn ask<T>(mut value: T, call: impl FnOnce(&mut T) -> syncedmem_status_t) -> Answer<T> {
    answer(call(&mut value), value)
}

pub fn done(status: syncedmem_status_t) -> Answer {
    answer(status, ())
}

/// The status of what a call returned.
pub trait Status {
    fn status(self) -> syncedmem_status_t;
}

impl Status for syncedmem_status_t {
    fn status(self) -> syncedmem_status_t {
        self
    }
}

impl<T> Status for Answer<T> {
    fn status(self) -> syncedmem_status_t {
        self.err().unwrap_or(SYNCEDMEM_SUCCESS)
    }
}

/// Asserts that a call failed with that status and with these words in its sentence.
#[track_caller]
pub fn assert_refused(answer: impl Status, status: syncedmem_status_t, words: &str) {
    let (is, error) = (answer.status(), last_error());
    assert_eq!(is, status, "{error}");
    assert!(error.contains(words), "{words:?} is not in: {error}");
}

/// Asserts that a text has all of these.
#[track_caller]
pub fn assert_has(text: &str, all: &[&str]) {
    all.iter().for_each(|part| assert!(text.contains(part), "{part:?} is not in: {text}"));
}

/// Does `work` in a forked child, which must end by itself, and returns its exit status. An assertion that fails there prints its
/// message. The simulated driver aborts a child that calls it.
#[track_caller]
pub fn exit_of_a_child(work: impl FnOnce() -> u8) -> u8 {
    const FAILED: i32 = 0xFA;
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        unsafe { libc::alarm(HANGS_AFTER) };
        let outcome = catch_unwind(AssertUnwindSafe(work));
        unsafe { libc::_exit(outcome.map_or(FAILED, i32::from)) };
    }
    let mut status = 0;
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "signal {} ended the child", libc::WTERMSIG(status));
    assert_ne!(libc::WEXITSTATUS(status), FAILED, "an assertion failed in the child");
    libc::WEXITSTATUS(status) as u8
}

/// Like `exit_of_a_child`, for `work` that asserts its results.
#[track_caller]
pub fn in_a_child(work: impl FnOnce()) {
    exit_of_a_child(|| {
        work();
        0
    });
}

pub fn last_error() -> String {
    let text = unsafe { std::ffi::CStr::from_ptr(syncedmem::abi::c::errors::syncedmem_last_error()) };
    text.to_str().unwrap().to_string()
}

pub fn all_zero(data: *const u8, bytes: usize) -> bool {
    pools::all_are(data, bytes, 0)
}

/// Runs `body`, which the running test calls this with, in its own process with `environment`: what the library reads
/// from there it reads once. No idle block grows old there in any time that a test takes, unless `environment` says so. The test
/// is skipped where it is skipped there. Returns what the process wrote to its standard error.
pub fn alone(environment: &[(&str, &str)], body: impl FnOnce()) -> String {
    let test = harness::running();
    if inside() {
        body();
        return String::new();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&*test, "--exact", "--nocapture", "--test-threads=1"])
        .env(INSIDE, &test)
        .env("SYNCEDMEM_POOL_AGE", "3600")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let [printed, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if output.status.code() == Some(harness::NOTHING_RAN.into()) {
        let line = harness::skipped_line(&test, "");
        harness::skip(printed.lines().find_map(|printed| printed.strip_prefix(&line)).unwrap());
    }
    assert!(output.status.success(), "{test} with {environment:?}: {}\n{printed}{errors}", output.status);
    // A name that is not found would pass without running anything.
    assert!(printed.contains("1 passed"), "no test is called {test}");
    errors
}

/// Runs `body` for each case in its own process, with what `environment` says of the case. Returns what each wrote to its
/// standard error.
pub fn each_alone<'c, C>(
    cases: &'c [C],
    environment: impl Fn(&'c C) -> Vec<(&'c str, &'c str)>,
    body: impl Fn(&C),
) -> Vec<String> {
    let run = |(number, case): (usize, &'c C)| {
        let number = number.to_string();
        let environment: Vec<_> = environment(case).into_iter().chain([("CASE", &*number)]).collect();
        // The process of a case runs this for all of them.
        let is_other = || std::env::var("CASE").is_ok_and(|case| case != number);
        if inside() && is_other() { String::new() } else { alone(&environment, || body(case)) }
    };
    cases.iter().enumerate().map(run).collect()
}

const INSIDE: &str = "SYNCEDMEM_TEST_INSIDE";

/// Whether this is the process that `alone` started for the running test.
pub fn inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}
