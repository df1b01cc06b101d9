//! Loads the simulated driver as a program does, and gives each test a fresh one.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

pub type Address = usize;
pub type Handle = usize;

pub const SUCCESS: c_int = 0;
pub const INVALID_VALUE: c_int = 1;
pub const OUT_OF_MEMORY: c_int = 2;
pub const NOT_READY: c_int = 600;

pub const NON_BLOCKING: c_uint = 1;
pub const LEGACY: Handle = 0;

/// `simcuda_account_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub size: usize,
    pub device_blocks: usize,
    pub device_bytes: usize,
    pub pinned_blocks: usize,
    pub pinned_bytes: usize,
    pub registered_blocks: usize,
    pub contexts: usize,
    pub streams: usize,
    pub events: usize,
}

/// `simcuda_use_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Use {
    pub address: Address,
    pub writes: c_int,
}

macro_rules! functions {
    ($(fn $name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of the library. Each test answers for what it passes.
        #[expect(non_snake_case, reason = "they have C names")]
        pub struct Library { $(pub $name: extern "C" fn($($argument),*) $(-> $result)?,)* }

        impl Library {
            fn open() -> Library {
                let path = CString::new(path().to_str().unwrap()).unwrap();
                // SAFETY: the path is NUL-terminated, and the library has no initialisers to fear.
                let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
                assert!(!library.is_null(), "the simulated driver is not beside the test: {path:?}");
                let find = |name: &str| {
                    let name = CString::new(name).unwrap();
                    // SAFETY: the name is NUL-terminated.
                    let function = unsafe { libc::dlsym(library, name.as_ptr()) };
                    assert!(!function.is_null(), "{name:?} is missing");
                    function
                };
                Library {
                    $($name: {
                        let function = find(stringify!($name));
                        // SAFETY: the declarations here are those of the header and of the CUDA Driver API.
                        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn($($argument),*) $(-> $result)?>(function) }
                    },)*
                }
            }
        }
    };
}

functions! {
    fn cuInit(c_uint) -> c_int;
    fn cuDriverGetVersion(&mut c_int) -> c_int;
    fn cuDeviceGetCount(&mut c_int) -> c_int;
    fn cuDeviceGetName(*mut u8, c_int, c_int) -> c_int;
    fn cuDevicePrimaryCtxRetain(&mut Handle, c_int) -> c_int;
    fn cuDevicePrimaryCtxReset_v2(c_int) -> c_int;
    fn cuCtxSetCurrent(Handle) -> c_int;
    fn cuCtxSynchronize() -> c_int;
    fn cuMemAlloc_v2(&mut Address, usize) -> c_int;
    fn cuMemFree_v2(Address) -> c_int;
    fn cuMemGetInfo_v2(&mut usize, &mut usize) -> c_int;
    fn cuMemHostAlloc(&mut Address, usize, c_uint) -> c_int;
    fn cuMemFreeHost(Address) -> c_int;
    fn cuMemcpy(Address, Address, usize) -> c_int;
    fn cuMemcpyAsync(Address, Address, usize, Handle) -> c_int;
    fn cuMemsetD8_v2(Address, u8, usize) -> c_int;
    fn cuMemsetD8Async(Address, u8, usize, Handle) -> c_int;
    fn cuStreamCreate(&mut Handle, c_uint) -> c_int;
    fn cuStreamDestroy_v2(Handle) -> c_int;
    fn cuStreamQuery(Handle) -> c_int;
    fn cuStreamSynchronize(Handle) -> c_int;
    fn cuStreamWaitEvent(Handle, Handle, c_uint) -> c_int;
    fn cuEventCreate(&mut Handle, c_uint) -> c_int;
    fn cuEventRecord(Handle, Handle) -> c_int;
    fn cuEventQuery(Handle) -> c_int;
    fn cuEventSynchronize(Handle) -> c_int;
    fn cuEventDestroy_v2(Handle) -> c_int;
    fn simcuda_set_memory(c_int, usize);
    fn simcuda_set_lag(c_uint);
    fn simcuda_hold_streams();
    fn simcuda_release_streams();
    fn simcuda_fail(*const c_char, c_uint, c_int, c_uint);
    fn simcuda_clear_faults();
    fn simcuda_break_context(Handle, c_int);
    fn simcuda_calls(*const c_char) -> usize;
    fn simcuda_log(*mut u8, usize) -> usize;
    fn simcuda_clear_log();
    fn simcuda_copies(*const c_char, usize) -> usize;
    fn simcuda_account(&mut Account);
    fn simcuda_violations(*mut u8, usize) -> usize;
    fn simcuda_read(Address, *mut u8, usize) -> c_int;
    fn simcuda_write(Address, *const u8, usize) -> c_int;
    fn simcuda_launch(*const u8, Handle, *const Use, usize, extern "C" fn(*mut c_void, *const Address), *mut c_void) -> c_int;
}

/// Where cargo puts the library: beside the test, or one folder up.
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

/// The library, loaded once a process.
pub fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(Library::open)
}

/// A driver without anything in it, for one test at a time: the primary context of device 0 is current, the log empty.
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
        (library.simcuda_clear_faults)();
        (library.simcuda_release_streams)();
        (library.simcuda_set_lag)(0);
        assert_eq!((library.cuInit)(0), SUCCESS);
        let mut contexts = [0; 2];
        for (device, context) in [1, 0].into_iter().zip(&mut contexts) {
            assert_eq!((library.cuDevicePrimaryCtxReset_v2)(device), SUCCESS);
            (library.simcuda_set_memory)(device, 256 << 20);
            assert_eq!((library.cuDevicePrimaryCtxRetain)(context, device), SUCCESS);
            assert_eq!((library.cuCtxSetCurrent)(*context), SUCCESS);
        }
        (library.simcuda_clear_log)();
        let violations = (library.simcuda_violations)(std::ptr::null_mut(), 0);
        Simulator { context: contexts[1], violations, _alone: alone }
    }

    /// Device memory.
    pub fn device_block(&self, bytes: usize) -> Address {
        let mut address = 0;
        assert_eq!((self.cuMemAlloc_v2)(&mut address, bytes), SUCCESS);
        address
    }

    /// Pinned memory, filled with `value`.
    pub fn pinned_block(&self, bytes: usize, value: u8) -> Address {
        let mut address = 0;
        assert_eq!((self.cuMemHostAlloc)(&mut address, bytes, 0), SUCCESS);
        fill(address, value, bytes);
        address
    }

    pub fn stream(&self, flags: c_uint) -> Handle {
        let mut stream = 0;
        assert_eq!((self.cuStreamCreate)(&mut stream, flags), SUCCESS);
        stream
    }

    pub fn event(&self) -> Handle {
        let mut event = 0;
        assert_eq!((self.cuEventCreate)(&mut event, 0), SUCCESS);
        event
    }

    /// The contents of device memory, read past the driver.
    pub fn peek(&self, address: Address, bytes: usize) -> Vec<u8> {
        let mut seen = vec![0; bytes];
        assert_eq!((self.simcuda_read)(address, seen.as_mut_ptr(), bytes), 0);
        seen
    }

    pub fn account(&self) -> Account {
        let mut account = Account { size: size_of::<Account>(), ..Account::default() };
        (self.simcuda_account)(&mut account);
        account
    }

    pub fn violations(&self) -> Vec<String> {
        let mut text = vec![0; 1 << 16];
        (self.simcuda_violations)(text.as_mut_ptr(), text.len());
        text_of(&text).lines().skip(self.violations).map(str::to_owned).collect()
    }

    pub fn log(&self) -> String {
        let mut text = vec![0; (self.simcuda_log)(std::ptr::null_mut(), 0) + 1];
        (self.simcuda_log)(text.as_mut_ptr(), text.len());
        text_of(&text)
    }

    pub fn calls(&self, function: &str) -> usize {
        (self.simcuda_calls)(CString::new(function).unwrap().as_ptr())
    }

    pub fn copies(&self, kind: &str, bytes: usize) -> usize {
        (self.simcuda_copies)(CString::new(kind).unwrap().as_ptr(), bytes)
    }

    pub fn fail(&self, function: &str, nth: c_uint, status: c_int, times: c_uint) {
        (self.simcuda_fail)(CString::new(function).unwrap().as_ptr(), nth, status, times);
    }
}

/// The text in a buffer, up to its NUL.
pub fn text_of(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|byte| *byte == 0).unwrap();
    String::from_utf8(buffer[..end].to_vec()).unwrap()
}

/// Writes host memory at an address that the simulator gave.
pub fn fill(address: Address, value: u8, bytes: usize) {
    // SAFETY: the tests pass pinned memory of that size.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_bytes(value, bytes) };
}

/// Reads host memory at an address that the simulator gave.
pub fn first_byte(address: Address) -> u8 {
    // SAFETY: the tests pass pinned memory.
    unsafe { std::ptr::with_exposed_provenance::<u8>(address).read_volatile() }
}

pub fn address_of(buffer: &[u8]) -> Address {
    buffer.as_ptr().expose_provenance()
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

const SCENARIO: &str = "SIMULATED_CUDA_TEST_SCENARIO";

/// Runs `body` in a process of its own, which starts with `environment` and exits as a program does: by running the test
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
