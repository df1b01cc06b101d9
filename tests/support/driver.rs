//! The driver that the tests run on, and how they speak to it: the simulated one, the system's, or none.
//!
//! `SYNCEDMEM_TEST_DRIVER` chooses: `simulated` (the default) builds it from `crates/simulated-cuda/` and loads it before
//! the library looks, which then finds it by its soname; `SYNCEDMEM_SIMULATED_DRIVER` names one that is built already.
//! `real` is the system's; with `none`, the library must not find any.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Once, OnceLock};

/// A table of functions of a library, each under its own name.
macro_rules! functions {
    ($(#[$about:meta])* $table:ident { $($function:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)* }) => {
        $(#[$about])*
        #[allow(non_snake_case, reason = "the driver's names")]
        pub struct $table { $($function: unsafe extern "C" fn($($kind),*) $(-> $result)?,)* }

        #[allow(non_snake_case, reason = "the driver's names")]
        impl $table {
            pub fn of(library: *mut c_void) -> $table {
                $table {
                    $($function: {
                        let found = symbol(library, stringify!($function));
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) $(-> $result)?>(found) }
                    },)*
                }
            }

            $(pub fn $function(&self, $($argument: $kind),*) $(-> $result)? {
                unsafe { (self.$function)($($argument),*) }
            })*
        }
    };
}

pub type Address = u64;
pub type Handle = *mut c_void;

functions! {
    /// Entry points of the driver that the tests themselves call.
    Driver {
        cuInit(flags: c_uint) -> c_int;
        cuDriverGetVersion(version: *mut c_int) -> c_int;
        cuDeviceGetCount(count: *mut c_int) -> c_int;
        cuDeviceGetName(name: *mut c_char, bytes: c_int, device: c_int) -> c_int;
        cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) -> c_int;
        cuDevicePrimaryCtxReset_v2(device: c_int) -> c_int;
        cuCtxCreate_v2(context: *mut Handle, flags: c_uint, device: c_int) -> c_int;
        cuCtxDestroy_v2(context: Handle) -> c_int;
        cuCtxGetCurrent(context: *mut Handle) -> c_int;
        cuCtxSetCurrent(context: Handle) -> c_int;
        cuCtxPushCurrent_v2(context: Handle) -> c_int;
        cuCtxPopCurrent_v2(context: *mut Handle) -> c_int;
        cuCtxSynchronize() -> c_int;
        cuStreamCreate(stream: *mut Handle, flags: c_uint) -> c_int;
        cuStreamDestroy_v2(stream: Handle) -> c_int;
        cuStreamQuery(stream: Handle) -> c_int;
        cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) -> c_int;
        cuStreamBeginCapture_v2(stream: Handle, mode: c_int) -> c_int;
        cuStreamEndCapture(stream: Handle, graph: *mut Handle) -> c_int;
        cuStreamIsCapturing(stream: Handle, status: *mut c_int) -> c_int;
        cuThreadExchangeStreamCaptureMode(mode: *mut c_int) -> c_int;
        cuGraphDestroy(graph: Handle) -> c_int;
        cuLaunchHostFunc(stream: Handle, function: extern "C" fn(*mut c_void), argument: *mut c_void) -> c_int;
        cuStreamSynchronize(stream: Handle) -> c_int;
        cuEventCreate(event: *mut Handle, flags: c_uint) -> c_int;
        cuEventRecord(event: Handle, stream: Handle) -> c_int;
        cuEventQuery(event: Handle) -> c_int;
        cuMemAlloc_v2(address: *mut Address, bytes: usize) -> c_int;
        cuMemAllocManaged(address: *mut Address, bytes: usize, flags: c_uint) -> c_int;
        cuMemFree_v2(address: Address) -> c_int;
        cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint) -> c_int;
        cuMemFreeHost(address: *mut c_void) -> c_int;
        cuMemHostGetFlags(flags: *mut c_uint, address: *mut c_void) -> c_int;
        cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int;
        cuMemHostRegister_v2(address: *mut c_void, bytes: usize, flags: c_uint) -> c_int;
        cuMemHostUnregister(address: *mut c_void) -> c_int;
        cuMemcpyAsync(to: Address, from: Address, bytes: usize, stream: Handle) -> c_int;
        cuMemcpy(to: Address, from: Address, bytes: usize) -> c_int;
        cuMemsetD8_v2(address: Address, value: u8, count: usize) -> c_int;
        cuMemsetD8Async(address: Address, value: u8, count: usize, stream: Handle) -> c_int;
        cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: Address) -> c_int;
    }
}

/// Live objects of the simulated driver.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

/// An address that a kernel uses, and whether it writes there.
#[repr(C)]
pub struct Use {
    pub address: Address,
    pub writes: c_int,
}

/// Runs in a kernel's place.
pub type Run = extern "C" fn(argument: *mut c_void, bytes: *const *mut u8);

functions! {
    /// The simulated driver's control functions, as `crates/simulated-cuda/include/simulated_cuda.h` has them.
    Control {
        simcuda_set_memory(device: c_int, bytes: usize);
        simcuda_set_lag(microseconds: c_uint);
        simcuda_hold_streams();
        simcuda_release_streams();
        simcuda_fail(function: *const c_char, nth: c_uint, status: c_int, times: c_uint);
        simcuda_clear_faults();
        simcuda_break_context(context: Handle, status: c_int);
        simcuda_calls(function: *const c_char) -> usize;
        simcuda_log(buffer: *mut c_char, bytes: usize) -> usize;
        simcuda_clear_log();
        simcuda_copies(kind: *const c_char, bytes: usize) -> usize;
        simcuda_account(out: *mut Account);
        simcuda_violations(buffer: *mut c_char, bytes: usize) -> usize;
        simcuda_read(address: Address, out: *mut c_void, bytes: usize) -> c_int;
        simcuda_write(address: Address, from: *const c_void, bytes: usize) -> c_int;
        simcuda_launch(kernel: *const c_char, stream: Handle, uses: *const Use, count: usize, run: Run, argument: *mut c_void) -> c_int;
    }
}

pub fn open(file: &str) -> *mut c_void {
    let library = unsafe { libc::dlopen(CString::new(file).unwrap().as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "{file}: {}", unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy());
    library
}

pub fn symbol(library: *mut c_void, name: &str) -> *mut c_void {
    let found = unsafe { libc::dlsym(library, CString::new(name).unwrap().as_ptr()) };
    assert!(!found.is_null(), "there is no {name}");
    found
}

/// The driver in use, and the control functions if it is the simulated one.
pub struct Loaded {
    pub driver: Driver,
    pub control: Option<Control>,
}

/// The driver that `SYNCEDMEM_TEST_DRIVER` asks for, loaded and not yet started; `None` if it asks for none.
pub fn loaded() -> Option<&'static Loaded> {
    static LOADED: OnceLock<Option<Loaded>> = OnceLock::new();
    LOADED.get_or_init(load).as_ref()
}

fn load() -> Option<Loaded> {
    let wanted = std::env::var("SYNCEDMEM_TEST_DRIVER").unwrap_or_default();
    let (name, is_simulated) = match wanted.as_str() {
        "" | "simulated" => (simulated().to_str().unwrap().to_string(), true),
        "real" => ("libcuda.so.1".to_string(), false),
        "none" => {
            hide_devices();
            return None;
        }
        other => panic!("SYNCEDMEM_TEST_DRIVER={other} is not one of simulated none real"),
    };
    let library = open(&name);
    Some(Loaded { driver: Driver::of(library), control: is_simulated.then(|| Control::of(library)) })
}

/// On a machine that has a driver, one without devices is as good as none.
pub fn hide_devices() {
    static HIDDEN: Once = Once::new();
    let (name, nothing) = (c"CUDA_VISIBLE_DEVICES", c"");
    HIDDEN.call_once(|| assert_eq!(unsafe { libc::setenv(name.as_ptr(), nothing.as_ptr(), 1) }, 0));
}

/// The simulated driver's file, built once.
pub fn simulated() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        if let Some(file) = std::env::var_os("SYNCEDMEM_SIMULATED_DRIVER").filter(|file| !file.is_empty()) {
            return file.into();
        }
        // This program lies in TARGET/debug/deps.
        let program = std::env::current_exe().unwrap();
        let target = program.ancestors().nth(3).unwrap();
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--package", "simulated-cuda", "--target-dir"]).arg(target);
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(build.status().is_ok_and(|status| status.success()), "the simulated driver does not build");
        target.join("debug/libcuda.so")
    })
}
