//! `syncedmem model check`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use caffemodel::{At, Kind, Model, Part, Version};
use clap::{Args, ValueHint};
use serde::Serialize;

use super::arrays;
use super::values::ValueRange;
use crate::say;

/// Say whether model files are whole, and their values finite numbers.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem model check lenet.caffemodel
  syncedmem model check snapshots/*.caffemodel snapshots/*.solverstate

Exit status: 0 if nothing is wrong, 1 if something is, 2 if the command line is wrong.")]
pub struct Options {
    /// .caffemodel, .binaryproto or .solverstate files, or Caffe2's init_net.pb.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// A JSON list on standard output, with an object for each file.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct CheckedFile {
    file: String,
    ok: bool,
    blobs: usize,
    problems: Vec<String>,
}

pub fn run(options: &Options) -> ExitCode {
    let checked: Vec<_> = options.files.iter().map(|path| check(path)).collect();
    if options.json {
        say::json(&checked);
    } else {
        for CheckedFile { file, blobs, problems, .. } in &checked {
            if problems.is_empty() {
                say::line(format_args!("{file}: ok, {}", arrays::counted(*blobs)));
            }
            problems.iter().for_each(say::line);
        }
    }
    say::status(checked.iter().all(|checked| checked.ok))
}

fn check(path: &Path) -> CheckedFile {
    let file = path.display().to_string();
    let (blobs, problems) = match Model::open(path) {
        Ok(model) => (arrays::blobs(&model).len(), problems(&model, &file)),
        Err(error) => (0, vec![error.to_string()]),
    };
    CheckedFile { file, ok: problems.is_empty(), blobs, problems }
}

fn problems(model: &Model, file: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let layers = model.layers();
    if model.kind() == Kind::Net && layers.is_empty() {
        problems.push(format!("{file}: has no layers; the file is cut off, or is no .caffemodel"));
    }
    if layers.iter().any(|layer| layer.version() == Version::V2)
        && layers.iter().any(|layer| layer.version() != Version::V2)
    {
        problems
            .push(format!("{file}: has layers both as `layer` and as `layers`, which Caffe refuses; keep one of them"));
    }
    for at in arrays::places(model) {
        match ValueRange::in_array(model, at) {
            Ok(found) => problems.extend(not_finite(model, file, at, found)),
            // The same error was reported for the data of the blob.
            Err(_) if at.part == Part::Diff => {}
            Err(error) => problems.push(error.to_string()),
        }
    }
    problems
}

fn not_finite(model: &Model, file: &str, at: At, found: ValueRange) -> Option<String> {
    let first = found.first?;
    let count = model.array(at).map_or(0, |array| array.count());
    let name = model.layers().get(at.layer)?.name();
    let part = at.part.name();
    let ValueRange { nan, infinite, .. } = found;
    Some(format!(
        "{file}: layer {} \"{name}\", blob {}: its {part} has {nan} NaN and {infinite} infinite among {count} values, the first is \
         number {first}; the training diverged: use an earlier snapshot, and a lower learning rate",
        at.layer, at.blob
    ))
}
