//! Every kind of difference between the description and the header is found.

use super::description::{Description, Field, Function, Number, Parameter};
use super::{c, described, programs};

fn function<'a>(description: &'a mut Description, name: &str) -> &'a mut Function {
    description.functions.iter_mut().find(|function| function.name == name).unwrap()
}

/// Fails where compilers find nothing wrong with a description that was changed so, or not with what was changed.
fn finds(what: &str, named: &str, change: impl FnOnce(&mut Description)) {
    let mut description = described();
    change(&mut description);
    let Err(said) = c::compiles(&programs::in_c_and_cpp(&description)) else { panic!("{what}: not found") };
    assert!(said.contains(named), "{what}: {named} is not named:\n{said}");
}

#[test]
fn compilers_find_every_kind_of_difference_and_name_it() {
    finds("a function that the header has not", "frobnicate", |all| {
        all.functions.push(Function { name: "frobnicate".into(), ..all.functions[0].clone() });
    });
    finds("a parameter more", "syncedmem_wait", |all| {
        let more = Parameter { name: "more".into(), of: "size_t".into() };
        function(all, "syncedmem_wait").parameters.push(more);
    });
    finds("a parameter that is const only here", "syncedmem_wait", |all| {
        function(all, "syncedmem_wait").parameters[0].of = "const syncedmem_t *".into();
    });
    finds("a number where an enumeration is returned", "syncedmem_wait", |all| {
        function(all, "syncedmem_wait").returns = "int32_t".into();
    });
    finds("parameters of a callback in another order", "syncedmem_error_callback_t", |all| {
        all.callbacks.iter_mut().find(|callback| callback.parameters.len() > 2).unwrap().parameters.swap(1, 2);
    });
    finds("a value of another number", "SYNCEDMEM_ERROR_OUT_OF_MEMORY == 4", |all| all.enums[0].values[3].value = 4);
    finds("a constant of another number", "SYNCEDMEM_STORAGE_BYTES == 33", |all| all.constants[3].value = 33);
    finds("a value that the description has not", "not handled in switch", |all| drop(all.enums[0].values.pop()));
    finds("a value that the header has not", "SYNCEDMEM_HEAD_LOST", |all| {
        all.enums[1].values.push(Number { name: "SYNCEDMEM_HEAD_LOST".into(), value: 4, doc: String::new() });
    });
    finds("members in another order", "offsetof(syncedmem_sum_t, bytes)", |all| all.structs[0].fields.swap(0, 1));
    finds("a member of another type", "syncedmem_sum_t", |all| all.structs[0].fields[0].of = "int64_t".into());
    finds("a member more", "syncedmem_sum_t", |all| {
        all.structs[0].fields.push(Field { name: "more".into(), of: "uint64_t".into(), doc: String::new() });
    });
    finds("a member less", "syncedmem_sum_t", |all| drop(all.structs[0].fields.pop()));
}

#[test]
fn a_function_that_the_description_has_not_is_found_among_the_words_of_the_header() {
    let mut description = described();
    description.functions.retain(|function| function.name != "syncedmem_trim");
    assert!(!c::known(&description).contains("syncedmem_trim") && c::words("syncedmem.h").contains("syncedmem_trim"));
}
