//! The names of the C API, as its sources declare them, beside the exported symbols and the C++ classes.

use std::collections::BTreeSet;

use syn::{Item, Visibility};

use crate::sources::{HEADERS, Header};

/// The public items that the sources of a header declare.
fn items(header: &Header) -> Vec<Item> {
    let sources = header.sources().map(|file| std::fs::read_to_string(file).unwrap());
    sources.flat_map(|source| syn::parse_file(&source).unwrap().items).collect()
}

/// The names of a header's enumerations.
pub fn enums(header: &Header) -> Vec<String> {
    let public = items(header).into_iter().filter_map(|item| match item {
        Item::Enum(item) if matches!(item.vis, Visibility::Public(_)) => Some(item.ident.to_string()),
        _ => None,
    });
    public.collect()
}

/// The names of the functions that a header declares.
fn functions(header: &Header) -> Vec<String> {
    let public = items(header).into_iter().filter_map(|item| match item {
        Item::Fn(item) if matches!(item.vis, Visibility::Public(_)) && item.sig.abi.is_some() => {
            Some(item.sig.ident.to_string())
        }
        _ => None,
    });
    public.collect()
}

#[test]
fn the_functions_are_the_exported_symbols_that_cpp_does_not_mangle() {
    let declared: BTreeSet<_> = HEADERS.iter().flat_map(functions).collect();
    let exported = include_str!("../../src/abi/symbols.txt").lines().filter(|symbol| !symbol.starts_with("_Z"));
    assert_eq!(declared, exported.map(str::to_string).collect());
}

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
    ("syncedmem_construct", "places an object in memory of the caller's: the C++ class makes its own object"),
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
        let path = format!("{}/include/{wrapper}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let code: Vec<_> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        let calls = |name: &str| {
            code.iter().any(|line| line.split(|c: char| c != '_' && !c.is_alphanumeric()).any(|word| word == name))
        };
        let header = HEADERS.iter().find(|each| each.name == header).unwrap();
        let functions = functions(header);
        let left_out = |name: &str| not_wrapped.iter().any(|(function, _)| *function == name);
        let missing: Vec<_> = functions.iter().filter(|name| !calls(name) && !left_out(name)).collect();
        assert!(!functions.is_empty() && missing.is_empty(), "include/{wrapper} uses none of {missing:?}");
        for (name, reason) in not_wrapped {
            assert!(functions.iter().any(|function| function == name), "there is no {name}");
            assert!(!calls(name), "{name} is used, although: {reason}");
        }
    }
}
