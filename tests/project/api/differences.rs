//! Every kind of difference between the description and the header is found.

use super::description::{Description, Field, Function, Number, Parameter};
use super::{c, described, programs};

/// Fails where compilers find nothing wrong with a description that was changed so, or not with what was changed.
fn is_found(change: impl FnOnce(&mut Description), named: &str) {
    let mut description = described();
    change(&mut description);
    let said = c::compiles(&programs::in_c_and_cpp(&description)).expect_err("the header says something else");
    assert!(said.contains(named), "{named} is not named:\n{said}");
}

fn function<'a>(description: &'a mut Description, name: &str) -> &'a mut Function {
    description.functions.iter_mut().find(|function| function.name == name).unwrap()
}

#[test]
fn a_function_that_the_header_has_not() {
    let function = Function {
        name: "syncedmem_frobnicate".to_string(),
        header: "syncedmem.h".to_string(),
        returns: "void".to_string(),
        parameters: Vec::new(),
        doc: String::new(),
    };
    is_found(|description| description.functions.push(function), "syncedmem_frobnicate");
}

#[test]
fn a_function_that_the_description_has_not() {
    let mut description = described();
    description.functions.retain(|function| function.name != "syncedmem_trim");
    assert!(!c::known(&description).contains("syncedmem_trim") && c::words("syncedmem.h").contains("syncedmem_trim"));
}

#[test]
fn a_parameter_more() {
    let more = Parameter { name: "more".to_string(), of: "size_t".to_string() };
    is_found(|description| function(description, "syncedmem_wait").parameters.push(more), "syncedmem_wait");
}

#[test]
fn a_parameter_that_is_const_only_here() {
    let change = |description: &mut Description| {
        function(description, "syncedmem_wait").parameters[0].of = "const syncedmem_t *".to_string();
    };
    is_found(change, "syncedmem_wait");
}

#[test]
fn a_number_where_an_enumeration_is_returned() {
    let change = |description: &mut Description| {
        function(description, "syncedmem_wait").returns = "int32_t".to_string();
    };
    is_found(change, "syncedmem_wait");
}

#[test]
fn parameters_of_a_callback_in_another_order() {
    let change = |description: &mut Description| {
        let callback = description.callbacks.iter_mut().find(|callback| callback.parameters.len() > 2).unwrap();
        callback.parameters.swap(1, 2);
    };
    is_found(change, "syncedmem_error_callback_t");
}

#[test]
fn a_value_of_another_number() {
    is_found(|description| description.enums[0].values[3].value = 4, "SYNCEDMEM_ERROR_OUT_OF_MEMORY == 4");
    is_found(|description| description.constants[3].value = 33, "SYNCEDMEM_STORAGE_BYTES == 33");
}

#[test]
fn a_value_that_the_description_has_not() {
    is_found(|description| drop(description.enums[0].values.pop()), "not handled in switch");
}

#[test]
fn a_value_that_the_header_has_not() {
    let value = Number { name: "SYNCEDMEM_HEAD_LOST".to_string(), value: 4, doc: String::new() };
    is_found(|description| description.enums[1].values.push(value), "SYNCEDMEM_HEAD_LOST");
}

#[test]
fn members_in_another_order() {
    is_found(|description| description.structs[0].fields.swap(0, 1), "offsetof(syncedmem_sum_t, bytes)");
}

#[test]
fn a_member_of_another_type_of_the_same_size() {
    let change = |description: &mut Description| description.structs[0].fields[0].of = "int64_t".to_string();
    is_found(change, "syncedmem_sum_t");
}

#[test]
fn a_member_more_or_less() {
    let more = Field { name: "more".to_string(), of: "uint64_t".to_string(), doc: String::new() };
    is_found(|description| description.structs[0].fields.push(more), "syncedmem_sum_t");
    is_found(|description| drop(description.structs[0].fields.pop()), "syncedmem_sum_t");
}
