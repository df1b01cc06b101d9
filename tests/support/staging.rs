//! Copies of pageable memory through page-locked slots.

use super::*;
use std::ffi::CStr;

/// Bytes of a slot of the staging buffers, and how many slots there are.
pub const SLOT: usize = 2 << 20;
pub const SLOTS: usize = 8;
pub const EVERYTHING: (&str, &str) = ("SYNCEDMEM_STAGE_FROM", "1");

/// Sizes around the borders of a slot and of all slots. The last one uses each slot more than twice.
pub const SIZES: [usize; 9] =
    [1, SLOT - 1, SLOT, SLOT + 1, SLOT * SLOTS - 1, SLOT * SLOTS, SLOT * SLOTS + 1, 9 * SLOT + 13, 17 * SLOT + 100_003];

/// Bytes of which no two slots' worth are alike.
pub fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut words = vec![0u64; bytes.div_ceil(8)];
    for (at, word) in words.iter_mut().enumerate() {
        *word = (seed << 40 | at as u64)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29)
            .wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), bytes) }.to_vec()
}

/// Makes the staging buffers of the current process, which is the test's own.
pub fn with_staging_buffers(gpu: Gpu) -> Gpu {
    Object::holding(&noise(1, SLOT)).gpu_data().unwrap();
    gpu.calm();
    gpu
}

/// Copies to the device and back, and looks at the bytes.
pub fn there_and_back(gpu: &Gpu, contents: &[u8]) {
    let mut object = Object::holding(contents);
    let device = object.mutable_gpu_data().unwrap().addr();
    assert_bytes(&gpu.read(device, contents.len()), contents, &"to the device");
    object.overwrite_cpu_data().unwrap();
    object.overwrite_gpu_data().unwrap();
    gpu.write(device, contents);
    assert_bytes(&object.host_bytes(contents.len()), contents, &"to the host");
}

/// How many page-locked blocks there are, allocated or registered. `None` on a real driver, which does not say.
pub fn page_locked_blocks(gpu: &Gpu) -> Option<usize> {
    gpu.is_simulated().then(|| gpu.alive().pinned_blocks + gpu.alive().registered_blocks)
}

/// How many copies of a kind there were, and how many calls of `cuMemcpy`. `None` on a real driver, which does not say.
pub fn pieces(gpu: &Gpu, kind: &CStr) -> Option<(usize, usize)> {
    let copies = || gpu.control().simcuda_copies(kind.as_ptr(), usize::MAX);
    gpu.is_simulated().then(|| (copies(), gpu.calls_of(c"cuMemcpy")))
}
