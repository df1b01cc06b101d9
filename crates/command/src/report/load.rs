//! A report from a trace, or from the JSON of an earlier one.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use serde::Deserialize;

use super::document::{Document, VERSION};
use super::{input, read};

pub fn document(path: &Path) -> Result<Document, String> {
    let unreadable = |error| format!("it cannot be read: {error}");
    let mut spooled = input::spooled(path).map_err(unreadable)?;
    let text = match &mut spooled {
        Some(file) => json(file),
        None => File::open(path).and_then(|mut file| json(&mut file)),
    };
    match text.map_err(unreadable)? {
        Some(text) => parsed(&text),
        None => read::read(path, spooled).map(|trace| Document::of(&trace, None)).map_err(|error| error.to_string()),
    }
}

/// The contents, if they begin as a JSON object does and no trace.
fn json(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    file.take(1).read_to_end(&mut text)?;
    if text == b"{" {
        file.read_to_end(&mut text)?;
        return Ok(Some(text));
    }
    file.rewind().map(|()| None)
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
