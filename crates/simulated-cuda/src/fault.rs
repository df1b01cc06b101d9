//! A kernel's stray access: while a kernel runs, a SIGSEGV in its thread ends the process with a sentence that names the
//! kernel and the nearest of its blocks; after it, what it wrote between a block's end and the end of its last page is a
//! violation.
#![expect(unsafe_code, reason = "handles a signal, and reads past the ends of blocks")]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, Once, PoisonError};

use crate::abi::Address;
use crate::block::Block;
use crate::life;
use crate::space;
use crate::view::{Seen, View};

struct Running {
    kernel: Arc<str>,
    view: View,
}

thread_local! {
    /// A plain cell, which a signal handler may read.
    static RUNNING: Cell<*const Running> = const { Cell::new(std::ptr::null()) };
}

/// The previous action of SIGSEGV.
static PREVIOUS: Mutex<Option<libc::sigaction>> = Mutex::new(None);

/// Runs a kernel that uses these blocks; returns a sentence for each block past whose end it wrote.
pub fn watch(kernel: Arc<str>, blocks: &[Arc<Block>], run: impl FnOnce(&View)) -> Vec<String> {
    handle_faults();
    let view = blocks.iter().map(|block| block.seen()).collect::<Option<_>>().and_then(View::open);
    let Some(view) = view else {
        life::die("the system gives no more mappings for a kernel's view of device memory");
    };
    let running = Running { kernel, view };
    RUNNING.set(&raw const running);
    run(&running.view);
    RUNNING.set(std::ptr::null());
    let kernel = running.kernel;
    let hurt = |block: &&Arc<Block>| {
        // SAFETY: the block is allocated while its bytes move, which `perform` counts; no operation writes past its end.
        block.memory.is_out_of_reach() && unsafe { !space::is_intact_behind(block.kept_at(block.start), block.bytes) }
    };
    let sentence = |block: &Arc<Block>| {
        format!(
            "kernel {kernel} wrote past the end of 0x{:x} ({} bytes), or one before it did",
            block.start, block.bytes
        )
    };
    blocks.iter().filter(hurt).map(sentence).collect()
}

fn handle_faults() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the structure is plain data, for which zeros are a value.
        let (mut ours, mut before): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
        ours.sa_sigaction = (on_fault as *const ()).expose_provenance();
        ours.sa_flags = libc::SA_SIGINFO;
        // SAFETY: both structures are this function's, and the handler is never unloaded (build.rs).
        unsafe { libc::sigaction(libc::SIGSEGV, &ours, &mut before) };
        *PREVIOUS.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    });
}

extern "C" fn on_fault(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    let running = RUNNING.replace(std::ptr::null());
    if running.is_null() {
        // The access is made again, and goes to the earlier handler.
        let previous = PREVIOUS.try_lock().ok().and_then(|previous| *previous);
        // SAFETY: puts back what `sigaction` gave, or the system's default for `None`.
        unsafe {
            libc::sigaction(libc::SIGSEGV, previous.as_ref().map_or(std::ptr::null(), |p| &raw const *p), null_mut())
        };
        return;
    }
    // SAFETY: `watch` keeps it until the cell is cleared.
    let Running { kernel, view } = unsafe { &*running };
    // SAFETY: the system passes the details of the signal.
    let info = unsafe { &*info };
    // SAFETY: a SIGSEGV has an address.
    let address: Address = unsafe { info.si_addr() }.expose_provenance();
    let nearest = view.0.iter().min_by_key(|seen| address.abs_diff(seen.place));
    let place = nearest.map_or_else(String::new, |&Seen { start, bytes, place, .. }| {
        let touched = address.wrapping_sub(place).wrapping_add(start);
        let (distance, side) =
            if address < place { (place - address, "before") } else { (address - place, "past the start of") };
        format!(": 0x{touched:x}, {distance} bytes {side} its block 0x{start:x} ({bytes} bytes)")
    });
    life::die(&format!("kernel {kernel} touched memory that is none of its blocks{place}"))
}
