//! The two sides: an object of the library's, and the original's block.
#![expect(unsafe_code, reason = "the library's C API, calloc and free")]

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use syncedmem::abi::c::access;
use syncedmem::abi::c::object::{syncedmem_create, syncedmem_destroy, syncedmem_t};
use syncedmem::abi::c::policy::syncedmem_set_pinning;
use syncedmem::abi::c::pools::syncedmem_trim;
use syncedmem::abi::status::syncedmem_status_t::{self, SYNCEDMEM_SUCCESS};

/// One byte of each page is written: that makes it the process's own.
const PAGE: usize = 4096;

/// Something whose memory can be written.
pub trait Block: Sized {
    /// It, with so many zeros.
    fn of(bytes: usize) -> Option<Self>;
    /// Writes one byte of each page.
    fn write(&mut self);
}

/// Writes one byte of each page of so many bytes.
///
/// # Safety
/// They are there, are writable, and are nobody else's.
unsafe fn write(begin: NonNull<u8>, bytes: usize) {
    for at in (0..bytes).step_by(PAGE) {
        // SAFETY: within the bytes that the caller guarantees.
        let byte = unsafe { begin.add(at) };
        // SAFETY: the caller guarantees it.
        unsafe { byte.write_volatile(1) };
    }
}

/// What the original has.
pub struct Original {
    block: NonNull<u8>,
    bytes: usize,
}

impl Block for Original {
    fn of(bytes: usize) -> Option<Self> {
        // SAFETY: it has no conditions.
        let block = unsafe { libc::calloc(1, bytes) };
        Some(Original { block: NonNull::new(block.cast())?, bytes })
    }

    fn write(&mut self) {
        // SAFETY: it is calloc's, so large, and this object's alone.
        unsafe { write(self.block, self.bytes) };
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        // SAFETY: it is calloc's, and nobody else's.
        unsafe { libc::free(self.block.as_ptr().cast()) };
    }
}

/// An object of the library's, with its host side.
pub struct Object {
    handle: *mut syncedmem_t,
    block: NonNull<u8>,
    bytes: usize,
}

impl Block for Object {
    fn of(bytes: usize) -> Option<Self> {
        let mut handle = null_mut();
        // SAFETY: `handle` is writable.
        succeeded(unsafe { syncedmem_create(bytes, &mut handle) })?;
        let mut data: *mut c_void = null_mut();
        // SAFETY: the handle is the one that was made, and `data` is writable.
        let status = unsafe { access::syncedmem_mutable_cpu_data(handle, &mut data) };
        let block = succeeded(status).and_then(|()| NonNull::new(data.cast()));
        let Some(block) = block else {
            // SAFETY: nobody else has the handle.
            unsafe { syncedmem_destroy(handle) };
            return None;
        };
        Some(Object { handle, block, bytes })
    }

    fn write(&mut self) {
        // SAFETY: the library gave it out, so large, and nothing was asked of the object since that would move it.
        unsafe { write(self.block, self.bytes) };
    }
}

impl Object {
    /// Asks for the device's side: copies, if the host's is newer.
    pub fn copy_to_device(&mut self) -> Option<()> {
        let mut data = std::ptr::null();
        // SAFETY: the handle is this object's, and `data` is writable.
        succeeded(unsafe { access::syncedmem_gpu_data(self.handle, &mut data) })
    }

    /// Says that the host's side will be written, so that the next copy to the device is needed.
    pub fn host_is_newest(&mut self) -> Option<()> {
        let mut data = null_mut();
        // SAFETY: the handle is this object's, and `data` is writable.
        succeeded(unsafe { access::syncedmem_mutable_cpu_data(self.handle, &mut data) })
    }

    /// Says that the device's side will be written, so that the next copy to the host is needed.
    pub fn device_is_newest(&mut self) -> Option<()> {
        let mut data = null_mut();
        // SAFETY: the handle is this object's, and `data` is writable.
        succeeded(unsafe { access::syncedmem_mutable_gpu_data(self.handle, &mut data) })
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: nobody else has the handle, nor the memory behind it.
        unsafe { syncedmem_destroy(self.handle) };
    }
}

fn succeeded(status: syncedmem_status_t) -> Option<()> {
    (status == SYNCEDMEM_SUCCESS).then_some(())
}

/// Gives everything back that either side keeps, so that what comes next is fresh.
pub fn give_back() {
    syncedmem_trim(ALL);
}

/// Every kind of memory.
const ALL: i32 = syncedmem::abi::c::pools::syncedmem_memory_t::SYNCEDMEM_MEMORY_ALL as i32;

/// The ways by which host memory reaches the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As the driver copies pageable memory: the original's in CPU mode.
    Pageable,
    /// Through page-locked slots of the library's.
    Staged,
    /// Page-locked memory: the original's in GPU mode.
    Pinned,
}

/// Sets the library to a way.
pub fn choose(way: Way) {
    use syncedmem::abi::c::policy::syncedmem_pinning_t::{SYNCEDMEM_PIN_ALWAYS, SYNCEDMEM_PIN_NEVER};
    let pinning = if way == Way::Pinned { SYNCEDMEM_PIN_ALWAYS } else { SYNCEDMEM_PIN_NEVER };
    syncedmem_set_pinning(pinning as i32);
}

/// Copies of so many bytes go through slots, and smaller ones do not.
pub const STAGED_FROM: usize = 64 << 20;

/// Settings that must be there before the library reads them.
pub fn before_the_first_use() {
    // SAFETY: this is the only thread.
    unsafe { std::env::set_var("SYNCEDMEM_STAGE_FROM", STAGED_FROM.to_string()) };
}
