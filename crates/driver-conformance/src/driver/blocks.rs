//! Blocks of device and host memory, and copies between ranges in them.
#![expect(unsafe_code, reason = "calls the driver, and reads and writes host memory that the driver may write")]

use super::calls::{self, call};
use super::queues::Stream;
use super::status::{self, NOT_PERMITTED, NOT_SUPPORTED};
use super::table::Address;
use crate::verdict::{Done, Must, Outcome, Reply, Verdict};
use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

/// Freed when dropped.
pub(crate) struct DeviceBlock {
    address: Address,
    bytes: usize,
}

impl DeviceBlock {
    pub(crate) fn new(bytes: usize) -> Result<Self, Verdict> {
        Ok(DeviceBlock { address: calls::memory_alloc(bytes).must()?, bytes })
    }

    pub(crate) fn managed(bytes: usize, flags: u32) -> Result<Self, Verdict> {
        let mut address = 0;
        call!(cuMemAllocManaged, &mut address, bytes, flags).ok()?;
        Ok(DeviceBlock { address, bytes })
    }

    pub(crate) fn on_stream(bytes: usize, stream: &Stream) -> Result<Self, Verdict> {
        let mut address = 0;
        call!(cuMemAllocAsync, &mut address, bytes, stream.handle()).ok()?;
        Ok(DeviceBlock { address, bytes })
    }

    pub(crate) fn address(&self) -> Address {
        self.address
    }

    pub(crate) fn free(self) -> Result<Reply, Verdict> {
        calls::memory_free(self.release())
    }

    pub(crate) fn free_on(self, stream: &Stream) -> Result<Reply, Verdict> {
        let address = self.release();
        Ok(call!(cuMemFreeAsync, address, stream.handle()))
    }

    pub(crate) fn release(self) -> Address {
        let address = self.address;
        std::mem::forget(self);
        address
    }

    pub(crate) fn at(&self, offset: usize) -> Place<'_> {
        Place::Device(self, offset)
    }
}

impl Drop for DeviceBlock {
    fn drop(&mut self) {
        // A check that failed may have left work in flight.
        let _ = calls::synchronize();
        // Without its context the driver refuses it, and the block is gone already.
        let _ = calls::memory_free(self.address);
    }
}

enum Kind {
    Pageable,
    Pinned,
    Registered,
}

/// Host memory, which is read and written by volatile bytes because the driver writes it too.
pub(crate) struct HostBlock {
    start: NonNull<u8>,
    bytes: usize,
    kind: Kind,
}

// SAFETY: it owns its memory, which is tied to no thread.
unsafe impl Send for HostBlock {}

const PAGE: usize = 4096;

impl HostBlock {
    fn layout(bytes: usize) -> Layout {
        match Layout::from_size_align(bytes.max(1), PAGE) {
            Ok(layout) => layout,
            Err(_) => panic!("checks ask for a few mebibytes"),
        }
    }

    /// Zeros, aligned to a page.
    pub(crate) fn pageable(bytes: usize) -> Self {
        let layout = Self::layout(bytes);
        // SAFETY: the layout is of at least one byte.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { std::alloc::handle_alloc_error(layout) };
        HostBlock { start, bytes, kind: Kind::Pageable }
    }

    /// Some virtual machines and confidential computing refuse to register memory.
    pub(crate) fn registered(bytes: usize) -> Result<Self, Verdict> {
        let mut block = Self::pageable(bytes);
        let reply = block.register()?;
        if matches!(reply.status, NOT_SUPPORTED | NOT_PERMITTED) {
            return Err(Verdict::skipped(format!(
                "the driver does not register memory: {}",
                status::named(reply.status)
            )));
        }
        reply.ok()?;
        block.kind = Kind::Registered;
        Ok(block)
    }

    pub(crate) fn register(&self) -> Result<Reply, Verdict> {
        Ok(call!(cuMemHostRegister_v2, self.start.as_ptr().cast(), self.bytes, 0))
    }

    /// Of `cuMemHostAlloc`, zeroed.
    pub(crate) fn pinned(bytes: usize, flags: u32) -> Result<Self, Verdict> {
        let mut start = null_mut();
        call!(cuMemHostAlloc, &mut start, bytes, flags).ok()?;
        Self::of_the_driver(start, bytes)
    }

    fn of_the_driver(start: *mut c_void, bytes: usize) -> Result<Self, Verdict> {
        let Some(start) = NonNull::new(start.cast::<u8>()) else {
            return Err(Verdict::Failed { expected: "an address of pinned memory".into(), got: "NULL".into() });
        };
        let block = HostBlock { start, bytes, kind: Kind::Pinned };
        block.fill(0);
        Ok(block)
    }

    /// For flags or a size that the driver should refuse. A block that it grants is freed.
    pub(crate) fn try_pinned(bytes: usize, flags: u32) -> Result<Reply, Verdict> {
        let mut start = null_mut();
        let reply = call!(cuMemHostAlloc, &mut start, bytes, flags);
        if reply.status == 0 && !start.is_null() {
            calls::pinned_free(start as Address).must()?;
        }
        Ok(reply)
    }

    pub(crate) fn address(&self) -> Address {
        self.start.as_ptr() as Address
    }

    pub(crate) fn free(self) -> Result<Reply, Verdict> {
        let address = self.address();
        std::mem::forget(self);
        calls::pinned_free(address)
    }

    pub(crate) fn at(&self, offset: usize) -> Place<'_> {
        Place::Host(self, offset)
    }

    pub(crate) fn set(&self, at: usize, byte: u8) {
        assert!(at < self.bytes);
        // SAFETY: inside the block, by the assertion.
        let place = unsafe { self.start.add(at) };
        // SAFETY: owned memory; volatile, because the driver may use it at the same time.
        unsafe { place.write_volatile(byte) };
    }

    pub(crate) fn get(&self, at: usize) -> u8 {
        assert!(at < self.bytes);
        // SAFETY: inside the block, by the assertion.
        let place = unsafe { self.start.add(at) };
        // SAFETY: as above, and initialized.
        unsafe { place.read_volatile() }
    }

    pub(crate) fn fill(&self, byte: u8) {
        (0..self.bytes).for_each(|at| self.set(at, byte));
    }

    /// Bytes that repeat at no power of two.
    pub(crate) fn fill_pattern(&self, seed: usize) {
        (0..self.bytes).for_each(|at| self.set(at, pattern(at, seed)));
    }

    pub(crate) fn has(&self, what: &str, byte: u8) -> Outcome {
        self.compare(what, 0..self.bytes, |_| byte)
    }

    pub(crate) fn has_pattern(&self, what: &str, seed: usize) -> Outcome {
        self.compare(what, 0..self.bytes, |at| pattern(at, seed))
    }

    pub(crate) fn compare(&self, what: &str, range: std::ops::Range<usize>, byte: impl Fn(usize) -> u8) -> Outcome {
        for at in range {
            let (expected, got) = (byte(at), self.get(at));
            if expected != got {
                let expected = format!("byte {at} of {what} to be {expected:#04x}");
                return Err(Verdict::Failed { expected, got: format!("{got:#04x}") });
            }
        }
        Ok(())
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        // A check that failed may have left a copy in flight.
        let _ = calls::synchronize();
        match self.kind {
            Kind::Pinned => {
                let _ = calls::pinned_free(self.address());
                return;
            }
            Kind::Registered => {
                let _ = calls::unregister(self.address());
            }
            Kind::Pageable => {}
        }
        // SAFETY: allocated with this layout, and no copy is in flight any more.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), Self::layout(self.bytes)) };
    }
}

fn pattern(at: usize, seed: usize) -> u8 {
    ((at * 7 + at / 251 + seed) % 253) as u8
}

#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    Device(&'a DeviceBlock, usize),
    Host(&'a HostBlock, usize),
}

impl Place<'_> {
    /// Of a range of `bytes` that lies in the block.
    fn range(self, bytes: usize) -> Address {
        let (start, size, offset) = match self {
            Place::Device(block, offset) => (block.address, block.bytes, offset),
            Place::Host(block, offset) => (block.address(), block.bytes, offset),
        };
        assert!(offset <= size && bytes <= size - offset, "the check keeps to its blocks");
        start + offset as Address
    }

    fn host(self, bytes: usize) -> *mut c_void {
        assert!(matches!(self, Place::Host(..)), "the check says which side it means");
        self.range(bytes) as *mut c_void
    }

    fn device(self, bytes: usize) -> Address {
        assert!(matches!(self, Place::Device(..)), "the check says which side it means");
        self.range(bytes)
    }
}

pub(crate) fn copy(to: Place, from: Place, bytes: usize) -> Done {
    Ok(call!(cuMemcpy, to.range(bytes), from.range(bytes), bytes))
}

pub(crate) fn copy_async(to: Place, from: Place, bytes: usize, stream: &Stream) -> Done {
    Ok(call!(cuMemcpyAsync, to.range(bytes), from.range(bytes), bytes, stream.handle()))
}

pub(crate) fn copy_to_device(to: Place, from: Place, bytes: usize) -> Done {
    Ok(call!(cuMemcpyHtoD_v2, to.device(bytes), from.host(bytes), bytes))
}

pub(crate) fn copy_to_host(to: Place, from: Place, bytes: usize) -> Done {
    Ok(call!(cuMemcpyDtoH_v2, to.host(bytes), from.device(bytes), bytes))
}

pub(crate) fn copy_in_device(to: Place, from: Place, bytes: usize) -> Done {
    Ok(call!(cuMemcpyDtoD_v2, to.device(bytes), from.device(bytes), bytes))
}

/// The source may be any address: the call says that it is the device's.
pub(crate) fn copy_to_host_from(to: Place, from: Address, bytes: usize) -> Done {
    Ok(call!(cuMemcpyDtoH_v2, to.host(bytes), from, bytes))
}

pub(crate) fn copy_to_device_async(to: Place, from: Place, bytes: usize, stream: &Stream) -> Done {
    Ok(call!(cuMemcpyHtoDAsync_v2, to.device(bytes), from.host(bytes), bytes, stream.handle()))
}

pub(crate) fn copy_to_host_async(to: Place, from: Place, bytes: usize, stream: &Stream) -> Done {
    Ok(call!(cuMemcpyDtoHAsync_v2, to.host(bytes), from.device(bytes), bytes, stream.handle()))
}

pub(crate) fn copy_in_device_async(to: Place, from: Place, bytes: usize, stream: &Stream) -> Done {
    Ok(call!(cuMemcpyDtoDAsync_v2, to.device(bytes), from.device(bytes), bytes, stream.handle()))
}

pub(crate) fn set8(at: Place, byte: u8, count: usize) -> Done {
    Ok(call!(cuMemsetD8_v2, at.range(count), byte, count))
}

pub(crate) fn set32(at: Place, value: u32, count: usize) -> Done {
    Ok(call!(cuMemsetD32_v2, at.device(count * 4), value, count))
}

pub(crate) fn set8_async(at: Place, byte: u8, count: usize, stream: &Stream) -> Done {
    Ok(call!(cuMemsetD8Async, at.device(count), byte, count, stream.handle()))
}

pub(crate) fn set32_async(at: Place, value: u32, count: usize, stream: &Stream) -> Done {
    Ok(call!(cuMemsetD32Async, at.device(count * 4), value, count, stream.handle()))
}
