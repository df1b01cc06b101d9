//! Streams and events, destroyed when dropped.
#![expect(unsafe_code, reason = "calls the driver")]

use super::calls::call;
use super::numbers::{STREAM_LEGACY, STREAM_PER_THREAD};
use super::table::Handle;
use crate::verdict::{Answer, Done, Must, Verdict};

pub(crate) struct Stream {
    handle: Handle,
    owned: bool,
}

impl Stream {
    pub(crate) fn new(flags: u32) -> Result<Self, Verdict> {
        let handle = Self::create(flags).must()?;
        Ok(Stream { handle, owned: true })
    }

    /// The caller destroys it.
    pub(crate) fn create(flags: u32) -> Answer<Handle> {
        let mut handle = 0;
        Ok((call!(cuStreamCreate, &mut handle, flags), handle))
    }

    /// The legacy default stream as NULL.
    pub(crate) fn null() -> Self {
        Stream { handle: 0, owned: false }
    }

    pub(crate) fn legacy() -> Self {
        Stream { handle: STREAM_LEGACY, owned: false }
    }

    pub(crate) fn per_thread() -> Self {
        Stream { handle: STREAM_PER_THREAD, owned: false }
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    pub(crate) fn query(&self) -> Done {
        Ok(call!(cuStreamQuery, self.handle))
    }

    pub(crate) fn synchronize(&self) -> Done {
        Ok(call!(cuStreamSynchronize, self.handle))
    }

    pub(crate) fn wait(&self, event: &Event) -> Done {
        Ok(call!(cuStreamWaitEvent, self.handle, event.handle, 0))
    }

    pub(crate) fn context(&self) -> Answer<Handle> {
        let mut context = 0;
        Ok((call!(cuStreamGetCtx, self.handle, &mut context), context))
    }

    pub(crate) fn destroy(self) -> Done {
        let handle = self.handle;
        std::mem::forget(self);
        Ok(call!(cuStreamDestroy_v2, handle))
    }

    fn destroy_quietly(&self) -> Done {
        Ok(call!(cuStreamDestroy_v2, self.handle))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owned {
            let _ = self.synchronize();
            let _ = self.destroy_quietly();
        }
    }
}

pub(crate) struct Event {
    handle: Handle,
}

impl Event {
    pub(crate) fn new(flags: u32) -> Result<Self, Verdict> {
        let mut handle = 0;
        call!(cuEventCreate, &mut handle, flags).ok()?;
        Ok(Event { handle })
    }

    pub(crate) fn record(&self, stream: &Stream) -> Done {
        Ok(call!(cuEventRecord, self.handle, stream.handle))
    }

    pub(crate) fn query(&self) -> Done {
        Ok(call!(cuEventQuery, self.handle))
    }

    pub(crate) fn synchronize(&self) -> Done {
        Ok(call!(cuEventSynchronize, self.handle))
    }

    /// Milliseconds.
    pub(crate) fn until(&self, end: &Event) -> Answer<f32> {
        let mut time = -1.0;
        Ok((call!(cuEventElapsedTime, &mut time, self.handle, end.handle), time))
    }

    pub(crate) fn destroy(self) -> Done {
        let handle = self.handle;
        std::mem::forget(self);
        Ok(call!(cuEventDestroy_v2, handle))
    }

    fn destroy_quietly(&self) -> Done {
        Ok(call!(cuEventDestroy_v2, self.handle))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.destroy_quietly();
    }
}
