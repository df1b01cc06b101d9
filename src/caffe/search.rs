//! Identifies the loaded Caffe by its exports, and finds its mode.

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::platform::loaded;
use crate::platform::loaded::elf::Symbols;

/// `caffe::Caffe::Get()`, out of line from BVLC rc3 on.
const GET: &CStr = c"_ZN5caffe5Caffe3GetEv";
/// `caffe::caffe_gpu_memcpy(size_t, const void*, void*)`, which CPU_ONLY builds lack; with a stream group in NVIDIA's Caffe
/// from 0.16.6 on.
const GPU_MEMCPY: [&CStr; 2] = [c"_ZN5caffe16caffe_gpu_memcpyEmPKvPv", c"_ZN5caffe16caffe_gpu_memcpyEmPKvPvi"];
/// `caffe::Caffe::singleton_`, up to BVLC rc2. These versions page-lock no host memory.
const SINGLETON: &CStr = c"_ZN5caffe5Caffe10singleton_E";
/// `caffe::Caffe::mode_`, static in NVIDIA's Caffe from 0.16.6 on.
const STATIC_MODE: &CStr = c"_ZN5caffe5Caffe5mode_E";
/// `caffe::Caffe::thread_count_`, in NVIDIA's Caffe from 0.16.1 on, where containers of unknown size precede the mode.
const THREAD_COUNT: &CStr = c"_ZN5caffe5Caffe13thread_count_E";
/// `caffe::cudnn::dataType<float>::one`, in any Caffe with cuDNN.
const WITH_CUDNN: &CStr = c"_ZN5caffe5cudnn8dataTypeIfE3oneE";
/// Symbols of NVIDIA's fork alone, one for each series of releases. With cuDNN, the fork has its handle before the mode.
const NVIDIA: [&CStr; 4] = [
    c"_ZN5caffe13MemoryHandler3GetEv",          // 0.13.1 and 0.13.2: MemoryHandler::Get()
    c"_ZN5caffe10gpu_memory11getPoolNameEv",    // 0.14: gpu_memory::getPoolName()
    c"_ZN5caffe16GPUMemoryManager9pool_nameEv", // 0.15.1 and 0.15.2: GPUMemoryManager::pool_name()
    c"_ZN5caffe9GPUMemory4mgr_E",               // from 0.15.3 on: GPUMemory::mgr_
];

/// `Caffe::GPU` of `enum Brew { CPU, GPU }`.
pub const BREW_GPU: c_int = 1;
const BREW_CPU: c_int = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    Nothing,
    CpuOnly,
    Gpu(Mode),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The mode lies `offset` bytes after the address that the `Get()` at `get` returns.
    Field {
        get: usize,
        offset: u8,
    },
    Static {
        address: usize,
    },
    Unknown,
}

type Get = unsafe extern "C-unwind" fn() -> *const c_void;

impl Mode {
    /// Packs it into a word, never 0: a user address has at most 56 bits, and the byte above them holds the kind.
    pub fn pack(self) -> u64 {
        let (kind, address) = match self {
            Mode::Field { get, offset } => (offset, get),
            Mode::Static { address } => (1, address),
            Mode::Unknown => (2, 0),
        };
        u64::from(kind) << 56 | address as u64
    }

    pub fn unpack(packed: u64) -> Option<Self> {
        let address = (packed & ((1 << 56) - 1)) as usize;
        match (packed >> 56) as u8 {
            0 => None,
            1 => Some(Mode::Static { address }),
            2 => Some(Mode::Unknown),
            offset => Some(Mode::Field { get: address, offset }),
        }
    }

    /// The mode of this thread; `None` if the value is neither CPU nor GPU.
    pub fn read(self) -> Option<c_int> {
        let field = match self {
            Mode::Unknown => return None,
            Mode::Static { address } => std::ptr::with_exposed_provenance_mut::<c_int>(address),
            Mode::Field { get, offset } => {
                let get = std::ptr::with_exposed_provenance::<c_void>(get);
                // SAFETY: the mangled name fixes the parameters; every Caffe returns a reference, in the ABI a pointer.
                let get = unsafe { transmute::<*const c_void, Get>(get) };
                // SAFETY: `hold_open` keeps the function's object mapped, and the function has no preconditions.
                let caffe = unsafe { get() };
                caffe.wrapping_byte_add(offset.into()).cast::<c_int>().cast_mut()
            }
        };
        if field.addr() < 4096 || !field.is_aligned() {
            return None;
        }
        // SAFETY: a field of a live object, or a variable that `hold_open` keeps mapped. The read is atomic, because another
        // thread may set a shared mode.
        let mode = unsafe { AtomicI32::from_ptr(field) }.load(Ordering::Relaxed);
        (mode == BREW_CPU || mode == BREW_GPU).then_some(mode)
    }
}

/// Returns the finding, a GPU build first, and how many objects had been loaded by then.
pub fn search() -> (Finding, u64) {
    let mut finding = Finding::Nothing;
    let mut loaded = 0;
    let mut name = Name::new();
    loaded::each(|object| {
        loaded = object.loaded_so_far();
        let Some((get, found)) = object.symbols().and_then(|symbols| judge(&symbols)) else {
            return ControlFlow::Continue(());
        };
        finding = found;
        if matches!(found, Finding::Gpu(_)) {
            name.keep(object.name(), get);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    if matches!(finding, Finding::Gpu(_)) && !name.hold_open() {
        // The object was unloaded meanwhile; the next call searches again.
        return (Finding::Nothing, 0);
    }
    (finding, loaded)
}

/// `None` if the object is not a Caffe.
fn judge(symbols: &Symbols) -> Option<(NonNull<c_void>, Finding)> {
    let has = |name: &CStr| symbols.find(name).is_some();
    let get = symbols.find(GET)?;
    if !GPU_MEMCPY.into_iter().any(has) {
        return Some((get, Finding::CpuOnly));
    }
    let mode = if let Some(mode) = symbols.find(STATIC_MODE) {
        Mode::Static { address: mode.as_ptr().expose_provenance() }
    } else if has(THREAD_COUNT) || has(SINGLETON) {
        Mode::Unknown
    } else {
        let after_cudnn = has(WITH_CUDNN) && NVIDIA.into_iter().any(has);
        Mode::Field { get: get.as_ptr().expose_provenance(), offset: if after_cudnn { 40 } else { 32 } }
    };
    Some((get, Finding::Gpu(mode)))
}

struct Name {
    bytes: [u8; libc::PATH_MAX as usize],
    get: *mut c_void,
}

impl Name {
    fn new() -> Self {
        Name { bytes: [0; libc::PATH_MAX as usize], get: std::ptr::null_mut() }
    }

    /// A name longer than any path is not stored.
    fn keep(&mut self, name: &CStr, get: NonNull<c_void>) {
        let name = name.to_bytes_with_nul();
        if let Some(bytes) = self.bytes.get_mut(..name.len()) {
            bytes.copy_from_slice(name);
            self.get = get.as_ptr();
        }
    }

    /// Keeps the object mapped until the process ends. Returns whether it is still loaded; loads nothing.
    fn hold_open(&self) -> bool {
        // The program itself has an empty name, and is never unloaded.
        if self.bytes[0] == 0 {
            return !self.get.is_null();
        }
        const FLAGS: c_int = libc::RTLD_NOLOAD | libc::RTLD_LAZY;
        // SAFETY: the name is NUL-terminated. The handle is never closed, on purpose.
        let handle = unsafe { libc::dlopen(self.bytes.as_ptr().cast(), FLAGS) };
        if handle.is_null() {
            return false;
        }
        // SAFETY: the handle is open; the name is NUL-terminated.
        let get = unsafe { libc::dlsym(handle, GET.as_ptr()) };
        get == self.get
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_survive_packing() {
        let get = 0x7fff_1234_5679;
        for mode in [
            Mode::Field { get, offset: 32 },
            Mode::Field { get, offset: 40 },
            Mode::Static { address: get },
            Mode::Unknown,
        ] {
            assert_eq!(Mode::unpack(mode.pack()), Some(mode));
        }
        assert_eq!(Mode::unpack(0), None);
    }

    #[test]
    fn only_cpu_and_gpu_are_modes() {
        for (value, expected) in [(0, Some(0)), (1, Some(1)), (2, None), (-1, None), (0x0100_0001, None)] {
            let variable = AtomicI32::new(value);
            let mode = Mode::Static { address: variable.as_ptr().expose_provenance() };
            assert_eq!(mode.read(), expected);
        }
        assert_eq!(Mode::Unknown.read(), None);
    }

    #[test]
    fn a_field_is_read_at_an_offset_from_what_get_returns() {
        static CAFFE: [AtomicI32; 16] = [const { AtomicI32::new(7) }; 16];
        extern "C-unwind" fn get() -> *const c_void {
            (&raw const CAFFE).cast()
        }
        let get = (get as *const ()).expose_provenance();
        assert_eq!(Mode::Field { get, offset: 32 }.read(), None);
        CAFFE[8].store(1, Ordering::Relaxed);
        CAFFE[10].store(0, Ordering::Relaxed);
        assert_eq!(Mode::Field { get, offset: 32 }.read(), Some(1));
        assert_eq!(Mode::Field { get, offset: 40 }.read(), Some(0));
    }

    #[test]
    fn a_caffe_that_returned_nothing_has_no_mode() {
        extern "C-unwind" fn get() -> *const c_void {
            std::ptr::null()
        }
        let get = (get as *const ()).expose_provenance();
        assert_eq!(Mode::Field { get, offset: 32 }.read(), None);
    }
}
