//! The C++ classes against the description.

use super::{c, described};

/// A C++ header, the header of C that it is for, and the functions that it does without, each with the reason.
type Wrapper = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const WRAPPERS: [Wrapper; 2] =
    [("syncedmem.hpp", "syncedmem.h", &NOT_FOR_MEMORY), ("syncedmem/blob.hpp", "syncedmem_blob.h", &NOT_FOR_BLOBS)];

const NOT_FOR_BLOBS: [(&str, &str); 3] = [
    ("syncedmem_blob_type", "the class has its type as a parameter"),
    ("syncedmem_blob_axes", "the class has a copy of its shape"),
    ("syncedmem_blob_capacity", "the size of the memory that data() and diff() lead to"),
];

const NOT_FOR_MEMORY: [(&str, &str); 8] = [
    ("syncedmem_construct", "the class is its handle: who has storage for an object has no use for it"),
    ("syncedmem_destruct", "as syncedmem_construct"),
    ("syncedmem_set_mode_callback", "a C function with a pointer of the caller's: there is nothing to add"),
    ("syncedmem_set_error_callback", "as syncedmem_set_mode_callback"),
    ("syncedmem_set_host_allocator", "as syncedmem_set_mode_callback"),
    ("syncedmem_end_capsule", "CPython calls it"),
    ("CaffeMallocHost", "for those who call it in Caffe"),
    ("CaffeFreeHost", "as CaffeMallocHost"),
];

#[test]
fn every_function_is_used_by_its_cpp_wrapper_or_left_out_for_a_reason() {
    for (wrapper, header, not_wrapped) in WRAPPERS {
        let words = c::words(wrapper);
        let functions = described().functions.into_iter().filter(|function| function.header == header);
        let functions: Vec<_> = functions.map(|function| function.name).collect();
        let left_out = |name: &str| not_wrapped.iter().any(|(function, _)| *function == name);
        let missing: Vec<_> = functions.iter().filter(|name| !words.contains(*name) && !left_out(name)).collect();
        assert!(!functions.is_empty() && missing.is_empty(), "include/{wrapper} uses none of {missing:?}");
        for (name, reason) in not_wrapped {
            assert!(functions.iter().any(|function| function == name), "there is no {name}");
            assert!(!words.contains(*name), "{name} is used, although: {reason}");
        }
    }
}
