//! The dynamic linker: which objects it has loaded, and when that changes.
//!
//! Before and after each change of its list, it calls a function that does nothing (`r_brk` of `struct r_debug`, link.h), for
//! debuggers, with its lock held. This module replaces that function by a jump.
#![expect(unsafe_code, reason = "the loader's own structure is read")]

use std::ffi::c_int;
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::sync::OnceLock;

use syncedmem_caffe_file::jump::{Jump, Site, only_returns};

use super::code;
use super::refusal::Refusal;
use crate::platform::{limits, loaded};

/// `struct r_debug`.
#[repr(C)]
struct Debug {
    version: c_int,
    list: usize,
    function: usize,
    state: c_int,
}

/// State of a list that is not being changed.
const CONSISTENT: c_int = 0;

fn debug() -> Option<NonNull<Debug>> {
    loaded::find(c"_r_debug").map(NonNull::cast)
}

static CHANGED: OnceLock<fn()> = OnceLock::new();

/// Calls `changed` with the loader's lock held, after each change of the list.
pub fn watch(changed: fn()) -> Result<(), Refusal> {
    let debug = debug().ok_or(Refusal::Loader("is not found"))?;
    // SAFETY: the variable is the loader's, which has set it before it called this library.
    let at = unsafe { (&raw const (*debug.as_ptr()).function).read() };
    CHANGED.get_or_init(|| changed);
    let written = loaded::find_map(|object| {
        // The code, with the padding after it.
        let code = object.bytes(at, 16 - at % 16)?;
        if !only_returns(code) {
            return Some(Err(Refusal::Loader("is another one than is known, or has a breakpoint")));
        }
        let jump = Jump::near(code, at, on_change as extern "C" fn() as usize);
        Some(match jump.filter(|jump| jump.bytes().len() <= code.len()) {
            Some(jump) => code::write(object, &[Site { address: at, jump, ..Site::default() }]),
            None => Err(Refusal::Loader("is too far away for a jump")),
        })
    });
    written.unwrap_or(Err(Refusal::Loader("is not found")))
}

extern "C" fn on_change() {
    // SAFETY: the loader calls this with its lock held, and has written its state.
    let state = debug().map(|debug| unsafe { (&raw const (*debug.as_ptr()).state).read() });
    if let (Some(CONSISTENT), Some(changed)) = (state, CHANGED.get()) {
        changed();
    }
}

/// Whether no other thread can be inside a Caffe: the program has not begun, or this is its only thread.
pub fn is_alone() -> bool {
    let own = is_alone as fn() -> bool as usize;
    let loader = debug().map_or(0, |debug| debug.addr().get());
    // In the list, a preloaded library precedes the loader, and a library that is opened later follows it.
    let mut first = None;
    loaded::each(|object| {
        first = [own, loader].into_iter().find(|&address| object.contains(address));
        if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    first == Some(own) || limits::has_one_thread()
}
