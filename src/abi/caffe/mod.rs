//! The C++ symbols of `caffe::SyncedMemory` of every Caffe in docs/caffe-abi.md.
//!
//! Entry points that can fail are in the section `syncedmem_entry`, by which their call sites are found.
#![expect(unsafe_code, reason = "C++ calls these functions with its pointers")]

pub mod callback;
mod fatal;
mod throw;

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::{Access, Side};

use super::guard::guard;
use crate::caffe::{self, Build};
use crate::error::{Error, WhyNot};
use crate::memory::host::caffe_host;
use crate::object::SyncedMemory;
use crate::observe::call_counts::{Call, count};
use crate::settings;
use crate::state::fast_path;
use crate::state::flags;
use fatal::Failure;

/// Unwraps a result for C++. It is a macro, so that an exception passes no frame of this library but the entry point's.
macro_rules! or_fail {
    ($call:expr, $work:expr) => {
        match guarded(|| $work) {
            Ok(value) => value,
            Err(error) => fatal::fail(Failure { call: $call, error }),
        }
    };
}

/// `guard`, not inlined: the frame that an exception passes then has no handlers, so no unwinder calls Rust's personality routine.
/// That routine works with one unwinder, and a process may have several.
#[inline(never)]
fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    guard(work)
}

/// Compat: device calls are errors beside a Caffe built with CPU_ONLY, even on a machine with a GPU.
#[cold]
fn refuse_if_cpu_only() -> Result<(), Error> {
    match caffe::build(true) {
        Build::CpuOnly => Err(Error::NoGpu { why: WhyNot::CpuOnlyCaffe }),
        Build::NoCaffe | Build::Gpu => Ok(()),
    }
}

/// An accessor. It needs no stack frame if the side is current.
macro_rules! accessor {
    ($(#[$doc:meta])* $name:ident, $symbol:literal, $call:expr, $access:expr, $side:expr) => {
        $(#[$doc])*
        #[unsafe(export_name = $symbol)]
        #[unsafe(link_section = "syncedmem_entry")]
        pub unsafe extern "C-unwind" fn $name(this: *const SyncedMemory) -> *mut c_void {
            #[cold]
            #[inline(never)]
            #[unsafe(link_section = "syncedmem_entry")]
            extern "C-unwind" fn prepared(this: &SyncedMemory) -> *mut c_void {
                if $side == Side::Host {
                    if let Some(address) = this.first_touch($access) {
                        return address;
                    }
                }
                or_fail!($call, {
                    count($call);
                    if $side == Side::Device {
                        refuse_if_cpu_only()?;
                    }
                    fast_path::open($access, $side);
                    this.data($access, $side)
                })
            }
            // SAFETY: C++ calls a member of a live object.
            let this = unsafe { &*this };
            match this.ready_if(fast_path::deciding($access, $side), $side) {
                Some(address) => address,
                None => prepared(this),
            }
        }
    };
}

accessor!(
    /// `const void* SyncedMemory::cpu_data()`
    cpu_data, "_ZN5caffe12SyncedMemory8cpu_dataEv", Call::CpuData, Access::Read, Side::Host
);
accessor!(
    /// `void* SyncedMemory::mutable_cpu_data()`
    mutable_cpu_data, "_ZN5caffe12SyncedMemory16mutable_cpu_dataEv", Call::MutableCpuData, Access::Write, Side::Host
);
accessor!(
    /// `const void* SyncedMemory::gpu_data()`
    gpu_data, "_ZN5caffe12SyncedMemory8gpu_dataEv", Call::GpuData, Access::Read, Side::Device
);
accessor!(
    /// `void* SyncedMemory::mutable_gpu_data()`
    mutable_gpu_data, "_ZN5caffe12SyncedMemory16mutable_gpu_dataEv", Call::MutableGpuData, Access::Write, Side::Device
);

/// A constructor. C1 makes a complete object and C2 a base, which is the same for a class without virtual bases.
macro_rules! constructor {
    ($(#[$doc:meta])* $name:ident, $symbol:literal $(, $bytes:ident)?) => {
        $(#[$doc])*
        #[unsafe(export_name = $symbol)]
        #[unsafe(link_section = "syncedmem_entry")]
        pub unsafe extern "C-unwind" fn $name(this: NonNull<SyncedMemory> $(, $bytes: usize)?) {
            #[cold]
            #[inline(never)]
            #[unsafe(link_section = "syncedmem_entry")]
            unsafe extern "C-unwind" fn noted(this: NonNull<SyncedMemory>, bytes: usize) {
                count(Call::Construct);
                // SAFETY: C++ passes storage for an object.
                unsafe { SyncedMemory::construct(this, bytes) };
                // Keeps this frame on the stack until here, because the call site is found by it.
                std::hint::black_box(());
            }
            // Compat: from rc4 on a default constructor makes an object without bytes.
            let bytes = 0 $(+ $bytes)?;
            if !flags::is_observed() {
                // SAFETY: C++ passes storage for an object.
                unsafe { SyncedMemory::write(this, bytes) };
            } else {
                // SAFETY: C++ passes storage for an object.
                unsafe { noted(this, bytes) };
            }
        }
    };
}

constructor!(
    /// `SyncedMemory::SyncedMemory()`
    new_empty, "_ZN5caffe12SyncedMemoryC1Ev"
);
constructor!(
    /// `SyncedMemory::SyncedMemory()`, of a base
    new_empty_base, "_ZN5caffe12SyncedMemoryC2Ev"
);
constructor!(
    /// `SyncedMemory::SyncedMemory(size_t)`
    new, "_ZN5caffe12SyncedMemoryC1Em", size
);
constructor!(
    /// `SyncedMemory::SyncedMemory(size_t)`, of a base
    new_base, "_ZN5caffe12SyncedMemoryC2Em", size
);

macro_rules! destructor {
    ($name:ident, $symbol:literal) => {
        /// `SyncedMemory::~SyncedMemory()`: it never throws.
        #[unsafe(export_name = $symbol)]
        pub unsafe extern "C-unwind" fn $name(this: *const SyncedMemory) {
            #[inline(never)]
            extern "C-unwind" fn ended(this: &SyncedMemory) {
                count(Call::Destroy);
                // SAFETY: C++ destroys a live object once, and does not use its pointers any more.
                if let Err(error) = guard(|| unsafe { this.destruct() }) {
                    fatal::report_only(Failure { call: Call::Destroy, error });
                }
            }
            // SAFETY: C++ destroys a live object.
            let this = unsafe { &*this };
            // SAFETY: C++ destroys a live object once, and does not use its pointers any more.
            if !unsafe { this.destruct_small() } {
                ended(this);
            }
        }
    };
}

destructor!(delete, "_ZN5caffe12SyncedMemoryD1Ev");
destructor!(delete_base, "_ZN5caffe12SyncedMemoryD2Ev");

/// `void SyncedMemory::set_cpu_data(void*)`
///
/// # Safety
/// `data` is NULL, or host memory of the object's size while it refers to it.
#[unsafe(export_name = "_ZN5caffe12SyncedMemory12set_cpu_dataEPv")]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C-unwind" fn set_cpu_data(this: *const SyncedMemory, data: *mut c_void) {
    count(Call::SetCpuData);
    // SAFETY: C++ calls a member of a live object.
    let this = unsafe { &*this };
    // SAFETY: C++ keeps `data` valid ("Safety" above), and does not use pointers to the old block any more.
    or_fail!(Call::SetCpuData, unsafe { this.set_data(Side::Host, data) });
}

/// `void SyncedMemory::set_gpu_data(void*)`
///
/// # Safety
/// `data` is NULL, or device memory of the object's size while it refers to it.
#[unsafe(export_name = "_ZN5caffe12SyncedMemory12set_gpu_dataEPv")]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C-unwind" fn set_gpu_data(this: *const SyncedMemory, data: *mut c_void) {
    count(Call::SetGpuData);
    // SAFETY: C++ calls a member of a live object.
    let this = unsafe { &*this };
    or_fail!(Call::SetGpuData, {
        refuse_if_cpu_only()?;
        // SAFETY: C++ keeps `data` valid ("Safety" above), and does not use pointers to the old block any more.
        unsafe { this.set_data(Side::Device, data) }
    });
}

/// `void SyncedMemory::async_gpu_push(const cudaStream_t&)`
#[unsafe(export_name = "_ZN5caffe12SyncedMemory14async_gpu_pushERKP11CUstream_st")]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C-unwind" fn async_gpu_push(this: *const SyncedMemory, stream: *const *mut c_void) {
    count(Call::AsyncGpuPush);
    // SAFETY: C++ calls a member of a live object.
    let this = unsafe { &*this };
    // SAFETY: a C++ reference is never null.
    let stream = unsafe { *stream };
    or_fail!(Call::AsyncGpuPush, {
        refuse_if_cpu_only()?;
        // SAFETY: C++ passes a stream that is valid during the call.
        unsafe { this.async_gpu_push(stream) }
    });
}

/// Compat: `void SyncedMemory::async_gpu_push()` of NVIDIA 0.15.12 to 0.15.14.
#[unsafe(export_name = "_ZN5caffe12SyncedMemory14async_gpu_pushEv")]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C-unwind" fn async_gpu_push_unnamed(this: *const SyncedMemory) {
    count(Call::AsyncGpuPush);
    // SAFETY: C++ calls a member of a live object.
    let this = unsafe { &*this };
    or_fail!(Call::AsyncGpuPush, {
        refuse_if_cpu_only()?;
        // SAFETY: NULL is the legacy default stream.
        unsafe { this.async_gpu_push(std::ptr::null_mut()) }
    });
}

/// Compat: `void SyncedMemory::Resize(size_t)` of yjxiong's fork.
///
/// # Safety
/// If the size grows, pointers to the old blocks are not used any more.
#[unsafe(export_name = "_ZN5caffe12SyncedMemory6ResizeEm")]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C-unwind" fn resize(this: *const SyncedMemory, bytes: usize) {
    count(Call::Resize);
    // SAFETY: C++ calls a member of a live object.
    let this = unsafe { &*this };
    // SAFETY: C++ does not use pointers to the old blocks any more ("Safety" above).
    or_fail!(Call::Resize, unsafe { this.resize(bytes) });
}

/// Compat: `void SyncedMemory::check_device()`, which does nothing in the original's release builds, nor here without
/// `SYNCEDMEM_CHECK_DEVICE`.
#[unsafe(export_name = "_ZN5caffe12SyncedMemory12check_deviceEv")]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C-unwind" fn check_device(this: *const SyncedMemory) {
    count(Call::CheckDevice);
    if settings::checks_device() {
        // SAFETY: C++ calls a member of a live object.
        let this = unsafe { &*this };
        or_fail!(Call::CheckDevice, this.check_device());
    }
}

/// `void CaffeMallocHost(void** ptr, size_t size, bool* use_cuda)`, from rc3 on.
#[unsafe(export_name = "_ZN5caffe15CaffeMallocHostEPPvmPb")]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C-unwind" fn malloc_host(ptr: *mut *mut c_void, size: usize, use_cuda: *mut bool) {
    count(Call::MallocHost);
    let block = or_fail!(Call::MallocHost, caffe_host::malloc(size));
    // SAFETY: C++ passes two variables for the results.
    unsafe { ptr.write(block.address.as_ptr()) };
    // SAFETY: C++ passes two variables for the results.
    unsafe { use_cuda.write(block.pinned) };
}

/// Compat: `void CaffeMallocHost(void** ptr, size_t size)`, before rc3, where nothing was page-locked.
#[unsafe(export_name = "_ZN5caffe15CaffeMallocHostEPPvm")]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C-unwind" fn malloc_host_pageable(ptr: *mut *mut c_void, size: usize) {
    count(Call::MallocHost);
    let block = or_fail!(Call::MallocHost, caffe_host::malloc_pageable(size));
    // SAFETY: C++ passes a variable for the result.
    unsafe { ptr.write(block.address.as_ptr()) };
}

/// `void CaffeFreeHost(void* ptr, bool use_cuda)`, from rc3 on.
#[unsafe(export_name = "_ZN5caffe13CaffeFreeHostEPvb")]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C-unwind" fn free_host(ptr: *mut c_void, use_cuda: bool) {
    count(Call::FreeHost);
    // SAFETY: C++ passes memory of `CaffeMallocHost`, and does not use it again.
    or_fail!(Call::FreeHost, unsafe { caffe_host::free(ptr, use_cuda) });
}

/// Compat: `void CaffeFreeHost(void* ptr)`, before rc3.
#[unsafe(export_name = "_ZN5caffe13CaffeFreeHostEPv")]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C-unwind" fn free_host_pageable(ptr: *mut c_void) {
    count(Call::FreeHost);
    // SAFETY: C++ passes memory of `CaffeMallocHost`, and does not use it again.
    or_fail!(Call::FreeHost, unsafe { caffe_host::free(ptr, false) });
}
