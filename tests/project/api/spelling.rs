//! How C spells a type that Rust names, and the other way round.

use syn::ext::IdentExt;
use syn::{FnArg, GenericArgument, Pat, PathArguments, ReturnType, Signature, Type, TypeBareFn};

use super::description::Parameter;

/// The names of the same types in Rust and in C.
const NAMES: [(&str, &str); 11] = [
    ("bool", "bool"),
    ("i32", "int32_t"),
    ("i64", "int64_t"),
    ("u8", "uint8_t"),
    ("u32", "uint32_t"),
    ("u64", "uint64_t"),
    ("usize", "size_t"),
    ("f64", "double"),
    ("c_char", "char"),
    ("c_int", "int"),
    ("c_void", "void"),
];

/// C's spelling, without `struct`: `const void **`.
pub fn of_type(of: &Type) -> String {
    match of {
        Type::Ptr(pointer) => {
            let inner = of_type(&pointer.elem);
            match (pointer.mutability.is_some(), inner.ends_with('*')) {
                (true, true) => format!("{inner}*"),
                (true, false) => format!("{inner} *"),
                (false, true) => format!("{inner}const *"),
                (false, false) => format!("const {inner} *"),
            }
        }
        Type::Path(path) => {
            let name = path.path.segments.last().expect("a path has a name").ident.to_string();
            match NAMES.iter().find(|(rust, _)| *rust == name) {
                Some((_, c)) => (*c).to_string(),
                None if name.starts_with("syncedmem_") || name == "CUstream_st" => name,
                None => panic!("no spelling in C is known for {name}"),
            }
        }
        _ => panic!("no spelling in C is known for such a type"),
    }
}

/// Rust's spelling of what C spells so.
pub fn in_rust(of: &str) -> String {
    let of = of.trim();
    let Some(inner) = of.strip_suffix('*').map(str::trim) else {
        let known = NAMES.iter().find(|(_, c)| *c == of);
        return known.map_or(of, |(rust, _)| rust).to_string();
    };
    // In C `const` stands before the name that it belongs to, or behind the star.
    match (inner.strip_suffix("const"), inner.strip_prefix("const ")) {
        (Some(pointer), _) => format!("*const {}", in_rust(pointer)),
        (None, Some(name)) if !name.ends_with('*') => format!("*const {}", in_rust(name)),
        _ => format!("*mut {}", in_rust(inner)),
    }
}

/// The type that a function returns.
pub fn of_return(output: &ReturnType) -> String {
    match output {
        ReturnType::Default => "void".to_string(),
        ReturnType::Type(_, of) => of_type(of),
    }
}

/// A function's parameters.
pub fn of_parameters(signature: &Signature) -> Vec<Parameter> {
    let parameters = signature.inputs.iter().map(|input| {
        let FnArg::Typed(input) = input else { panic!("a C function has no self") };
        let Pat::Ident(name) = &*input.pat else { panic!("a C function's parameters have names") };
        Parameter { name: name.ident.unraw().to_string(), of: of_type(&input.ty) }
    });
    parameters.collect()
}

/// The function that `Option<unsafe extern "C" fn(…)>` points to.
pub fn function_pointer(of: &Type) -> Option<&TypeBareFn> {
    let Type::Path(path) = of else { return None };
    let option = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(inside) = &option.arguments else { return None };
    match inside.args.first()? {
        GenericArgument::Type(Type::BareFn(function)) => Some(function),
        _ => None,
    }
}
