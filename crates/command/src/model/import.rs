//! `syncedmem model import`.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use caffemodel::{At, Edit, Element, Model, Part, Shape, TorchRole, Values};
use clap::{Args, ValueHint};

use super::arrays::{self, Names};
use super::given::{self, Given};
use super::types::Format;
use super::values::transposed;
use crate::report::input;
use crate::{say, signals};

/// Write a model file with the values of a safetensors or npz file.
///
/// All else is copied from OLD byte for byte. Arrays have the names that `export` gives them, Caffe's or PyTorch's, and the shapes and types
/// of OLD; float16 and bfloat16 are also taken for float32, and all of them for float64, which is exact. Diffs that FILE lacks stay as they
/// are. A BatchNorm layer that gets PyTorch's means and variances gets the factor 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem model import lenet.safetensors --from safetensors \\
    --like lenet.caffemodel -o changed.caffemodel
  syncedmem model import some.npz --from npz --like lenet.caffemodel \\
    --partial -o changed.caffemodel
      keeps the values that some.npz lacks")]
pub struct Options {
    /// A safetensors or npz file, compressed or not.
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// The format of FILE.
    #[arg(long, value_enum)]
    from: Format,
    /// The model file to copy all but values from.
    #[arg(long, value_name = "OLD", value_hint = ValueHint::FilePath)]
    like: PathBuf,
    /// The new model file; an old one is replaced once the new one is whole.
    #[arg(short, long, value_name = "NEW", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// Keep OLD's values of arrays that FILE lacks.
    #[arg(long)]
    partial: bool,
    /// Write more than 2147483647 bytes, which Caffe cannot read.
    #[arg(long)]
    allow_large: bool,
}

pub fn run(options: &Options) -> ExitCode {
    match import(options) {
        Ok(sentence) => {
            say::line(sentence);
            ExitCode::SUCCESS
        }
        Err(problems) => {
            problems.into_iter().for_each(say::error);
            say::status(false)
        }
    }
}

/// A sentence for each problem.
type Problems = Vec<String>;

fn one(problem: impl ToString) -> Problems {
    vec![problem.to_string()]
}

fn import(options: &Options) -> Result<String, Problems> {
    let model = Model::open(&options.like).map_err(one)?;
    let of_file = |what: String| one(format!("{}: {what}", options.file.display()));
    let (file, given) = given::open(&options.file, options.from).map_err(of_file)?;
    if input::is_same(&options.output, &options.file) {
        return Err(of_file("is the file with the values: name another one with --output".into()));
    }
    let Matched { replaced, ones } = matched(&model, given, options)?;

    let mut edit = Edit::of(&model);
    for (at, given) in &replaced {
        let name = format!("{}: {} cannot be read", options.file.display(), given.name);
        let mut from = given.read(&file).map_err(|error| one(format!("{name}: {error}")))?;
        let (element, count) = (given.of.element().unwrap_or(Element::F32), given.count().unwrap_or(0));
        if is_swapped(&model, *at, given) {
            let columns = given.shape.last().map_or(0, |axis| *axis as usize);
            let bytes = count as usize * element.size();
            from = Box::new(Swapped { from, columns, size: element.size(), bytes, values: Cursor::default() });
        }
        edit.replace(*at, Values::new(element, count, Named { from, name }));
    }
    for at in &ones {
        // 1 as a half, which is converted to the type of the model.
        edit.replace(*at, Values::new(Element::F16, 1, &[0, 0x3c][..]));
    }
    if options.allow_large {
        edit.allow_large();
    }
    signals::remove_new_files_of(&options.output);
    let changed = edit.write_to(&options.output).map_err(one)?;
    Ok(format!(
        "{}: {} of {} arrays differ from {}",
        options.output.display(),
        changed.iter().filter(|at| !ones.contains(at)).count(),
        replaced.len(),
        options.like.display()
    ))
}

struct Matched {
    /// Arrays of the model, and the arrays that replace them.
    replaced: Vec<(At, Given)>,
    /// The factors of BatchNorm layers that get means and variances.
    ones: Vec<At>,
}

fn matched(model: &Model, given: Vec<Given>, options: &Options) -> Result<Matched, Problems> {
    let (file, like) = (options.file.display(), options.like.display());
    let mut problems = Vec::new();
    let mut by_name = HashMap::new();
    for given in given {
        if let Some(twice) = by_name.insert(given.name.clone(), given) {
            problems.push(format!("{file}: has two arrays {}; save it again with one", twice.name));
        }
    }
    let places = arrays::places(model);
    let has_torch = |at: &At| {
        arrays::role(model, *at).is_some_and(arrays::is_average)
            && arrays::torch(model, *at).is_some_and(|name| by_name.contains_key(&name))
    };
    let averaged: HashSet<usize> = places.iter().filter(|at| has_torch(at)).map(|at| at.layer).collect();
    for layer in &averaged {
        // PyTorch counts batches; Caffe does not.
        by_name.remove(&format!("{}.num_batches_tracked", model.layers()[*layer].name()));
    }
    let (mut replaced, mut ones) = (Vec::new(), Vec::new());
    let named = arrays::named(model, places, Names::Caffe).map_err(|what| one(format!("{like}: {what}")))?;
    for (mut name, at) in named {
        let is_averaged = averaged.contains(&at.layer);
        match arrays::role(model, at).filter(|_| is_averaged) {
            Some(TorchRole::Factor) if at.part == Part::Data => {
                if arrays::factor(model, at.layer).map_err(one)? != Some(1.0) {
                    ones.push(at);
                }
                continue;
            }
            Some(TorchRole::Unused) => continue,
            _ => {}
        }
        if let Some(other) = arrays::torch(model, at).filter(|other| is_averaged || by_name.contains_key(other)) {
            name = other;
        }
        match by_name.remove(&name) {
            Some(given) => match unfit(model, at, &given).map_err(one)? {
                None => replaced.push((at, given)),
                Some(what) => problems.push(format!("{file}: {name} {what}")),
            },
            None if at.part == Part::Diff => {}
            None if options.partial && !(is_averaged && arrays::role(model, at).is_some_and(arrays::is_average)) => {}
            None => problems.push(format!(
                "{file}: has no array {name}, which {like} has; add it, or keep the old values with --partial"
            )),
        }
    }
    let mut extra: Vec<_> = by_name.into_keys().collect();
    extra.sort();
    let extra = extra.into_iter().map(|name| {
        format!("{file}: has an array {name}, which {like} has not; take it out, or name it as `syncedmem model export` does")
    });
    problems.extend(extra);
    if problems.is_empty() { Ok(Matched { replaced, ones }) } else { Err(problems) }
}

/// Whether the axes have the other order in PyTorch.
fn is_swapped(model: &Model, at: At, given: &Given) -> bool {
    arrays::role(model, at) == Some(TorchRole::TransposedWeight)
        && arrays::torch(model, at).is_some_and(|name| name == given.name)
}

fn unfit(model: &Model, at: At, given: &Given) -> Result<Option<String>, caffemodel::Error> {
    let (array, layer) = (model.array(at)?, &model.layers()[at.layer]);
    let shape = layer.blobs()[at.blob].shape();
    let of_torch = layer.torch(at.blob).map(|(_, shape)| shape);
    let mut own = shape.to_vec();
    let mut others = [layer.shape_in_net(at.blob), of_torch];
    if is_swapped(model, at, given) {
        own = of_torch.unwrap_or_default().iter().rev().copied().collect();
        others = [None; 2];
    }
    let is_shape = |shape: &[i64]| given.shape.iter().copied().eq(shape.iter().map(|dim| dim.unsigned_abs()));
    if !is_shape(&own) && !others.into_iter().flatten().any(is_shape) {
        let what = format!("has the shape {}, and the model's is {}; reshape it", Shape(&given.shape), Shape(&own));
        return Ok(Some(what));
    }
    let stored = array.element();
    if given.of.element().is_some_and(|element| element.is_exact_as(stored)) {
        return Ok(None);
    }
    Ok(Some(format!("is {}, and the model's is {stored}; convert it to {stored}", given.of.name())))
}

/// A matrix with its axes swapped, read as a whole at its first byte.
struct Swapped {
    from: Box<dyn Read>,
    columns: usize,
    /// Bytes of one value. `bytes` are left to read.
    size: usize,
    bytes: usize,
    values: Cursor<Vec<u8>>,
}

impl Read for Swapped {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.bytes > 0 {
            let mut matrix = vec![0; std::mem::take(&mut self.bytes)];
            self.from.read_exact(&mut matrix)?;
            self.values = Cursor::new(transposed(&matrix, self.columns, self.size));
        }
        self.values.read(into)
    }
}

/// Names the array where reading fails.
struct Named {
    from: Box<dyn Read>,
    name: String,
}

impl Read for Named {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let failed = |kind, what: &dyn Display| Err(io::Error::new(kind, format!("{}: {what}", self.name)));
        match self.from.read(into) {
            Ok(0) => failed(io::ErrorKind::UnexpectedEof, &"it ends too early"),
            Err(error) => failed(error.kind(), &error),
            read => read,
        }
    }
}
