//! coaster's `SharedTensor` on its native backend, behind the calls of rivals.cpp. It fills all of its memory with
//! zeros, also where it is only written.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use coaster::frameworks::native::{Cpu, get_native_backend};
use coaster::tensor::SharedTensor;

struct Object {
    tensor: SharedTensor<u8>,
    fresh: bool,
}

// Storage in library.hpp has room for it.
const _: () = assert!(size_of::<Object>() <= 160 && align_of::<Object>() <= 16);

fn cpu() -> &'static Cpu {
    static CPU: OnceLock<Cpu> = OnceLock::new();
    CPU.get_or_init(|| get_native_backend().device().clone())
}

/// Nothing where it has no memory to give.
fn write_only(object: &mut Object) -> &mut [u8] {
    match object.tensor.write_only(cpu()) {
        Ok(memory) => memory.as_mut_slice(),
        Err(_) => &mut [],
    }
}

/// # Safety
/// The storage is free, and has room for an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coaster_construct(storage: *mut c_void, bytes: usize) {
    let object = Object { tensor: SharedTensor::new(&bytes), fresh: true };
    // SAFETY: the caller's.
    unsafe { storage.cast::<Object>().write(object) };
}

/// # Safety
/// The storage holds an object, and no other thread uses it meanwhile, here and below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coaster_destroy(storage: *mut c_void) {
    // SAFETY: the caller's.
    unsafe { storage.cast::<Object>().drop_in_place() };
}

/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coaster_mutable_cpu_data(storage: *mut c_void) -> *mut c_void {
    // SAFETY: the caller's.
    let object = unsafe { &mut *storage.cast::<Object>() };
    // coaster refuses to read memory that was not written: declare the zeros that are there.
    if std::mem::take(&mut object.fresh) {
        return write_only(object).as_mut_ptr().cast();
    }
    match object.tensor.read_write(cpu()) {
        Ok(memory) => memory.as_mut_slice::<u8>().as_mut_ptr().cast(),
        Err(_) => std::ptr::null_mut(),
    }
}

/// # Safety
/// As above; `data` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coaster_overwrite_cpu_data(storage: *mut c_void, data: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's.
    let object = unsafe { &mut *storage.cast::<Object>() };
    object.fresh = false;
    let memory = write_only(object).as_mut_ptr().cast();
    // SAFETY: the caller's.
    unsafe { data.write(memory) };
    0
}
