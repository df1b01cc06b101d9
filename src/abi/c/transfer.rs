//! Copies that go on in the background.
#![expect(unsafe_code, reason = "C functions")]

use super::object::{ask, syncedmem_t, with};
use crate::abi::status::syncedmem_status_t;
use crate::object::SyncedMemory;

/// A CUDA stream, as `CUstream` and `cudaStream_t` point to it.
#[expect(non_camel_case_types, reason = "CUDA's name")]
pub struct CUstream_st(());

/// Starts a copy from the host to the device on `stream` and returns: the head is SYNCED at once, and the caller
/// synchronises the stream before using the device data. The host must be the newest side.
///
/// The library knows that the copy is in flight: reading either side does not wait for it, and whatever would disturb
/// it does (`syncedmem_mutable_cpu_data`, setting or releasing a side, ending the object). `stream` is not used after
/// this call returns, and may be destroyed. Only page-locked host memory is copied while the caller goes on.
///
/// Errors: `INVALID_ARGUMENT` (also a stream that is captured: see "Graphs" above), `INVALID_HANDLE`, `NO_GPU`, `INVALID_STATE`,
/// `OUT_OF_MEMORY`, `DRIVER`, `PENDING`, `REENTERED`.
///
/// # Safety
/// `mem` is NULL or a handle; `stream` is NULL (the legacy default stream) or a stream.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_async_gpu_push(
    mem: *mut syncedmem_t,
    stream: *mut CUstream_st,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it, of the stream.
    let push = |object: &SyncedMemory| unsafe { object.async_gpu_push(stream.cast()) };
    // SAFETY: the caller guarantees it, of the handle.
    unsafe { with("syncedmem_async_gpu_push", mem, push) }
}

/// Starts a copy from the device to the host on `stream` and returns. The head stays HEAD_AT_GPU until the copy is
/// known to be done: `syncedmem_cpu_data` and `syncedmem_wait` wait for it, `syncedmem_is_ready` asks, and none of
/// them copies again. Where the host is current, or such a copy is in flight, nothing is done.
///
/// Reading the device side does not wait; whatever would disturb the copy does. `stream` is not used after this call
/// returns, and may be destroyed. Only into page-locked host memory is copied while the caller goes on.
///
/// Errors: `INVALID_ARGUMENT` (also a stream that is captured: see "Graphs" above), `INVALID_HANDLE`, `NO_GPU`, `INVALID_STATE`
/// (UNINITIALIZED), `OUT_OF_MEMORY`, `DRIVER`, `PENDING`, `REENTERED`.
///
/// # Safety
/// `mem` is NULL or a handle; `stream` is NULL (the legacy default stream) or a stream.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_async_cpu_pull(
    mem: *mut syncedmem_t,
    stream: *mut CUstream_st,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it, of the stream.
    let pull = |object: &SyncedMemory| unsafe { object.async_cpu_pull(stream.cast()) };
    // SAFETY: the caller guarantees it, of the handle.
    unsafe { with("syncedmem_async_cpu_pull", mem, pull) }
}

/// Declares that the work that `stream` has now may be using the object's device block and its page-locked host block: when
/// the object gives them back, they are not handed to another before that work is done. To be called after the last use on
/// that stream. `stream` is not used after this call returns, and may be destroyed.
///
/// Needed for streams that the library cannot see where an event is enough to hand blocks out again (see
/// `syncedmem_set_reuse`), and for streams of another context than the block's. Blocks that the object does not own, and
/// those that it makes later, are not concerned.
///
/// Errors: `INVALID_ARGUMENT` (also a stream that is captured: see "Graphs" above), `INVALID_HANDLE`, `NO_GPU`, `DRIVER`, `PENDING`.
///
/// # Safety
/// `mem` is NULL or a handle; `stream` is NULL (the legacy default stream) or a stream.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_record_stream(
    mem: *mut syncedmem_t,
    stream: *mut CUstream_st,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it, of the stream.
    let record = |object: &SyncedMemory| unsafe { object.record_stream(stream.cast()) };
    // SAFETY: the caller guarantees it, of the handle.
    unsafe { with("syncedmem_record_stream", mem, record) }
}

/// Makes what `stream` is given from now on wait for what the library has started on the object's device side: fills and
/// copies are ordered on the legacy default stream, which streams that do not block (`cudaStreamNonBlocking`) do not wait
/// for by themselves. The calling thread waits for nothing but a copy that the object has in flight. `stream` is not used
/// after this call returns.
///
/// Errors: `INVALID_ARGUMENT` (also a stream that is captured: see "Graphs" above), `INVALID_HANDLE`, `NO_GPU`, `DRIVER`,
/// `PENDING`, `REENTERED`.
///
/// # Safety
/// `mem` is NULL or a handle; `stream` is NULL (the legacy default stream: there is nothing to do), one of CUDA's two special
/// handles, or a stream.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_stream_wait(mem: *mut syncedmem_t, stream: *mut CUstream_st) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it, of the stream.
    let wait = |object: &SyncedMemory| unsafe { object.stream_wait(stream.cast()) };
    // SAFETY: the caller guarantees it, of the handle.
    unsafe { with("syncedmem_stream_wait", mem, wait) }
}

/// Waits until the object has nothing in flight. After a pull both sides hold the same data.
///
/// Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `NO_GPU`, `DRIVER`, `PENDING`, `REENTERED`.
///
/// # Safety
/// `mem` is NULL or a handle.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_wait(mem: *mut syncedmem_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_wait", mem, SyncedMemory::wait) }
}

/// Writes to `*ready` whether the object has nothing in flight (any more). It never waits.
///
/// Errors: as `syncedmem_wait`.
///
/// # Safety
/// `mem` is NULL or a handle; `ready` is NULL or writable.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_is_ready(mem: *mut syncedmem_t, ready: *mut bool) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { ask("syncedmem_is_ready", mem, ready, SyncedMemory::is_ready) }
}
