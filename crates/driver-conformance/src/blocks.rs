//! Blocks of memory and created contexts that end with their scope.
#![expect(unsafe_code, reason = "host memory that the driver writes too")]

use std::alloc::Layout;
use std::ptr::NonNull;

use crate::driver::*;

/// A block of device memory.
pub(crate) struct DeviceBlock(pub(crate) Address);

impl DeviceBlock {
    pub(crate) fn new(bytes: usize) -> Self {
        DeviceBlock(value(|address| cuMemAlloc_v2(address, bytes)))
    }

    pub(crate) fn free(self) -> Reply {
        cuMemFree_v2(self.release())
    }

    /// The block stays.
    pub(crate) fn release(self) -> Address {
        let address = self.0;
        std::mem::forget(self);
        address
    }
}

impl Drop for DeviceBlock {
    fn drop(&mut self) {
        // A check that failed may have left work in flight. Without its context the block is gone.
        let _ = cuCtxSynchronize();
        let _ = cuMemFree_v2(self.0);
    }
}

#[derive(PartialEq)]
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
// SAFETY: its bytes are read and written one by one, as the driver does.
unsafe impl Sync for HostBlock {}

impl HostBlock {
    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 4096).unwrap_or(Layout::new::<u8>())
    }

    /// Zeros, aligned to a page. `bytes` is not 0.
    pub(crate) fn pageable(bytes: usize) -> Self {
        // SAFETY: the layout is of at least one byte.
        let start = unsafe { std::alloc::alloc_zeroed(Self::layout(bytes)) };
        let Some(start) = NonNull::new(start) else { std::alloc::handle_alloc_error(Self::layout(bytes)) };
        HostBlock { start, bytes, kind: Kind::Pageable }
    }

    /// Some virtual machines and confidential computing refuse to register memory.
    pub(crate) fn registered(bytes: usize) -> Self {
        let mut block = Self::pageable(bytes);
        let reply = block.register();
        if matches!(reply.status, NOT_SUPPORTED | NOT_PERMITTED) {
            skip(format!("the driver does not register memory: {}", named(reply.status)));
        }
        reply.ok();
        block.kind = Kind::Registered;
        block
    }

    pub(crate) fn register(&self) -> Reply {
        cuMemHostRegister_v2(self.address(), self.bytes, PORTABLE)
    }

    /// Memory of `cuMemHostAlloc`, for all contexts.
    pub(crate) fn pinned(bytes: usize) -> Self {
        let address: Address = value(|address| cuMemHostAlloc(address, bytes, PORTABLE));
        let Some(start) = NonNull::new(address as *mut u8) else { skip("cuMemHostAlloc returned NULL") };
        let block = HostBlock { start, bytes, kind: Kind::Pinned };
        block.fill(0);
        block
    }

    pub(crate) fn address(&self) -> Address {
        self.start.as_ptr() as Address
    }

    pub(crate) fn free(self) -> Reply {
        let address = self.address();
        std::mem::forget(self);
        cuMemFreeHost(address)
    }

    fn each(&self, mut work: impl FnMut(usize, *mut u8)) {
        // SAFETY: every address is within the block.
        (0..self.bytes).for_each(|at| work(at, unsafe { self.start.add(at) }.as_ptr()));
    }

    fn set(&self, byte: impl Fn(usize) -> u8) {
        // SAFETY: owned memory; volatile, because the driver may use it at the same time.
        self.each(|at, place| unsafe { place.write_volatile(byte(at)) });
    }

    pub(crate) fn fill(&self, byte: u8) {
        self.set(|_| byte);
    }

    /// Bytes that repeat at no power of two.
    pub(crate) fn fill_pattern(&self, seed: usize) {
        self.set(|at| pattern(at, seed));
    }

    pub(crate) fn has(&self, what: &str, byte: u8) {
        self.compare(what, |_| byte);
    }

    pub(crate) fn has_pattern(&self, what: &str, seed: usize) {
        self.compare(what, |at| pattern(at, seed));
    }

    pub(crate) fn compare(&self, what: &str, byte: impl Fn(usize) -> u8) {
        self.each(|at, place| {
            // SAFETY: owned and initialized; volatile, because the driver may write it at the same time.
            let got = unsafe { place.read_volatile() };
            if byte(at) != got {
                equal(&format!("byte {at} of {what}"), byte(at), got);
            }
        });
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        // A check that failed may have left a copy in flight.
        let _ = cuCtxSynchronize();
        if self.kind == Kind::Pinned {
            let _ = cuMemFreeHost(self.address());
            return;
        }
        if self.kind == Kind::Registered {
            let _ = cuMemHostUnregister(self.address());
        }
        // SAFETY: allocated with this layout, and no copy is in flight any more.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), Self::layout(self.bytes)) };
    }
}

fn pattern(at: usize, seed: usize) -> u8 {
    ((at * 7 + at / 251 + seed) % 253) as u8
}

/// Copies from one block to another, and reads the result.
pub(crate) fn there_and_back(host: &HostBlock, block: &DeviceBlock) {
    host.fill_pattern(1);
    cuMemcpy(block.0, host.address(), host.bytes).ok();
    host.fill(0);
    cuMemcpy(host.address(), block.0, host.bytes).ok();
    host.has_pattern("what came back", 1);
}

pub(crate) fn current() -> Handle {
    value(cuCtxGetCurrent)
}

pub(crate) fn pop() -> Handle {
    value(cuCtxPopCurrent_v2)
}

/// A context that was created, and is current.
pub(crate) struct Created(pub(crate) Handle);

impl Created {
    pub(crate) fn new() -> Self {
        Created(value(|context| cuCtxCreate_v2(context, 0, DEVICE)))
    }

    pub(crate) fn destroy(self) -> Reply {
        let context = self.0;
        std::mem::forget(self);
        cuCtxDestroy_v2(context)
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        let _ = cuCtxDestroy_v2(self.0);
    }
}

/// Runs on another thread.
pub(crate) fn elsewhere(context: Handle, work: impl FnOnce() + Send) {
    let thread = || {
        cuCtxSetCurrent(context).ok();
        work();
    };
    std::thread::scope(|scope| join(scope.spawn(thread)));
}

/// A check on another thread fails as one on this thread.
pub(crate) fn join(thread: std::thread::ScopedJoinHandle<'_, ()>) {
    thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why));
}

/// Does `work` while no context is current.
pub(crate) fn detached<T>(context: Handle, work: impl FnOnce() -> T) -> T {
    cuCtxSetCurrent(0).ok();
    let result = work();
    cuCtxSetCurrent(context).ok();
    result
}
