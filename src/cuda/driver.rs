//! The driver's entry points: resolved once, called with integer statuses.
//!
//! cudarc gives the types and constants, and nothing of it is called: its statuses are a Rust enumeration, which a
//! newer driver's numbers do not fit; its loader tries a toolkit's stub first, and panics when something is missing.
#![expect(unsafe_code, reason = "foreign functions")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::mem::transmute;
use std::sync::OnceLock;

use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUpointer_attribute, CUstream,
};

use super::{process, status};
use crate::error::{self, DriverFailure, Error};
use crate::platform::cancel_guard::Uncancelled;

type StreamGetContext = unsafe extern "C" fn(CUstream, *mut CUcontext) -> c_int;
type StreamIsCapturing = unsafe extern "C" fn(CUstream, *mut c_int) -> c_int;
type ExchangeCaptureMode = unsafe extern "C" fn(*mut c_int) -> c_int;
type ContextGetId = unsafe extern "C" fn(CUcontext, *mut c_ulonglong) -> c_int;

/// Declares the table, how it is filled, and for each entry a method that turns its status into a `Result`.
macro_rules! entry_points {
    ($($(#[$doc:meta])* $symbol:ident as $name:ident($($argument:ident: $type:ty),*);)*) => {
        /// A CUDA driver that runs.
        pub struct Driver {
            $($name: unsafe extern "C" fn($($type),*) -> c_int,)*
            stream_get_context: Option<StreamGetContext>,
            context_get_id: Option<ContextGetId>,
            stream_is_capturing: Option<StreamIsCapturing>,
            exchange_capture_mode: Option<ExchangeCaptureMode>,
        }

        impl Driver {
            /// The driver whose functions `find` finds; the name of the first that is missing.
            ///
            /// # Safety
            /// What `find` returns for a name is the driver's function of that name.
            pub unsafe fn resolve(find: impl Fn(&CStr) -> Option<*mut c_void>) -> Result<Driver, &'static str> {
                Ok(Driver {
                    $($name: {
                        const SYMBOL: &str = concat!(stringify!($symbol), "\0");
                        let found = CStr::from_bytes_with_nul(SYMBOL.as_bytes()).ok().and_then(&find);
                        let function = found.ok_or(stringify!($symbol))?;
                        // SAFETY: the caller guarantees the function; CUDA's headers give it this signature.
                        unsafe { transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(function) }
                    },)*
                    // Not in drivers before 9.2.
                    // SAFETY: as above.
                    stream_get_context: find(c"cuStreamGetCtx").map(|function| unsafe { transmute::<_, StreamGetContext>(function) }),
                    // Not in drivers before 10.0, which capture nothing.
                    stream_is_capturing: find(c"cuStreamIsCapturing")
                        // SAFETY: as above.
                        .map(|function| unsafe { transmute::<_, StreamIsCapturing>(function) }),
                    // Not in drivers before 10.1.
                    exchange_capture_mode: find(c"cuThreadExchangeStreamCaptureMode")
                        // SAFETY: as above.
                        .map(|function| unsafe { transmute::<_, ExchangeCaptureMode>(function) }),
                    // Not in drivers before 12.0.
                    // SAFETY: as above.
                    context_get_id: find(c"cuCtxGetId").map(|function| unsafe { transmute::<_, ContextGetId>(function) }),
                })
            }

            $($(#[$doc])*
            ///
            /// # Safety
            /// The arguments are what the CUDA Driver API asks for.
            pub unsafe fn $name(&self, $($argument: $type),*) -> Result<(), DriverFailure> {
                let _uncancelled = Uncancelled::begin();
                // SAFETY: the caller guarantees the arguments.
                let status = unsafe { (self.$name)($($argument),*) };
                self.check(stringify!($symbol), status)
            })*
        }
    };
}

entry_points! {
    /// Starts the driver.
    cuInit as init(flags: c_uint);
    /// How many devices there are.
    cuDeviceGetCount as device_count(count: *mut c_int);
    /// The device of an ordinal.
    cuDeviceGet as device_get(device: *mut CUdevice, ordinal: c_int);
    /// A number that says something about a device.
    cuDeviceGetAttribute as device_attribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    /// A device's name.
    cuDeviceGetName as device_name(name: *mut c_char, bytes: c_int, device: CUdevice);
    /// Where a device is on the bus: `0000:3B:00.0`.
    cuDeviceGetPCIBusId as device_bus(place: *mut c_char, bytes: c_int, device: CUdevice);
    /// A reference to a device's primary context.
    cuDevicePrimaryCtxRetain as primary_retain(context: *mut CUcontext, device: CUdevice);
    /// The calling thread's current context, or null.
    cuCtxGetCurrent as context_get_current(context: *mut CUcontext);
    /// Makes a context current until it is popped.
    cuCtxPushCurrent_v2 as context_push(context: CUcontext);
    /// Makes current what was current before a push.
    cuCtxPopCurrent_v2 as context_pop(context: *mut CUcontext);
    /// The current context's device.
    cuCtxGetDevice as context_device(device: *mut CUdevice);
    /// Waits for everything in the current context.
    cuCtxSynchronize as context_synchronize();
    /// Device memory.
    cuMemAlloc_v2 as mem_alloc(address: *mut CUdeviceptr, bytes: usize);
    /// Gives device memory back.
    cuMemFree_v2 as mem_free(address: CUdeviceptr);
    /// Free and total device memory in bytes.
    cuMemGetInfo_v2 as mem_info(free: *mut usize, total: *mut usize);
    /// Page-locked host memory.
    cuMemHostAlloc as host_alloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    /// Gives page-locked host memory back.
    cuMemFreeHost as host_free(address: *mut c_void);
    /// Page-locks host memory that is there already.
    cuMemHostRegister_v2 as host_register(address: *mut c_void, bytes: usize, flags: c_uint);
    /// Ends that.
    cuMemHostUnregister as host_unregister(address: *mut c_void);
    /// Copies between any two addresses of the unified address space.
    cuMemcpy as copy(to: CUdeviceptr, from: CUdeviceptr, bytes: usize);
    /// The same on a stream.
    cuMemcpyAsync as copy_async(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    /// Fills device memory with a byte.
    cuMemsetD8_v2 as fill(address: CUdeviceptr, value: u8, bytes: usize);
    /// What is known about an address: several attributes at once.
    cuPointerGetAttributes as pointer_attributes(
        count: c_uint, attributes: *mut CUpointer_attribute, data: *mut *mut c_void, address: CUdeviceptr
    );
    /// An event of the current context.
    cuEventCreate as event_create(event: *mut CUevent, flags: c_uint);
    /// Records an event behind the work that a stream has now.
    cuEventRecord as event_record(event: CUevent, stream: CUstream);
    /// Whether an event has come to pass: `NOT_READY` if it has not.
    cuEventQuery as event_query(event: CUevent);
    /// Waits for an event.
    cuEventSynchronize as event_synchronize(event: CUevent);
    /// Ends an event.
    cuEventDestroy_v2 as event_destroy(event: CUevent);
    /// Makes what a stream is given from now on wait for an event.
    cuStreamWaitEvent as stream_wait_event(stream: CUstream, event: CUevent, flags: c_uint);
    /// A stream of the current context.
    cuStreamCreate as stream_create(stream: *mut CUstream, flags: c_uint);
    /// Ends a stream, whose work comes to its end.
    cuStreamDestroy_v2 as stream_destroy(stream: CUstream);
    /// Waits for the work of a stream.
    cuStreamSynchronize as stream_synchronize(stream: CUstream);
    /// The name of a status.
    #[expect(dead_code, reason = "asked past the check: a status without a name would ask for its own")]
    cuGetErrorName as error_name(status: c_int, name: *mut *const c_char);
    /// The words for a status.
    #[expect(dead_code, reason = "asked past the check: a status without a name would ask for its own")]
    cuGetErrorString as error_words(status: c_int, words: *mut *const c_char);
}

impl Driver {
    /// The context that a stream belongs to, if the driver is new enough to say it.
    ///
    /// # Safety
    /// `stream` is a stream.
    pub unsafe fn stream_context(&self, stream: CUstream) -> Result<Option<CUcontext>, DriverFailure> {
        let Some(function) = self.stream_get_context else { return Ok(None) };
        let _uncancelled = Uncancelled::begin();
        let mut context = std::ptr::null_mut();
        // SAFETY: the caller guarantees the stream, and `context` is writable.
        let status = unsafe { function(stream, &mut context) };
        self.check("cuStreamGetCtx", status).map(|()| Some(context))
    }

    /// A number for the current context that no other has, nor the same one after a reset; 0 if the driver is too old
    /// to give one.
    pub fn context_life(&self) -> Result<u64, DriverFailure> {
        let Some(function) = self.context_get_id else { return Ok(0) };
        let _uncancelled = Uncancelled::begin();
        let mut id = 0;
        // SAFETY: null stands for the current context, and `id` is writable.
        let status = unsafe { function(std::ptr::null_mut(), &mut id) };
        self.check("cuCtxGetId", status).map(|()| id)
    }

    /// Whether a stream is captured, as CUDA's status; of the legacy stream, an error says that one is that it waits for.
    ///
    /// # Safety
    /// `stream` is NULL, one of CUDA's two special handles, or a stream.
    pub unsafe fn stream_capture_status(&self, stream: CUstream) -> Result<c_int, DriverFailure> {
        let mut captured = 0;
        let Some(function) = self.stream_is_capturing else { return Ok(captured) };
        let _uncancelled = Uncancelled::begin();
        // SAFETY: the caller guarantees the stream, and `captured` is writable.
        let status = unsafe { function(stream, &mut captured) };
        self.check("cuStreamIsCapturing", status).map(|()| captured)
    }

    /// Gives the calling thread another capture mode, and returns the one that it had; `None` if that cannot be.
    pub fn exchange_capture_mode(&self, mode: c_int) -> Option<c_int> {
        let mut mode = mode;
        let _uncancelled = Uncancelled::begin();
        // SAFETY: `mode` is readable and writable.
        let status = unsafe { self.exchange_capture_mode?(&mut mode) };
        (status == status::SUCCESS).then_some(mode)
    }

    fn check(&self, call: &'static str, status: c_int) -> Result<(), DriverFailure> {
        if status == status::SUCCESS { Ok(()) } else { Err(self.failure(call, status)) }
    }

    #[cold]
    fn failure(&self, call: &'static str, status: c_int) -> DriverFailure {
        if status == status::DEINITIALIZED {
            process::exiting();
        }
        let failure = DriverFailure { call, status };
        process::note_failure(failure);
        failure
    }

    /// How many devices there are.
    pub fn count(&self) -> Result<c_int, DriverFailure> {
        let mut count = 0;
        // SAFETY: `count` is writable.
        unsafe { self.device_count(&mut count) }?;
        Ok(count)
    }
}

type Ask = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

/// `cuGetErrorName` and `cuGetErrorString`.
static ASK: OnceLock<[Ask; 2]> = OnceLock::new();

impl Driver {
    /// Lets errors find the names of statuses.
    pub fn describe_statuses(&self) {
        ASK.get_or_init(|| [self.error_name, self.error_words]);
        error::describe_with(|status| {
            let [name, words] = ASK.get().map_or([""; 2], |ask| ask.map(|ask| text(status, ask)));
            (name, words)
        });
    }
}

/// The driver's text for a status; empty if it has none.
fn text(status: c_int, ask: Ask) -> &'static str {
    let mut text = std::ptr::null();
    // SAFETY: `text` is writable. A number that the driver does not know is refused.
    let refused = unsafe { ask(status, &mut text) } != status::SUCCESS;
    if refused || text.is_null() {
        return "";
    }
    // SAFETY: the driver's texts are NUL-terminated constants, and it is never unmapped.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default()
}

impl From<DriverFailure> for Error {
    fn from(failure: DriverFailure) -> Self {
        match failure.status {
            status if status::is_left_behind(status) => Error::Pending(failure),
            status if status::is_of_capture(status) => Error::Captured(failure),
            _ => Error::Driver(failure),
        }
    }
}

/// An address as the driver's functions take it.
pub fn address<T>(pointer: *const T) -> c_ulonglong {
    pointer.addr() as c_ulonglong
}
