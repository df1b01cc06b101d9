//! Other copies of this library in the process, for instance a shared library beside one that is linked into the program. One copy may
//! end an object that another made, so each host block must then be one that `free()` takes. Each copy has an ELF note, by which it is
//! found in programs that export nothing, too.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::platform::loaded;
use crate::platform::text::warn;
use crate::settings;

const OWNER: &std::ffi::CStr = c"syncedmem";
/// The name must never change: older copies look for it.
const KIND: u32 = 1;

// The note: size of the name, size of the descriptor, type, name.
std::arch::global_asm!(
    ".pushsection .note.syncedmem, \"a\", @note",
    ".balign 4",
    ".long 10, 0, {kind}",
    ".asciz \"syncedmem\"",
    ".balign 4",
    ".popsection",
    kind = const KIND,
);

/// Looks for other copies, at the first use. A copy that is loaded later is not found. The caller holds no lock.
pub fn heed() {
    static LOOKED: AtomicBool = AtomicBool::new(false);
    if LOOKED.load(Relaxed) || LOOKED.swap(true, Relaxed) {
        return;
    }
    let (before, after) = others();
    if before + after > 0 && !settings::malloc_only() {
        settings::HOST_BLOCKS.set(1);
        if before > 0 {
            warn(format_args!(
                "another copy of this library is loaded, so that host blocks come from malloc, and none is kept: load one \
                 copy alone"
            ));
        }
    }
}

/// The copies that were loaded before and after this one.
fn others() -> (usize, usize) {
    let own = (heed as fn() as *const ()).addr();
    let (mut before, mut all) = (0, 0);
    loaded::each(|object| {
        if object.note(OWNER, KIND, 0).is_some() {
            before = if object.contains(own) { all } else { before };
            all += 1;
        }
        ControlFlow::Continue(())
    });
    (before, all.saturating_sub(before + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_the_library_linked_in_has_no_other_copy() {
        assert_eq!(others(), (0, 0));
    }
}
