//! Programs that compile only where a binding says what the description says: of the headers in C and in C++, and of what
//! bindgen makes of them in Rust.

use std::fmt::Write;

use super::description::{Description, Function};
use super::spelling;
use crate::sources::HEADERS;

/// Asserts in C and in C++, which tells an enumeration from a number and finds in a `switch` the values that are missing.
const C_WORDS: &str = r#"#ifdef __cplusplus
#include <type_traits>
#define HOLDS(what) static_assert(what, #what)
#define SAME(type, ...) static_assert(std::is_same<type, __VA_ARGS__>::value, #type)
#define TYPE_OF(what) decltype(what)
#else
#define HOLDS(what) _Static_assert(what, #what)
#define SAME(type, ...) _Static_assert(__builtin_types_compatible_p(type, __VA_ARGS__), #type)
#define TYPE_OF(what) __typeof__(what)
#endif
"#;

/// The program for the headers.
pub fn in_c_and_cpp(description: &Description) -> String {
    let mut lines = Vec::new();
    let enumerated = description.enums.iter().flat_map(|enumeration| &enumeration.values);
    for number in description.constants.iter().chain(enumerated) {
        lines.push(format!("HOLDS({} == {});", number.name, number.value));
    }
    for enumeration in &description.enums {
        let name = &enumeration.name;
        lines.push(format!("HOLDS(sizeof({name}) == sizeof({}) && ({name})-1 < ({name})0);", enumeration.of));
        let cases: String = enumeration.values.iter().map(|value| format!("case {}: ", value.name)).collect();
        lines.push(format!("int of_{name}({name} value);"));
        lines.push(format!("int of_{name}({name} value) {{ switch (value) {{ {cases}return 1; }} return 0; }}"));
    }
    for structure in &description.structs {
        let name = &structure.name;
        let fields: String = structure.fields.iter().map(|field| format!("{} {}; ", field.of, field.name)).collect();
        lines.push(format!("typedef struct described_{name} {{ {fields}}} described_{name};"));
        lines.push(format!("HOLDS(sizeof({name}) == sizeof(described_{name}));"));
        for field in &structure.fields {
            let at = |of: &str| format!("offsetof({of}, {})", field.name);
            lines.push(format!("HOLDS({} == {});", at(name), at(&format!("described_{name}"))));
            lines.push(format!("SAME(TYPE_OF(&(({name} *)0)->{}), {} *);", field.name, field.of));
        }
    }
    for opaque in &description.opaque {
        lines.push(format!("extern {} *pointer_to_{0};", opaque.name));
    }
    for callback in &description.callbacks {
        lines.push(format!("SAME({}, {});", callback.name, c_pointer(callback)));
    }
    for function in &description.functions {
        lines.push(format!("SAME(TYPE_OF(&{}), {});", function.name, c_pointer(function)));
    }
    let includes: String = HEADERS.iter().map(|header| format!("#include \"{}\"\n", header.name)).collect();
    format!("{includes}{C_WORDS}{}\n", lines.join("\n"))
}

/// The type of a pointer to such a function.
fn c_pointer(function: &Function) -> String {
    let parameters: Vec<_> = function.parameters.iter().map(|parameter| parameter.of.as_str()).collect();
    let parameters = if parameters.is_empty() { "void".to_string() } else { parameters.join(", ") };
    format!("{} (*)({parameters})", function.returns)
}

/// The program for what bindgen makes, which `bindings` holds.
pub fn in_rust(description: &Description) -> String {
    let mut out = String::from(
        "//! What bindgen makes of the headers is what syncedmem.json says: this compiles only then.\n\
         //! Generated; `UPDATE=1 cargo test --test project` in the library's folder writes it.\n\
         #![allow(dead_code, reason = \"what is compared is compared when this is compiled\")]\n\
         #![allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = \"they are C's names\")]\n\n\
         use std::ffi::{c_char, c_int, c_void};\n\n\
         include!(concat!(env!(\"OUT_DIR\"), \"/bindings.rs\"));\n\n",
    );
    let enumerated = description.enums.iter().flat_map(|enumeration| &enumeration.values);
    for number in description.constants.iter().chain(enumerated) {
        writeln!(out, "const _: () = assert!({} as i64 == {});", number.name, number.value).unwrap();
    }
    for enumeration in &description.enums {
        writeln!(out, "const _: {} = 0 as {};", spelling::in_rust(&enumeration.of), enumeration.name).unwrap();
    }
    for structure in &description.structs {
        let name = &structure.name;
        let types: String = structure.fields.iter().map(|field| spelling::in_rust(&field.of) + ", ").collect();
        let names: String = structure.fields.iter().map(|field| format!("{}, ", field.name)).collect();
        // Every member, by name and type, and no other.
        writeln!(out, "const _: fn({name}) -> ({types}) = |{name} {{ {names} }}| ({names});").unwrap();
    }
    for callback in &description.callbacks {
        let pointer = rust_pointer(callback);
        writeln!(out, "const _: fn({}) -> Option<{pointer}> = |callback| callback;", callback.name).unwrap();
    }
    for function in &description.functions {
        writeln!(out, "const _: {} = {};", rust_pointer(function), function.name).unwrap();
    }
    out + "\n#[test]\nfn bindgen_says_what_the_description_says() {}\n"
}

fn rust_pointer(function: &Function) -> String {
    let parameters: Vec<_> = function.parameters.iter().map(|parameter| spelling::in_rust(&parameter.of)).collect();
    let returns = match function.returns.as_str() {
        "void" => String::new(),
        of => format!(" -> {}", spelling::in_rust(of)),
    };
    format!("unsafe extern \"C\" fn({}){returns}", parameters.join(", "))
}
