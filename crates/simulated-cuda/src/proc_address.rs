//! The list of all entry points, and `cuGetProcAddress`, which looks them up.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::{c_char, c_int};

use crate::abi::{Address, INVALID_VALUE, NOT_FOUND, Out, Status, Text};
use crate::log::{Call, enter_before_init};
use crate::settings;

struct Entry {
    /// With the NUL that ends it in C.
    c_name: &'static str,
    /// CUDA version of its first driver, as `cuGetProcAddress` counts.
    since: c_int,
    address: fn() -> Address,
}

macro_rules! entry {
    ($since:expr, $module:ident::$name:ident) => {
        Entry {
            c_name: concat!(stringify!($name), "\0"),
            since: $since,
            address: || (crate::$module::$name as *const ()).expose_provenance(),
        }
    };
}

impl Entry {
    fn name(&self) -> &'static str {
        self.c_name.trim_end_matches('\0')
    }
}

/// Sorted by name.
const ENTRIES: &[Entry] = &[
    entry!(3020, context_calls::cuCtxCreate_v2),
    entry!(4000, context_calls::cuCtxDestroy_v2),
    entry!(4000, context_calls::cuCtxGetCurrent),
    entry!(2000, context_calls::cuCtxGetDevice),
    entry!(12000, context_calls::cuCtxGetId),
    entry!(4000, context_calls::cuCtxPopCurrent_v2),
    entry!(4000, context_calls::cuCtxPushCurrent_v2),
    entry!(4000, context_calls::cuCtxSetCurrent),
    entry!(2000, context_calls::cuCtxSynchronize),
    entry!(2000, device::cuDeviceGet),
    entry!(2000, device::cuDeviceGetAttribute),
    entry!(2000, device::cuDeviceGetCount),
    entry!(11020, pool::cuDeviceGetDefaultMemPool),
    entry!(2000, device::cuDeviceGetName),
    entry!(4010, device::cuDeviceGetPCIBusId),
    entry!(7000, context_calls::cuDevicePrimaryCtxGetState),
    entry!(11000, context_calls::cuDevicePrimaryCtxRelease_v2),
    entry!(11000, context_calls::cuDevicePrimaryCtxReset_v2),
    entry!(7000, context_calls::cuDevicePrimaryCtxRetain),
    entry!(3020, device::cuDeviceTotalMem_v2),
    entry!(2000, process::cuDriverGetVersion),
    entry!(2000, event::cuEventCreate),
    entry!(4000, event::cuEventDestroy_v2),
    entry!(2000, event::cuEventElapsedTime),
    entry!(2000, event::cuEventQuery),
    entry!(2000, event::cuEventRecord),
    entry!(2000, event::cuEventSynchronize),
    entry!(6000, errors::cuGetErrorName),
    entry!(6000, errors::cuGetErrorString),
    entry!(11030, proc_address::cuGetProcAddress),
    entry!(12000, proc_address::cuGetProcAddress_v2),
    entry!(10000, capture_calls::cuGraphDestroy),
    entry!(10000, capture_calls::cuGraphExecDestroy),
    entry!(11040, capture_calls::cuGraphInstantiateWithFlags),
    entry!(10000, capture_calls::cuGraphLaunch),
    entry!(2000, process::cuInit),
    entry!(10000, stream_calls::cuLaunchHostFunc),
    entry!(4000, kernel::cuLaunchKernel),
    entry!(11020, pool::cuMemAllocAsync),
    entry!(6000, memory::cuMemAllocManaged),
    entry!(3020, memory::cuMemAlloc_v2),
    entry!(11020, pool::cuMemFreeAsync),
    entry!(2000, pinned::cuMemFreeHost),
    entry!(3020, memory::cuMemFree_v2),
    entry!(3020, memory::cuMemGetInfo_v2),
    entry!(2000, pinned::cuMemHostAlloc),
    entry!(3000, pinned::cuMemHostGetFlags),
    entry!(6050, pinned::cuMemHostRegister_v2),
    entry!(4000, pinned::cuMemHostUnregister),
    entry!(11020, pool::cuMemPoolGetAttribute),
    entry!(11020, pool::cuMemPoolSetAttribute),
    entry!(11020, pool::cuMemPoolTrimTo),
    entry!(4000, copy::cuMemcpy),
    entry!(4000, copy::cuMemcpyAsync),
    entry!(3020, copy::cuMemcpyDtoDAsync_v2),
    entry!(3020, copy::cuMemcpyDtoD_v2),
    entry!(3020, copy::cuMemcpyDtoHAsync_v2),
    entry!(3020, copy::cuMemcpyDtoH_v2),
    entry!(3020, copy::cuMemcpyHtoDAsync_v2),
    entry!(3020, copy::cuMemcpyHtoD_v2),
    entry!(2000, fill::cuMemsetD32Async),
    entry!(3020, fill::cuMemsetD32_v2),
    entry!(2000, fill::cuMemsetD8Async),
    entry!(3020, fill::cuMemsetD8_v2),
    entry!(2000, kernel::cuModuleGetFunction),
    entry!(2000, kernel::cuModuleLoadData),
    entry!(2000, kernel::cuModuleUnload),
    entry!(4000, pointer::cuPointerGetAttribute),
    entry!(7000, pointer::cuPointerGetAttributes),
    entry!(10010, capture_calls::cuStreamBeginCapture_v2),
    entry!(2000, stream_calls::cuStreamCreate),
    entry!(4000, stream_calls::cuStreamDestroy_v2),
    entry!(10000, capture_calls::cuStreamEndCapture),
    entry!(11030, capture_calls::cuStreamGetCaptureInfo_v2),
    entry!(9020, stream_calls::cuStreamGetCtx),
    entry!(10000, capture_calls::cuStreamIsCapturing),
    entry!(2000, stream_calls::cuStreamQuery),
    entry!(2000, stream_calls::cuStreamSynchronize),
    entry!(3020, stream_calls::cuStreamWaitEvent),
    entry!(10010, capture_calls::cuThreadExchangeStreamCaptureMode),
];

/// As it is exported, for that name or for one without its version (`cuMemAlloc`).
pub fn known(name: &str) -> Option<&'static str> {
    let exact = ENTRIES.iter().find(|entry| entry.name() == name);
    exact.or_else(|| newest(name, c_int::MAX)).map(Entry::name)
}

pub fn c_name(index: usize) -> *const c_char {
    ENTRIES.get(index).map_or(std::ptr::null(), |entry| entry.c_name.as_ptr().cast())
}

fn base(name: &str) -> &str {
    name.strip_suffix("_v2").unwrap_or(name)
}

/// The newest that CUDA `version` has.
fn newest(symbol: &str, version: c_int) -> Option<&'static Entry> {
    let named = ENTRIES.iter().filter(|entry| base(entry.name()) == symbol && entry.since <= version);
    named.max_by_key(|entry| entry.since)
}

/// CU_GET_PROC_ADDRESS_SUCCESS and what else the search comes to.
const FOUND: c_int = 0;
const SYMBOL_NOT_FOUND: c_int = 1;
const VERSION_NOT_SUFFICIENT: c_int = 2;
/// LEGACY_STREAM and PER_THREAD_DEFAULT_STREAM.
const FLAGS: u64 = 3;

fn look_up<'s>(
    call: &mut Call,
    symbol: &'s Text,
    function: Out<Address>,
    version: c_int,
    flags: u64,
) -> Result<(&'s str, Option<&'static Entry>), Status> {
    let name = symbol.as_str().ok_or(INVALID_VALUE)?;
    call.number("symbol", name);
    if flags & !FLAGS != 0 || version > settings::version() {
        return Err(INVALID_VALUE);
    }
    let found = newest(name, version);
    function.put(found.map_or(0, |entry| (entry.address)()))?;
    Ok((name, found))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress_v2(
    symbol: Text,
    function: Out<Address>,
    version: c_int,
    flags: u64,
    result: Out<c_int>,
) -> c_int {
    enter_before_init("cuGetProcAddress_v2", |call| {
        let (name, found) = look_up(call, &symbol, function, version, flags)?;
        result.put_if_wanted(match found {
            Some(_) => FOUND,
            None if newest(name, c_int::MAX).is_some() => VERSION_NOT_SUFFICIENT,
            None => SYMBOL_NOT_FOUND,
        });
        Ok(())
    })
}

/// Has no place for the reason, and fails instead.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress(symbol: Text, function: Out<Address>, version: c_int, flags: u64) -> c_int {
    enter_before_init("cuGetProcAddress", |call| {
        let (_, found) = look_up(call, &symbol, function, version, flags)?;
        found.map(|_| ()).ok_or(NOT_FOUND)
    })
}
