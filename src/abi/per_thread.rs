//! What is kept for each thread: the sentence about its last failure, and whether it is inside the callback.
//!
//! Not a `thread_local!`: in a library that was loaded at run time, glibc allocates those when they are first
//! touched, and aborts if it cannot; this is touched first when memory has just run out.
#![expect(unsafe_code, reason = "POSIX thread-specific data, allocated fallibly")]

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_char;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::observe::call_site;
use crate::platform::text::Text;
use crate::process;

/// One sentence with the name of the call before it.
pub type Sentence = Text<1024>;

/// All zeros is a value of it: no sentence, outside the callback.
struct PerThread {
    sentence: UnsafeCell<Sentence>,
    inside_callback: Cell<bool>,
}

/// A linker takes from a static library the members that something names. Every entry point refers to this one, and so to
/// the handlers of forks.
#[used]
static FORK_HANDLERS: &extern "C" fn() = &process::AT_LOAD;

/// The thread-specific data key plus one; 0 until there is one.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Keeps `sentence` as the calling thread's last, if there is memory for it.
pub fn keep(sentence: &Sentence) {
    keep_in(state(), sentence);
}

/// The same, if there is a place for it: in a signal handler, which may have interrupted malloc.
pub fn keep_without_memory(sentence: &Sentence) {
    keep_in(KEY.load(Ordering::Acquire).checked_sub(1).and_then(existing), sentence);
}

fn keep_in(state: Option<&'static PerThread>, sentence: &Sentence) {
    if let Some(state) = state {
        // SAFETY: it is this thread's alone; C callers know that the last string is gone with this failure.
        unsafe { *state.sentence.get() = *sentence };
    }
}

/// The calling thread's last sentence, NUL-terminated; empty if it has none.
pub fn last_error() -> *const c_char {
    KEY.load(Ordering::Acquire).checked_sub(1).and_then(existing).map_or(c"".as_ptr(), |state| {
        // SAFETY: it is this thread's alone, and no reference to it outlives this line.
        unsafe { &*state.sentence.get() }.as_bytes_with_nul().as_ptr().cast()
    })
}

/// Runs `callback` unless this thread is inside one already, or that cannot be known. An exception may pass.
///
/// Nothing here is dropped: like that of `fail`, this frame has no handlers. So an exception leaves the mark behind, and whether
/// the thread is still inside is then read off its stack.
pub fn unless_inside_callback(callback: impl Fn()) {
    // Without memory to note it down, a callback that fails again could not be told from the first.
    let Some(state) = state() else { return };
    if state.inside_callback.get() && call_site::is_inside(caller_of_callbacks()) {
        return;
    }
    state.inside_callback.set(true);
    call(&callback);
    state.inside_callback.set(false);
}

/// The function that calls callbacks.
pub fn caller_of_callbacks() -> *const () {
    call as *const ()
}

#[inline(never)]
fn call(callback: &dyn Fn()) {
    callback();
    // This frame stays on the stack until here.
    std::hint::black_box(());
}

/// The calling thread's state, made now if it has none and there is memory for it.
fn state() -> Option<&'static PerThread> {
    let key = key()?;
    if let Some(state) = existing(key) {
        return Some(state);
    }
    // SAFETY: calloc has no preconditions.
    let new = unsafe { libc::calloc(1, size_of::<PerThread>()) };
    // SAFETY: `key` is ours. glibc allocates for this too, and says so if it cannot.
    if new.is_null() || unsafe { libc::pthread_setspecific(key, new) } != 0 {
        // SAFETY: calloc returned it, or it is null.
        unsafe { libc::free(new) };
        return None;
    }
    existing(key)
}

fn existing(key: libc::pthread_key_t) -> Option<&'static PerThread> {
    // SAFETY: `key` is ours.
    let state: *const PerThread = unsafe { libc::pthread_getspecific(key) }.cast();
    // SAFETY: it is null or what `state` put there, zeroed, which is a value; it lives as long as the thread.
    unsafe { state.as_ref() }
}

fn key() -> Option<libc::pthread_key_t> {
    if let known @ 1.. = KEY.load(Ordering::Acquire) {
        return Some(known - 1);
    }
    let mut key = 0;
    // The destructor is the C library's own, so nothing of ours runs when a thread ends.
    // SAFETY: `key` is writable; free takes what calloc returned.
    if unsafe { libc::pthread_key_create(&mut key, Some(libc::free)) } != 0 {
        return None;
    }
    match KEY.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(key),
        Err(first) => {
            // SAFETY: another thread made the key that counts; nobody knows this one.
            unsafe { libc::pthread_key_delete(key) };
            Some(first - 1)
        }
    }
}
