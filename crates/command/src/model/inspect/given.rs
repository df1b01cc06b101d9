//! The arrays of a safetensors or npz file.

use caffemodel::Shape;
use serde::{Serialize, Serializer};
use syncedmem_core::text::Size;

use super::{Options, RANGE, ShownArray, cells, table};
use crate::model::given::{self, Given};
use crate::model::types::Format;
use crate::model::values::ValueRange;
use crate::say;

#[derive(Serialize)]
struct ShownFile<'g> {
    file: String,
    kind: &'static str,
    bytes: u64,
    arrays: ShownArrays<'g>,
}

/// Each row is made when it is shown: there may be very many.
#[derive(Clone, Copy)]
struct ShownArrays<'g> {
    given: &'g [Given],
    /// Empty without `--ranges`.
    found: &'g [Option<ValueRange>],
}

#[derive(Serialize)]
struct ShownGiven<'g> {
    name: &'g str,
    shape: &'g [u64],
    /// The bytes are those of the unpacked values.
    #[serde(flatten)]
    array: ShownArray,
}

impl<'g> ShownArrays<'g> {
    fn each(self) -> impl Iterator<Item = ShownGiven<'g>> {
        self.given.iter().enumerate().map(move |(place, given)| {
            let found = self.found.get(place).copied().flatten();
            let (element, count, bytes) = (given.of.name(), given.count().unwrap_or(0), given.bytes());
            ShownGiven { name: &given.name, shape: &given.shape, array: ShownArray { element, count, bytes, found } }
        })
    }
}

impl Serialize for ShownArrays<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.each())
    }
}

pub fn show(options: &Options, format: Format) -> Result<(), String> {
    let (file, given) = given::open(&options.file, format)?;
    let ranged = if options.ranges { &given[..] } else { &[] };
    let found = ranged.iter().map(|given| {
        let found = ValueRange::in_given(given, &file);
        found.map_err(|error| format!("{} cannot be read: {error}; save it again", given.name))
    });
    let found = found.collect::<Result<Vec<_>, String>>()?;
    let bytes = file.metadata().map_or(0, |about| about.len());
    let (file, arrays) = (options.file.display().to_string(), ShownArrays { given: &given, found: &found });
    let shown = ShownFile { file, kind: format.extension(), bytes, arrays };
    if options.json {
        say::json(&shown);
    } else {
        print(&shown, options.ranges);
    }
    Ok(())
}

fn print(ShownFile { file, kind, bytes, arrays }: &ShownFile, ranges: bool) {
    let values = arrays.each().fold(0, |sum: u64, given| sum.saturating_add(given.array.count));
    let counted = arrays.given.len();
    let plural = if counted == 1 { "" } else { "s" };
    say::line(format_args!("{file}: {kind}, {counted} array{plural}, {values} values, {}", Size(*bytes)));
    say::line("");
    let mut head = vec!["array", "shape", "values", "bytes"];
    if ranges {
        head.extend(RANGE);
    }
    let row = |given: ShownGiven| [vec![given.name.to_string()], cells(&Shape(given.shape), &given.array)].concat();
    let head: Vec<_> = head.into_iter().map(String::from).collect();
    table(|| std::iter::once(head.clone()).chain(arrays.each().map(row)), 3);
}
