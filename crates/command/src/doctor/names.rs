//! Names that distinguish one Caffe from another.

pub const CAFFE: &[u8] = b"_ZN";
pub use syncedmem_caffe_file::names::MEMORY;
/// `caffe::Blob` and `caffe::Net`.
pub const BLOB: &str = "_ZN5caffe4Blob";
pub const NET: &str = "_ZN5caffe3Net";

/// Every version defines these, and every user calls them.
pub const ACCESSORS: [&str; 4] = [
    "_ZN5caffe12SyncedMemory8cpu_dataEv",
    "_ZN5caffe12SyncedMemory8gpu_dataEv",
    "_ZN5caffe12SyncedMemory16mutable_cpu_dataEv",
    "_ZN5caffe12SyncedMemory16mutable_gpu_dataEv",
];

/// `caffe_gpu_memcpy`, which CPU_ONLY builds lack; NVIDIA's has one parameter more from 0.16.6 on.
pub const GPU_MEMCPY: [&str; 2] = ["_ZN5caffe16caffe_gpu_memcpyEmPKvPv", "_ZN5caffe16caffe_gpu_memcpyEmPKvPvi"];
/// Only NVIDIA's fork has these, one for each series of releases.
pub const NVIDIA: [&str; 4] = [
    "_ZN5caffe13MemoryHandler3GetEv",
    "_ZN5caffe10gpu_memory11getPoolNameEv",
    "_ZN5caffe16GPUMemoryManager9pool_nameEv",
    "_ZN5caffe9GPUMemory4mgr_E",
];
/// Only NVIDIA's fork from 0.16.1 on has it.
pub const THREAD_COUNT: &str = "_ZN5caffe5Caffe13thread_count_E";

pub fn tells(name: &str) -> bool {
    name.starts_with(MEMORY)
        || GPU_MEMCPY.contains(&name)
        || NVIDIA.contains(&name)
        || name == THREAD_COUNT
        || name.starts_with("_ZN5caffe15CaffeMallocHost")
}
