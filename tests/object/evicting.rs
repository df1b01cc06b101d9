//! Objects that may be evicted, and a device with room for few of them.

use crate::support::pools::{ALL, trim};
use crate::support::states::*;
use crate::support::*;

pub const HOST: u32 = 1;
pub const BOTH: u32 = 3;

/// The simulated driver, whose device 0 has so many bytes.
pub fn small_gpu(bytes: usize) -> Gpu {
    let gpu = simulated_gpu();
    gpu.set_memory(bytes);
    gpu
}

/// An object in a state, with its pattern.
pub fn unmarked(gpu: &Gpu, state: State, bytes: usize) -> Object {
    let stream = gpu.stream();
    let mut object = state.object(gpu, &stream, bytes);
    stream.synchronize();
    assert_eq!(object.wait(), SYNCEDMEM_SUCCESS);
    object
}

/// One that may be evicted, with no access open.
pub fn evictable(gpu: &Gpu, state: State, bytes: usize) -> Object {
    let mut object = unmarked(gpu, state, bytes);
    assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
    object
}

pub fn heads(objects: &[Object]) -> Vec<u32> {
    objects.iter().map(|object| object.head()).collect()
}

/// How many device blocks and page-locked ones are left, without idle ones.
pub fn blocks(gpu: &Gpu) -> (usize, usize) {
    let account = gpu.account();
    (account.device_blocks, account.pinned_blocks)
}

/// Blocks that could not be given back are offered again when others are; and when page-locked memory is given back, the driver
/// is asked for some again after it had none.
pub fn flush(gpu: &Gpu) {
    let mut block = std::ptr::null_mut();
    gpu.within(0, || assert_eq!(gpu.cuMemHostAlloc(&mut block, 100, 0), 0));
    assert_eq!(unsafe { CaffeFreeHost(block, true) }, SYNCEDMEM_SUCCESS);
    for _ in 0..4 {
        let mut object = Object::new(100);
        assert!(object.cpu_data().is_ok() && object.gpu_data().is_ok(), "{}", last_error());
        drop(object);
        trim(ALL);
    }
}
