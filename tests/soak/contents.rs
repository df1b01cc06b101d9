//! What is written to a block and looked for afterwards: words that follow from a seed, at a few places of a large block,
//! everywhere in a small one.

use crate::support::assert_bytes;
use crate::support::gpu::Gpu;

/// Contents by number: 0 are zeros, from `UNIFORM` on every byte is that number, others differ from place to place.
pub type Seed = u8;

/// From here on a fill of the device's makes them.
pub const UNIFORM: Seed = 200;

const WORD: usize = 8;
/// Smaller blocks are looked at as a whole.
const SMALL: usize = 128;
const PLACES: usize = 12;

/// Where a block of `bytes` is looked at: offset and length.
fn places(bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let (count, length) = if bytes <= SMALL { (1, bytes) } else { (PLACES, WORD) };
    (0..count).map(move |place| (if count == 1 { 0 } else { (bytes - WORD) * place / (PLACES - 1) }, length))
}

fn byte(seed: Seed, at: usize) -> u8 {
    match seed {
        0 => 0,
        UNIFORM.. => seed,
        _ => ((seed as usize + 1).wrapping_mul(0x9E37_79B9).wrapping_add(at.wrapping_mul(0x85EB_CA6B)) >> 13) as u8,
    }
}

fn wanted(seed: Seed, at: usize, length: usize) -> [u8; SMALL] {
    let mut bytes = [0; SMALL];
    bytes[..length].iter_mut().enumerate().for_each(|(offset, value)| *value = byte(seed, at + offset));
    bytes
}

fn check(at: usize, is: &[u8], seed: Seed) {
    assert_bytes(is, &wanted(seed, at, is.len())[..is.len()], &format_args!("at byte {at}"));
}

pub fn write_host(data: *mut u8, bytes: usize, seed: Seed) {
    for (at, length) in places(bytes) {
        unsafe { data.add(at).copy_from_nonoverlapping(wanted(seed, at, length).as_ptr(), length) };
    }
}

pub fn check_host(data: *const u8, bytes: usize, seed: Seed) {
    for (at, length) in places(bytes) {
        check(at, unsafe { std::slice::from_raw_parts(data.add(at), length) }, seed);
    }
}

/// As a kernel that is waited for.
pub fn write_device(gpu: &Gpu, address: usize, bytes: usize, seed: Seed) {
    for (at, length) in places(bytes) {
        let data = wanted(seed, at, length);
        let status = gpu.control().simcuda_write((address + at) as u64, data.as_ptr().cast(), length);
        assert_eq!(status, 0, "{address:#x} +{at} is no device memory");
    }
}

pub fn check_device(gpu: &Gpu, address: usize, bytes: usize, seed: Seed) {
    for (at, length) in places(bytes) {
        let mut is = [0; SMALL];
        let status = gpu.control().simcuda_read((address + at) as u64, is.as_mut_ptr().cast(), length);
        assert_eq!(status, 0, "{address:#x} +{at} is no device memory");
        check(at, &is[..length], seed);
    }
}
