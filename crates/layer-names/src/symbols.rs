//! The functions and tables of virtual functions of the Caffe in this process, by name and by address.
//!
//! The dynamic linker knows those that a file exports. Of a Caffe that libsyncedmem takes over, the full table of symbols is asked first:
//! a program that was linked without `-rdynamic` exports none.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Bound;
use std::ptr::null_mut;
use std::sync::OnceLock;

use syncedmem_caffe_file::entries::symbols;
use syncedmem_caffe_file::limit::Limit;

use crate::layout::is_readable;

/// `RTLD_DL_SYMENT` of dlfcn.h.
const SYMBOL_ENTRY: c_int = 1;

/// The names of classes' tables.
const TABLES: (Bound<&str>, Bound<&str>) = (Bound::Included("_ZTV"), Bound::Excluded("_ZTW"));

/// Address and bytes, by name, of the Caffe that is taken over.
static TAKEN: OnceLock<BTreeMap<Box<str>, (usize, usize)>> = OnceLock::new();

/// Notes the symbols of a file that is loaded at `base`.
pub fn keep(file: &[u8], base: usize) -> Result<(), Limit> {
    let mut found = BTreeMap::new();
    symbols(file, |symbol| {
        if ["_ZN5caffe", "_ZNK5caffe", "_ZTV"].iter().any(|start| symbol.name.starts_with(start)) {
            found.insert(symbol.name.into(), (base.wrapping_add(symbol.address as usize), symbol.size));
        }
        Ok(())
    })?;
    // Of the first; no other has names.
    let _ = TAKEN.set(found);
    Ok(())
}

pub fn find(symbol: &str) -> Option<*mut c_void> {
    let taken = TAKEN.get().and_then(|taken| taken.get(symbol));
    taken.map(|&(address, _)| address as *mut c_void).or_else(|| exported(symbol))
}

/// Searches outside of this library: in the files behind it in the order of look-ups, or, for a Caffe that Python
/// loaded for itself (RTLD_LOCAL), in any loaded file.
pub fn exported(symbol: &str) -> Option<*mut c_void> {
    let symbol = CString::new(symbol).ok()?;
    // SAFETY: the symbol is NUL-terminated.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, symbol.as_ptr()) };
    if !next.is_null() {
        return Some(next);
    }
    loaded_files().iter().find_map(|file| in_file(file, &symbol))
}

/// The table of a class.
#[derive(Clone, Copy)]
pub struct Table {
    pub symbol: &'static str,
    pub begin: usize,
    pub bytes: usize,
    /// Address of the first function's slot, to which objects point.
    pub first: usize,
}

/// The table of an object with virtual functions.
pub fn table_of(object: *const c_void) -> Option<Table> {
    if !object.cast::<usize>().is_aligned() || !is_readable(object.addr(), size_of::<usize>()) {
        return None;
    }
    // SAFETY: an object with virtual functions begins with the address of its class's first slot.
    let first = unsafe { *object.cast::<usize>() };
    let is_there = |&(_, &(begin, bytes)): &(_, &(usize, usize))| (begin..begin + bytes).contains(&first);
    let mut taken = TAKEN.get().into_iter().flat_map(|taken| taken.range::<str, _>(TABLES));
    let (symbol, begin, bytes) = match taken.find(is_there) {
        Some((symbol, &(begin, bytes))) => (&**symbol, begin, bytes),
        None => exported_at(first)?,
    };
    symbol.starts_with("_ZTV").then_some(Table { symbol, begin, bytes, first })
}

fn exported_at(address: usize) -> Option<(&'static str, usize, usize)> {
    let mut file = MaybeUninit::<libc::Dl_info>::zeroed();
    let mut entry: *mut c_void = null_mut();
    // SAFETY: dladdr1 takes any address; both results are writable.
    unsafe { libc::dladdr1(address as *const c_void, file.as_mut_ptr(), &mut entry, SYMBOL_ENTRY) };
    // SAFETY: zeros are a value of it.
    let file = unsafe { file.assume_init() };
    if file.dli_sname.is_null() || entry.is_null() {
        return None;
    }
    // SAFETY: the loader's symbols and names stay while Caffe, whose table this is, is loaded.
    let (bytes, name) = unsafe { ((*entry.cast::<libc::Elf64_Sym>()).st_size, CStr::from_ptr(file.dli_sname)) };
    Some((name.to_str().ok()?, file.dli_saddr.addr(), usize::try_from(bytes).ok()?))
}

/// Searches that file and those that it needs, but not this library.
fn in_file(file: &CStr, symbol: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is NUL-terminated; RTLD_NOLOAD runs no initialiser.
    let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: dlopen returned the handle; the symbol is NUL-terminated.
    let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
    // SAFETY: as above. The file stays loaded by those that loaded it.
    unsafe { libc::dlclose(handle) };
    (!found.is_null() && base_of(found) != base_of(in_file as *mut c_void)).then_some(found)
}

fn base_of(function: *mut c_void) -> *mut c_void {
    let mut file = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr takes any address; the structure is writable.
    unsafe { libc::dladdr(function, file.as_mut_ptr()) };
    // SAFETY: zeros are a value of it.
    unsafe { file.assume_init() }.dli_fbase
}

fn loaded_files() -> Vec<CString> {
    unsafe extern "C" fn add(file: *mut libc::dl_phdr_info, _: usize, files: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid structure.
        let name = unsafe { (*file).dlpi_name };
        if !name.is_null() {
            // SAFETY: `loaded_files` passes a pointer to its vector, which is borrowed for the call.
            let files = unsafe { &mut *files.cast::<Vec<CString>>() };
            // SAFETY: the loader's names are NUL-terminated.
            files.push(unsafe { CStr::from_ptr(name) }.to_owned());
        }
        0
    }
    let mut files: Vec<CString> = Vec::new();
    // SAFETY: `add` gets a pointer to `files`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut files).cast()) };
    // The program itself has an empty name, which dlopen does not take.
    files.retain(|file| !file.is_empty());
    files
}
