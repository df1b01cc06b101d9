//! Each thread's last error sentence, and whether it is inside the error callback.
#![expect(unsafe_code, reason = "a thread's state, allocated fallibly")]

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_char;

use syncedmem_core::text::Text;

use crate::observe::call_site;
use crate::platform::thread_pointer::ThreadPointer;
use crate::process;

/// The name of a call and its error, as one sentence.
pub type Sentence = Text<1024>;

/// Zero bytes are a valid value.
struct PerThread {
    sentence: UnsafeCell<Sentence>,
    inside_callback: Cell<bool>,
}

/// Makes linkers take the fork handlers from the static library, because each entry point refers to this module.
#[used]
static FORK_HANDLERS: &extern "C" fn() = &process::AT_LOAD;

static STATE: ThreadPointer = ThreadPointer::new(Some(libc::free));

/// Sets the thread's last sentence, if there is memory for it.
pub fn keep(sentence: &Sentence) {
    keep_in(state(), sentence);
}

/// Sets the thread's last sentence without allocation, because a signal handler may have interrupted malloc.
pub fn keep_without_memory(sentence: &Sentence) {
    keep_in(existing(), sentence);
}

fn keep_in(state: Option<&'static PerThread>, sentence: &Sentence) {
    if let Some(state) = state {
        // SAFETY: only this thread uses its state; C callers do not use the string of `last_error` after another failure.
        unsafe { *state.sentence.get() = *sentence };
    }
}

/// The thread's last sentence with a NUL; empty before the first failure.
pub fn last_error() -> *const c_char {
    existing().map_or(c"".as_ptr(), |state| {
        // SAFETY: only this thread uses its state; the reference does not outlive this line.
        unsafe { &*state.sentence.get() }.as_bytes_with_nul().as_ptr().cast()
    })
}

/// Runs `callback`, unless this thread is inside one or has no memory for its state. An exception passes this frame, which has no
/// handlers, and leaves `inside_callback` set; so the stack is searched for the frame of `call` too.
pub fn unless_inside_callback(callback: impl Fn()) {
    // Without state a failure inside the callback would call it again without end.
    let Some(state) = state() else { return };
    if state.inside_callback.get() && call_site::is_inside(caller_of_callbacks()) {
        return;
    }
    state.inside_callback.set(true);
    call(&callback);
    state.inside_callback.set(false);
}

/// The function whose frame is on the stack while a callback runs.
pub fn caller_of_callbacks() -> *const () {
    call as *const ()
}

#[inline(never)]
fn call(callback: &dyn Fn()) {
    callback();
    // This frame stays on the stack until here.
    std::hint::black_box(());
}

/// The thread's state, allocated at the first use; `None` without memory.
fn state() -> Option<&'static PerThread> {
    if let Some(state) = existing() {
        return Some(state);
    }
    // SAFETY: calloc has no preconditions.
    let new = unsafe { libc::calloc(1, size_of::<PerThread>()) };
    if new.is_null() || !STATE.set(new) {
        // SAFETY: `new` is calloc's, or null; no thread has got it.
        unsafe { libc::free(new) };
        return None;
    }
    existing()
}

fn existing() -> Option<&'static PerThread> {
    let state: *const PerThread = STATE.get().cast();
    // SAFETY: the pointer is null, or that of `state`'s zeroed value, which lives as long as the thread.
    unsafe { state.as_ref() }
}
