//! Asynchronous copies, and streams.

use super::object::syncedmem_t;
use crate::abi::arguments::{handle, out};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;

/// What `CUstream` and `cudaStream_t` point to.
pub struct CUstream_st(());

/// Starts a copy on `stream` from the host to the device. The head is SYNCED at once; synchronize the stream before you
/// use the device data.
///
/// Errors: `INVALID_STATE` (the head is not HEAD_AT_CPU).
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_async_gpu_push(
    mem: *mut syncedmem_t,
    stream: *mut CUstream_st,
) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        // SAFETY: the C caller passes a stream that is valid during the call.
        unsafe { object.async_gpu_push(stream.cast()) }?;
    })
}

/// Starts a copy on `stream` from the device to the host, unless the host is current or such a copy is in flight. The
/// head stays HEAD_AT_GPU until `syncedmem_cpu_data`, `syncedmem_wait` or `syncedmem_is_ready` completes the copy.
///
/// Errors: `INVALID_STATE` (UNINITIALIZED).
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_async_cpu_pull(
    mem: *mut syncedmem_t,
    stream: *mut CUstream_st,
) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        // SAFETY: the C caller passes a stream that is valid during the call.
        unsafe { object.async_cpu_pull(stream.cast()) }?;
    })
}

/// Declares that work already in `stream` may use the object's device block and page-locked host block, which are then
/// not reused before that work is done. It is needed, after the last use on that stream, for streams of another context
/// than the block's. Borrowed and later blocks are not affected.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_record_stream(
    mem: *mut syncedmem_t,
    stream: *mut CUstream_st,
) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        // SAFETY: the C caller passes a stream that is valid during the call.
        unsafe { object.record_stream(stream.cast()) }?;
    })
}

/// Makes later work of `stream` wait for the library's fills and copies of the object's device side, which run on the
/// legacy default stream: streams of `cudaStreamNonBlocking` do not wait for that by themselves. The calling thread
/// waits only for the object's copy in flight. `stream` may be one of CUDA's two special handles.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_stream_wait(mem: *mut syncedmem_t, stream: *mut CUstream_st) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        // SAFETY: the C caller passes a stream that is valid during the call.
        unsafe { object.stream_wait(stream.cast()) }?;
    })
}

/// Waits for the object's copy in flight. After a pull both sides hold the same data.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_wait(mem: *mut syncedmem_t) -> syncedmem_status_t {
    entry!(handle(mem), |object| object.wait()?)
}

/// Writes to `*ready` whether the object has no copy in flight. It never waits.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_is_ready(mem: *mut syncedmem_t, ready: *mut bool) -> syncedmem_status_t {
    entry!(handle(mem), out(ready), |object, ready| ready.set(object.is_ready()?))
}
