//! Loads a report from a trace, or from the JSON that `syncedmem report --json` made of one.

use std::io::BufRead;
use std::path::Path;

use serde::Deserialize;

use super::document::{Document, VERSION};
use super::{input, read};

/// The error says what is wrong with the file, and what to do.
pub fn document(path: &Path) -> Result<Document, String> {
    let unreadable = |error| format!("it cannot be read: {error}");
    let mut input = input::open(path).map_err(unreadable)?;
    // A JSON object: no trace begins like that.
    if input.fill_buf().map_err(unreadable)?.first() != Some(&b'{') {
        let trace = read::opened(input, path).map_err(|error| error.to_string())?;
        return Ok(Document::from(&trace));
    }
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut input, &mut text).map_err(unreadable)?;
    parsed(&text)
}

#[derive(Deserialize)]
struct Version {
    syncedmem_report: u32,
}

fn parsed(text: &[u8]) -> Result<Document, String> {
    const DO: &str = "name a trace, or what syncedmem report --json wrote";
    let Version { syncedmem_report: version } =
        serde_json::from_slice(text).map_err(|error| format!("it is no report: {error}; {DO}"))?;
    if version > VERSION {
        return Err(format!(
            "it is a report of version {version}, and this command reads up to {VERSION}; use the command that wrote it"
        ));
    }
    serde_json::from_slice(text).map_err(|error| format!("it is no whole report: {error}; {DO}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_report_is_told_from_one_of_a_newer_command() {
        let told = |text: &str| parsed(text.as_bytes()).map(|_| ()).unwrap_err();
        assert!(told("{\"traceEvents\":[]}").starts_with("it is no report: missing field"), "{}", told("{}"));
        assert!(told("{\"syncedmem_report\":99}").contains("version 99, and this command reads up to"));
        assert!(told("{\"syncedmem_report\":1}").starts_with("it is no whole report: missing field `trace`"));
    }
}
