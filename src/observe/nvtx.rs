//! Ranges for a profiler: what takes time is shown beside the kernels, by NVTX.
//!
//! NVTX is a protocol between a program and whatever tool is attached, and needs no library of NVIDIA's. The tool is named
//! by NVTX_INJECTION64_PATH, and exports `InitializeInjectionNvtx2`. It is handed a function that returns tables of
//! pointers to our slots, one slot for each function of the API, and fills those that it wants to be called through. That
//! something in the process exports such a function says nothing: CUPTI does, which PyTorch loads unused. The numbers are those of NVTX 3's headers (nvtxDetail/nvtxTypes.h, nvtxInit.h, nvToolsExt.h).
#![expect(unsafe_code, reason = "the tool is loaded, and called")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::mem::transmute;
use std::ptr::{NonNull, null, null_mut};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::cancel_guard::Uncancelled;
use crate::settings;

/// Where the tool puts a function of its own.
type Slot = AtomicPtr<c_void>;
/// Pointers to slots, by the function's number; none at 0, and none behind the last.
type Table<const N: usize> = [Option<&'static Slot>; N];

/// Slots of a module, as many as it has functions and one for the number 0.
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

/// The version of the API that is spoken.
const VERSION: u16 = 3;

/// A function that is found by `get_table`: gives the tool the slots of a module, and says whether there is such a one.
type GetModule = unsafe extern "C" fn(c_int, *mut *const c_void, *mut c_uint) -> c_int;

/// The export table of callbacks.
#[repr(C)]
struct Callbacks {
    bytes: usize,
    get_module: GetModule,
}

/// The export table of versions.
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
/// The pointers are NULL or writable: the tool guarantees it.
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
    // SAFETY: the caller guarantees it.
    if let Some(count) = unsafe { count.as_mut() } {
        *count = slots.len() as c_uint - 1;
    }
    // SAFETY: the caller guarantees it.
    if let Some(table) = unsafe { table.as_mut() } {
        *table = slots.as_ptr().cast();
    }
    1
}

/// What is said of a range: `nvtxEventAttributes_v2`.
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

/// The payload is an unsigned number of 64 bits.
const PAYLOAD_IS_NUMBER: i32 = 1;
/// The message is text.
const MESSAGE_IS_TEXT: i32 = 1;

type Initialize = unsafe extern "C" fn(extern "C" fn(u32) -> *const c_void) -> c_int;
type Create = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type Push = unsafe extern "C" fn(*mut c_void, *const Attributes) -> c_int;
type Pop = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The handle of our domain, which is the tool's; whatever it is, it is set before a range is asked for.
static DOMAIN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Attaches to the tool, if there is one and it wants ranges, and says so. To be called once, with nothing held: it may
/// load a library.
pub fn attach() -> bool {
    if settings::NVTX.get() != 0 {
        return false;
    }
    let _uncancelled = Uncancelled::begin();
    let Some(initialize) = find() else { return false };
    // SAFETY: whatever bears this name is such a function, says the protocol.
    let initialize = unsafe { transmute::<NonNull<c_void>, Initialize>(initialize) };
    // SAFETY: the tables stay for ever: the library is linked with -z nodelete.
    let attached = unsafe { initialize(get_table) } != 0;
    if !attached {
        // What a tool that failed has left is not to be called.
        CORE2_SLOTS.iter().for_each(|slot| slot.store(null_mut(), Relaxed));
    }
    wants_ranges() && create()
}

/// The entry of the tool that the environment names.
fn find() -> Option<NonNull<c_void>> {
    const ENTRY: &CStr = c"InitializeInjectionNvtx2";
    let path = settings::environment(if cfg!(target_pointer_width = "32") {
        c"NVTX_INJECTION32_PATH"
    } else {
        c"NVTX_INJECTION64_PATH"
    })?;
    // SAFETY: the path is NUL-terminated; what the tool does when it is loaded is the user's wish.
    let tool = NonNull::new(unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) })?;
    // SAFETY: the handle is open, and stays so.
    NonNull::new(unsafe { libc::dlsym(tool.as_ptr(), ENTRY.as_ptr()) })
}

fn slot(number: usize) -> Option<NonNull<c_void>> {
    // Acquire: the tool's own set-up is before it.
    NonNull::new(CORE2_SLOTS[number].load(Acquire))
}

fn wants_ranges() -> bool {
    slot(RANGE_PUSH).is_some() && slot(RANGE_POP).is_some()
}

/// Makes a domain of the library's own, so that its ranges are told from the program's and nest by themselves.
fn create() -> bool {
    if let Some(create) = slot(CREATE) {
        // SAFETY: the tool put a function of this type into this slot, says the protocol.
        let create = unsafe { transmute::<NonNull<c_void>, Create>(create) };
        // SAFETY: the name is NUL-terminated.
        DOMAIN.store(unsafe { create(c"libsyncedmem".as_ptr()) }, Release);
    }
    true
}

/// A range, from when it was begun until it is dropped, on this thread.
#[must_use = "it ends when it is dropped"]
pub struct Range {
    pop: Option<Pop>,
    /// It ends on the thread on which it began.
    thread: PhantomData<*mut ()>,
}

/// Begins a range. Without a tool it is nothing: two loads.
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
    // SAFETY: the tool put a function of this type into this slot, says the protocol.
    let push = unsafe { transmute::<NonNull<c_void>, Push>(push) };
    // SAFETY: likewise.
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
