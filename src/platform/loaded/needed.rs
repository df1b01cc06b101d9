//! The objects that an object needs, by its dynamic section.
//!
//! Nothing is allocated, because memory may have run out. Entries beyond the fixed tables are skipped. Names are kept as
//! hashes, because an object may be unloaded between two walks.

use std::ffi::CStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use super::{Identity, Object, each, find_map};

const MOST_OBJECTS: usize = 128;
const MOST_NAMES: usize = 64;

/// Returns the first answer of `find`, for the object, then for those it needs: breadth first, like the loader's search.
pub fn find<T>(object: Identity, mut find: impl FnMut(&Object) -> Option<T>) -> Option<T> {
    let (mut objects, mut count) = ([object; MOST_OBJECTS], 1);
    let mut at = 0;
    while at < count {
        let mut names = [None; MOST_NAMES];
        let found = find_map(|object| {
            (object.identity() == objects[at]).then(|| {
                if let Some(symbols) = object.symbols() {
                    names.iter_mut().zip(symbols.needed()).for_each(|(place, name)| *place = Some(Name::of(name)));
                }
                find(object)
            })
        });
        if let Some(Some(found)) = found {
            return Some(found);
        }
        // One walk for all names: the loader's list is not in their order.
        let mut needed = [None; MOST_NAMES];
        each(|object| {
            let file = Some(Name::of(object.name()));
            let own = object.symbols().and_then(|symbols| symbols.own_name()).map(Name::of);
            for (place, name) in needed.iter_mut().zip(names) {
                if place.is_none() && name.is_some() && (name == file || name == own) {
                    *place = Some(object.identity());
                }
            }
            ControlFlow::Continue(())
        });
        for object in needed.into_iter().flatten() {
            if count < MOST_OBJECTS && !objects[..count].contains(&object) {
                objects[count] = object;
                count += 1;
            }
        }
        at += 1;
    }
    None
}

/// Hash of a file's name, without the folder.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Name(u64);

impl Name {
    fn of(path: &CStr) -> Name {
        let mut hasher = DefaultHasher::new();
        path.to_bytes().rsplit(|&byte| byte == b'/').next().hash(&mut hasher);
        Name(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_until(last: &str) -> (Vec<String>, Option<()>) {
        let program = find_map(|object| Some(object.identity()));
        let mut names = Vec::new();
        let found = find(program.unwrap(), |object| {
            let name = object.name().to_string_lossy().into_owned();
            let is_last = name.contains(last);
            names.push(name);
            is_last.then_some(())
        });
        (names, found)
    }

    #[test]
    fn an_object_comes_first_and_then_what_it_needs_each_once() {
        let (names, found) = names_until("no such object");
        assert_eq!(found, None);
        assert_eq!(names[0], "");
        for file in ["libc.so.6", "libgcc_s.so.1"] {
            assert_eq!(names.iter().filter(|name| name.contains(file)).count(), 1, "{names:?}");
        }
    }

    #[test]
    fn nothing_is_looked_at_after_what_is_found() {
        let (names, found) = names_until("libc.so.6");
        assert_eq!(found, Some(()));
        assert!(names.last().unwrap().contains("libc.so.6"), "{names:?}");
    }
}
