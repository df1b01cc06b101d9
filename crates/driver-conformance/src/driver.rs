//! The driver's entry points as functions of numbers, and what becomes of a reply. A missing entry point skips the check that calls it; a
//! reply that is not the expected one fails it. Both end the check by unwinding, with its [`Verdict`].
#![expect(unsafe_code, reason = "opens the driver's library and calls it")]
#![expect(non_snake_case, reason = "the driver's names")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::fmt::Debug;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// A number: a driver may be newer than any list of them.
pub(crate) type Status = i32;
/// A context, stream, event or graph.
pub(crate) type Handle = usize;
pub(crate) type Address = u64;
pub(crate) type HostFunction = unsafe extern "C" fn(*mut c_void);

macro_rules! entry_points {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(pub(crate) fn $name($($argument: $kind),*) -> Reply {
            static ENTRY: OnceLock<usize> = OnceLock::new();
            let call = stringify!($name);
            let entry = *ENTRY.get_or_init(|| symbol(call)) as *const c_void;
            if entry.is_null() {
                skip(format!("the driver has no {call}"));
            }
            // SAFETY: CUDA's documentation gives this name these arguments; numbers stand for pointers of the same size.
            let entry: unsafe extern "C" fn($($kind),*) -> Status = unsafe { std::mem::transmute(entry) };
            // SAFETY: the checks pass ranges of blocks that they hold, or what the driver has to refuse.
            Reply { call, status: unsafe { entry($($argument),*) } }
        })*

        pub(crate) const ENTRY_POINTS: &[&str] = &[$(stringify!($name)),*];
    };
}

entry_points! {
    cuInit(flags: c_uint);
    cuDriverGetVersion(version: &mut c_int);
    cuGetErrorName(status: Status, name: &mut *const c_char);
    cuDeviceGetCount(count: &mut c_int);
    cuDeviceGet(device: &mut c_int, ordinal: c_int);
    cuDeviceGetName(name: &mut [u8; 128], bytes: c_int, device: c_int);
    cuDeviceTotalMem_v2(bytes: &mut usize, device: c_int);
    cuDeviceGetAttribute(value: &mut c_int, attribute: c_int, device: c_int);
    cuDeviceGetPCIBusId(id: &mut [u8; 128], bytes: c_int, device: c_int);
    cuDevicePrimaryCtxRetain(context: &mut Handle, device: c_int);
    cuDevicePrimaryCtxRelease_v2(device: c_int);
    cuDevicePrimaryCtxReset_v2(device: c_int);
    cuCtxCreate_v2(context: &mut Handle, flags: c_uint, device: c_int);
    cuCtxDestroy_v2(context: Handle);
    cuCtxGetCurrent(context: &mut Handle);
    cuCtxSetCurrent(context: Handle);
    cuCtxPushCurrent_v2(context: Handle);
    cuCtxPopCurrent_v2(context: &mut Handle);
    cuCtxGetDevice(device: &mut c_int);
    cuCtxGetId(context: Handle, id: &mut u64);
    cuCtxSynchronize();
    cuMemAlloc_v2(address: &mut Address, bytes: usize);
    cuMemFree_v2(address: Address);
    cuMemGetInfo_v2(free: &mut usize, total: &mut usize);
    cuMemHostAlloc(address: &mut Address, bytes: usize, flags: c_uint);
    cuMemFreeHost(address: Address);
    cuMemHostRegister_v2(address: Address, bytes: usize, flags: c_uint);
    cuMemHostUnregister(address: Address);
    cuMemcpy(to: Address, from: Address, bytes: usize);
    cuMemcpyAsync(to: Address, from: Address, bytes: usize, stream: Handle);
    cuMemsetD8_v2(to: Address, byte: u8, bytes: usize);
    cuMemsetD8Async(to: Address, byte: u8, bytes: usize, stream: Handle);
    cuPointerGetAttribute(value: &mut u64, attribute: c_int, address: Address);
    cuPointerGetAttributes(count: c_uint, attributes: &[c_int; 3], values: &mut [*mut u64; 3], address: Address);
    cuStreamCreate(stream: &mut Handle, flags: c_uint);
    cuStreamDestroy_v2(stream: Handle);
    cuStreamQuery(stream: Handle);
    cuStreamSynchronize(stream: Handle);
    cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint);
    cuStreamGetCtx(stream: Handle, context: &mut Handle);
    cuStreamBeginCapture_v2(stream: Handle, mode: c_int);
    cuStreamEndCapture(stream: Handle, graph: &mut Handle);
    cuStreamIsCapturing(stream: Handle, status: &mut c_int);
    cuThreadExchangeStreamCaptureMode(mode: &mut c_int);
    cuGraphDestroy(graph: Handle);
    cuLaunchHostFunc(stream: Handle, function: HostFunction, argument: *mut c_void);
    cuEventCreate(event: &mut Handle, flags: c_uint);
    cuEventRecord(event: Handle, stream: Handle);
    cuEventQuery(event: Handle);
    cuEventSynchronize(event: Handle);
    cuEventDestroy_v2(event: Handle);
}

macro_rules! statuses {
    ($($name:ident = $number:literal;)*) => {
        $(pub(crate) const $name: Status = $number;)*

        /// Names of `cuGetErrorName`, without the prefix.
        pub(crate) const KNOWN: &[(Status, &str)] = &[$(($name, stringify!($name)),)*];
    };
}

statuses! {
    SUCCESS = 0;
    INVALID_VALUE = 1;
    OUT_OF_MEMORY = 2;
    NOT_INITIALIZED = 3;
    NO_DEVICE = 100;
    INVALID_DEVICE = 101;
    INVALID_CONTEXT = 201;
    INVALID_HANDLE = 400;
    NOT_READY = 600;
    ILLEGAL_ADDRESS = 700;
    CONTEXT_IS_DESTROYED = 709;
    HOST_MEMORY_ALREADY_REGISTERED = 712;
    HOST_MEMORY_NOT_REGISTERED = 713;
    NOT_PERMITTED = 800;
    NOT_SUPPORTED = 801;
    STREAM_CAPTURE_UNSUPPORTED = 900;
    STREAM_CAPTURE_INVALIDATED = 901;
    STREAM_CAPTURE_MERGE = 902;
    STREAM_CAPTURE_UNMATCHED = 903;
    STREAM_CAPTURE_UNJOINED = 904;
    STREAM_CAPTURE_ISOLATION = 905;
    STREAM_CAPTURE_IMPLICIT = 906;
    CAPTURED_EVENT = 907;
    STREAM_CAPTURE_WRONG_THREAD = 908;
    UNKNOWN = 999;
}

/// The name of `cuGetErrorName`.
pub(crate) fn name(status: Status) -> Option<String> {
    let (_, name) = KNOWN.iter().find(|(number, _)| *number == status)?;
    Some(if status == SUCCESS { "CUDA_SUCCESS".into() } else { format!("CUDA_ERROR_{name}") })
}

pub(crate) fn named(status: Status) -> String {
    name(status).map_or(format!("status {status}"), |name| format!("{name} ({status})"))
}

static LIBRARY: OnceLock<usize> = OnceLock::new();

/// Opens the driver's library for the rest of the process. The error is the loader's sentence.
pub(crate) fn load(name: &OsStr) -> Result<(), String> {
    let path = CString::new(name.as_bytes()).map_err(|_| "its name has a NUL in it".to_owned())?;
    // SAFETY: the path ends with a NUL. The user asked to load this library.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        // SAFETY: no preconditions.
        let message = unsafe { libc::dlerror() };
        // SAFETY: `dlopen` failed on this thread: the loader's text lives until this thread's next call of its family.
        return Err(unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned());
    }
    LIBRARY.get_or_init(|| library as usize);
    Ok(())
}

/// 0 if the library has no such function.
pub(crate) fn symbol(name: &str) -> usize {
    let (Some(library), Ok(name)) = (LIBRARY.get(), CString::new(name)) else { return 0 };
    // SAFETY: the library stays open; the name ends with a NUL.
    unsafe { libc::dlsym(*library as *mut c_void, name.as_ptr()) as usize }
}

/// The text that the driver returned; `None` for NULL.
pub(crate) fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: the driver's names and descriptions live for ever.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

// --- verdicts -------------------------------------------------------------------------------

pub(crate) enum Verdict {
    Passed,
    Failed(String),
    Skipped(String),
    /// No failure: a rule of this driver that the documentation does not decide.
    Found(String),
}

impl Verdict {
    /// The outcome of a check. A panic in it is a bug of the check.
    pub(crate) fn of(work: impl FnOnce()) -> Verdict {
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
            Ok(()) => Verdict::Passed,
            Err(why) => match why.downcast::<Verdict>() {
                Ok(verdict) => *verdict,
                Err(_) => Verdict::Failed("expected the check itself to work, got a panic in it".into()),
            },
        }
    }

    /// Ends the check with it, unless it passed.
    pub(crate) fn end(self) {
        if !matches!(self, Verdict::Passed) {
            end(self);
        }
    }
}

/// Ends the check without a panic's message.
fn end(verdict: Verdict) -> ! {
    std::panic::resume_unwind(Box::new(verdict))
}

pub(crate) fn skip(why: impl Into<String>) -> ! {
    end(Verdict::Skipped(why.into()))
}

pub(crate) fn found(what: String) -> ! {
    end(Verdict::Found(what))
}

pub(crate) fn ensure(fact: bool, expected: &str, got: impl Debug) {
    if !fact {
        end(Verdict::Failed(format!("expected {expected}, got {got:?}")));
    }
}

/// `what` is a noun: "the size".
pub(crate) fn equal<T: PartialEq + Debug>(what: &str, expected: T, got: T) {
    ensure(expected == got, &format!("{what} to be {expected:?}"), got);
}

pub(crate) fn differ<T: PartialEq + Debug>(what: &str, one: T, other: T) {
    ensure(one != other, &format!("{what} to differ"), one);
}

#[derive(Clone, Copy)]
#[must_use]
pub(crate) struct Reply {
    pub(crate) call: &'static str,
    pub(crate) status: Status,
}

impl Reply {
    pub(crate) fn ok(self) {
        self.is(SUCCESS);
    }

    pub(crate) fn is(self, expected: Status) {
        self.is_one_of(&[expected]);
    }

    pub(crate) fn is_one_of(self, expected: &[Status]) {
        if !expected.contains(&self.status) {
            let names: Vec<String> = expected.iter().map(|&status| named(status)).collect();
            let got = named(self.status);
            end(Verdict::Failed(format!("expected {} from {}, got {got}", names.join(" or "), self.call)));
        }
    }

    pub(crate) fn fails(self) {
        ensure(self.status != SUCCESS, &format!("an error from {}", self.call), "success");
    }
}

/// The result of a call that must succeed.
pub(crate) fn value<T: Default>(call: impl FnOnce(&mut T) -> Reply) -> T {
    let mut value = T::default();
    call(&mut value).ok();
    value
}

/// The reply to a call whose value does not matter.
pub(crate) fn reply<T: Default>(call: impl FnOnce(&mut T) -> Reply) -> Reply {
    call(&mut T::default())
}

// --- numbers of cuda.h ----------------------------------------------------------------------

/// The device that is checked; `CUDA_VISIBLE_DEVICES` chooses another one.
pub(crate) const DEVICE: c_int = 0;
pub(crate) const UNIFIED_ADDRESSING: c_int = 41;

pub(crate) const CONTEXT: c_int = 1;
pub(crate) const MEMORY_TYPE: c_int = 2;
pub(crate) const BUFFER_ID: c_int = 7;
pub(crate) const DEVICE_ORDINAL: c_int = 9;
pub(crate) const RANGE_START_ADDR: c_int = 11;
pub(crate) const RANGE_SIZE: c_int = 12;
pub(crate) const TYPE_HOST: u64 = 1;
pub(crate) const TYPE_DEVICE: u64 = 2;

pub(crate) const PORTABLE: c_uint = 1;
pub(crate) const NON_BLOCKING: c_uint = 1;
pub(crate) const DISABLE_TIMING: c_uint = 2;

/// Ends the process without exit handlers.
pub(crate) fn leave(status: c_int) -> ! {
    // SAFETY: no preconditions.
    unsafe { libc::_exit(status) }
}
