//! Jumps for a Caffe that calls its own functions directly. Symbols do not lead its calls here, so libsyncedmem, which takes it over,
//! overwrites the entry of each function with a jump to this library's. The originals stay callable: a page nearby has copies of the
//! overwritten instructions, and jumps back to those that follow.
#![expect(unsafe_code, reason = "machine code is written")]

use std::ffi::{CStr, c_char, c_void};

use syncedmem_caffe_file::hooks::{self, Hook};
use syncedmem_caffe_file::jump::{Jump, REACH, Site, fit};
use syncedmem_caffe_file::names::HOOKS;

use crate::{caffe, loaded};

#[cfg(target_arch = "aarch64")]
unsafe extern "C" {
    /// libgcc's function: the instruction cache does not see writes to the data cache by itself.
    fn __clear_cache(begin: usize, end: usize);
}

/// Bytes for one function in the page: a jump to this library's function, then, at [`FIRST`], the first instructions of the original.
const PART: usize = 64;
/// Offset of the copied instructions.
const FIRST: usize = 16;
const PAGE: usize = PART * HOOKS.len();
const FAR: &str = "no memory is near enough for a jump";

/// `syncedmem::in_front(path, base, file, bytes, functions, sites)`: writes to `sites` the jumps to this library's functions, whose addresses
/// are in the order of `HOOKS`. Returns the number of jumps: one for each that the file defines, or 0 on a failure.
///
/// # Safety
/// `path` is NUL-terminated; the file, with these bytes, is loaded at `base`; `sites` has a place for each of `HOOKS`.
#[unsafe(export_name = "_ZN9syncedmem8in_frontEPKcmPKhmPKmPNS_4SiteE")]
unsafe extern "C" fn in_front(
    path: *const c_char,
    base: usize,
    file: *const u8,
    bytes: usize,
    functions: &[usize; HOOKS.len()],
    sites: &mut [Site; HOOKS.len()],
) -> usize {
    // SAFETY: libsyncedmem, the caller, passes the file's bytes.
    let file = unsafe { std::slice::from_raw_parts(file, bytes) };
    let prepared = std::panic::catch_unwind(|| prepare(base, file, functions)).unwrap_or(Ok(Vec::new()));
    match prepared {
        Ok(found) => {
            sites.iter_mut().zip(&found).for_each(|(site, found)| *site = *found);
            found.len()
        }
        Err(why) => {
            // SAFETY: libsyncedmem, the caller, passes a NUL-terminated path.
            let path: &CStr = unsafe { CStr::from_ptr(path) };
            eprintln!("libsyncedmem: the layers of {} have no names: {why}", path.to_string_lossy());
            0
        }
    }
}

fn prepare(base: usize, file: &[u8], functions: &[usize; HOOKS.len()]) -> Result<Vec<Site>, String> {
    let hooks = hooks::find(file).map_err(|why| why.to_string())?;
    // A program may use `SyncedMemory` without nets.
    let Some(first) = hooks.iter().flatten().map(|hook| base.wrapping_add(hook.entry.address as usize)).min() else {
        return Ok(Vec::new());
    };
    let loaded = loaded::file_at(first).ok_or("the dynamic linker does not know the file")?;
    if caffe::has_taken(&loaded) {
        return Err("another Caffe of this process has them".to_owned());
    }
    let page = Page::near(first)?;
    let (mut sites, mut originals) = (Vec::new(), [0; HOOKS.len()]);
    for (index, hook) in hooks.iter().enumerate() {
        let (Some(Hook { entry, moved }), true) = (hook, functions[index] != 0) else { continue };
        let (address, part) = (base.wrapping_add(entry.address as usize), page.begin + PART * index);
        let code = &file[entry.offset..entry.offset + moved];
        page.write(part, Jump::far(&[], functions[index]).bytes());
        let mut first = code.to_vec();
        fit(&mut first, address, part + FIRST).ok_or(FAR)?;
        page.write(part + FIRST, &first);
        // A near jump: there is no landing pad (BTI, IBT) for an indirect one.
        let (back, next) = (part + FIRST + moved, address + moved);
        page.write(back, Jump::near(&[], back, next).ok_or(FAR)?.bytes());
        let jump = Jump::near(code, address, part).ok_or(FAR)?;
        originals[index] = part + FIRST;
        sites.push(Site { address, offset: entry.offset, room: *moved, jump });
    }
    page.make_executable()?;
    caffe::take(loaded, file, base, originals).map_err(|why| why.to_string())?;
    Ok(sites)
}

struct Page {
    begin: usize,
}

impl Page {
    /// Maps a page below or above the code, within reach of a near jump.
    fn near(code: usize) -> Result<Page, String> {
        const ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;
        const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        const STEP: usize = REACH / 128;
        // The rest of the reach is for the code itself.
        let distances = std::iter::once(1 << 20).chain((STEP..REACH / 4 * 3).step_by(STEP));
        for wanted in distances.flat_map(|distance| [code.checked_sub(distance), code.checked_add(distance)]).flatten()
        {
            let wanted = (wanted & !0xffff) as *mut c_void;
            // SAFETY: a new mapping, which replaces no other; kernels before 4.17 ignore the flag and may map it elsewhere.
            let page = unsafe { libc::mmap(wanted, PAGE, ACCESS, KIND, -1, 0) };
            if page == wanted {
                return Ok(Page { begin: page.addr() });
            }
            if page != libc::MAP_FAILED {
                // SAFETY: it was mapped above, and nothing refers to it.
                unsafe { libc::munmap(page, PAGE) };
            }
        }
        Err(FAR.to_owned())
    }

    /// `at` and the bytes are within the page.
    fn write(&self, at: usize, bytes: &[u8]) {
        // SAFETY: `prepare` writes within the page, which is writable until `make_executable`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
    }

    fn make_executable(&self) -> Result<(), String> {
        // SAFETY: the page is mapped.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            __clear_cache(self.begin, self.begin + PAGE)
        };
        // SAFETY: `near` mapped the page.
        let failed = unsafe { libc::mprotect(self.begin as *mut c_void, PAGE, libc::PROT_READ | libc::PROT_EXEC) };
        if failed == 0 {
            return Ok(());
        }
        Err(format!("the system forbids to make code: {}", std::io::Error::last_os_error()))
    }
}
