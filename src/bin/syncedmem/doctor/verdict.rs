//! The verdict in words: what it is, and what to do.

use std::fmt;

use super::examine::{Bound, Verdict};

impl Verdict {
    /// Whether the library can serve the program.
    pub fn is_good(&self) -> bool {
        matches!(self, Verdict::Preload | Verdict::Linked)
    }

    /// What to do, if there is something.
    pub fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Verdict::Preload | Verdict::Linked => return None,
            Verdict::Later => {
                "If it loads a Caffe while it runs (as Python does), ask about that one: syncedmem doctor LIBCAFFE. \
                 Whether it did is said by: syncedmem run -- PROGRAM"
            }
            Verdict::NoCaffe => "Name the program that uses Caffe, or its libcaffe.so.",
            Verdict::Bound { mixed: Some(_), .. } => {
                "Link Caffe against libsyncedmem instead of its own syncedmem.cpp. If you preload it nevertheless, some \
                 calls arrive and others do not: then set SYNCEDMEM_HOST_BLOCKS=malloc (run: --host-blocks malloc)."
            }
            Verdict::Bound { how: Bound::Symbolic, .. } => {
                "Link that library without -Bsymbolic and -Bsymbolic-functions, or against libsyncedmem instead of \
                 syncedmem.cpp."
            }
            Verdict::Bound { .. } | Verdict::Static => {
                "Build it anew, linked against libsyncedmem (libsyncedmem.a serves static programs) instead of \
                 src/caffe/syncedmem.cpp."
            }
            Verdict::OtherLayout { .. } => "There is nothing to be done: that class is another one.",
            Verdict::Privileged(_) => {
                "Run a copy of it without these rights, or link Caffe against libsyncedmem instead of its own \
                 syncedmem.cpp."
            }
            Verdict::Incomplete { .. } => "Set LD_LIBRARY_PATH to the folder that has it, or install it.",
            Verdict::OldGlibc { .. } => {
                "Use the library that scripts/package builds, which needs glibc 2.17: syncedmem run --library PATH, or \
                 SYNCEDMEM_LIBRARY=PATH."
            }
        })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Verdict::Preload => formatter.write_str("works: Caffe's calls go through the dynamic linker"),
            Verdict::Linked => formatter.write_str("works: it is linked with libsyncedmem, and nothing need be preloaded"),
            Verdict::Later => formatter.write_str("cannot tell: it is not linked with a Caffe, but can load one while it runs"),
            Verdict::NoCaffe => formatter.write_str("does nothing: there is no Caffe in it"),
            Verdict::Bound { object, how, mixed } => {
                let object = object.display();
                match how {
                    Bound::InProgram => write!(
                        formatter,
                        "does not work: Caffe is linked statically into {object}, which calls its own SyncedMemory \
                         directly, so a preload replaces nothing"
                    ),
                    Bound::Symbolic => write!(
                        formatter,
                        "does not work: {object} calls its own SyncedMemory directly (as -Bsymbolic-functions has it), so a \
                         preload replaces none of these calls"
                    ),
                    Bound::Hidden => write!(
                        formatter,
                        "does not work: SyncedMemory is hidden inside {object}, so a preload replaces nothing"
                    ),
                }?;
                match mixed {
                    Some(other) => write!(formatter, "; calls from {} would be replaced, and the two would mix", other.display()),
                    None => Ok(()),
                }
            }
            Verdict::OtherLayout { object, of } => {
                write!(formatter, "does not work: {} is {of}", object.display())
            }
            Verdict::Static => formatter.write_str(
                "does not work: the program is linked statically, without the dynamic linker that would preload the library",
            ),
            Verdict::Privileged(how) => {
                write!(formatter, "does not work: {how}, and the dynamic linker ignores preloads for such programs")
            }
            Verdict::Incomplete { missing, wanted_by } => {
                write!(formatter, "does not start: {} needs {missing}, which is not found", wanted_by.display())
            }
            Verdict::OldGlibc { has, needs } => write!(
                formatter,
                "does not work with this build of the library: it needs glibc 2.{needs}, and the program's is 2.{has}"
            ),
        }
    }
}
