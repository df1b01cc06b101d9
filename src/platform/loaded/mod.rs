//! Walks the loaded objects.
//!
//! A walk holds the lock of the loader's list. glibc does not release it in a forked child, whose next `dlopen` would wait
//! for ever. So no fork happens during a walk of this library, and a walk loads, calls and awaits nothing.
#![expect(unsafe_code, reason = "the loader's own structures are read")]

pub mod elf;
mod frames;
pub mod needed;
mod note;
mod segment;

use std::ffi::{CStr, c_int, c_void};
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use libc::dl_phdr_info;

use super::sync::{ForkLock, ForkStep, forking, wait_until};
pub use segment::Segment;

pub fn find(name: &CStr) -> Option<NonNull<c_void>> {
    find_map(|object| object.symbols()?.find(name))
}

/// Returns the first answer of `visit`, in the order of loading.
pub fn find_map<T>(mut visit: impl FnMut(&Object) -> Option<T>) -> Option<T> {
    let mut found = None;
    each(|object| {
        found = visit(object);
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found
}

/// Identifies an object while it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(usize);

/// An object that a walk visits. The walk contract: the loader keeps headers, names and segments while the list is locked.
pub struct Object<'w>(&'w dl_phdr_info);

impl<'w> Object<'w> {
    /// Empty for the program itself.
    pub fn name(&self) -> &'w CStr {
        if self.0.dlpi_name.is_null() {
            return c"";
        }
        // SAFETY: the loader's name is NUL-terminated, and stays by the walk contract.
        unsafe { CStr::from_ptr(self.0.dlpi_name) }
    }

    pub fn symbols(&self) -> Option<elf::Symbols<'w>> {
        // SAFETY: the object stays mapped by the walk contract.
        unsafe { elf::Symbols::of(self.headers(), self.base()) }
    }

    /// Address of the descriptor, of `bytes` bytes, of the first note with this owner and type.
    pub fn note(&self, owner: &CStr, kind: u32, bytes: usize) -> Option<usize> {
        // SAFETY: the object stays mapped by the walk contract.
        unsafe { note::find(self.headers(), self.base(), owner.to_bytes_with_nul(), kind, bytes) }
    }

    pub fn build_id(&self) -> Option<&'w [u8]> {
        /// Sizes of SHA-1, of MD5 or a UUID, and of a fast hash.
        const BYTES: [usize; 3] = [20, 16, 8];
        const NT_GNU_BUILD_ID: u32 = 3;
        BYTES.iter().find_map(|&bytes| {
            let id = std::ptr::with_exposed_provenance::<u8>(self.note(c"GNU", NT_GNU_BUILD_ID, bytes)?);
            // SAFETY: `note` found them in a segment, which stays mapped by the walk contract.
            Some(unsafe { std::slice::from_raw_parts(id, bytes) })
        })
    }

    /// A function's address as this object calls it: the target of its references, or its own export.
    pub fn bound(&self, name: &CStr) -> Option<usize> {
        let symbols = self.symbols()?;
        let entry = || symbols.references(name).find_map(|reference| reference.entry);
        let elsewhere = || symbols.references(name).map(|it| it.word).find(|&address| !self.contains(address));
        let own = || symbols.find(name).map(|address| address.addr().get());
        entry().or_else(elsewhere).or_else(own)
    }

    /// Whether it has exception handlers or destructors; `true` if that cannot be read.
    pub fn may_have_handlers(&self) -> bool {
        // SAFETY: the object stays mapped by the walk contract.
        unsafe { frames::have_handlers(self.headers(), self.base()) }.unwrap_or(true)
    }

    pub fn identity(&self) -> Identity {
        Identity(self.0.dlpi_phdr.addr())
    }

    pub fn base(&self) -> usize {
        self.0.dlpi_addr as usize
    }

    pub fn contains(&self, address: usize) -> bool {
        segment::contains(self.headers(), self.base(), address, 1)
    }

    /// The object's bytes in memory, if one segment has all of them. Nothing writes to them while the result is used.
    pub fn bytes(&self, address: usize, bytes: usize) -> Option<&'w [u8]> {
        // SAFETY: the object stays mapped by the walk contract; callers read code, which nothing writes meanwhile.
        unsafe { segment::read(self.headers(), self.base(), address, bytes) }
    }

    pub fn segment(&self, address: usize) -> Option<Segment> {
        segment::at(self.headers(), self.base(), address)
    }

    fn headers(&self) -> &'w [libc::Elf64_Phdr] {
        // SAFETY: the loader's headers stay by the walk contract.
        unsafe { std::slice::from_raw_parts(self.0.dlpi_phdr, self.0.dlpi_phnum.into()) }
    }

    pub fn loaded_so_far(&self) -> u64 {
        self.0.dlpi_adds
    }
}

pub fn loaded_so_far() -> u64 {
    find_map(|object| Some(object.loaded_so_far())).unwrap_or(0)
}

/// Visits the objects in the order of loading, until `visit` breaks.
pub fn each<F: FnMut(&Object) -> ControlFlow<()>>(mut visit: F) {
    extern "C" fn visitor<F: FnMut(&Object) -> ControlFlow<()>>(
        info: *mut dl_phdr_info,
        bytes: usize,
        visit: *mut c_void,
    ) -> c_int {
        // Loaders from before 2005 pass a smaller structure.
        if bytes < std::mem::offset_of!(dl_phdr_info, dlpi_adds) + size_of::<u64>() {
            return 1;
        }
        // SAFETY: `each` passes its `visit`, which no other reference uses during the call.
        let visit = unsafe { &mut *visit.cast::<F>() };
        // SAFETY: the loader passes its own structure, which stays for the call.
        let info = unsafe { &*info };
        visit(&Object(info)).is_break().into()
    }
    walk(|| {
        // SAFETY: `visit` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(visitor::<F>), (&raw mut visit).cast()) };
    });
}

/// Runs another `walk` of the loader's list, such as unwinding. Does not call it if this process may not walk.
#[inline(always)]
pub fn walk(walk: impl FnOnce()) {
    if may_walk() {
        unforked(walk);
    }
}

/// Threads in a walk, plus `FORK` while a thread is inside fork, which keeps others out.
// Std's atomic: loom has neither forks nor a loader.
static WALKS: AtomicUsize = AtomicUsize::new(0);
const FORK: usize = 1 << (usize::BITS - 1);

/// The process whose threads `WALKS` counts.
static PROCESS: AtomicU32 = AtomicU32::new(0);

fn is_of_this_process() -> bool {
    PROCESS.load(Ordering::Relaxed) == std::process::id()
}

/// Called at load: a fork at the moment of the first walk could take the walk for one of the parent's and forget it.
pub fn begin() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}

/// No fork handler runs in a child of the bare system call, or of a parent that began to fork before this library was loaded.
/// If a thread of the parent was in a walk, the loader's list stays locked in such a child.
fn may_walk() -> bool {
    if !is_of_this_process() {
        if WALKS.load(Ordering::Relaxed) != 0 {
            return false;
        }
        begin();
    }
    true
}

#[inline(always)]
fn unforked(walk: impl FnOnce()) {
    // A walk in another library's fork handler: this thread's fork keeps the other threads out.
    if forking::is_this_thread() {
        return walk();
    }
    // Acquire and Release throughout: a fork and the walks around it do not overlap.
    wait_until(|| {
        let alone = WALKS.fetch_add(1, Ordering::Acquire) & FORK == 0;
        if !alone {
            WALKS.fetch_sub(1, Ordering::Release);
        }
        alone
    });
    walk();
    WALKS.fetch_sub(1, Ordering::Release);
}

struct NoWalks;

impl ForkLock for NoWalks {
    fn at_fork(&self, step: ForkStep) {
        if let ForkStep::Unlock = step {
            WALKS.fetch_and(!FORK, Ordering::Release);
            return;
        }
        // See `may_walk`: the count is the parent's.
        if !is_of_this_process() {
            begin();
            WALKS.store(0, Ordering::Relaxed);
        }
        WALKS.fetch_or(FORK, Ordering::Acquire);
        wait_until(|| WALKS.load(Ordering::Acquire) == FORK);
    }
}

pub(crate) fn fork_lock() -> &'static dyn ForkLock {
    &NoWalks
}

/// Called in a forked child, where the counted threads do not exist.
pub fn forget_walks() {
    begin();
    WALKS.store(FORK, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_process_may_walk_from_the_load_on() {
        const ALONE: &str = "SYNCEDMEM_TEST_ALONE";
        if std::env::var_os(ALONE).is_some() {
            // No walk has run before.
            assert!(is_of_this_process());
            return;
        }
        let mut alone = std::process::Command::new(std::env::current_exe().expect("a program"));
        alone.args(["--exact", "platform::loaded::tests::a_process_may_walk_from_the_load_on"]).env(ALONE, "1");
        assert!(alone.status().is_ok_and(|status| status.success()));
    }

    #[test]
    fn a_child_without_fork_handlers_does_not_walk_if_its_parent_may_have_been_walking() {
        // SAFETY: the child counts a walk, asks, and ends.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as libc::pid_t;
        if child == 0 {
            WALKS.fetch_add(1, Ordering::Relaxed);
            // SAFETY: the child has nothing to clean up.
            unsafe { libc::_exit(i32::from(may_walk())) };
        }
        let mut status = -1;
        // SAFETY: `status` is writable.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    }

    #[test]
    fn the_program_itself_comes_first() {
        let mut names = Vec::new();
        each(|object| {
            names.push(object.name().to_owned());
            ControlFlow::Continue(())
        });
        assert_eq!(names[0].as_c_str(), c"");
        assert!(names.iter().any(|name| name.to_string_lossy().contains("libc.so")), "{names:?}");
    }

    #[test]
    fn references_lead_to_where_the_loader_has_bound_them_and_else_to_an_objects_own() {
        let bound_in = |file: &str, name: &CStr| {
            find_map(|object| object.name().to_string_lossy().contains(file).then(|| object.bound(name))).flatten()
        };
        let address = |name| Some(find(name)?.addr().get());
        // The program, of the empty name, refers to both functions; libc exports one.
        assert_eq!(bound_in("", c"getenv"), address(c"getenv"));
        assert_eq!(bound_in("", c"_Unwind_GetIP"), address(c"_Unwind_GetIP"));
        assert_eq!(bound_in("libc.so", c"getenv"), address(c"getenv"));
        assert_eq!(bound_in("libc.so", c"_Unwind_GetIP"), None);
    }

    #[test]
    fn a_child_can_walk_whatever_its_parents_threads_were_at() {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        loaded_so_far();
                    }
                });
            }
            for _ in 0..200 {
                // SAFETY: the child only walks, and ends.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    // SAFETY: an alarm without a handler ends a child that hangs.
                    unsafe { libc::alarm(10) };
                    loaded_so_far();
                    // SAFETY: the child has nothing to clean up.
                    unsafe { libc::_exit(0) };
                }
                let mut status = -1;
                // SAFETY: `status` is writable.
                unsafe { libc::waitpid(child, &mut status, 0) };
                stop.fetch_or(status != 0, Ordering::Relaxed);
                assert_eq!(status, 0);
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
