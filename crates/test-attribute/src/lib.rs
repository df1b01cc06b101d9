//! `#[test]` for the harness in `tests/support/harness.rs`.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

/// Registers a function as a test of its suite. `#[test(alone, ("SYNCEDMEM_PIN", "never"))]` names the function of the harness that gives the
/// test its place, and the environment there.
#[proc_macro_attribute]
pub fn test(place: TokenStream, function: TokenStream) -> TokenStream {
    let place = place.to_string();
    let (place, environment) = place.split_once(',').unwrap_or((&place, ""));
    let place = if place.is_empty() { "here" } else { place };
    let name = function.clone().into_iter().skip_while(|token| token.to_string() != "fn").nth(1);
    let name = name.map_or(String::new(), |name| name.to_string());
    let registered = format!(
        "::inventory::submit! {{ crate::support::harness::Test {{
            module: module_path!(),
            line: line!(),
            name: {name:?},
            place: crate::support::harness::{place}(&[{environment}]),
            run: {name},
        }} }}"
    );
    let Ok(registered) = registered.parse::<TokenStream>() else {
        return "compile_error!(\"`#[test]` marks a function\");".parse().unwrap_or_default();
    };
    [registered, function].into_iter().collect()
}
