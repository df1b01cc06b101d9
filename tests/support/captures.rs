//! Streams that a test captures.

use super::driver::{Account, Handle};
use super::*;

/// Flags of a new stream.
pub const BLOCKING: u32 = 0;
pub const NON_BLOCKING: u32 = 1;

/// How a thread captures.
pub const GLOBAL: i32 = 0;
pub const THREAD_LOCAL: i32 = 1;
pub const RELAXED: i32 = 2;

pub const ACTIVE: i32 = 1;

/// A stream of device 0 that is captured on this thread, until `end`.
pub struct Capture<'g> {
    gpu: &'g Gpu,
    pub stream: Handle,
}

impl<'g> Capture<'g> {
    pub fn new(gpu: &'g Gpu, flags: u32, mode: i32) -> Capture<'g> {
        let mut stream = std::ptr::null_mut();
        gpu.within(0, || {
            assert_eq!(gpu.cuStreamCreate(&mut stream, flags), 0);
            assert_eq!(gpu.cuStreamBeginCapture_v2(stream, mode), 0);
        });
        Capture { gpu, stream }
    }

    pub fn status(&self) -> i32 {
        let mut status = -1;
        self.gpu.within(0, || assert_eq!(self.gpu.cuStreamIsCapturing(self.stream, &mut status), 0));
        status
    }

    /// Ends it, and says whether it made a graph.
    pub fn end(self) -> bool {
        let mut graph = std::ptr::null_mut();
        self.gpu.within(0, || {
            let status = self.gpu.cuStreamEndCapture(self.stream, &mut graph);
            assert_eq!(self.gpu.cuStreamDestroy_v2(self.stream), 0);
            assert_eq!(status == 0, !graph.is_null());
            status == 0 && self.gpu.cuGraphDestroy(graph) == 0
        })
    }
}

/// What is alive in the driver, where that can be known.
pub fn alive(gpu: &Gpu) -> Option<Account> {
    gpu.is_simulated().then(|| gpu.alive())
}
