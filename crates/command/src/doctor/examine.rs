//! A program or library with its libraries, and the verdict on preloading.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use syncedmem_caffe_file::limit::Limit;

use super::object::{ACCESSORS, CAFFES_WORDS, OUR_WORDS, Object, Unreadable};
use super::python;
use super::search::Search;

/// A program or library, and its libraries in the dynamic linker's order.
#[derive(Debug)]
pub struct Examined {
    pub objects: Vec<Object>,
    /// Libraries that were not found, and the file that needs each.
    pub missing: Vec<(String, PathBuf)>,
    /// Why the program runs with more rights than its caller.
    pub privileged: Option<&'static str>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Preload,
    Linked,
    /// The program is not linked with Caffe, but may load one at run time.
    Later,
    NoCaffe,
    /// The calls of the Caffe in it bypass the dynamic linker.
    Bound {
        object: PathBuf,
        how: Bound,
        mixed: Option<PathBuf>,
        /// The reason why it cannot be taken over, as far as that is known.
        limit: Option<Limit>,
    },
    /// The calls bypass the dynamic linker, but all functions of each such Caffe can be replaced at their entries.
    TakeOver {
        object: PathBuf,
        how: Bound,
        functions: usize,
        /// The number of functions that are replaced for the names of layers.
        hooks: Option<Result<usize, Limit>>,
    },
    OtherLayout {
        object: PathBuf,
        of: &'static str,
    },
    Static,
    /// The dynamic linker ignores preloads for the program.
    Privileged(&'static str),
    Incomplete {
        missing: String,
        wanted_by: PathBuf,
    },
    /// Minor versions of the program's C library, and of the one that this library needs.
    OldGlibc {
        has: u32,
        needs: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Caffe is linked statically into the program.
    InProgram,
    /// The file is linked with `-Bsymbolic` or `-Bsymbolic-functions`.
    Symbolic,
    /// The dynamic linker does not know its functions.
    Hidden,
}

/// How an object with the code of `SyncedMemory` is bound; `None` if its own calls can be replaced.
fn binding(object: &Object) -> Option<Bound> {
    let accessors = || {
        let functions = object.memory().filter(|(name, _)| ACCESSORS.contains(name));
        functions.map(|(_, function)| function).filter(|function| function.defined)
    };
    if object.is_program {
        return Some(Bound::InProgram);
    }
    if !accessors().any(|function| function.dynamic) {
        return Some(Bound::Hidden);
    }
    let replaceable = !object.symbolic && accessors().any(|function| function.relocated);
    (!replaceable).then_some(Bound::Symbolic)
}

impl Examined {
    pub fn read(path: &Path) -> Result<Examined, Unreadable> {
        let subject = Object::read(path)?;
        let search = Search::new();
        let privileged = if subject.is_program { privileges(path) } else { None };
        let mut examined = Examined { objects: vec![subject], missing: Vec::new(), privileged };
        // The linker's order: breadth first, each library once.
        let (mut seen, mut index) = (HashSet::new(), 0);
        while index < examined.objects.len() {
            for name in examined.objects[index].needed.clone() {
                if !seen.insert(name.clone()) {
                    continue;
                }
                let wanted_by = &examined.objects[index];
                match search.find(&name, wanted_by, &examined.objects[0]) {
                    Some(object) => examined.objects.push(object),
                    None => examined.missing.push((name, wanted_by.path.clone())),
                }
            }
            index += 1;
        }
        Ok(examined)
    }

    pub fn subject(&self) -> &Object {
        &self.objects[0]
    }

    fn definers(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(|object| object.defines() && !object.has_ours)
    }

    fn importers(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(|object| object.imports() && !object.defines())
    }

    /// The minor version of the C library: 17 for glibc 2.17.
    fn glibc(&self) -> Option<u32> {
        let is_libc = |object: &&Object| object.path.file_name().is_some_and(|name| name == "libc.so.6");
        self.objects.iter().find(is_libc).and_then(|object| object.glibc)
    }

    pub fn verdict(&self, needs: Option<u32>) -> Verdict {
        let subject = self.subject();
        if self.is_static() {
            let linked = subject.has_ours || subject.says(OUR_WORDS);
            return if linked { Verdict::Linked } else { Verdict::Static };
        }
        if let Some(other) = self.other_layout() {
            return other;
        }
        let verdict = self.caffe();
        if subject.is_program && matches!(verdict, None | Some(Verdict::Linked | Verdict::TakeOver { .. })) {
            if let Some(incomplete) = self.incomplete() {
                return incomplete;
            }
        }
        match verdict {
            Some(verdict) if !matches!(verdict, Verdict::TakeOver { .. }) => verdict,
            verdict => match (self.privileged, self.glibc().zip(needs)) {
                (Some(how), _) => Verdict::Privileged(how),
                (None, Some((has, needs))) if has < needs => Verdict::OldGlibc { has, needs },
                _ => verdict.unwrap_or(Verdict::Preload),
            },
        }
    }

    /// Whether the program has no dynamic linker, so that nothing can be preloaded.
    fn is_static(&self) -> bool {
        self.subject().is_program && self.subject().interpreter.is_none()
    }

    /// The verdict if a `SyncedMemory` has another layout. `None` for a static program: a preload does not reach it.
    pub fn other_layout(&self) -> Option<Verdict> {
        if self.is_static() {
            return None;
        }
        self.objects.iter().filter(|object| !object.has_ours).find_map(|object| {
            let generation = object.generation().filter(|generation| !generation.is_served)?;
            Some(Verdict::OtherLayout { object: object.path.clone(), of: generation.of })
        })
    }

    /// The verdict on the program's Caffe; `None` if its calls can be replaced.
    fn caffe(&self) -> Option<Verdict> {
        let bound = || self.definers().filter_map(|object| Some((object, binding(object)?)));
        if let Some((object, how, limit)) = bound().find_map(|(object, how)| Some((object, how, object.limit?))) {
            let mixed = self.importers().next().map(|object| object.path.clone());
            return Some(Verdict::Bound { object: object.path.clone(), how, mixed, limit: Some(limit) });
        }
        if let Some((object, how)) = bound().next() {
            let (functions, hooks) = (object.entries, object.hooks);
            return Some(Verdict::TakeOver { object: object.path.clone(), how, functions, hooks });
        }
        if self.definers().next().is_some() {
            return None;
        }
        if self.objects.iter().any(|object| object.has_ours) {
            return Some(Verdict::Linked);
        }
        // A stripped file has no names, but texts.
        if let Some(object) = self.objects.iter().find(|object| object.says(CAFFES_WORDS)) {
            if object.says(OUR_WORDS) {
                return Some(Verdict::Linked);
            }
            let how = if object.is_program { Bound::InProgram } else { Bound::Hidden };
            let limit = Some(Limit::NoNames);
            return Some(Verdict::Bound { object: object.path.clone(), how, mixed: None, limit });
        }
        self.incomplete().or_else(|| {
            // Calls without a definition belong to a plugin that a Caffe loads.
            let later = self.importers().next().is_some() || self.objects[0].opens_libraries || self.is_python();
            Some(if later { Verdict::Later } else { Verdict::NoCaffe })
        })
    }

    fn incomplete(&self) -> Option<Verdict> {
        let (missing, wanted_by) = self.missing.first()?.clone();
        Some(Verdict::Incomplete { missing, wanted_by })
    }

    /// Whether the program is Python, which loads Caffe as a module.
    pub fn is_python(&self) -> bool {
        self.subject().is_program && python::is_python(self.subject().path.as_os_str())
    }
}

fn privileges(path: &Path) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::metadata(path).ok()?;
    if file.mode() & 0o4000 != 0 {
        return Some("it is set-user-ID");
    }
    if file.mode() & 0o2010 == 0o2010 {
        return Some("it is set-group-ID");
    }
    has_capabilities(path).then_some("it has file capabilities")
}

#[expect(unsafe_code, reason = "getxattr(2), which std does not have")]
fn has_capabilities(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: both strings are NUL-terminated, and a size of 0 makes getxattr write nothing.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::object::Function;

    fn caffe_on(glibc: u32) -> Examined {
        let program = Object { interpreter: Some("/lib/ld.so".into()), is_program: true, ..Object::default() };
        let function = Function { defined: true, dynamic: true, relocated: true };
        let functions = ACCESSORS.map(|name| (name.to_owned(), function)).into();
        let caffe = Object { path: "libcaffe.so".into(), functions, ..Object::default() };
        let libc = Object { path: "/lib/libc.so.6".into(), glibc: Some(glibc), ..Object::default() };
        Examined { objects: vec![program, caffe, libc], missing: Vec::new(), privileged: None }
    }

    #[test]
    fn a_library_that_needs_a_newer_c_library_is_reported() {
        assert_eq!(caffe_on(31).verdict(Some(34)), Verdict::OldGlibc { has: 31, needs: 34 });
        assert_eq!(caffe_on(31).verdict(Some(31)), Verdict::Preload);
        assert_eq!(caffe_on(31).verdict(Some(17)), Verdict::Preload);
        assert_eq!(caffe_on(31).verdict(None), Verdict::Preload);
    }

    #[test]
    fn other_rights_of_a_program_are_reported_before_its_c_library() {
        let examined = Examined { privileged: Some("it is set-user-ID"), ..caffe_on(31) };
        assert_eq!(examined.verdict(Some(34)), Verdict::Privileged("it is set-user-ID"));
    }

    #[test]
    fn a_program_that_lacks_another_library_does_not_start_and_a_libcaffe_that_does_may_find_it_elsewhere() {
        let missing = || vec![("libopencv_core.so.4".to_owned(), PathBuf::from("libcaffe.so"))];
        let mut examined = Examined { missing: missing(), ..caffe_on(36) };
        assert!(matches!(examined.verdict(None), Verdict::Incomplete { .. }));
        examined.objects.remove(0);
        assert_eq!(examined.verdict(None), Verdict::Preload);
    }

    #[test]
    fn another_layout_keeps_only_a_program_that_is_preloaded_into_from_running() {
        let functions = [("_ZN5caffe12SyncedMemory8prv_dataEv".to_owned(), Function::default())].into();
        let program = Object { is_program: true, functions, ..Object::default() };
        let mut examined = Examined { objects: vec![program], missing: Vec::new(), privileged: None };
        assert_eq!(examined.other_layout(), None, "it is static");
        examined.objects[0].interpreter = Some("/lib/ld.so".into());
        assert!(matches!(examined.other_layout(), Some(Verdict::OtherLayout { .. })));
    }
}
