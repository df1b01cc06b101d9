//! Names that distinguish one Caffe from another, and those of the functions that are replaced.

use std::ffi::CStr;

/// The beginning of the names of all members of `SyncedMemory`.
pub const MEMORY: &str = "_ZN5caffe12SyncedMemory";

pub const CONSTRUCTOR: &str = "_ZN5caffe12SyncedMemoryC1Em";
pub const SET_CPU_DATA: &str = "_ZN5caffe12SyncedMemory12set_cpu_dataEPv";
pub const SET_GPU_DATA: &str = "_ZN5caffe12SyncedMemory12set_gpu_dataEPv";
pub const PUSH: &str = "_ZN5caffe12SyncedMemory14async_gpu_pushERKP11CUstream_st";
pub const PUSH_OWN_STREAM: &str = "_ZN5caffe12SyncedMemory14async_gpu_pushEv";
pub const RESIZE: &str = "_ZN5caffe12SyncedMemory6ResizeEm";

/// A function of this library's C API: a file that defines it has the library in it.
pub const OURS: &str = "syncedmem_version";

/// The functions that are replaced, of all generations. `check_device` is not among them: only the others call it.
pub const FUNCTIONS: [&CStr; 15] = [
    c"_ZN5caffe12SyncedMemory8cpu_dataEv",
    c"_ZN5caffe12SyncedMemory8gpu_dataEv",
    c"_ZN5caffe12SyncedMemory16mutable_cpu_dataEv",
    c"_ZN5caffe12SyncedMemory16mutable_gpu_dataEv",
    c"_ZN5caffe12SyncedMemoryD1Ev",
    c"_ZN5caffe12SyncedMemoryD2Ev",
    c"_ZN5caffe12SyncedMemoryC1Ev",
    c"_ZN5caffe12SyncedMemoryC2Ev",
    c"_ZN5caffe12SyncedMemoryC1Em",
    c"_ZN5caffe12SyncedMemoryC2Em",
    c"_ZN5caffe12SyncedMemory12set_cpu_dataEPv",
    c"_ZN5caffe12SyncedMemory12set_gpu_dataEPv",
    c"_ZN5caffe12SyncedMemory14async_gpu_pushERKP11CUstream_st",
    c"_ZN5caffe12SyncedMemory14async_gpu_pushEv",
    c"_ZN5caffe12SyncedMemory6ResizeEm",
];

/// The first four of [`FUNCTIONS`]: every version defines them, and every user calls them.
pub const ACCESSORS: usize = 4;
/// The destructors in [`FUNCTIONS`], complete and base. A compiler may leave out one of them.
pub const DESTRUCTORS: [usize; 2] = [4, 5];

/// Functions of nets, solvers and blobs that libsyncedmem_net.so wraps. A file with nets has one of the first two.
pub const HOOKS: [&CStr; 22] = [
    c"_ZN5caffe3NetIfE4InitERKNS_12NetParameterE",
    c"_ZN5caffe3NetIdE4InitERKNS_12NetParameterE",
    c"_ZN5caffe3NetIfE7ReshapeEv",
    c"_ZN5caffe3NetIdE7ReshapeEv",
    c"_ZN5caffe3NetIfE13ForwardFromToEii",
    c"_ZN5caffe3NetIdE13ForwardFromToEii",
    c"_ZN5caffe3NetIfE14BackwardFromToEii",
    c"_ZN5caffe3NetIdE14BackwardFromToEii",
    c"_ZN5caffe9SGDSolverIfE11ApplyUpdateEv",
    c"_ZN5caffe9SGDSolverIdE11ApplyUpdateEv",
    c"_ZN5caffe6SolverIfE12InitTrainNetEv",
    c"_ZN5caffe6SolverIdE12InitTrainNetEv",
    c"_ZN5caffe9SGDSolverIfE8PreSolveEv",
    c"_ZN5caffe9SGDSolverIdE8PreSolveEv",
    c"_ZN5caffe14AdaDeltaSolverIfE16AdaDeltaPreSolveEv",
    c"_ZN5caffe14AdaDeltaSolverIdE16AdaDeltaPreSolveEv",
    c"_ZN5caffe10AdamSolverIfE12AdamPreSolveEv",
    c"_ZN5caffe10AdamSolverIdE12AdamPreSolveEv",
    c"_ZN5caffe4BlobIfE7ReshapeERKSt6vectorIiSaIiEE",
    c"_ZN5caffe4BlobIdE7ReshapeERKSt6vectorIiSaIiEE",
    c"_ZN5caffe4BlobIiE7ReshapeERKSt6vectorIiSaIiEE",
    c"_ZN5caffe4BlobIjE7ReshapeERKSt6vectorIiSaIiEE",
];
