//! An object that ends with its scope, and its operations on both sides as values.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};

use super::driver::{Loaded, loaded};
use super::*;

/// An object in storage of its own.
pub struct Object(Box<Storage>);

impl Object {
    pub fn new(bytes: usize) -> Object {
        let mut storage = Storage::new();
        assert_eq!(storage.construct(bytes), SYNCEDMEM_SUCCESS);
        Object(storage)
    }
}

impl Deref for Object {
    type Target = Storage;

    fn deref(&self) -> &Storage {
        &self.0
    }
}

impl DerefMut for Object {
    fn deref_mut(&mut self) -> &mut Storage {
        &mut self.0
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // Whatever a test that failed has held would be waited for here for ever.
        let panicking = std::thread::panicking();
        if let Some(Loaded { control: Some(control), .. }) = panicking.then(loaded).flatten() {
            control.simcuda_release_streams();
        }
        let status = self.0.destruct();
        if !panicking {
            assert_eq!(status, SYNCEDMEM_SUCCESS);
            assert!(self.0.guard_is_whole());
        }
    }
}

/// The outcome of an operation: its status, and the address if it gave one.
pub type Outcome = Result<*mut u8, syncedmem_status_t>;

/// What one side's block is: its own bytes 0 to 15.
impl Storage {
    pub fn host_address(&self) -> usize {
        self.word(0)
    }

    pub fn device_address(&self) -> usize {
        self.word(8)
    }

    pub fn mutable_gpu_data(&mut self) -> Outcome {
        let mut data = std::ptr::null_mut();
        result(unsafe { syncedmem_mutable_gpu_data(self.mem(), &mut data) }, data)
    }

    pub fn overwrite_gpu_data(&mut self) -> Outcome {
        let mut data = std::ptr::null_mut();
        result(unsafe { syncedmem_overwrite_gpu_data(self.mem(), &mut data) }, data)
    }

    pub fn set_gpu_data(&mut self, data: *mut u8) -> syncedmem_status_t {
        unsafe { syncedmem_set_gpu_data(self.mem(), data.cast()) }
    }

    pub fn release_gpu(&mut self) -> syncedmem_status_t {
        unsafe { syncedmem_release_gpu(self.mem()) }
    }

    pub fn push(&mut self, stream: *mut c_void) -> syncedmem_status_t {
        unsafe { syncedmem_async_gpu_push(self.mem(), stream.cast()) }
    }

    pub fn pull(&mut self, stream: *mut c_void) -> syncedmem_status_t {
        unsafe { syncedmem_async_cpu_pull(self.mem(), stream.cast()) }
    }

    pub fn wait(&mut self) -> syncedmem_status_t {
        unsafe { syncedmem_wait(self.mem()) }
    }

    pub fn pin(&mut self) -> syncedmem_status_t {
        unsafe { syncedmem_pin(self.mem()) }
    }

    pub fn unpin(&mut self) -> syncedmem_status_t {
        unsafe { syncedmem_unpin(self.mem()) }
    }

    pub fn is_ready(&mut self) -> Result<bool, syncedmem_status_t> {
        let mut ready = false;
        match unsafe { syncedmem_is_ready(self.mem(), &mut ready) } {
            SYNCEDMEM_SUCCESS => Ok(ready),
            status => Err(status),
        }
    }

    pub fn device_ordinal(&mut self) -> i32 {
        let mut ordinal = i32::MIN;
        assert_eq!(unsafe { syncedmem_device_ordinal(self.mem(), &mut ordinal) }, SYNCEDMEM_SUCCESS);
        ordinal
    }

    pub fn is_pinned(&mut self) -> bool {
        flag(|out| unsafe { syncedmem_is_pinned(self.mem(), out) })
    }

    pub fn owns_cpu(&mut self) -> bool {
        flag(|out| unsafe { syncedmem_owns_cpu(self.mem(), out) })
    }

    pub fn owns_gpu(&mut self) -> bool {
        flag(|out| unsafe { syncedmem_owns_gpu(self.mem(), out) })
    }

    pub fn set_evictable(&mut self, how: syncedmem_eviction_t) -> syncedmem_status_t {
        unsafe { syncedmem_set_evictable(self.mem(), how as i32) }
    }

    pub fn evictable(&mut self) -> syncedmem_eviction_t {
        let mut how = syncedmem_eviction_t::SYNCEDMEM_EVICT_ALWAYS;
        assert_eq!(unsafe { syncedmem_get_evictable(self.mem(), &mut how) }, SYNCEDMEM_SUCCESS);
        how
    }

    pub fn end_access(&mut self) -> syncedmem_status_t {
        unsafe { syncedmem_end_access(self.mem()) }
    }

    /// The host side's bytes, which must be current.
    pub fn host_bytes(&mut self, bytes: usize) -> Vec<u8> {
        unsafe { std::slice::from_raw_parts(self.cpu_data().unwrap(), bytes) }.to_vec()
    }

    /// Writes the host side in full.
    pub fn fill_host(&mut self, contents: &[u8]) {
        let data = self.mutable_cpu_data().unwrap();
        unsafe { data.copy_from_nonoverlapping(contents.as_ptr(), contents.len()) };
    }

    /// Does an operation. A `set` borrows `first` or `second` of its side, a copy goes to `stream`.
    pub fn run(&mut self, operation: Operation, with: &With) -> Outcome {
        match operation {
            Operation::CpuData => self.cpu_data(),
            Operation::MutableCpuData => self.mutable_cpu_data(),
            Operation::OverwriteCpuData => self.overwrite_cpu_data(),
            Operation::GpuData => self.gpu_data(),
            Operation::MutableGpuData => self.mutable_gpu_data(),
            Operation::OverwriteGpuData => self.overwrite_gpu_data(),
            Operation::SetCpuData => nothing(self.set_cpu_data(with.host)),
            Operation::SetGpuData => nothing(self.set_gpu_data(with.device)),
            Operation::ReleaseCpu => nothing(self.release_cpu()),
            Operation::ReleaseGpu => nothing(self.release_gpu()),
            Operation::Push => nothing(self.push(with.stream)),
            Operation::Pull => nothing(self.pull(with.stream)),
            Operation::Wait => nothing(self.wait()),
            Operation::IsReady => self.is_ready().map(|ready| std::ptr::without_provenance_mut(usize::from(ready))),
        }
    }
}

fn nothing(status: syncedmem_status_t) -> Outcome {
    result(status, std::ptr::null_mut())
}

fn flag(ask: impl FnOnce(*mut bool) -> syncedmem_status_t) -> bool {
    let mut answer = false;
    assert_eq!(ask(&mut answer), SYNCEDMEM_SUCCESS);
    answer
}

/// What some operations are given.
#[derive(Clone, Copy)]
pub struct With {
    pub host: *mut u8,
    pub device: *mut u8,
    pub stream: *mut c_void,
}

/// Every operation on an object's two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    CpuData,
    MutableCpuData,
    OverwriteCpuData,
    GpuData,
    MutableGpuData,
    OverwriteGpuData,
    SetCpuData,
    SetGpuData,
    ReleaseCpu,
    ReleaseGpu,
    Push,
    Pull,
    Wait,
    /// Gives the answer as an address: 1 for yes.
    IsReady,
}

pub const OPERATIONS: [Operation; 14] = [
    Operation::CpuData,
    Operation::MutableCpuData,
    Operation::OverwriteCpuData,
    Operation::GpuData,
    Operation::MutableGpuData,
    Operation::OverwriteGpuData,
    Operation::SetCpuData,
    Operation::SetGpuData,
    Operation::ReleaseCpu,
    Operation::ReleaseGpu,
    Operation::Push,
    Operation::Pull,
    Operation::Wait,
    Operation::IsReady,
];

/// Bytes that differ from each other and from those of other seeds; seed 0: zeros.
pub fn pattern(seed: u8, bytes: usize) -> Vec<u8> {
    if seed == 0 {
        return vec![0; bytes];
    }
    // Wanted millions of times, so nothing is computed: byte n is 31 * seed + 7 * n, and seven times 183 is one, modulo 256.
    const STEPS: [u8; 512] = {
        let mut steps = [0; 512];
        let mut at = 0;
        while at < 512 {
            steps[at] = (at * 7) as u8;
            at += 1;
        }
        steps
    };
    let begin = seed as usize * 31 * 183 % 256;
    let mut bytes_of_it = STEPS[begin..begin + 256].repeat(bytes.div_ceil(256));
    bytes_of_it.truncate(bytes);
    bytes_of_it
}

/// Asserts that bytes are those that they should be, and says where they begin not to be.
#[track_caller]
pub fn assert_bytes(are: &[u8], should_be: &[u8], what: &dyn std::fmt::Display) {
    if are == should_be {
        return;
    }
    let differ = are.iter().zip(should_be).position(|(is, should_be)| is != should_be);
    let show = |bytes: &[u8], at: usize| bytes[at..bytes.len().min(at + 8)].to_vec();
    if let Some(at) = differ {
        panic!("{what}: from byte {at} on {:?}, should be {:?}", show(are, at), show(should_be, at));
    }
    assert_eq!(are.len(), should_be.len(), "{what}");
}
