//! Tells a marked process from its forked children without a system call.
#![expect(unsafe_code, reason = "a page is mapped that the system clears in a forked child")]

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// The marked process, if there is no `WORD`.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// 1 in the marked process and 0 in its children: the kernel clears it at a fork (`MADV_WIPEONFORK`).
static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());

pub fn is_marked() -> bool {
    match word() {
        Some(word) => word.load(Ordering::Relaxed) != 0,
        None => PROCESS.load(Ordering::Relaxed) == std::process::id(),
    }
}

pub fn mark() {
    match word() {
        Some(word) => word.store(1, Ordering::Relaxed),
        None => PROCESS.store(std::process::id(), Ordering::Relaxed),
    }
}

/// Maps the word once, if the kernel can clear it (Linux 4.14 and later).
pub fn prepare() {
    static TRIED: AtomicBool = AtomicBool::new(false);
    // Relaxed: if two threads try at once, both get a word.
    if !TRIED.load(Ordering::Relaxed) {
        get_word();
        TRIED.store(true, Ordering::Relaxed);
    }
}

fn get_word() {
    const BYTES: usize = 4096;
    const ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;
    const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, ACCESS, KIND, -1, 0) };
    if page == libc::MAP_FAILED {
        return;
    }
    // SAFETY: the range is the new mapping.
    let is_wiped = unsafe { libc::madvise(page, BYTES, libc::MADV_WIPEONFORK) } == 0;
    let was_marked = is_marked();
    let new = page.cast::<AtomicU32>();
    // SAFETY: writable zeros.
    unsafe { (*new).store(u32::from(was_marked), Ordering::Relaxed) };
    // Release: pairs with `word`'s Acquire, so that threads see the word only with its mark.
    let publish = || WORD.compare_exchange(std::ptr::null_mut(), new, Ordering::Release, Ordering::Relaxed);
    if !is_wiped || publish().is_err() {
        // SAFETY: only this function knows the page.
        unsafe { libc::munmap(page, BYTES) };
    }
}

fn word() -> Option<&'static AtomicU32> {
    // SAFETY: null, or in a page that stays mapped.
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
        // Without the fork handlers, which mark a child at its start.
        // SAFETY: the child only reads the word, and ends.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as libc::pid_t;
        if child == 0 {
            // SAFETY: the child has nothing to clean up.
            unsafe { libc::_exit(i32::from(is_marked())) };
        }
        let mut status = -1;
        // SAFETY: `status` is writable.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "the child took itself for its parent");
        assert!(is_marked());
    }
}
