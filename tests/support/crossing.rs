//! Copies of pageable memory, and whether it is registered.

use super::*;

/// How many blocks are registered, as far as the driver tells.
pub fn registered(gpu: &Gpu) -> Option<usize> {
    gpu.is_simulated().then(|| gpu.alive().registered_blocks)
}

/// Waits for what another thread does.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..200_000 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
    panic!("it never came to this: {what}");
}

/// Copies the host's data to the device, `times` times.
pub fn cross(object: &mut Object, times: usize) {
    for _ in 0..times {
        object.mutable_cpu_data().unwrap();
        object.gpu_data().unwrap_or_else(|status| panic!("{status:?} {}", last_error()));
    }
}

pub fn filled(bytes: usize) -> Object {
    let mut object = Object::new(bytes);
    object.fill_host(&pattern(1, bytes));
    object
}
