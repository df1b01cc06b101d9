//! The libraries' variables in this environment, with misspelt names and values that are none.

use strsim::levenshtein;
use syncedmem_core::settings::{Refusal, Setting, all};

pub fn lines() -> Vec<String> {
    let mut lines: Vec<_> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, _)| looks_like_one(name))
        .map(|(name, value)| describe(&name, &value))
        .collect();
    lines.sort();
    if lines.is_empty() {
        lines.push("no SYNCEDMEM_ variable is set".to_owned());
    }
    lines
}

/// `SYNCEDMEM_…`, `SYNCMEM_…`, `SYNCEDMEMORY_…`.
fn looks_like_one(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    upper.starts_with("SYNCEDMEM") || upper.starts_with("SYNCMEM") || upper.starts_with("SYNCED_MEM")
}

fn describe(name: &str, value: &str) -> String {
    if let Some(setting) = all().find(|setting| setting.name() == name) {
        let said = match setting.parse(value.as_bytes()) {
            _ if value.is_empty() => " (empty counts as not set)".to_owned(),
            Some(_) => String::new(),
            None => format!(": it {}", Refusal(setting)),
        };
        return format!("{name}={value}{said}");
    }
    let upper = name.to_ascii_uppercase();
    let nearest = all().map(Setting::name).min_by_key(|known| levenshtein(known, &upper));
    // A greater distance is no likeness.
    match nearest.filter(|known| levenshtein(known, &upper) <= 4) {
        Some(nearest) => format!("{name}={value}: the library has no setting of that name; {nearest} is perhaps meant"),
        None => format!("{name}={value}: the library has no setting of that name; docs/settings.md lists them"),
    }
}
