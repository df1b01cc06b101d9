//! Device and page-locked blocks by side, the calls that they cost, and work on them that the library does not know of.

use std::ffi::c_void;

use super::pools::*;
use super::*;

/// The sides of an object, each with the access that makes a block and fills nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    Host,
    Device,
}

pub const SIDES: [Side; 2] = [Side::Host, Side::Device];

impl Side {
    /// An object with a block on this side, and nowhere else; page-locked if it is the host's.
    pub fn object(self, bytes: usize) -> Object {
        let mut object = Object::new(bytes);
        let _pinning = Pinning::always();
        match self {
            Side::Host => object.overwrite_cpu_data().unwrap(),
            Side::Device => object.overwrite_gpu_data().unwrap(),
        };
        assert_eq!(object.is_pinned(), self == Side::Host);
        object
    }

    pub fn address(self, object: &Object) -> usize {
        match self {
            Side::Host => object.host_address(),
            Side::Device => object.device_address(),
        }
    }

    /// Acquires a block and gives it back.
    pub fn pair(self, bytes: usize) -> usize {
        self.address(&self.object(bytes))
    }

    pub fn memory(self) -> i32 {
        if self == Side::Host { PINNED } else { DEVICE }
    }
}

/// How often functions were called whose names begin with one of `beginnings`.
pub fn count(calls: &[Call], beginnings: &[&str]) -> usize {
    let is_one = |call: &&Call| beginnings.iter().any(|beginning| call.function.starts_with(beginning));
    calls.iter().filter(is_one).count()
}

pub const MEMORY: [&str; 3] = ["cuMemAlloc", "cuMemFree", "cuMemHostAlloc"];
pub const WAITS: [&str; 3] = ["cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"];

/// The byte that a caller's own work writes to a block.
pub const LEFT: u8 = 0x5E;

/// Starts work on an object's block that ends later, as a kernel would: in a stream that the library does not know, or in the
/// legacy default stream.
pub fn work_on(gpu: &Gpu, side: Side, object: &Object, bytes: usize, source: &Foreign, stream: *mut c_void) {
    let to = side.address(object) as u64;
    let status = gpu.within(0, || match side {
        Side::Device => gpu.cuMemsetD8Async(to, LEFT, bytes, stream),
        Side::Host => gpu.cuMemcpyAsync(to, source.address as u64, bytes, stream),
    });
    assert_eq!(status, 0);
}

/// The contents of an object's block on one side.
pub fn contents(gpu: &Gpu, side: Side, object: &mut Object, bytes: usize) -> Vec<u8> {
    match side {
        Side::Device => gpu.read(object.device_address(), bytes),
        Side::Host => object.host_bytes(bytes),
    }
}

pub fn write(gpu: &Gpu, side: Side, object: &mut Object, data: &[u8]) {
    match side {
        Side::Device => gpu.write(object.device_address(), data),
        Side::Host => object.fill_host(data),
    }
}

pub fn record(object: &mut Object, stream: *mut c_void) {
    let status = unsafe { syncedmem_record_stream(object.mem(), stream.cast()) };
    assert_eq!(status, SYNCEDMEM_SUCCESS, "{}", last_error());
}
