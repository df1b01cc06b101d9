//! Call sites: a few frames of the caller's stack, as a number and as text.
//!
//! The entry points lie in a separate section, so the first frame outside it belongs to the caller, whether the library is
//! loaded or linked in. A look-up costs some microseconds: only events that take longer, or happen once for an object, look up
//! their site.
#![expect(unsafe_code, reason = "the stack is unwound, and symbols are read from loaded objects")]

mod symbol;

use std::ffi::{c_int, c_void};

use syncedmem_core::address_hash::{AddressMap, address_map};
use syncedmem_core::interned::Names;
use syncedmem_trace::event::{Place, Site};

use super::trace;
use crate::platform::sync::{Lock, locked_static};
use crate::platform::{limits, loaded};
use crate::state::flags::{self, TRACE};

/// Number of the program's frames that identify a site. Two of them may belong to libsyncedmem_net.so.
const FRAMES: usize = 6;
/// Number of the library's frames that are skipped at most: an unoptimised build inlines none.
const OWN_FRAMES: usize = 40;

struct Sites {
    /// Sites by the hash of their frames. Collisions within one program are neglected.
    by_frames: AddressMap<Site>,
    /// The text of each site. Sites with the same text are one.
    texts: Names,
}

locked_static! {
    static SITES: Lock<Sites> = Lock::new(Sites { by_frames: address_map(), texts: Names::new() });
}

/// The call site of the entry point that this thread is in. A new one is recorded in the trace.
pub fn here() -> Site {
    let Some(frames) = Frames::above() else { return Site::UNKNOWN };
    let key = frames.hash();
    SITES.with(|sites| sites.by_frames.get(&key).copied()).unwrap_or_else(|| new(&frames, key))
}

/// The address at which the program continues when the entry point that this thread is in returns.
///
/// `callback` is the function by which the library calls the program back. If the program's function ended in a jump into the
/// library (a tail call), it has no frame: the program then continues where the entry point that called back returns.
pub fn caller(callback: *const ()) -> Option<usize> {
    let mut has_entered = false;
    let mut caller = None;
    each_frame(|address| {
        match is_entry(address) {
            true => has_entered = true,
            false if !has_entered => (),
            false if is_in(address, callback) => has_entered = false,
            false => caller = Some(address),
        }
        caller.is_some()
    });
    caller
}

/// Whether `function` is on this thread's stack.
pub fn is_inside(function: *const ()) -> bool {
    let mut is_found = false;
    each_frame(|address| {
        is_found = is_in(address, function);
        is_found
    });
    is_found
}

fn is_in(address: usize, function: *const ()) -> bool {
    // SAFETY: the unwinder accepts every address.
    unsafe { _Unwind_FindEnclosingFunction(address) }.cast() == function
}

/// Visits the return addresses on this thread's stack, the innermost first, until the visitor returns true.
fn each_frame<F: FnMut(usize) -> bool>(mut is_enough: F) {
    extern "C" fn visitor<F: FnMut(usize) -> bool>(context: *mut c_void, is_enough: *mut c_void) -> c_int {
        // SAFETY: `each_frame` passes its own visitor, borrowed for the call.
        let is_enough = unsafe { &mut *is_enough.cast::<F>() };
        // SAFETY: the unwinder passes a valid context.
        let address = unsafe { _Unwind_GetIP(context) };
        if address == 0 || is_enough(address) { END_OF_STACK } else { GO_ON }
    }
    loaded::walk(|| {
        // SAFETY: `visitor` gets the closure that it expects, which outlives the call. Unwinding only reads the stack.
        unsafe { _Unwind_Backtrace(visitor::<F>, (&raw mut is_enough).cast()) };
    });
}

#[cold]
#[inline(never)]
fn new(frames: &Frames, key: usize) -> Site {
    // No lock is held here: reading symbols takes other locks, and memory.
    let text = symbol::text_of(frames.found());
    let (site, is_new) = SITES.with(|sites| {
        let before = sites.texts.count();
        let Some(number) = sites.texts.number(text.as_ref()) else { return (Site::UNKNOWN, false) };
        let site = Site(number + 1);
        if sites.by_frames.try_reserve(1).is_ok() {
            sites.by_frames.insert(key, site);
        }
        (site, sites.texts.count() > before)
    });
    if is_new && flags::has(TRACE) {
        trace::site(site, text.as_ref());
        trace::frames(site, frames.found());
        frames.found().iter().for_each(|&address| record_file(address));
    }
    site
}

/// Records the file that contains `address`, as in `Topic::Module`. The command finds names of functions in it.
fn record_file(address: usize) {
    let mut file = [0; 512];
    let found = loaded::find_map(|object| {
        if !object.contains(address) {
            return None;
        }
        let id = object.build_id().unwrap_or_default();
        let (head, rest) = file.split_at_mut(1 + id.len());
        head[0] = id.len() as u8;
        head[1..].copy_from_slice(id);
        let path = object.name().to_bytes();
        let path = &path[..path.len().min(rest.len())];
        rest[..path.len()].copy_from_slice(path);
        Some((object.base(), 1 + id.len(), path.len()))
    });
    let Some((base, id, path)) = found else { return };
    // The loader's name of the program is empty.
    let path = if path == 0 { limits::program(&mut file[id..]).len() } else { path };
    trace::module(base, &file[..id + path]);
}

/// Calls `then` with the text of a site, such as `caffe::Blob<float>::Reshape (libcaffe.so.1.0.0)`; `None`: an unknown site.
pub fn with_text<R>(site: Site, then: impl FnOnce(Option<&str>) -> R) -> R {
    SITES.with(|sites| then(site.0.checked_sub(1).and_then(|number| sites.texts.text(number))))
}

pub fn all() -> impl Iterator<Item = Site> {
    let count = SITES.with(|sites| sites.texts.count());
    (1..=count as u32).map(Site)
}

struct Frames {
    addresses: [usize; FRAMES],
    count: usize,
    /// Number of the library's frames that were skipped.
    passed: usize,
    has_entered: bool,
}

impl Frames {
    fn above() -> Option<Frames> {
        let mut frames = Frames { addresses: [0; FRAMES], count: 0, passed: 0, has_entered: false };
        each_frame(|address| frames.take(address));
        (frames.count > 0).then_some(frames)
    }

    fn found(&self) -> &[usize] {
        &self.addresses[..self.count]
    }

    fn hash(&self) -> usize {
        self.found().iter().fold(0, |hash, &address| {
            syncedmem_core::address_hash::hash_address(hash ^ address).rotate_left(29) as usize
        })
    }

    /// Takes the next frame. Returns whether no more are needed.
    fn take(&mut self, address: usize) -> bool {
        if is_entry(address) {
            // The next frames may be entry points too: one may call another.
            self.has_entered |= self.count == 0;
            return self.count > 0;
        }
        if !self.has_entered {
            self.passed += 1;
            return self.passed == OWN_FRAMES;
        }
        self.addresses[self.count] = address;
        self.count += 1;
        self.count == FRAMES
    }
}

// Hidden: a program that links the library has the same section. Weak: in a program without any of these functions the section
// is empty.
std::arch::global_asm!(
    ".hidden __start_syncedmem_entry",
    ".hidden __stop_syncedmem_entry",
    ".weak __start_syncedmem_entry",
    ".weak __stop_syncedmem_entry"
);

fn is_entry(address: usize) -> bool {
    unsafe extern "C" {
        // The linker defines these symbols as the start and the end of the section that is in their names.
        static __start_syncedmem_entry: u8;
        static __stop_syncedmem_entry: u8;
    }
    (&raw const __start_syncedmem_entry).addr() < address && address <= (&raw const __stop_syncedmem_entry).addr()
}

/// From the C++ ABI for exceptions, chapter 1 ("Base ABI"), and the extensions of GCC and LLVM.
type Visitor = extern "C" fn(*mut c_void, *mut c_void) -> c_int;
unsafe extern "C" {
    fn _Unwind_Backtrace(visit: Visitor, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_FindEnclosingFunction(address: usize) -> *const c_void;
}

const GO_ON: c_int = 0;
const END_OF_STACK: c_int = 5;
