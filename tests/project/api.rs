//! The names of the C API, as its sources declare them, beside the exported symbols and the methods of C++ and Python.

use std::collections::BTreeSet;
use std::path::Path;

use syn::{Item, Visibility};

use crate::checked_in;
use crate::sources::{HEADERS, Header};

/// The public items that the sources of a header declare.
pub fn items(header: &Header) -> Vec<Item> {
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
pub fn functions(header: &Header) -> Vec<String> {
    let public = items(header).into_iter().filter_map(|item| match item {
        Item::Fn(item) if matches!(item.vis, Visibility::Public(_)) && item.sig.abi.is_some() => {
            Some(item.sig.ident.to_string())
        }
        _ => None,
    });
    public.collect()
}

/// The symbols that the sources of the C++ ABI name.
fn symbols_of_cpp() -> BTreeSet<String> {
    let sources = ["src/abi/caffe/mod.rs", "src/abi/net.rs"]
        .map(|file| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap());
    let literals = sources.iter().flat_map(|source| source.split('"').skip(1).step_by(2));
    literals.filter(|literal| literal.starts_with("_Z")).map(str::to_string).collect()
}

#[test]
fn the_list_of_exported_symbols_is_that_which_the_source_gives() {
    let mut symbols = symbols_of_cpp();
    symbols.extend(HEADERS.iter().flat_map(functions));
    let lines: String = symbols.into_iter().map(|symbol| symbol + "\n").collect();
    checked_in::is_same("src/abi/symbols.txt", &lines);
}
