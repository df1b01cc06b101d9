//! Limits on the process's memory, read without allocating.
#![expect(unsafe_code, reason = "sysconf and getrlimit")]

use std::ffi::CStr;
use std::num::NonZero;

use crate::text::Text;

/// In bytes: 56 bits of x86-64's 57 with five-level page tables.
pub const ADDRESS_SPACE: usize = 1 << 56;

/// See sysconf(3); 0 if unknown.
pub fn system(name: libc::c_int) -> usize {
    // SAFETY: no preconditions.
    usize::try_from(unsafe { libc::sysconf(name) }).unwrap_or(0)
}

/// See getrlimit(2).
pub fn of(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    let failed = unsafe { libc::getrlimit(resource, &mut limit) };
    (failed == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// The smallest memory limit, in bytes, of the control group and its parents. The type excludes 0: otherwise the compiler reads a limit
/// where there is none, which memcheck reports.
// A frame of its own: two buffers in one frame would exceed the smallest stack.
#[inline(never)]
pub fn cgroup() -> Option<NonZero<u64>> {
    let mut buffer = [0; 4096];
    let groups = read(c"/proc/self/cgroup", &mut buffer)?;
    // Version 2 has one line, `0::/path`; version 1 one for each controller, `4:memory:/path`.
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        match controllers {
            "" => smallest("/sys/fs/cgroup", path, "memory.max"),
            "memory" => smallest("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"),
            _ => None,
        }
    })
}

fn smallest(mount: &str, path: &str, file: &str) -> Option<NonZero<u64>> {
    /// Version 1 writes "no limit" as the largest multiple of a page in 63 bits.
    const NO_LIMIT: u64 = 1 << 62;
    let mut group = path.trim_end_matches('/');
    let mut smallest = None;
    loop {
        let name = Text::<512>::of(format_args!("{mount}{group}/{file}"));
        let mut buffer = [0; 64];
        let limit = read(name.as_c_str(), &mut buffer).and_then(|text| text.trim().parse().ok());
        smallest = smallest.into_iter().chain(limit.filter(|limit: &NonZero<u64>| limit.get() < NO_LIMIT)).min();
        let Some(parent) = group.rfind('/') else { return smallest };
        group = &group[..parent];
    }
}

/// The number of mappings and its limit (`vm.max_map_count`), if that is nearly reached: mmap(2) then fails as without
/// memory.
// A frame of its own, like `cgroup`.
#[inline(never)]
pub fn mappings() -> Option<(usize, usize)> {
    let mut buffer = [0; 4096];
    let limit: usize = read(c"/proc/sys/vm/max_map_count", &mut buffer)?.trim().parse().ok()?;
    let maps = File::open(c"/proc/self/maps")?;
    let mut count = 0;
    while let Some(part) = maps.read(&mut buffer).filter(|part| !part.is_empty()) {
        count += part.iter().filter(|&&byte| byte == b'\n').count();
    }
    // Other threads may have unmapped some since the failure.
    (count >= limit - limit / 64).then_some((count, limit))
}

/// Bytes of the process that limits count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub address_space: u64,
    /// With the stack, which `RLIMIT_DATA` does not count.
    pub data: u64,
}

/// 0 where /proc is not there.
pub fn usage() -> Usage {
    let mut buffer = [0; 128];
    let pages = |column| {
        let number = read(c"/proc/self/statm", &mut buffer)?.split(' ').nth(column)?.trim().parse::<u64>();
        Some(number.ok()? * system(libc::_SC_PAGESIZE) as u64)
    };
    let [address_space, data] = [0, 5].map(pages).map(Option::unwrap_or_default);
    Usage { address_space, data }
}

/// The memory that is committed, and its limit, in bytes, where `vm.overcommit_memory` is 2.
pub fn commit() -> Option<(u64, u64)> {
    let is_strict = read(c"/proc/sys/vm/overcommit_memory", &mut [0; 16])?.trim() == "2";
    if is_strict { memory("Committed_AS:").zip(memory("CommitLimit:")) } else { None }
}

/// Bytes of the machine's memory, by a name in /proc/meminfo.
pub fn memory(name: &str) -> Option<u64> {
    bytes_in(c"/proc/meminfo", name)
}

/// 0 where /proc is not there.
pub fn peak_address_space() -> u64 {
    bytes_in(c"/proc/self/status", "VmPeak:").unwrap_or(0)
}

// A frame of its own, like `cgroup`.
#[inline(never)]
fn bytes_in(path: &CStr, name: &str) -> Option<u64> {
    let mut buffer = [0; 4096];
    let about = read(path, &mut buffer)?;
    let kibibytes = about.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"))?;
    kibibytes.parse::<u64>().ok()?.checked_mul(1024)
}

/// Whether this process has one thread; `false` where /proc is not there.
pub fn has_one_thread() -> bool {
    let mut status = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the path is NUL-terminated, and `status` writable.
    unsafe { libc::stat(c"/proc/self/task".as_ptr(), status.as_mut_ptr()) };
    // A folder has two links more than folders in it.
    // SAFETY: zeros are a valid value.
    unsafe { status.assume_init() }.st_nlink == 3
}

pub fn peak_resident() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is writable.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: zeros are a valid value.
    unsafe { usage.assume_init() }.ru_maxrss as u64 * 1024
}

/// The file's text, up to the length of `buffer`.
pub fn read<'b>(path: &CStr, buffer: &'b mut [u8]) -> Option<&'b str> {
    std::str::from_utf8(read_bytes(path, buffer)?).ok()
}

/// The file's bytes, up to the length of `buffer`.
pub fn read_bytes<'b>(path: &CStr, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    File::open(path)?.read(buffer)
}

/// The path of the program, up to the length of `buffer`.
pub fn program(buffer: &mut [u8]) -> &[u8] {
    target(c"/proc/self/exe", buffer)
}

/// The target of a symbolic link, up to the length of `buffer`. Empty if there is no such link.
pub fn target<'b>(link: &CStr, buffer: &'b mut [u8]) -> &'b [u8] {
    // SAFETY: the path is NUL-terminated, and `buffer` writable for its length.
    let length = unsafe { libc::readlink(link.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) };
    buffer.get(..usize::try_from(length).unwrap_or(0)).unwrap_or_default()
}

/// A file that is read by `syscall`, because the C library's functions are cancellation points.
struct File(libc::c_long);

impl File {
    fn open(path: &CStr) -> Option<File> {
        const FLAGS: i32 = libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: `path` is NUL-terminated.
        let file = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), FLAGS) };
        (file >= 0).then_some(File(file))
    }

    fn read<'b>(&self, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        // SAFETY: `buffer` is writable for its length.
        let read = unsafe { libc::syscall(libc::SYS_read, self.0, buffer.as_mut_ptr(), buffer.len()) };
        buffer.get(..usize::try_from(read).ok()?)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: not used again.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}
