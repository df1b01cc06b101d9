//! Ranges for a profiler: NVTX shows what takes time beside the kernels.
//!
//! NVTX is a protocol between a program and an attached tool, and needs no library of NVIDIA's. NVTX_INJECTION64_PATH
//! names the tool, which exports `InitializeInjectionNvtx2`. The library passes it a function that returns tables of
//! pointers to slots; the tool fills those of the functions that it implements. An export of that name alone proves
//! nothing: CUPTI has one, and PyTorch loads CUPTI without using it. The numbers are those of NVTX 3's headers
//! (nvtxDetail/nvtxTypes.h, nvtxInit.h, nvToolsExt.h).
#![expect(unsafe_code, reason = "the tool is loaded, and called")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::mem::transmute;
use std::ptr::{NonNull, null, null_mut};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::cancel_guard::CancelGuard;
use crate::settings;

/// Holds a function of the tool, or NULL.
type Slot = AtomicPtr<c_void>;
/// Pointers to slots, indexed by the function's number. Index 0 and the last one are empty.
type Table<const N: usize> = [Option<&'static Slot>; N];

/// Slots of a module: one for each function, and one for the number 0.
macro_rules! module {
    ($slots:ident, $table:ident, $count:literal) => {
        static $slots: [Slot; $count] = [const { AtomicPtr::new(null_mut()) }; $count];
        static $table: Table<{ $count + 1 }> = {
            let mut table: Table<{ $count + 1 }> = [None; $count + 1];
            let mut number = 1;
            while number < $count {
                table[number] = Some(&$slots[number]);
                number += 1;
            }
            table
        };
    };
}

module!(CORE_SLOTS, CORE, 16);
module!(CUDA_SLOTS, CUDA, 9);
module!(OPENCL_SLOTS, OPENCL, 15);
module!(CUDART_SLOTS, CUDART, 7);
module!(CORE2_SLOTS, CORE2, 16);
module!(SYNC_SLOTS, SYNC, 7);

/// Numbers of functions of the module CORE2.
const RANGE_PUSH: usize = 4;
const RANGE_POP: usize = 5;
const CREATE: usize = 12;

const VERSION: u16 = 3;

/// A function in the export table: passes the slots of a module to the tool. Returns 0 if there is no such module.
type GetModule = unsafe extern "C" fn(c_int, *mut *const c_void, *mut c_uint) -> c_int;

#[repr(C)]
struct Callbacks {
    bytes: usize,
    get_module: GetModule,
}

#[repr(C)]
struct Versions {
    bytes: usize,
    version: u32,
    reserved: u32,
    set_tool_version: extern "C" fn(u32),
}

static CALLBACKS: Callbacks = Callbacks { bytes: size_of::<Callbacks>(), get_module };
static VERSIONS: Versions =
    Versions { bytes: size_of::<Versions>(), version: VERSION as u32, reserved: 0, set_tool_version };

extern "C" fn get_table(number: u32) -> *const c_void {
    match number {
        1 => (&raw const CALLBACKS).cast(),
        3 => (&raw const VERSIONS).cast(),
        _ => null(),
    }
}

extern "C" fn set_tool_version(_version: u32) {}

/// # Safety
/// The tool guarantees that the pointers are NULL or writable.
unsafe extern "C" fn get_module(module: c_int, table: *mut *const c_void, count: *mut c_uint) -> c_int {
    let slots: &[Option<&Slot>] = match module {
        1 => &CORE,
        2 => &CUDA,
        3 => &OPENCL,
        4 => &CUDART,
        5 => &CORE2,
        6 => &SYNC,
        _ => return 0,
    };
    // SAFETY: the tool guarantees that it is NULL or writable.
    if let Some(count) = unsafe { count.as_mut() } {
        *count = slots.len() as c_uint - 1;
    }
    // SAFETY: the tool guarantees that it is NULL or writable.
    if let Some(table) = unsafe { table.as_mut() } {
        *table = slots.as_ptr().cast();
    }
    1
}

/// `nvtxEventAttributes_v2`
#[repr(C)]
struct Attributes {
    version: u16,
    bytes: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_char,
}

const PAYLOAD_IS_NUMBER: i32 = 1;
const MESSAGE_IS_TEXT: i32 = 1;

type Initialize = unsafe extern "C" fn(extern "C" fn(u32) -> *const c_void) -> c_int;
type Create = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type Push = unsafe extern "C" fn(*mut c_void, *const Attributes) -> c_int;
type Pop = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The tool's handle of the library's domain. Set before the first range.
static DOMAIN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Returns whether a tool is there and wants ranges. Called once, without a lock: it may load a library.
pub fn attach() -> bool {
    let _cancel_guard = CancelGuard::begin();
    let Some(initialize) = find() else { return false };
    // SAFETY: the protocol gives a function of this name this type.
    let initialize = unsafe { transmute::<NonNull<c_void>, Initialize>(initialize) };
    // SAFETY: the tables stay for ever: the library is linked with -z nodelete.
    let attached = unsafe { initialize(get_table) } != 0;
    if !attached {
        // The tool may have filled slots before it failed. They must not be called.
        CORE2_SLOTS.iter().for_each(|slot| slot.store(null_mut(), Relaxed));
    }
    wants_ranges() && create()
}

fn find() -> Option<NonNull<c_void>> {
    const ENTRY: &CStr = c"InitializeInjectionNvtx2";
    let path = settings::environment(c"NVTX_INJECTION64_PATH")?;
    // SAFETY: the path is NUL-terminated. The user chose the tool, and answers for its initialisers.
    let tool = NonNull::new(unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) })?;
    // SAFETY: the handle is open and never closed.
    NonNull::new(unsafe { libc::dlsym(tool.as_ptr(), ENTRY.as_ptr()) })
}

fn slot(number: usize) -> Option<NonNull<c_void>> {
    // Acquire: makes the tool's own set-up visible before its function is called.
    NonNull::new(CORE2_SLOTS[number].load(Acquire))
}

fn wants_ranges() -> bool {
    slot(RANGE_PUSH).is_some() && slot(RANGE_POP).is_some()
}

/// Creates the domain of the library, so that its ranges do not nest with those of the program.
fn create() -> bool {
    if let Some(create) = slot(CREATE) {
        // SAFETY: the protocol gives the function in this slot this type.
        let create = unsafe { transmute::<NonNull<c_void>, Create>(create) };
        // SAFETY: the name is NUL-terminated.
        DOMAIN.store(unsafe { create(c"libsyncedmem".as_ptr()) }, Release);
    }
    true
}

/// A range on this thread, until it is dropped.
#[must_use = "it ends when it is dropped"]
pub struct Range {
    pop: Option<Pop>,
    /// Makes the range not `Send`: it ends on the thread that began it.
    thread: PhantomData<*mut ()>,
}

/// Begins a range. If there is no tool, this costs two loads.
pub fn range(title: &'static CStr, bytes: u64) -> Range {
    let (Some(push), Some(pop)) = (slot(RANGE_PUSH), slot(RANGE_POP)) else {
        return Range { pop: None, thread: PhantomData };
    };
    let attributes = Attributes {
        version: VERSION,
        bytes: size_of::<Attributes>() as u16,
        category: 0,
        color_type: 0,
        color: 0,
        payload_type: PAYLOAD_IS_NUMBER,
        reserved: 0,
        payload: bytes,
        message_type: MESSAGE_IS_TEXT,
        message: title.as_ptr(),
    };
    // SAFETY: the protocol gives the function in this slot this type.
    let push = unsafe { transmute::<NonNull<c_void>, Push>(push) };
    // SAFETY: the protocol gives the function in this slot this type.
    let pop = unsafe { transmute::<NonNull<c_void>, Pop>(pop) };
    // SAFETY: the domain is the tool's own handle, and the attributes live.
    unsafe { push(DOMAIN.load(Acquire), &attributes) };
    Range { pop: Some(pop), thread: PhantomData }
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(pop) = self.pop {
            // SAFETY: the domain is the tool's own handle, and has this thread's range open.
            unsafe { pop(DOMAIN.load(Relaxed)) };
        }
    }
}
