//! Streams and blocks that a test makes in the driver itself. They end with their scope.

use std::cell::Cell;
use std::ffi::c_void;

use super::driver::{Address, Handle};
use super::*;

impl Gpu {
    /// A stream of device 0's primary context that the legacy stream does not wait for, as Caffe's prefetch has it.
    pub fn stream(&self) -> Stream<'_> {
        self.stream_of(self.primary(0))
    }

    pub fn stream_of(&self, context: Handle) -> Stream<'_> {
        const NON_BLOCKING: u32 = 1;
        let mut handle = std::ptr::null_mut();
        self.within_context(context, || assert_eq!(self.cuStreamCreate(&mut handle, NON_BLOCKING), 0));
        Stream { gpu: self, context, handle: Cell::new(handle) }
    }

    /// A context of device 0, current nowhere, which the caller destroys.
    pub fn new_context(&self) -> Handle {
        let (mut context, mut popped) = (std::ptr::null_mut(), std::ptr::null_mut());
        assert_eq!(self.cuCtxCreate_v2(&mut context, 0, 0), 0);
        // It is current now.
        assert_eq!(self.cuCtxPopCurrent_v2(&mut popped), 0);
        context
    }

    /// The test's own device memory, in device 0's primary context.
    pub fn block(&self, bytes: usize) -> Foreign<'_> {
        let mut address = 0;
        self.within(0, || assert_eq!(self.cuMemAlloc_v2(&mut address, bytes), 0));
        Foreign { gpu: self, address: address as usize, is_pinned: false }
    }

    /// The test's own pinned memory.
    pub fn pinned(&self, bytes: usize) -> Foreign<'_> {
        let mut address = std::ptr::null_mut();
        self.within(0, || assert_eq!(self.cuMemHostAlloc(&mut address, bytes, 1), 0));
        Foreign { gpu: self, address: address.expose_provenance(), is_pinned: true }
    }
}

/// A stream, destroyed at the end of its scope or before.
pub struct Stream<'g> {
    gpu: &'g Gpu,
    context: Handle,
    handle: Cell<Handle>,
}

impl Stream<'_> {
    pub fn handle(&self) -> Handle {
        self.handle.get()
    }

    pub fn synchronize(&self) {
        assert_eq!(self.within(|| self.gpu.cuStreamSynchronize(self.handle())), 0);
    }

    /// Work that is given to the stream from now on is late: on the simulated driver each piece, and that of all streams, until a
    /// thread waits for it, and up to `set_lag(0)`; on a real one what comes next, by so many microseconds.
    pub fn delay(&self, microseconds: u32) {
        extern "C" fn sleep(microseconds: *mut c_void) {
            std::thread::sleep(std::time::Duration::from_micros(microseconds.addr() as u64));
        }
        if self.gpu.is_simulated() {
            return self.gpu.set_lag(if microseconds == 0 { 0 } else { UNTIL_IT_IS_WAITED_FOR });
        }
        let argument = std::ptr::without_provenance_mut(microseconds as usize);
        assert_eq!(self.within(|| self.gpu.cuLaunchHostFunc(self.handle(), sleep, argument)), 0);
    }

    /// Whether everything queued is done.
    pub fn is_idle(&self) -> bool {
        self.within(|| self.gpu.cuStreamQuery(self.handle())) == 0
    }

    /// Destroys it now. The driver ends it when its work is done.
    pub fn destroy(&self) {
        let handle = self.handle.replace(std::ptr::null_mut());
        if !handle.is_null() {
            assert_eq!(self.within(|| self.gpu.cuStreamDestroy_v2(handle)), 0);
        }
    }

    fn within<R>(&self, work: impl FnOnce() -> R) -> R {
        self.gpu.within_context(self.context, work)
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.destroy();
        }
    }
}

/// A block that the test made itself, and frees.
pub struct Foreign<'g> {
    gpu: &'g Gpu,
    pub address: usize,
    is_pinned: bool,
}

impl Foreign<'_> {
    pub fn pointer(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.address)
    }
}

impl Drop for Foreign<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let status = self.gpu.within(0, || match self.is_pinned {
            true => self.gpu.cuMemFreeHost(self.pointer().cast::<c_void>()),
            false => self.gpu.cuMemFree_v2(self.address as Address),
        });
        assert_eq!(status, 0);
    }
}
