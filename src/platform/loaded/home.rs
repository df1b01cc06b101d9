//! Whether this is still the process that it was, or a forked child of it, without a system call.
#![expect(unsafe_code, reason = "a page is mapped that the system clears in a forked child")]

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// The process that was marked, where there is no word that the system clears.
static HOME: AtomicU32 = AtomicU32::new(0);

/// A word that is 1 in the process that was marked, and 0 in its children: the system clears it (`MADV_WIPEONFORK`).
static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());

/// Whether this process was marked: not its parent.
pub fn is_marked() -> bool {
    match word() {
        Some(word) => word.load(Ordering::Relaxed) != 0,
        None => HOME.load(Ordering::Relaxed) == std::process::id(),
    }
}

/// Marks this process.
pub fn mark() {
    match word() {
        Some(word) => word.store(1, Ordering::Relaxed),
        None => HOME.store(std::process::id(), Ordering::Relaxed),
    }
}

/// Gets the word, where the system has such: Linux 4.14 and later. Tried once.
pub fn prepare() {
    static TRIED: AtomicBool = AtomicBool::new(false);
    // Relaxed: two threads that try at once both find a word.
    if !TRIED.load(Ordering::Relaxed) {
        get_word();
        TRIED.store(true, Ordering::Relaxed);
    }
}

fn get_word() {
    const BYTES: usize = 4096;
    const ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;
    const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice touches nothing that exists.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, ACCESS, KIND, -1, 0) };
    if page == libc::MAP_FAILED {
        return;
    }
    // SAFETY: the range is the new mapping.
    let is_wiped = unsafe { libc::madvise(page, BYTES, libc::MADV_WIPEONFORK) } == 0;
    let was_marked = is_marked();
    let new = page.cast::<AtomicU32>();
    // SAFETY: it is writable, aligned to a page, and holds zeros, which are such a word.
    unsafe { (*new).store(u32::from(was_marked), Ordering::Relaxed) };
    // Release, with the Acquire in `word`: the word is marked before it is seen.
    let first =
        is_wiped && WORD.compare_exchange(std::ptr::null_mut(), new, Ordering::Release, Ordering::Relaxed).is_ok();
    if !first {
        // SAFETY: nobody else knows it.
        unsafe { libc::munmap(page, BYTES) };
    }
}

fn word() -> Option<&'static AtomicU32> {
    // SAFETY: null, or a word in a page that stays mapped.
    unsafe { WORD.load(Ordering::Acquire).as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_is_not_the_process_that_was_marked() {
        prepare();
        mark();
        assert!(is_marked());
        // Without the handlers that mark a child as soon as it is there.
        // SAFETY: a fork; the child only looks at a word, and ends.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as libc::pid_t;
        if child == 0 {
            // SAFETY: nothing is to be cleaned up.
            unsafe { libc::_exit(i32::from(is_marked())) };
        }
        let mut status = -1;
        // SAFETY: `status` is writable.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "the child took itself for its parent");
        assert!(is_marked());
    }
}
