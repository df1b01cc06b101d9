//! Identifies a Caffe by the names of the functions of its `SyncedMemory`.

use crate::names;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    pub of: &'static str,
    pub is_served: bool,
}

const fn served(of: &'static str) -> Generation {
    Generation { of, is_served: true }
}

const fn other(of: &'static str) -> Generation {
    Generation { of, is_served: false }
}

type Sign = fn(&str) -> bool;

/// Generations, each with a function that shows it; the first that fits counts.
const GENERATIONS: [(Sign, Generation); 9] = [
    (|name| name.contains("prv_d"), other("Intel's Caffe: its objects have 96 bytes, and another kind of memory")),
    (
        |name| ["mutable_cpu_dataEb", "mutable_gpu_dataEb", "8gpu_dataEi"].iter().any(|part| name.contains(part)),
        other("NVIDIA's fork from 0.16 on: its functions have other parameters"),
    ),
    (
        |name| name.contains("SyncedMemoryC1EmPN") || name.contains("SyncedMemoryC2EmPN"),
        other("an OpenCL branch: its objects have a device"),
    ),
    (
        |name| name == names::PUSH_OWN_STREAM,
        served("NVIDIA's fork 0.15.12 to 0.15.14: objects of 48 bytes, each with a stream"),
    ),
    (|name| name == names::RESIZE, served("yjxiong's fork: objects of 40 bytes that can be resized")),
    (|name| name == names::CONSTRUCTOR, served("BVLC rc4 to master, SSD, OpenPose and others: objects of 40 bytes")),
    (
        |name| name == names::SET_GPU_DATA || name == names::PUSH,
        served("BVLC rc3, CaffeOnSpark, NVIDIA 0.14 and 0.15: objects of 40 bytes, constructed where they are used"),
    ),
    (
        |name| name == names::SET_CPU_DATA,
        served("BVLC v0.999 to rc2, Faster R-CNN, NVIDIA 0.10 to 0.13: constructed where they are used"),
    ),
    (|_| true, served("BVLC v0.9: objects of 32 bytes")),
];

/// Which of the functions were seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signs([bool; GENERATIONS.len()]);

impl Signs {
    pub fn see(&mut self, name: &str) {
        if name.starts_with(names::MEMORY) {
            self.0.iter_mut().zip(&GENERATIONS).for_each(|(seen, (is_sign, _))| *seen |= is_sign(name));
        }
    }

    /// `None` if no name was one of `SyncedMemory`.
    pub fn generation(&self) -> Option<Generation> {
        self.0.iter().zip(&GENERATIONS).find(|(seen, _)| **seen).map(|(_, (_, generation))| *generation)
    }
}
