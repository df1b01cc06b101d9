//! Copies of pageable memory, and whether it is registered.

use super::*;

/// How many blocks are registered, as far as the driver tells.
pub fn registered(gpu: &Gpu) -> Option<usize> {
    gpu.is_simulated().then(|| gpu.alive().registered_blocks)
}

/// Copies the host's data to the device, `times` times.
pub fn cross(object: &mut Object, times: usize) {
    for _ in 0..times {
        object.mutable_cpu_data().unwrap();
        object.gpu_data().unwrap_or_else(|status| panic!("{status:?} {}", last_error()));
    }
}

pub fn filled(bytes: usize) -> Object {
    Object::holding(&pattern(1, bytes))
}
