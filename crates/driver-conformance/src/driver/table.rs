//! The entry points. Any may be missing.
#![expect(unsafe_code, reason = "opens the driver's library and looks its functions up")]

use super::status::Status;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute_copy;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// A context, stream, event or pool.
pub(crate) type Handle = usize;
pub(crate) type Address = u64;
pub(crate) type HostFunction = unsafe extern "C" fn(*mut c_void);

macro_rules! entry_points {
    ($($name:ident($($argument:ty),*);)*) => {
        #[expect(non_snake_case, reason = "the driver's names")]
        pub(crate) struct Table {
            $(pub(crate) $name: Option<unsafe extern "C" fn($($argument),*) -> Status>,)*
        }

        impl Table {
            fn resolve(library: &Library) -> Self {
                Table { $($name: library.entry_point(stringify!($name)),)* }
            }

            pub(crate) fn missing(&self) -> Vec<&'static str> {
                let all = [$((stringify!($name), self.$name.is_some()),)*];
                all.into_iter().filter(|(_, there)| !there).map(|(name, _)| name).collect()
            }
        }
    };
}

entry_points! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuGetErrorName(c_int, *mut *const c_char);
    cuGetErrorString(c_int, *mut *const c_char);
    cuGetProcAddress_v2(*const c_char, *mut *mut c_void, c_int, u64, *mut c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut c_int, c_int);
    cuDeviceGetName(*mut c_char, c_int, c_int);
    cuDeviceTotalMem_v2(*mut usize, c_int);
    cuDeviceGetAttribute(*mut c_int, c_int, c_int);
    cuDeviceGetPCIBusId(*mut c_char, c_int, c_int);
    cuDevicePrimaryCtxRetain(*mut Handle, c_int);
    cuDevicePrimaryCtxRelease_v2(c_int);
    cuDevicePrimaryCtxReset_v2(c_int);
    cuDevicePrimaryCtxGetState(c_int, *mut c_uint, *mut c_int);
    cuCtxCreate_v2(*mut Handle, c_uint, c_int);
    cuCtxDestroy_v2(Handle);
    cuCtxGetCurrent(*mut Handle);
    cuCtxSetCurrent(Handle);
    cuCtxPushCurrent_v2(Handle);
    cuCtxPopCurrent_v2(*mut Handle);
    cuCtxGetDevice(*mut c_int);
    cuCtxGetId(Handle, *mut u64);
    cuCtxSynchronize();
    cuMemAlloc_v2(*mut Address, usize);
    cuMemAllocManaged(*mut Address, usize, c_uint);
    cuMemFree_v2(Address);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost(*mut c_void);
    cuMemHostGetFlags(*mut c_uint, *mut c_void);
    cuMemHostRegister_v2(*mut c_void, usize, c_uint);
    cuMemHostUnregister(*mut c_void);
    cuMemcpy(Address, Address, usize);
    cuMemcpyAsync(Address, Address, usize, Handle);
    cuMemcpyHtoD_v2(Address, *const c_void, usize);
    cuMemcpyDtoH_v2(*mut c_void, Address, usize);
    cuMemcpyDtoD_v2(Address, Address, usize);
    cuMemcpyHtoDAsync_v2(Address, *const c_void, usize, Handle);
    cuMemcpyDtoHAsync_v2(*mut c_void, Address, usize, Handle);
    cuMemcpyDtoDAsync_v2(Address, Address, usize, Handle);
    cuMemsetD8_v2(Address, u8, usize);
    cuMemsetD32_v2(Address, c_uint, usize);
    cuMemsetD8Async(Address, u8, usize, Handle);
    cuMemsetD32Async(Address, c_uint, usize, Handle);
    cuPointerGetAttribute(*mut c_void, c_int, Address);
    cuPointerGetAttributes(c_uint, *const c_int, *mut *mut c_void, Address);
    cuStreamCreate(*mut Handle, c_uint);
    cuStreamDestroy_v2(Handle);
    cuStreamQuery(Handle);
    cuStreamSynchronize(Handle);
    cuStreamWaitEvent(Handle, Handle, c_uint);
    cuStreamGetCtx(Handle, *mut Handle);
    cuStreamBeginCapture_v2(Handle, c_int);
    cuStreamEndCapture(Handle, *mut Handle);
    cuStreamIsCapturing(Handle, *mut c_int);
    cuStreamGetCaptureInfo_v2(Handle, *mut c_int, *mut u64, *mut Handle, *mut *const Handle, *mut usize);
    cuThreadExchangeStreamCaptureMode(*mut c_int);
    cuGraphInstantiateWithFlags(*mut Handle, Handle, u64);
    cuGraphLaunch(Handle, Handle);
    cuGraphExecDestroy(Handle);
    cuGraphDestroy(Handle);
    cuLaunchHostFunc(Handle, HostFunction, *mut c_void);
    cuEventCreate(*mut Handle, c_uint);
    cuEventRecord(Handle, Handle);
    cuEventQuery(Handle);
    cuEventSynchronize(Handle);
    cuEventElapsedTime(*mut f32, Handle, Handle);
    cuEventDestroy_v2(Handle);
    cuMemAllocAsync(*mut Address, usize, Handle);
    cuMemFreeAsync(Address, Handle);
    cuDeviceGetDefaultMemPool(*mut Handle, c_int);
    cuMemPoolTrimTo(Handle, usize);
    cuMemPoolGetAttribute(Handle, c_int, *mut u64);
    cuMemPoolSetAttribute(Handle, c_int, *mut u64);
}

struct Library(*mut c_void);

impl Library {
    /// For the rest of the process. The error is the loader's sentence.
    fn open(name: &OsStr) -> Result<Self, String> {
        let path = CString::new(name.as_bytes()).map_err(|_| "its name has a NUL in it".to_owned())?;
        // SAFETY: the path ends with a NUL. The user asked to load this library.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !handle.is_null() {
            return Ok(Library(handle));
        }
        // SAFETY: no preconditions; `dlopen` failed on this thread.
        let message = unsafe { libc::dlerror() };
        if message.is_null() {
            return Err("it cannot be opened".into());
        }
        // SAFETY: the loader's text lives until this thread's next call of its family.
        let text = unsafe { CStr::from_ptr(message) };
        Err(text.to_string_lossy().into_owned())
    }

    /// `F` is the type of a function pointer from CUDA's documentation.
    fn entry_point<F: Copy>(&self, name: &str) -> Option<F> {
        assert_eq!(size_of::<F>(), size_of::<*mut c_void>(), "F is a function pointer");
        let name = CString::new(name).ok()?;
        // SAFETY: the library is open, the name ends with a NUL.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if address.is_null() {
            return None;
        }
        // SAFETY: `F` has that size; entry_points! gives each name the type that CUDA documents.
        Some(unsafe { transmute_copy(&address) })
    }
}

static TABLE: OnceLock<Table> = OnceLock::new();
static SIMULATED: OnceLock<bool> = OnceLock::new();

/// Once, before any check runs.
pub(crate) fn load(name: &OsStr) -> Result<(), String> {
    let library = Library::open(name)?;
    SIMULATED.get_or_init(|| library.entry_point::<unsafe extern "C" fn() -> Status>("simcuda_is_simulated").is_some());
    TABLE.get_or_init(|| Table::resolve(&library));
    Ok(())
}

pub(crate) fn is_simulated() -> bool {
    SIMULATED.get().copied().unwrap_or(false)
}

pub(crate) fn table() -> &'static Table {
    match TABLE.get() {
        Some(table) => table,
        None => panic!("the driver is opened before any check runs"),
    }
}
