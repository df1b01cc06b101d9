//! The verdict in words.

use std::fmt;
use std::path::Path;

use super::examine::{Bound, Verdict};

impl Verdict {
    pub fn is_good(&self) -> bool {
        matches!(self, Verdict::Preload | Verdict::TakeOver { .. } | Verdict::Linked)
    }

    pub fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Verdict::Preload | Verdict::TakeOver { .. } | Verdict::Linked => return None,
            Verdict::Later => {
                "If it loads a Caffe while it runs (as Python does), check that one: syncedmem doctor LIBCAFFE. Or run the \
                 program: syncedmem run -- PROGRAM says whether its Caffe called the library."
            }
            Verdict::NoCaffe => "Name the program that uses Caffe, or its libcaffe.so.",
            Verdict::Bound { mixed: Some(_), .. } => {
                "Link Caffe against libsyncedmem instead of its own syncedmem.cpp. A preload replaces only some of the \
                 calls: with one, set SYNCEDMEM_HOST_BLOCKS=malloc (run: --host-blocks malloc)."
            }
            Verdict::Bound { how: Bound::Symbolic, .. } => {
                "Link that library without -Bsymbolic and -Bsymbolic-functions, or against libsyncedmem instead of \
                 syncedmem.cpp."
            }
            Verdict::Bound { .. } | Verdict::Static => {
                "Build it again, linked against libsyncedmem (libsyncedmem.a serves static programs) instead of \
                 src/caffe/syncedmem.cpp."
            }
            Verdict::OtherLayout { .. } => "The library cannot replace it: that class is another one.",
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

    fn word(&self) -> &'static str {
        match self {
            Verdict::Preload | Verdict::TakeOver { .. } | Verdict::Linked => "works",
            Verdict::Later => "cannot tell",
            Verdict::NoCaffe => "does nothing",
            Verdict::Incomplete { .. } => "does not start",
            Verdict::Bound { .. } | Verdict::OtherLayout { .. } | Verdict::Static | Verdict::Privileged(_) => {
                "does not work"
            }
            Verdict::OldGlibc { .. } => "does not work with this build of the library",
        }
    }

    pub fn reason(&self) -> String {
        match self {
            Verdict::Preload => "Caffe's calls go through the dynamic linker".to_owned(),
            Verdict::Linked => "it is linked with libsyncedmem, and needs no preload".to_owned(),
            Verdict::Later => "it is not linked with a Caffe, but can load one while it runs".to_owned(),
            Verdict::NoCaffe => "it contains no Caffe".to_owned(),
            Verdict::TakeOver { object, how, functions, hooks } => {
                let names = match hooks {
                    // It has no nets.
                    None | Some(Ok(0)) => String::new(),
                    Some(Ok(hooks)) => format!(", and {hooks} for the names of layers and for sharing"),
                    Some(Err(why)) => format!("; its layers get no names, and share nothing: {why}"),
                };
                format!(
                    "{}, and can be taken over: syncedmem run, or SYNCEDMEM_TAKE_OVER=1 with a preload, replaces all {functions} \
                     functions at their entries{names}",
                    how.of(object)
                )
            }
            Verdict::Bound { object, how, mixed, limit } => {
                let nothing = if *how == Bound::Symbolic { "none of these calls" } else { "nothing" };
                let limit = limit.map(|limit| format!(". It cannot be taken over: {limit}")).unwrap_or_default();
                let bound = format!("{}, so a preload replaces {nothing}{limit}", how.of(object));
                match mixed {
                    Some(other) => {
                        format!("{bound}; calls from {} would be replaced, and the two would mix", other.display())
                    }
                    None => bound,
                }
            }
            Verdict::OtherLayout { object, of } => format!("{} is {of}", object.display()),
            Verdict::Static => {
                "the program is linked statically, without the dynamic linker that would preload the library".to_owned()
            }
            Verdict::Privileged(how) => format!("{how}, and the dynamic linker ignores preloads for such programs"),
            Verdict::Incomplete { missing, wanted_by } => {
                format!("{} needs {missing}, which is not found", wanted_by.display())
            }
            Verdict::OldGlibc { has, needs } => {
                format!("the library needs glibc 2.{needs}, and the program's is 2.{has}")
            }
        }
    }
}

impl Bound {
    fn of(self, object: &Path) -> String {
        let object = object.display();
        match self {
            Bound::InProgram => {
                format!("Caffe is linked statically into {object}, which calls its own SyncedMemory directly")
            }
            Bound::Symbolic => {
                format!("{object} calls its own SyncedMemory directly (linked with -Bsymbolic-functions or the like)")
            }
            Bound::Hidden => format!("SyncedMemory is hidden inside {object}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}: {}", self.word(), self.reason())
    }
}
