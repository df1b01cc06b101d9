//! The C++ class of syncedmem.hpp against the description.

use super::{c, described};

/// The functions that the class does without, each with the reason.
const NOT_WRAPPED: [(&str, &str); 8] = [
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
fn every_function_is_used_by_the_cpp_wrapper_or_left_out_for_a_reason() {
    let words = c::words("syncedmem.hpp");
    let functions = described().functions.into_iter().filter(|function| function.header == "syncedmem.h");
    let functions: Vec<_> = functions.map(|function| function.name).collect();
    let left_out = |name: &str| NOT_WRAPPED.iter().any(|(function, _)| *function == name);
    let missing: Vec<_> = functions.iter().filter(|name| !words.contains(*name) && !left_out(name)).collect();
    assert!(missing.is_empty(), "include/syncedmem.hpp uses none of {missing:?}");
    for (name, reason) in NOT_WRAPPED {
        assert!(functions.iter().any(|function| function == name), "there is no {name}");
        assert!(!words.contains(name), "{name} is used, although: {reason}");
    }
}
