//! The checked-in description of the C API is the one that the source gives, and says what the header, the exported
//! symbols and the bindings say. `UPDATE=1 cargo test --test project` writes it, and the program that checks bindgen.

mod c;
pub mod description;
mod differences;
mod programs;
mod spelling;
mod wrapper;

use std::collections::BTreeSet;

use description::Description;

use crate::checked_in;
use crate::sources::HEADERS;

/// The description in use; where it is being written, what it will be.
fn described() -> Description {
    if std::env::var_os("UPDATE").is_some() {
        return Description::of_headers(&HEADERS);
    }
    Description::from_json(&std::fs::read_to_string(c::include().join("syncedmem.json")).unwrap())
}

#[test]
fn the_description_is_the_one_that_the_source_gives() {
    let description = Description::of_headers(&HEADERS);
    checked_in::is_same("include/syncedmem.json", &description.to_json());
}

#[test]
fn compilers_read_in_the_headers_what_the_description_says() {
    c::compiles(&programs::in_c_and_cpp(&described())).unwrap_or_else(|words| panic!("{words}"));
}

#[test]
fn the_headers_name_nothing_that_the_description_does_not() {
    let known = c::known(&described());
    for header in &HEADERS {
        let unknown: Vec<_> = c::words(header.name).difference(&known).cloned().collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", header.name);
    }
}

#[test]
fn the_functions_are_the_exported_symbols_that_cpp_does_not_mangle() {
    let described: BTreeSet<_> = described().functions.into_iter().map(|function| function.name).collect();
    let exported = include_str!("../../../src/abi/symbols.txt").lines().filter(|symbol| !symbol.starts_with("_Z"));
    assert_eq!(described, exported.map(str::to_string).collect());
}

#[test]
fn the_program_that_checks_bindgen_is_the_one_that_the_description_gives() {
    checked_in::is_same("examples/rust/tests/signatures.rs", &programs::in_rust(&described()));
}

#[test]
fn the_page_on_other_languages_names_every_type_of_c_that_the_description_uses() {
    let page = include_str!("../../../docs/ffi.md");
    let description = described();
    let functions = description.functions.iter().chain(&description.callbacks);
    let types = functions.flat_map(|function| &function.parameters).map(|parameter| &parameter.of);
    let names: BTreeSet<_> = types.flat_map(|of| of.split([' ', '*'])).collect();
    let is_ours =
        |name: &str| name.starts_with("syncedmem_") || description.opaque.iter().any(|each| each.name == name);
    let missing: Vec<_> = names.iter().filter(|name| !is_ours(name) && !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.iter().all(|name| name.is_empty()), "{missing:?}");
}
