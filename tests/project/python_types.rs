//! The enumerations and statistics of the Python package, made from those of the C API.

use std::fmt::Write as _;

use syn::{Attribute, Expr, ExprLit, Fields, Item, ItemEnum, ItemStruct, Lit, Type, Visibility};

use crate::{api, checked_in, sources};

/// Structures of numbers, which Python has as values.
const STRUCTS: [&str; 3] = ["syncedmem_sum_t", "syncedmem_memory_stats_t", "syncedmem_stats_t"];

/// `MemoryStats` of `syncedmem_memory_stats_t`. `Access` is a class of the package's own.
fn python_name(name: &str) -> String {
    if name == "syncedmem_access_t" {
        return "Kind".to_string();
    }
    let words = name.trim_start_matches("syncedmem_").trim_end_matches("_t").split('_');
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// The documentation of an item, with its lines.
fn docstring(attributes: &[Attribute], indent: &str) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let doc = attribute.meta.require_name_value().ok().filter(|doc| doc.path.is_ident("doc"))?;
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &doc.value else { return None };
        Some(text.value().trim().to_string())
    });
    let text = lines.collect::<Vec<_>>().join(&format!("\n{indent}"));
    format!("{indent}\"\"\"{text}\"\"\"\n")
}

fn enumeration(item: &ItemEnum) -> String {
    let names: Vec<_> = item.variants.iter().map(|variant| variant.ident.to_string()).collect();
    let word_ends = |name: &str| name.match_indices('_').map(|(at, _)| at + 1).collect::<Vec<_>>();
    let is_common = |end: &usize| names.iter().all(|name| name.starts_with(&names[0][..*end]));
    let prefix = word_ends(&names[0]).into_iter().rev().find(is_common).unwrap_or(0);
    let mut text = format!("\n\nclass {}(enum.IntEnum):\n", python_name(&item.ident.to_string()));
    text += &docstring(&item.attrs, "    ");
    for variant in &item.variants {
        let name = variant.ident.to_string()[prefix..].trim_start_matches("ERROR_").to_string();
        let Some((_, Expr::Lit(ExprLit { lit: Lit::Int(number), .. }))) = &variant.discriminant else {
            panic!("{} has no number", variant.ident)
        };
        write!(text, "    {name} = {number}\n{}", docstring(&variant.attrs, "    ")).unwrap();
    }
    text
}

fn structure(item: &ItemStruct) -> String {
    let mut text =
        format!("\n\n@dataclasses.dataclass(frozen=True)\nclass {}:\n", python_name(&item.ident.to_string()));
    text += &docstring(&item.attrs, "    ");
    let Fields::Named(fields) = &item.fields else { panic!("{} has no named members", item.ident) };
    for field in &fields.named {
        let name = field.ident.as_ref().unwrap();
        let Type::Path(of) = &field.ty else { panic!("{name} is no value") };
        let of = of.path.require_ident().unwrap().to_string();
        if name != "size" {
            let of = if STRUCTS.contains(&of.as_str()) { python_name(&of) } else { "int".to_string() };
            write!(text, "    {name}: {of}\n{}", docstring(&field.attrs, "    ")).unwrap();
        }
    }
    text
}

#[test]
fn the_python_packages_types_are_those_that_the_source_gives() {
    let mut text = "\"\"\"The enumerations and the statistics of the C API. Made by `UPDATE=1 cargo test --test project`: do not edit.\"\"\"\n\n\
                    from __future__ import annotations\n\nimport dataclasses\nimport enum\n"
        .to_string();
    for item in sources::HEADERS.iter().flat_map(api::items) {
        match item {
            Item::Enum(item) if matches!(item.vis, Visibility::Public(_)) => text += &enumeration(&item),
            Item::Struct(item) if STRUCTS.contains(&item.ident.to_string().as_str()) => text += &structure(&item),
            _ => {}
        }
    }
    checked_in::is_same("python/src/syncedmem/_types.py", &text);
}
