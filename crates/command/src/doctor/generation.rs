//! Identifies a Caffe by the functions of its `SyncedMemory`.

use super::names;
use super::object::Object;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    pub of: &'static str,
    pub is_served: bool,
}

/// `None` if an object has no names of `SyncedMemory`.
pub fn of(object: &Object) -> Option<Generation> {
    let any = |part: &str| object.memory().any(|(name, _)| name.contains(part));
    object.memory().next()?;
    let (is_served, of) = if any("prv_d") {
        (false, "Intel's Caffe: its objects are 96 bytes, with memory of its own kind")
    } else if any("mutable_cpu_dataEb") || any("mutable_gpu_dataEb") || any("8gpu_dataEi") {
        (false, "NVIDIA's fork from 0.16 on: its functions have other parameters")
    } else if any("SyncedMemoryC1EmPN") || any("SyncedMemoryC2EmPN") {
        (false, "an OpenCL branch: its objects know a device of their own")
    } else if object.has(names::PUSH_OWN_STREAM) {
        (true, "NVIDIA's fork 0.15.12 to 0.15.14: objects of 48 bytes, a stream of their own")
    } else if object.has(names::RESIZE) {
        (true, "yjxiong's fork: objects of 40 bytes that can be resized")
    } else if object.has(names::CONSTRUCTOR) {
        (true, "BVLC rc4 to master, SSD, OpenPose and others: objects of 40 bytes")
    } else if object.has(names::SET_GPU_DATA) || object.has(names::PUSH) {
        (true, "BVLC rc3, CaffeOnSpark, NVIDIA 0.14 and 0.15: objects of 40 bytes, constructed where they are used")
    } else if object.has(names::SET_CPU_DATA) {
        (true, "BVLC v0.999 to rc2, Faster R-CNN, NVIDIA 0.10 to 0.13: constructed where they are used")
    } else {
        (true, "BVLC v0.9: objects of 32 bytes")
    };
    Some(Generation { of, is_served })
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

/// Functions of an object's `SyncedMemory` that this library lacks.
pub fn unserved(object: &Object) -> Vec<&str> {
    let names = object.memory().map(|(name, _)| name);
    names.filter(|name| !names::is_served(name) && !names::is_private(name)).collect()
}
