//! The names of all entry points. `proc_address` has their addresses.

use std::ffi::{c_char, c_int};

pub struct Name {
    /// With the NUL that ends it in C.
    c_name: &'static str,
    /// CUDA version of its first driver, as `cuGetProcAddress` counts.
    since: c_int,
}

/// Gives the list, sorted by name, to a macro: the version, the module and the name of each.
macro_rules! all_entry_points {
    ($list:ident) => {
        $list! {
            3020 context_calls::cuCtxCreate_v2,
            4000 context_calls::cuCtxDestroy_v2,
            4000 context_calls::cuCtxGetCurrent,
            2000 context_calls::cuCtxGetDevice,
            12000 context_calls::cuCtxGetId,
            4000 context_calls::cuCtxPopCurrent_v2,
            4000 context_calls::cuCtxPushCurrent_v2,
            4000 context_calls::cuCtxSetCurrent,
            2000 context_calls::cuCtxSynchronize,
            2000 device_calls::cuDeviceGet,
            2000 device_calls::cuDeviceGetAttribute,
            2000 device_calls::cuDeviceGetCount,
            11020 pool::cuDeviceGetDefaultMemPool,
            2000 device_calls::cuDeviceGetName,
            4010 device_calls::cuDeviceGetPCIBusId,
            7000 context_calls::cuDevicePrimaryCtxGetState,
            11000 context_calls::cuDevicePrimaryCtxRelease_v2,
            11000 context_calls::cuDevicePrimaryCtxReset_v2,
            7000 context_calls::cuDevicePrimaryCtxRetain,
            3020 device_calls::cuDeviceTotalMem_v2,
            2000 process::cuDriverGetVersion,
            2000 event_calls::cuEventCreate,
            4000 event_calls::cuEventDestroy_v2,
            2000 event_calls::cuEventElapsedTime,
            2000 event_calls::cuEventQuery,
            2000 event_calls::cuEventRecord,
            2000 event_calls::cuEventSynchronize,
            6000 errors::cuGetErrorName,
            6000 errors::cuGetErrorString,
            11030 proc_address::cuGetProcAddress,
            12000 proc_address::cuGetProcAddress_v2,
            10000 capture_calls::cuGraphDestroy,
            10000 capture_calls::cuGraphExecDestroy,
            11040 capture_calls::cuGraphInstantiateWithFlags,
            10000 capture_calls::cuGraphLaunch,
            2000 process::cuInit,
            10000 stream_calls::cuLaunchHostFunc,
            4000 kernel::cuLaunchKernel,
            11020 pool::cuMemAllocAsync,
            6000 memory::cuMemAllocManaged,
            3020 memory::cuMemAlloc_v2,
            11020 pool::cuMemFreeAsync,
            2000 pinned::cuMemFreeHost,
            3020 memory::cuMemFree_v2,
            3020 memory::cuMemGetInfo_v2,
            2000 pinned::cuMemHostAlloc,
            3000 pinned::cuMemHostGetFlags,
            6050 pinned::cuMemHostRegister_v2,
            4000 pinned::cuMemHostUnregister,
            11020 pool::cuMemPoolGetAttribute,
            11020 pool::cuMemPoolSetAttribute,
            11020 pool::cuMemPoolTrimTo,
            4000 copy::cuMemcpy,
            4000 copy::cuMemcpyAsync,
            3020 copy::cuMemcpyDtoDAsync_v2,
            3020 copy::cuMemcpyDtoD_v2,
            3020 copy::cuMemcpyDtoHAsync_v2,
            3020 copy::cuMemcpyDtoH_v2,
            3020 copy::cuMemcpyHtoDAsync_v2,
            3020 copy::cuMemcpyHtoD_v2,
            2000 fill::cuMemsetD32Async,
            3020 fill::cuMemsetD32_v2,
            2000 fill::cuMemsetD8Async,
            3020 fill::cuMemsetD8_v2,
            2000 kernel::cuModuleGetFunction,
            2000 kernel::cuModuleLoadData,
            2000 kernel::cuModuleUnload,
            4000 pointer::cuPointerGetAttribute,
            7000 pointer::cuPointerGetAttributes,
            10010 capture_calls::cuStreamBeginCapture_v2,
            2000 stream_calls::cuStreamCreate,
            4000 stream_calls::cuStreamDestroy_v2,
            10000 capture_calls::cuStreamEndCapture,
            11030 capture_calls::cuStreamGetCaptureInfo_v2,
            9020 stream_calls::cuStreamGetCtx,
            10000 capture_calls::cuStreamIsCapturing,
            2000 stream_calls::cuStreamQuery,
            2000 stream_calls::cuStreamSynchronize,
            3020 stream_calls::cuStreamWaitEvent,
            10010 capture_calls::cuThreadExchangeStreamCaptureMode,
        }
    };
}
pub(crate) use all_entry_points;

macro_rules! list {
    ($($since:literal $module:ident::$name:ident,)*) => {
        &[$(Name { c_name: concat!(stringify!($name), "\0"), since: $since }),*]
    };
}

const NAMES: &[Name] = all_entry_points!(list);

impl Name {
    fn text(&self) -> &'static str {
        self.c_name.trim_end_matches('\0')
    }
}

/// As it is exported, for that name or for one without its version (`cuMemAlloc`).
pub fn known(name: &str) -> Option<&'static str> {
    let exact = NAMES.iter().find(|entry| entry.text() == name);
    exact.or_else(|| newest(name, c_int::MAX).map(|index| &NAMES[index])).map(Name::text)
}

pub fn c_name(index: usize) -> *const c_char {
    NAMES.get(index).map_or(std::ptr::null(), |entry| entry.c_name.as_ptr().cast())
}

/// The place in the list of the newest that CUDA `version` has.
pub fn newest(symbol: &str, version: c_int) -> Option<usize> {
    let base = |name: &'static str| name.strip_suffix("_v2").unwrap_or(name);
    let named = NAMES.iter().enumerate().filter(|(_, entry)| base(entry.text()) == symbol && entry.since <= version);
    named.max_by_key(|(_, entry)| entry.since).map(|(index, _)| index)
}
