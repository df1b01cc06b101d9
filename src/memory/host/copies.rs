//! Other copies of this library in the process, such as a shared one beside one linked into the program. One copy may end
//! an object that another made, so beside another copy each host block is one that `free()` takes. Each copy has an ELF
//! note, found also in programs that export nothing.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::platform::loaded;
use crate::platform::text::warn;
use crate::settings;

const OWNER: &std::ffi::CStr = c"syncedmem";
/// Never changes: older copies look for it.
const KIND: u32 = 1;

// Sizes of name and descriptor, type, and name.
std::arch::global_asm!(
    ".pushsection .note.syncedmem, \"a\", @note",
    ".balign 4",
    ".long 10, 0, {kind}",
    ".asciz \"syncedmem\"",
    ".balign 4",
    ".popsection",
    kind = const KIND,
);

/// Called at the first use, without a lock. A copy that is loaded later is not found.
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

/// Copies that were loaded before and after this one.
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
