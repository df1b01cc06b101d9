//! The Caffes in the process, and whether their calls can reach this library.

use std::ffi::CStr;
use std::ops::ControlFlow;

use syncedmem_core::text::Text;

use crate::platform::{limits, loaded};
use crate::takeover;

/// Functions of `SyncedMemory` that every Caffe has, and calls.
static MEMORY: [&CStr; 2] = [c"_ZN5caffe12SyncedMemory8cpu_dataEv", c"_ZN5caffe12SyncedMemory16mutable_cpu_dataEv"];
/// `caffe::Caffe::Get()`, of a Caffe without a `SyncedMemory` of its own.
const GET: &CStr = c"_ZN5caffe5Caffe3GetEv";

/// The file's name, and how its calls reach this library, as `Topic::Caffe` has it.
type Found = (Text<400>, u64);

/// The linker has bound its calls within itself.
const BOUND: u64 = 0;
const REACHES: u64 = 1;

/// More in one process have no note.
const MOST: usize = 4;

// Not inlined: its buffers are off the stack of its callers.
#[inline(never)]
pub fn each(mut visit: impl FnMut(&[u8], u64)) {
    let (mut found, mut count) = ([const { None::<Found> }; MOST], 0);
    loaded::each(|object| {
        let Some(symbols) = object.symbols() else { return ControlFlow::Continue(()) };
        let both = |count: takeover::Count| count.memory as u64 | (count.names as u64) << 32;
        let taken = takeover::functions(object.base()).map(both);
        let is_caffe = || MEMORY.iter().chain([&GET]).any(|name| symbols.find(name).is_some());
        // The library itself has no references to its functions, and a program no name here.
        let is_other = object.name().is_empty() || object.contains(MEMORY.as_ptr().addr());
        if taken.is_none() && (is_other || !is_caffe()) {
            return ControlFlow::Continue(());
        }
        let is_referred_to = || MEMORY.iter().any(|name| symbols.references(name).next().is_some());
        let how = taken.unwrap_or_else(|| if is_referred_to() { REACHES } else { BOUND });
        found[count] = Some((takeover::path(object), how));
        count += 1;
        if count == MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    for (path, how) in found.iter().flatten() {
        visit(with_version(path).as_bytes(), *how);
    }
}

/// Whether a Caffe is in the process whose calls cannot reach this library.
pub fn is_any_bound() -> bool {
    let mut is_any = false;
    each(|_, how| is_any |= how == BOUND);
    is_any
}

/// `libcaffe.so.1` is mostly a link to a file whose name says more.
fn with_version(path: &Text<400>) -> Text<400> {
    let mut buffer = [0; 256];
    let target = std::str::from_utf8(limits::target(path.as_c_str(), &mut buffer)).unwrap_or_default();
    match path.as_ref().rsplit_once('/') {
        Some((folder, _)) if !target.is_empty() && !target.contains('/') => Text::of(format_args!("{folder}/{target}")),
        _ => Text::of(format_args!("{path}")),
    }
}
