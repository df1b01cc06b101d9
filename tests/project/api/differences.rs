//! Every kind of difference between the description and the header is found.

use super::description::{Description, Field, Function, Number, Parameter};
use super::{c, described, programs};

fn function<'a>(description: &'a mut Description, name: &str) -> &'a mut Function {
    description.functions.iter_mut().find(|function| function.name == name).unwrap()
}

/// What is changed, how, and what compilers must name then.
type Difference = (&'static str, fn(&mut Description), &'static str);

const DIFFERENCES: [Difference; 13] = [
    (
        "a function that the header has not",
        |description| {
            description.functions.push(Function { name: "frobnicate".into(), ..description.functions[0].clone() })
        },
        "frobnicate",
    ),
    (
        "a parameter more",
        |description| {
            let more = Parameter { name: "more".into(), of: "size_t".into() };
            function(description, "syncedmem_wait").parameters.push(more);
        },
        "syncedmem_wait",
    ),
    (
        "a parameter that is const only here",
        |description| function(description, "syncedmem_wait").parameters[0].of = "const syncedmem_t *".into(),
        "syncedmem_wait",
    ),
    (
        "a number where an enumeration is returned",
        |description| function(description, "syncedmem_wait").returns = "int32_t".into(),
        "syncedmem_wait",
    ),
    (
        "parameters of a callback in another order",
        |description| {
            let callback = description.callbacks.iter_mut().find(|callback| callback.parameters.len() > 2).unwrap();
            callback.parameters.swap(1, 2);
        },
        "syncedmem_error_callback_t",
    ),
    (
        "a value of another number",
        |description| description.enums[0].values[3].value = 4,
        "SYNCEDMEM_ERROR_OUT_OF_MEMORY == 4",
    ),
    (
        "a constant of another number",
        |description| description.constants[3].value = 33,
        "SYNCEDMEM_STORAGE_BYTES == 33",
    ),
    (
        "a value that the description has not",
        |description| drop(description.enums[0].values.pop()),
        "not handled in switch",
    ),
    (
        "a value that the header has not",
        |description| {
            let value = Number { name: "SYNCEDMEM_HEAD_LOST".into(), value: 4, doc: String::new() };
            description.enums[1].values.push(value);
        },
        "SYNCEDMEM_HEAD_LOST",
    ),
    (
        "members in another order",
        |description| description.structs[0].fields.swap(0, 1),
        "offsetof(syncedmem_sum_t, bytes)",
    ),
    (
        "a member of another type of the same size",
        |description| description.structs[0].fields[0].of = "int64_t".into(),
        "syncedmem_sum_t",
    ),
    (
        "a member more",
        |description| {
            let more = Field { name: "more".into(), of: "uint64_t".into(), doc: String::new() };
            description.structs[0].fields.push(more);
        },
        "syncedmem_sum_t",
    ),
    ("a member less", |description| drop(description.structs[0].fields.pop()), "syncedmem_sum_t"),
];

#[test]
fn compilers_find_every_kind_of_difference_and_name_it() {
    for (difference, change, named) in DIFFERENCES {
        let mut description = described();
        change(&mut description);
        let Err(said) = c::compiles(&programs::in_c_and_cpp(&description)) else { panic!("{difference}: not found") };
        assert!(said.contains(named), "{difference}: {named} is not named:\n{said}");
    }
}

#[test]
fn a_function_that_the_description_has_not_is_found_among_the_words_of_the_header() {
    let mut description = described();
    description.functions.retain(|function| function.name != "syncedmem_trim");
    assert!(!c::known(&description).contains("syncedmem_trim") && c::words("syncedmem.h").contains("syncedmem_trim"));
}
