//! A report from a trace, or from the JSON of an earlier one.

use std::path::Path;

use serde::Deserialize;

use super::document::VERSION;
use super::input::{self, Opened};
use super::{document, read};

#[derive(Debug, Deserialize)]
pub struct Document {
    pub trace: String,
    pub notes: Vec<String>,
    pub processes: Vec<Process>,
}

#[derive(Debug, Deserialize)]
pub struct Process {
    pub process: u32,
    pub program: String,
    pub nanoseconds: u64,
    pub ending: Ending,
    pub objects: Objects,
    pub memory: Kinds<Memory>,
    pub roles: Vec<RoleShare>,
    pub holders: Vec<Holder>,
    pub batches: Vec<Batch>,
    pub work: Vec<Work>,
}

#[derive(Debug, Deserialize)]
pub struct Ending {
    pub resident_peak_bytes: Option<u64>,
    pub elapsed_nanoseconds: Option<u64>,
    pub processor_nanoseconds: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Objects {
    pub made: u64,
}

#[derive(Debug, Deserialize)]
pub struct Kinds<T> {
    pub pageable: T,
    pub pinned: T,
    pub device: T,
}

impl<T> Kinds<T> {
    pub fn each(&self) -> [(&'static str, &T); 3] {
        [("pageable", &self.pageable), ("pinned", &self.pinned), ("device", &self.device)]
    }
}

#[derive(Debug, Deserialize)]
pub struct Memory {
    pub peak_bytes: u64,
}

#[derive(Debug, Deserialize)]
pub struct RoleShare {
    pub role: String,
    pub peak_bytes: Kinds<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Holder {
    pub name: String,
    pub peak_bytes: Kinds<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Batch {
    pub items: u64,
    pub one_more_bytes: u64,
}

#[derive(Debug, Deserialize)]
pub struct Work {
    pub what: String,
    pub kind: Option<String>,
    pub side: Option<String>,
    pub path: Option<String>,
    pub newest: Option<bool>,
    pub count: u64,
    pub bytes: u64,
    pub nanoseconds: Option<u64>,
}

pub fn report(path: &Path) -> Result<Document, String> {
    let trace = match input::open(path).map_err(|error| error.to_string())? {
        Opened::Text(text) => return parsed(&text.read().map_err(|error| error.to_string())?),
        Opened::Recording(input) => read::read(input),
    };
    let trace = trace.map_err(|error| error.to_string())?;
    serde_json::from_value(document::of(&trace, None)).map_err(|error| error.to_string())
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
