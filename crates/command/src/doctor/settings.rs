//! The library's variables in this environment, and misspelt ones.

use strsim::levenshtein;

use crate::run::settings::Settings;

/// Variables of the library and of this command: those of `run`'s options, and others.
fn known() -> impl Iterator<Item = &'static str> {
    const OTHERS: [&str; 5] =
        ["SYNCEDMEM_ACCOUNT", "SYNCEDMEM_CHECK_DEVICE", "SYNCEDMEM_LIBRARY", "SYNCEDMEM_REPORT", "SYNCEDMEM_TRACE"];
    Settings::default().all().map(|(name, _)| name).into_iter().chain(OTHERS)
}

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
    if known().any(|known| known == name) {
        let empty = if value.is_empty() { " (empty counts as not set)" } else { "" };
        return format!("{name}={value}{empty}");
    }
    let upper = name.to_ascii_uppercase();
    let nearest = known().min_by_key(|known| levenshtein(known, &upper));
    // A greater distance is no likeness.
    match nearest.filter(|known| levenshtein(known, &upper) <= 4) {
        Some(nearest) => format!("{name}={value}: the library has no setting of that name; {nearest} is perhaps meant"),
        None => format!("{name}={value}: the library has no setting of that name; docs/settings.md lists them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_that_the_source_reads_is_known() {
        let read = std::process::Command::new("grep")
            .args(["-rhoE", "c\"SYNCEDMEM_[A-Z_]+\"", concat!(env!("CARGO_MANIFEST_DIR"), "/../../src")])
            .output()
            .unwrap();
        let read = String::from_utf8(read.stdout).unwrap();
        let names = read.lines().map(|name| name.trim_start_matches('c').trim_matches('"'));
        let is_status = |name: &str| name.starts_with("SYNCEDMEM_ERROR_") || name == "SYNCEDMEM_SUCCESS";
        let names: Vec<_> = names.filter(|name| !name.contains("_TEST_") && !is_status(name)).collect();
        assert!(names.len() > 10, "{names:?}");
        for name in &names {
            assert!(known().any(|known| known == *name), "{name}");
        }
    }
}
