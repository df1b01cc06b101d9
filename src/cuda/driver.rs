//! The driver's entry points, resolved once and called with integer statuses.
//!
//! cudarc provides only types and constants: its statuses are a Rust enum, and its loader tries a toolkit's stub first
//! and panics if a function is missing.
#![expect(unsafe_code, reason = "foreign functions")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::marker::PhantomData;
use std::sync::OnceLock;

use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUpointer_attribute, CUstream, CUstream_flags,
};

use super::{process, status};
use crate::error::{self, DriverFailure, Error};

entry_points! {
    Driver fails with DriverFailure;
    required {
        cuInit as init(flags: c_uint);
        cuDeviceGetCount as device_count(count: *mut c_int);
        cuDeviceGet as device_get(device: *mut CUdevice, ordinal: c_int);
        cuDeviceGetAttribute as device_attribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
        cuDeviceGetName as device_name(name: *mut c_char, bytes: c_int, device: CUdevice);
        cuDevicePrimaryCtxRetain as primary_retain(context: *mut CUcontext, device: CUdevice);
        cuCtxGetCurrent as context_get_current(context: *mut CUcontext);
        /// Replaces the top of the thread's stack of contexts; NULL pops it.
        cuCtxSetCurrent as context_set_current(context: CUcontext);
        cuCtxPushCurrent_v2 as context_push(context: CUcontext);
        cuCtxPopCurrent_v2 as context_pop(context: *mut CUcontext);
        cuCtxGetDevice as context_device(device: *mut CUdevice);
        cuCtxSynchronize as context_synchronize();
        cuMemAlloc_v2 as mem_alloc(address: *mut CUdeviceptr, bytes: usize);
        cuMemFree_v2 as mem_free(address: CUdeviceptr);
        cuMemGetInfo_v2 as mem_info(free: *mut usize, total: *mut usize);
        cuMemHostAlloc as host_alloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
        cuMemFreeHost as host_free(address: *mut c_void);
        /// Copies between any two addresses of the unified address space.
        cuMemcpy as copy(to: CUdeviceptr, from: CUdeviceptr, bytes: usize);
        cuMemcpyAsync as copy_async(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
        cuMemsetD8_v2 as fill(address: CUdeviceptr, value: u8, bytes: usize);
        cuPointerGetAttributes as pointer_attributes(
            count: c_uint, attributes: *mut CUpointer_attribute, data: *mut *mut c_void, address: CUdeviceptr
        );
        cuEventCreate as event_create(event: *mut CUevent, flags: c_uint);
        cuEventRecord as event_record(event: CUevent, stream: CUstream);
        /// Fails with `NOT_READY` while the event is not complete.
        cuEventQuery as event_query(event: CUevent);
        cuEventSynchronize as event_synchronize(event: CUevent);
        cuEventDestroy_v2 as event_destroy(event: CUevent);
        cuStreamWaitEvent as stream_wait_event(stream: CUstream, event: CUevent, flags: c_uint);
        cuStreamCreate as stream_create(stream: *mut CUstream, flags: c_uint);
        /// The stream's queued work still completes.
        cuStreamDestroy_v2 as stream_destroy(stream: CUstream);
        cuStreamSynchronize as stream_synchronize(stream: CUstream);
        #[expect(dead_code, reason = "called without `check`, which would look up the name of a status without a name")]
        cuGetErrorName as error_name(status: c_int, name: *mut *const c_char);
        #[expect(dead_code, reason = "called without `check`, which would look up the name of a status without a name")]
        cuGetErrorString as error_words(status: c_int, words: *mut *const c_char);
    }
    optional {
        /// New in CUDA 9.2.
        cuStreamGetCtx as stream_get_context(stream: CUstream, context: *mut CUcontext);
        /// New in CUDA 10.0.
        cuStreamIsCapturing as stream_is_capturing(stream: CUstream, status: *mut c_int);
        /// New in CUDA 10.1.
        cuThreadExchangeStreamCaptureMode as exchange_mode(mode: *mut c_int);
        /// New in CUDA 12.0.
        cuCtxGetId as context_get_id(context: CUcontext, id: *mut c_ulonglong);
    }
}

impl Driver {
    /// NULL if the driver is too old.
    pub fn stream_context(&self, stream: Stream<'_>) -> Result<CUcontext, DriverFailure> {
        // SAFETY: a `Stream` exists for its lifetime, by the contract of `Stream::of`.
        let ask = |context: &mut _| unsafe { self.stream_get_context(stream.0, context) };
        output(std::ptr::null_mut(), |context| ask(context).unwrap_or(Ok(())))
    }

    /// The current context's id, unique in the process; a reset changes it. 0 if the driver is too old.
    pub fn context_id(&self) -> Result<u64, DriverFailure> {
        // SAFETY: NULL stands for the current context.
        output(0, |id| unsafe { self.context_get_id(std::ptr::null_mut(), id) }.unwrap_or(Ok(())))
    }

    /// For the legacy stream, an error means that a stream which it waits for is captured.
    pub fn stream_capture_status(&self, stream: Stream<'_>) -> Result<c_int, DriverFailure> {
        // SAFETY: a `Stream` exists for its lifetime, by the contract of `Stream::of`.
        output(0, |captured| unsafe { self.stream_is_capturing(stream.0, captured) }.unwrap_or(Ok(())))
    }

    /// Returns the previous mode; `None` on failure.
    pub fn exchange_capture_mode(&self, mut mode: c_int) -> Option<c_int> {
        // SAFETY: `mode` is readable and writable.
        unsafe { self.exchange_mode(&mut mode) }?.ok().map(|()| mode)
    }

    fn check(&self, call: &'static str, status: c_int) -> Result<(), DriverFailure> {
        if status == status::SUCCESS { Ok(()) } else { Err(self.failure(call, status)) }
    }

    #[cold]
    fn failure(&self, call: &'static str, status: c_int) -> DriverFailure {
        if status == status::DEINITIALIZED {
            process::begin_exit();
        }
        let failure = DriverFailure { call, status };
        process::note_failure(failure);
        failure
    }

    /// Makes a non-blocking stream: it and the legacy stream do not wait for each other. It exists until `stream_destroy`.
    pub fn new_stream(&self) -> Result<Stream<'static>, DriverFailure> {
        const FLAGS: c_uint = CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint;
        // SAFETY: the driver only writes the handle.
        let stream = output(std::ptr::null_mut(), |stream| unsafe { self.stream_create(stream, FLAGS) })?;
        Ok(Stream(stream, PhantomData))
    }

    /// `None` if the driver does not know the attribute.
    pub fn attribute(&self, device: c_int, attribute: CUdevice_attribute) -> Option<c_int> {
        // SAFETY: the driver refuses unknown devices and attributes.
        output(0, |value| unsafe { self.device_attribute(value, attribute, device) }).ok()
    }

    /// Free and total bytes of the current context's device.
    pub fn memory(&self) -> Result<(u64, u64), DriverFailure> {
        // SAFETY: the driver only writes both numbers.
        let (free, total) = output((0, 0), |(free, total)| unsafe { self.mem_info(free, total) })?;
        Ok((free as u64, total as u64))
    }

    pub fn synchronize_context(&self) -> Result<(), DriverFailure> {
        // SAFETY: the function has no arguments.
        unsafe { self.context_synchronize() }
    }

    pub fn synchronize_stream(&self, stream: Stream<'_>) -> Result<(), DriverFailure> {
        // SAFETY: a `Stream` exists for its lifetime, by the contract of `Stream::of`.
        unsafe { self.stream_synchronize(stream.0) }
    }

    pub fn count(&self) -> Result<c_int, DriverFailure> {
        // SAFETY: the driver only writes the number.
        output(0, |count| unsafe { self.device_count(count) })
    }
}

/// A default stream, or one that exists for `'s`.
#[derive(Clone, Copy)]
pub struct Stream<'s>(CUstream, PhantomData<&'s ()>);

impl Stream<'_> {
    pub const LEGACY: Stream<'static> = Stream(std::ptr::null_mut(), PhantomData);

    /// # Safety
    /// `handle` is NULL, one of CUDA's two special handles, or a stream that exists for the lifetime.
    pub unsafe fn of(handle: *mut c_void) -> Self {
        Stream(handle.cast(), PhantomData)
    }

    pub fn handle(self) -> CUstream {
        self.0
    }

    /// Whether the handle is NULL or CU_STREAM_LEGACY.
    pub fn is_legacy(self) -> bool {
        self.0.addr() <= 1
    }

    /// Whether the handle is a legacy one or CU_STREAM_PER_THREAD, which stand for streams of the current context.
    pub fn is_default(self) -> bool {
        self.0.addr() <= 2
    }
}

/// Returns what `call` writes over `initial`.
pub fn output<T, E>(initial: T, call: impl FnOnce(&mut T) -> Result<(), E>) -> Result<T, E> {
    let mut value = initial;
    call(&mut value).map(|()| value)
}

type Ask = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

static ASK: OnceLock<[Ask; 2]> = OnceLock::new();

impl Driver {
    pub fn describe_statuses(&self) {
        ASK.get_or_init(|| [self.error_name, self.error_words]);
        error::describe_with(|status| {
            let [name, words] = ASK.get().map_or([""; 2], |ask| ask.map(|ask| text(status, ask)));
            (name, words)
        });
    }
}

fn text(status: c_int, ask: Ask) -> &'static str {
    let mut text = std::ptr::null();
    // SAFETY: `text` is writable, and the driver refuses an unknown status.
    let refused = unsafe { ask(status, &mut text) } != status::SUCCESS;
    if refused || text.is_null() {
        return "";
    }
    // SAFETY: the driver's texts are NUL-terminated constants, and the driver is never unmapped.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default()
}

impl From<DriverFailure> for Error {
    fn from(failure: DriverFailure) -> Self {
        match failure.status {
            status if status::is_sticky(status) => Error::Pending(failure),
            status if status::is_capture_error(status) => Error::Captured(failure),
            _ => Error::Driver(failure),
        }
    }
}

pub fn address<T>(pointer: *const T) -> c_ulonglong {
    pointer.addr() as c_ulonglong
}
