//! The arrays of a safetensors or npz file.

use caffemodel::Shape;
use indicatif::HumanBytes;
use serde::Serialize;

use super::{Options, RANGE, ShownArray, cells, table};
use crate::model::given;
use crate::model::types::Format;
use crate::model::values::ValueRange;
use crate::{progress, say};

#[derive(Serialize)]
struct ShownFile {
    file: String,
    kind: &'static str,
    bytes: u64,
    arrays: Vec<ShownGiven>,
}

#[derive(Serialize)]
struct ShownGiven {
    name: String,
    shape: Vec<u64>,
    /// Its bytes are those of the values: packed ones take less in the file.
    #[serde(flatten)]
    array: ShownArray,
}

pub fn show(options: &Options, format: Format) -> Result<(), String> {
    let (file, given) = given::open(&options.file, format)?;
    let bar = progress::bar(if options.ranges { given.iter().map(|given| given.bytes()).sum() } else { 0 }, "reading");
    let arrays = given.into_iter().map(|given| {
        let found = if options.ranges {
            let found = ValueRange::in_given(&given, &file, &bar);
            found.map_err(|error| format!("{} cannot be read: {error}; save it again", given.name))?
        } else {
            None
        };
        let (element, count, bytes) = (given.of.name(), given.count().unwrap_or(0), given.bytes());
        Ok(ShownGiven { name: given.name, shape: given.shape, array: ShownArray { element, count, bytes, found } })
    });
    let arrays = arrays.collect::<Result<Vec<_>, String>>()?;
    bar.finish_and_clear();
    let bytes = file.metadata().map_or(0, |about| about.len());
    let shown = ShownFile { file: options.file.display().to_string(), kind: format.extension(), bytes, arrays };
    if options.json {
        say::json(&shown);
    } else {
        print(&shown, options.ranges);
    }
    Ok(())
}

fn print(ShownFile { file, kind, bytes, arrays }: &ShownFile, ranges: bool) {
    let (counted, values) = (arrays.len(), arrays.iter().map(|given| given.array.count).sum::<u64>());
    let plural = if counted == 1 { "" } else { "s" };
    say::line(format_args!("{file}: {kind}, {counted} array{plural}, {values} values, {}", HumanBytes(*bytes)));
    say::line("");
    let mut head = vec!["array", "shape", "values", "bytes"];
    if ranges {
        head.extend(RANGE);
    }
    let row = |given: &ShownGiven| [vec![given.name.clone()], cells(&Shape(&given.shape), &given.array)].concat();
    let head = head.into_iter().map(String::from).collect();
    table(&std::iter::once(head).chain(arrays.iter().map(row)).collect::<Vec<_>>(), 3);
}
