//! The two sides: an object of the library, and the original's block.
#![expect(unsafe_code, reason = "the library's C API, calloc and free")]

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use syncedmem::abi::c::access;
use syncedmem::abi::c::object::{syncedmem_create, syncedmem_destroy, syncedmem_t};
use syncedmem::abi::c::policy::syncedmem_set_pinning;
use syncedmem::abi::c::pools::syncedmem_trim;
use syncedmem::abi::status::syncedmem_status_t::{self, SYNCEDMEM_SUCCESS};

/// One byte of each page is written: the kernel then gives the page to the process.
const PAGE: usize = 4096;

/// Memory that can be written.
pub trait Block: Sized {
    /// Allocates memory that reads as zeros.
    fn of(bytes: usize) -> Option<Self>;
    /// Writes one byte of each page.
    fn write(&mut self);
}

/// Writes one byte of each page.
///
/// # Safety
/// The bytes are writable, and no other thread uses them.
unsafe fn write(begin: NonNull<u8>, bytes: usize) {
    for at in (0..bytes).step_by(PAGE) {
        // SAFETY: within the bytes that the caller guarantees.
        let byte = unsafe { begin.add(at) };
        // SAFETY: the caller guarantees that it is writable.
        unsafe { byte.write_volatile(1) };
    }
}

pub struct Original {
    block: NonNull<u8>,
    bytes: usize,
}

impl Block for Original {
    fn of(bytes: usize) -> Option<Self> {
        // SAFETY: calloc has no preconditions.
        let block = unsafe { libc::calloc(1, bytes) };
        Some(Original { block: NonNull::new(block.cast())?, bytes })
    }

    fn write(&mut self) {
        // SAFETY: calloc returned `bytes` bytes, and this object alone uses them.
        unsafe { write(self.block, self.bytes) };
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        // SAFETY: calloc returned the block, and this object alone has it.
        unsafe { libc::free(self.block.as_ptr().cast()) };
    }
}

/// An object of the library with a host side.
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
        // SAFETY: syncedmem_create returned the handle, and `data` is writable.
        let status = unsafe { access::syncedmem_mutable_cpu_data(handle, &mut data) };
        let block = succeeded(status).and_then(|()| NonNull::new(data.cast()));
        let Some(block) = block else {
            // SAFETY: this function alone has the handle.
            unsafe { syncedmem_destroy(handle) };
            return None;
        };
        Some(Object { handle, block, bytes })
    }

    fn write(&mut self) {
        // SAFETY: the library returned `bytes` bytes, and no call since then moves them.
        unsafe { write(self.block, self.bytes) };
    }
}

impl Object {
    /// Reads the device side: copies if the host side is newer.
    pub fn copy_to_device(&mut self) -> Option<()> {
        let mut data = std::ptr::null();
        // SAFETY: the handle is this object's, and `data` is writable.
        succeeded(unsafe { access::syncedmem_gpu_data(self.handle, &mut data) })
    }

    /// Makes the host side the newest, so that the next access to the device side copies.
    pub fn host_is_newest(&mut self) -> Option<()> {
        let mut data = null_mut();
        // SAFETY: the handle is this object's, and `data` is writable.
        succeeded(unsafe { access::syncedmem_mutable_cpu_data(self.handle, &mut data) })
    }

    /// Makes the device side the newest, so that the next access to the host side copies.
    pub fn device_is_newest(&mut self) -> Option<()> {
        let mut data = null_mut();
        // SAFETY: the handle is this object's, and `data` is writable.
        succeeded(unsafe { access::syncedmem_mutable_gpu_data(self.handle, &mut data) })
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: this object alone has the handle and its memory.
        unsafe { syncedmem_destroy(self.handle) };
    }
}

fn succeeded(status: syncedmem_status_t) -> Option<()> {
    (status == SYNCEDMEM_SUCCESS).then_some(())
}

/// Gives back all memory that the library keeps for reuse.
pub fn give_back() {
    syncedmem_trim(ALL);
}

const ALL: i32 = syncedmem::abi::c::pools::syncedmem_memory_t::SYNCEDMEM_MEMORY_ALL as i32;

/// The ways of a copy between host memory and the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By the driver from pageable memory, as the original in CPU mode.
    Pageable,
    /// Through the library's page-locked staging buffers.
    Staged,
    /// From page-locked memory, as the original in GPU mode.
    Pinned,
}

/// Sets the library to a way.
pub fn choose(way: Way) {
    use syncedmem::abi::c::policy::syncedmem_pinning_t::{SYNCEDMEM_PIN_ALWAYS, SYNCEDMEM_PIN_NEVER};
    let pinning = if way == Way::Pinned { SYNCEDMEM_PIN_ALWAYS } else { SYNCEDMEM_PIN_NEVER };
    syncedmem_set_pinning(pinning as i32);
}

/// Copies of at least this many bytes are staged.
pub const STAGED_FROM: usize = 64 << 20;

/// Sets the environment before the library reads it.
pub fn before_the_first_use() {
    // SAFETY: the process has one thread.
    unsafe { std::env::set_var("SYNCEDMEM_STAGE_FROM", STAGED_FROM.to_string()) };
}
