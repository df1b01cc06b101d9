//! The simulated driver for one test alone, and processes of their own.

use std::ffi::{c_int, c_uint, c_void};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::driver::{self, Address, Control, Driver, Handle};

pub const SUCCESS: c_int = 0;
pub const INVALID_VALUE: c_int = 1;

pub const NON_BLOCKING: c_uint = 1;
pub const LEGACY: Handle = std::ptr::null_mut();

/// Cargo puts the library beside the test, or one folder up.
pub fn path() -> PathBuf {
    let mut folder = std::env::current_exe().unwrap();
    folder.pop();
    let beside = folder.join("libcuda.so");
    if beside.exists() {
        return beside;
    }
    folder.pop();
    folder.join("libcuda.so")
}

/// The library's functions. Each test answers for what it passes.
pub struct Library {
    driver: Driver,
    pub control: Control,
}

impl std::ops::Deref for Library {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        &self.driver
    }
}

/// The library, loaded once a process.
pub fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let library = driver::open(path().to_str().unwrap());
        Library { driver: Driver::of(library), control: Control::of(library) }
    })
}

/// A driver without anything in it, for one test at a time: the primary context of device 0 is current.
pub struct Simulator {
    pub context: Handle,
    violations: usize,
    _alone: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Simulator {
    type Target = Library;

    fn deref(&self) -> &Library {
        library()
    }
}

impl Simulator {
    pub fn fresh() -> Simulator {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let library = library();
        library.control.simcuda_release_streams();
        assert_eq!(library.cuInit(0), SUCCESS);
        let mut contexts = [LEGACY; 2];
        for (device, context) in [1, 0].into_iter().zip(&mut contexts) {
            assert_eq!(library.cuDevicePrimaryCtxReset_v2(device), SUCCESS);
            assert_eq!(library.cuDevicePrimaryCtxRetain(context, device), SUCCESS);
            assert_eq!(library.cuCtxSetCurrent(*context), SUCCESS);
        }
        let violations = library.control.simcuda_violations(std::ptr::null_mut(), 0);
        Simulator { context: contexts[1], violations, _alone: alone }
    }

    /// Device memory.
    pub fn device_block(&self, bytes: usize) -> Address {
        let mut address = 0;
        assert_eq!(self.cuMemAlloc_v2(&mut address, bytes), SUCCESS);
        address
    }

    /// Pinned memory, filled with `value`.
    pub fn pinned_block(&self, bytes: usize, value: u8) -> Address {
        let mut address = std::ptr::null_mut();
        assert_eq!(self.cuMemHostAlloc(&mut address, bytes, 0), SUCCESS);
        // SAFETY: the block has that size.
        unsafe { address.cast::<u8>().write_bytes(value, bytes) };
        address.expose_provenance() as Address
    }

    pub fn stream(&self, flags: c_uint) -> Handle {
        let mut stream = LEGACY;
        assert_eq!(self.cuStreamCreate(&mut stream, flags), SUCCESS);
        stream
    }

    pub fn event(&self) -> Handle {
        let mut event = LEGACY;
        assert_eq!(self.cuEventCreate(&mut event, 0), SUCCESS);
        event
    }

    /// The contents of device memory, read past the driver.
    pub fn peek(&self, address: Address, bytes: usize) -> Vec<u8> {
        let mut seen = vec![0; bytes];
        assert_eq!(self.control.simcuda_read(address, seen.as_mut_ptr().cast(), bytes), 0);
        seen
    }

    pub fn violations(&self) -> Vec<String> {
        let mut text = vec![0; 1 << 16];
        self.control.simcuda_violations(text.as_mut_ptr().cast(), text.len());
        text_of(&text).lines().skip(self.violations).map(str::to_owned).collect()
    }
}

/// The text in a buffer, up to its NUL.
pub fn text_of(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|byte| *byte == 0).unwrap();
    String::from_utf8(buffer[..end].to_vec()).unwrap()
}

/// Host memory at an address that the simulator gave.
pub fn pointer(address: Address) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// Reads host memory at an address that the simulator gave.
pub fn first_byte(address: Address) -> u8 {
    // SAFETY: the tests pass pinned memory.
    unsafe { pointer(address).cast::<u8>().read_volatile() }
}

pub fn address_of(buffer: &[u8]) -> Address {
    buffer.as_ptr().expose_provenance() as Address
}

/// Runs `body` in a forked child and gives what `waitpid` says of it. Nothing of the test harness runs in the child.
pub fn in_a_forked_child(body: impl FnOnce()) -> c_int {
    // SAFETY: the child calls the body and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        body();
        // SAFETY: ends the child without the harness.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: the child is this function's.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}

pub fn died_of(status: c_int, signal: c_int) -> bool {
    libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == signal
}

pub const SCENARIO: &str = "SIMULATED_CUDA_TEST_SCENARIO";

/// Runs `body` in another process, which starts with `environment` and exits as a program does: by running the test
/// of the given name again, which gets here once more.
pub fn in_a_process(test: &str, environment: &[(&str, &str)], body: impl FnOnce(&Library)) -> Output {
    if std::env::var(SCENARIO).is_ok_and(|scenario| scenario == test) {
        body(library());
        std::process::exit(0);
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(SCENARIO, test).envs(environment.iter().copied());
    command.output().unwrap()
}

/// The standard error of a process.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether a process ended by `abort`.
pub fn aborted(output: &Output) -> bool {
    use std::os::unix::process::ExitStatusExt;
    output.status.signal() == Some(libc::SIGABRT)
}
