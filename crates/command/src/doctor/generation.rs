//! Identifies a Caffe by the functions of its `SyncedMemory`.

use syncedmem_caffe_file::generation::{Generation, Signs};

use super::names;
use super::object::Object;

/// `None` if an object has no names of `SyncedMemory`.
pub fn of(object: &Object) -> Option<Generation> {
    let mut signs = Signs::default();
    object.memory().for_each(|(name, _)| signs.see(name));
    signs.generation()
}

/// `None` if an object's names do not show it.
pub fn build(object: &Object) -> Option<&'static str> {
    match names::GPU_MEMCPY.iter().any(|name| object.has(name)) {
        true => Some("a GPU build (it has caffe_gpu_memcpy)"),
        false => object.has_caffe.then_some("a CPU_ONLY build (it has no caffe_gpu_memcpy)"),
    }
}

pub fn is_nvidia(object: &Object) -> bool {
    names::NVIDIA.iter().chain([&names::THREAD_COUNT]).any(|name| object.has(name))
}
