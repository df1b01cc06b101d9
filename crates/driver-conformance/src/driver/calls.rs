//! Driver calls that no argument makes harmful: numbers go in, statuses and values come out. Handles are passed only
//! while they live.
#![expect(unsafe_code, reason = "calls the driver")]

use super::status::Status;
use super::table::{Address, Handle, table};
use crate::verdict::{Answer, Done, Verdict};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::null_mut;

/// Calls an entry point, or returns that the driver has none of that name.
macro_rules! call {
    ($name:ident $(, $argument:expr)*) => {
        match $crate::driver::table::table().$name {
            // SAFETY: the calling function passes what CUDA's documentation asks for: pointers to its own variables,
            // and ranges in blocks that it was handed.
            Some(entry) => $crate::verdict::Reply { call: stringify!($name), status: unsafe { entry($($argument),*) } },
            None => return Err($crate::verdict::Verdict::missing(stringify!($name))),
        }
    };
}
pub(crate) use call;

pub(crate) fn init(flags: u32) -> Done {
    Ok(call!(cuInit, flags))
}

pub(crate) fn driver_version() -> Answer<i32> {
    let mut version = -1;
    Ok((call!(cuDriverGetVersion, &mut version), version))
}

pub(crate) fn driver_version_to_nowhere() -> Done {
    Ok(call!(cuDriverGetVersion, null_mut()))
}

/// A copy; `None` for NULL.
fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the driver returned it, as a string that lives for ever.
    Some(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

pub(crate) fn error_name(status: Status) -> Answer<Option<String>> {
    // The driver overwrites this for an unknown status, too.
    let mut name = c"untouched".as_ptr();
    let reply = call!(cuGetErrorName, status, &mut name);
    Ok((reply, text(name)))
}

pub(crate) fn error_string(status: Status) -> Answer<Option<String>> {
    let mut string = c"untouched".as_ptr();
    let reply = call!(cuGetErrorString, status, &mut string);
    Ok((reply, text(string)))
}

/// `name` is without its version's suffix.
pub(crate) fn procedure(name: &str, cuda_version: i32) -> Answer<Option<Address>> {
    let Ok(name) = CString::new(name) else { return Err(Verdict::skipped("a name with a NUL in it")) };
    let (mut function, mut found) = (null_mut(), 0);
    let reply = call!(cuGetProcAddress_v2, name.as_ptr(), &mut function, cuda_version, 0, &mut found);
    Ok((reply, (!function.is_null()).then_some(function as Address)))
}

pub(crate) fn device_count() -> Answer<i32> {
    let mut count = -1;
    Ok((call!(cuDeviceGetCount, &mut count), count))
}

pub(crate) fn device(ordinal: i32) -> Answer<i32> {
    let mut device = -1;
    Ok((call!(cuDeviceGet, &mut device, ordinal), device))
}

/// The buffer was filled with '#'.
pub(crate) fn device_name(device: i32, bytes: usize) -> Answer<Vec<u8>> {
    let mut name = vec![b'#'; bytes];
    let reply = call!(cuDeviceGetName, name.as_mut_ptr().cast(), bytes as i32, device);
    Ok((reply, name))
}

/// As in `/sys/bus/pci/devices`, but for the case of letters.
pub(crate) fn pci_bus_id(device: i32) -> Answer<String> {
    let mut id = [0u8; 32];
    let reply = call!(cuDeviceGetPCIBusId, id.as_mut_ptr().cast(), id.len() as i32, device);
    Ok((reply, CStr::from_bytes_until_nul(&id).unwrap_or_default().to_string_lossy().into_owned()))
}

pub(crate) fn device_memory(device: i32) -> Answer<usize> {
    let mut bytes = 0;
    Ok((call!(cuDeviceTotalMem_v2, &mut bytes, device), bytes))
}

pub(crate) fn device_attribute(device: i32, attribute: i32) -> Answer<i32> {
    let mut value = -1;
    Ok((call!(cuDeviceGetAttribute, &mut value, attribute, device), value))
}

pub(crate) fn primary_retain(device: i32) -> Answer<Handle> {
    let mut context = 0;
    Ok((call!(cuDevicePrimaryCtxRetain, &mut context, device), context))
}

pub(crate) fn primary_release(device: i32) -> Done {
    Ok(call!(cuDevicePrimaryCtxRelease_v2, device))
}

pub(crate) fn primary_reset(device: i32) -> Done {
    Ok(call!(cuDevicePrimaryCtxReset_v2, device))
}

/// The flags, and whether it is active.
pub(crate) fn primary_state(device: i32) -> Answer<(u32, bool)> {
    let (mut flags, mut active) = (0, -1);
    let reply = call!(cuDevicePrimaryCtxGetState, device, &mut flags, &mut active);
    Ok((reply, (flags, active != 0)))
}

pub(crate) fn context_create(device: i32) -> Answer<Handle> {
    let mut context = 0;
    Ok((call!(cuCtxCreate_v2, &mut context, 0, device), context))
}

pub(crate) fn context_destroy(context: Handle) -> Done {
    Ok(call!(cuCtxDestroy_v2, context))
}

pub(crate) fn current() -> Answer<Handle> {
    let mut context = usize::MAX;
    Ok((call!(cuCtxGetCurrent, &mut context), context))
}

pub(crate) fn set_current(context: Handle) -> Done {
    Ok(call!(cuCtxSetCurrent, context))
}

pub(crate) fn push(context: Handle) -> Done {
    Ok(call!(cuCtxPushCurrent_v2, context))
}

pub(crate) fn pop() -> Answer<Handle> {
    let mut context = usize::MAX;
    Ok((call!(cuCtxPopCurrent_v2, &mut context), context))
}

pub(crate) fn current_device() -> Answer<i32> {
    let mut device = -1;
    Ok((call!(cuCtxGetDevice, &mut device), device))
}

pub(crate) fn context_id(context: Handle) -> Answer<u64> {
    let mut id = 0;
    Ok((call!(cuCtxGetId, context, &mut id), id))
}

pub(crate) fn synchronize() -> Done {
    Ok(call!(cuCtxSynchronize))
}

pub(crate) fn memory_alloc(bytes: usize) -> Answer<Address> {
    let mut address = 0;
    Ok((call!(cuMemAlloc_v2, &mut address, bytes), address))
}

/// `address` may be any: the driver refuses others than a block's.
pub(crate) fn memory_free(address: Address) -> Done {
    Ok(call!(cuMemFree_v2, address))
}

/// Free and total bytes.
pub(crate) fn memory_info() -> Answer<(usize, usize)> {
    let (mut free, mut total) = (0, 0);
    let reply = call!(cuMemGetInfo_v2, &mut free, &mut total);
    Ok((reply, (free, total)))
}

/// As `memory_free`.
pub(crate) fn pinned_free(address: Address) -> Done {
    Ok(call!(cuMemFreeHost, address as *mut c_void))
}

pub(crate) fn pinned_flags(address: Address) -> Answer<u32> {
    let mut flags = 0;
    Ok((call!(cuMemHostGetFlags, &mut flags, address as *mut c_void), flags))
}

pub(crate) fn unregister(address: Address) -> Done {
    Ok(call!(cuMemHostUnregister, address as *mut c_void))
}

/// Widened to 64 bits.
pub(crate) fn pointer_attribute(attribute: i32, address: Address) -> Answer<u64> {
    let mut value = 0u64;
    let reply = call!(cuPointerGetAttribute, (&raw mut value).cast(), attribute, address);
    Ok((reply, value))
}

/// Each value starts as 99.
pub(crate) fn pointer_attributes<const N: usize>(attributes: [i32; N], address: Address) -> Answer<[u64; N]> {
    let mut values = [99u64; N];
    let mut places: Vec<*mut c_void> = values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
    let reply = call!(cuPointerGetAttributes, N as u32, attributes.as_ptr(), places.as_mut_ptr(), address);
    Ok((reply, values))
}

pub(crate) fn default_pool(device: i32) -> Answer<Handle> {
    let mut pool = 0;
    Ok((call!(cuDeviceGetDefaultMemPool, &mut pool, device), pool))
}

pub(crate) fn pool_trim(pool: Handle, keep: usize) -> Done {
    Ok(call!(cuMemPoolTrimTo, pool, keep))
}

pub(crate) fn pool_attribute(pool: Handle, attribute: i32) -> Answer<u64> {
    let mut value = u64::MAX;
    Ok((call!(cuMemPoolGetAttribute, pool, attribute, &mut value), value))
}

pub(crate) fn pool_set_attribute(pool: Handle, attribute: i32, mut value: u64) -> Done {
    Ok(call!(cuMemPoolSetAttribute, pool, attribute, &mut value))
}

pub(crate) fn missing_entry_points() -> Vec<&'static str> {
    table().missing()
}
