//! The machine: driver, limits, huge pages.
#![expect(unsafe_code, reason = "the library's C API, and a version from the C library")]

use std::ffi::{CStr, c_char, c_int};
use std::fs;
use std::path::Path;

use libloading::Library;
use syncedmem_core::limits;
use syncedmem_core::text::Size;

pub fn facts(library: Option<&Path>) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        (
            "system",
            format!("glibc {}, Linux {}, {}", glibc(), text("/proc/sys/kernel/osrelease"), std::env::consts::ARCH),
        ),
        ("GPU", library.map_or_else(|| "(unknown: the library looks for it)".into(), gpu)),
        ("memory", memory()),
        ("huge pages", huge_pages()),
        ("page-locking", page_locking()),
    ];
    facts.extend(overcommit().map(|text| ("overcommit", text)));
    facts
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).map_or_else(|error| format!("(unknown: {error})"), |text| text.trim().to_owned())
}

fn glibc() -> String {
    // SAFETY: the function has no preconditions.
    let version = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: the C library returns a static, NUL-terminated string.
    unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned()
}

/// The sentence that the library returns.
fn gpu(library: &Path) -> String {
    type Status = unsafe extern "C" fn(*mut *const c_char) -> c_int;
    // SAFETY: libsyncedmem documents that a process may load it at any time.
    let loaded = unsafe { Library::new(library) };
    let library = match loaded {
        Ok(library) => library,
        Err(error) => return format!("(unknown: {error})"),
    };
    // SAFETY: syncedmem.h declares the function with this type.
    let Ok(status) = (unsafe { library.get::<Status>(b"syncedmem_cuda_status\0") }) else {
        return "(unknown: this library is too old to say)".into();
    };
    let mut sentence: *const c_char = std::ptr::null();
    // SAFETY: `sentence` is writable.
    unsafe { status(&mut sentence) };
    if sentence.is_null() {
        return "(unknown: the library does not say)".into();
    }
    // SAFETY: the function documents a NUL-terminated string that lives until the process ends.
    unsafe { CStr::from_ptr(sentence) }.to_string_lossy().into_owned()
}

fn memory() -> String {
    let mut said = match limits::memory("MemTotal:").zip(limits::memory("MemAvailable:")) {
        Some((total, available)) => format!("{} of {} available", Size(available), Size(total)),
        None => "(unknown)".to_owned(),
    };
    if let Some(limit) = limits::cgroup() {
        said.push_str(&format!("; the control group's limit is {}", Size(limit.get())));
    }
    if let Some(limit) = limits::of(libc::RLIMIT_AS) {
        said.push_str(&format!("; the process's limit of address space is {} (ulimit -v)", Size(limit)));
    }
    said
}

fn huge_pages() -> String {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let Ok(said) = fs::read_to_string(path) else {
        return "this kernel offers no transparent ones".to_owned();
    };
    match said.split(['[', ']']).nth(1).unwrap_or("unknown") {
        "madvise" => "where a program requests them (madvise)".to_owned(),
        chosen => chosen.to_owned(),
    }
}

fn page_locking() -> String {
    let system = match limits::of(libc::RLIMIT_MEMLOCK) {
        None => "the system sets no limit (ulimit -l)".to_owned(),
        Some(limit) => format!("the system's limit of locked memory is {} (ulimit -l)", Size(limit)),
    };
    let own = std::env::var("SYNCEDMEM_PINNED_LIMIT").unwrap_or_else(|_| "half of the process's memory".to_owned());
    format!("{system}; the library's own is {own} (SYNCEDMEM_PINNED_LIMIT)")
}

fn overcommit() -> Option<String> {
    match text("/proc/sys/vm/overcommit_memory").as_str() {
        "0" => None,
        "1" => Some("always granted (vm.overcommit_memory=1): too much ends in a kill, not in an error".to_owned()),
        "2" => Some("strict (vm.overcommit_memory=2): memory counts when it is allocated, touched or not".to_owned()),
        _ => None,
    }
}
