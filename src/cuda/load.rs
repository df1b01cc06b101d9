//! Finds and starts `libcuda.so.1`, or returns the reason why not.
#![expect(unsafe_code, reason = "dlopen, dlsym and the driver's first functions")]

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use syncedmem_core::text::{Escaped, Text};

use super::driver::Driver;
use super::{process, status};
use crate::error::WhyNot;
use crate::platform::cancel_guard::CancelGuard;
use crate::settings;

/// CUDA 7.0, the oldest driver with primary contexts.
const OLDEST: c_int = 7000;

/// Another name might lead to a toolkit's stub.
const LIBRARY: &CStr = c"libcuda.so.1";

/// Reasons that may pass.
pub const NO_MEMORY: &str = "there is no host memory left";
pub const NO_DESCRIPTOR: &str = "there is no file descriptor left";

static VERSION: AtomicI32 = AtomicI32::new(0);

/// The format is that of `cuDriverGetVersion`; 0 before the driver is loaded.
pub fn version() -> c_int {
    VERSION.load(Relaxed)
}

pub fn load() -> Result<Driver, WhyNot> {
    let _cancel_guard = CancelGuard::begin();
    let library = open()?;
    let find = find_in(library);
    check_version(&find)?;
    // SAFETY: only the CUDA driver has the library's name.
    let driver = unsafe { Driver::resolve(find) }.map_err(WhyNot::NoFunction)?;
    driver.describe_statuses();
    start(&driver)?;
    process::watch_exit();
    Ok(driver)
}

/// Finds the functions of a library that stays open.
pub fn find_in(library: *mut c_void) -> impl Fn(&CStr) -> Option<*mut c_void> {
    move |name| {
        // SAFETY: the callers never close the handle, and the name is NUL-terminated.
        let address = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

pub fn is_temporary(why: WhyNot) -> bool {
    match why {
        WhyNot::NotNow(_) => true,
        WhyNot::Init(failure) => failure.status == status::OUT_OF_MEMORY,
        _ => false,
    }
}

fn open() -> Result<*mut c_void, WhyNot> {
    // SAFETY: the name is NUL-terminated; the initialisers that run are the driver's.
    let opened = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY) };
    if opened.is_null() { Err(why_not_opened()) } else { Ok(opened) }
}

fn why_not_opened() -> WhyNot {
    static WORDS: OnceLock<Text<300>> = OnceLock::new();
    const ABSENT: &str = "libcuda.so.1: cannot open shared object file: No such file or directory";
    // SAFETY: dlerror has no preconditions.
    let words = unsafe { libc::dlerror() };
    if words.is_null() {
        // The loader had no memory for its message.
        return WhyNot::NotNow(NO_MEMORY);
    }
    // SAFETY: the string is NUL-terminated and stays until this thread's next call of the loader.
    match unsafe { CStr::from_ptr(words) }.to_str().unwrap_or_default() {
        ABSENT => WhyNot::NoLibrary,
        words if words.ends_with("Cannot allocate memory") || words.ends_with("out of memory") => {
            WhyNot::NotNow(NO_MEMORY)
        }
        words if words.contains("Too many open files") => WhyNot::NotNow(NO_DESCRIPTOR),
        words => {
            WhyNot::NotLoadable(WORDS.get_or_init(|| Text::of(format_args!("{}", Escaped(words.as_bytes())))).as_ref())
        }
    }
}

/// Runs before the functions are resolved, so that an old driver is reported as old and not as incomplete.
fn check_version(find: impl Fn(&CStr) -> Option<*mut c_void>) -> Result<(), WhyNot> {
    const NAME: &str = "cuDriverGetVersion";
    type GetVersion = unsafe extern "C" fn(*mut c_int) -> c_int;
    let function = find(c"cuDriverGetVersion").ok_or(WhyNot::NoFunction(NAME))?;
    // SAFETY: CUDA's headers give this name this signature.
    let get_version = unsafe { transmute::<*mut c_void, GetVersion>(function) };
    let mut version = 0;
    // SAFETY: `version` is writable; cuInit need not have run.
    match unsafe { get_version(&mut version) } {
        status::STUB_LIBRARY => return Err(WhyNot::Stub),
        // After any other status cuInit fails too, and returns the reason.
        status::SUCCESS if version < OLDEST => return Err(WhyNot::TooOld(version, OLDEST)),
        _ => {}
    }
    VERSION.store(version, Relaxed);
    Ok(())
}

fn start(driver: &Driver) -> Result<(), WhyNot> {
    // SAFETY: 0 is the only flag that cuInit accepts.
    let count = unsafe { driver.init(0) }.and_then(|()| driver.count());
    match count {
        Ok(1..) => Ok(()),
        Ok(_) => Err(no_device()),
        Err(failure) if failure.status == status::NO_DEVICE => Err(no_device()),
        Err(failure) if failure.status == status::STUB_LIBRARY => Err(WhyNot::Stub),
        Err(failure) => Err(WhyNot::Init(failure)),
    }
}

fn no_device() -> WhyNot {
    // An empty value hides every device.
    if settings::is_set(c"CUDA_VISIBLE_DEVICES") { WhyNot::Hidden } else { WhyNot::NoDevice }
}
