//! `syncedmem model export`.

mod npz;
mod safetensors;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use caffemodel::{At, Element, Error, Kind, Layer, Model, Part, TorchRole};
use clap::{Args, ValueHint};
use indicatif::ProgressBar;

use super::arrays;
use super::names::{self, Names};
use super::types::Format;
use super::values::{self, transposed};
use crate::output::new_file;
use crate::report::input::is_same;
use crate::{progress, say};

/// Write the arrays of a model file as safetensors or npz, for PyTorch, NumPy and others.
///
/// conv1.0 are the weights of layer conv1, conv1.1 its biases; with `--names torch`, conv1.weight and conv1.bias. Values are copied as they
/// are stored.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem model export lenet.caffemodel --to safetensors
      writes lenet.safetensors
  syncedmem model export lenet.caffemodel --to safetensors --names torch
      for load_state_dict of a module of PyTorch
  syncedmem model export lenet.caffemodel --to npz --net-shapes -o net.npz
      for numpy.load(\"net.npz\")[\"conv1.0\"]")]
pub struct Options {
    /// A .caffemodel, .binaryproto, .solverstate, or Caffe2's init_net.pb.
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// The format of the new file.
    #[arg(long, value_enum)]
    to: Format,
    /// The new file; an old one is replaced once the new one is whole [default: beside FILE, with the format's ending].
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// What the arrays are called.
    #[arg(long, value_enum, default_value_t = Names::Caffe)]
    names: Names,
    /// Drop leading ones of legacy shapes where the layer's type says how many axes there are.
    #[arg(long)]
    net_shapes: bool,
    /// Write the diffs too, as conv1.0.diff.
    #[arg(long)]
    diffs: bool,
}

struct Tensor {
    name: String,
    at: At,
    element: Element,
    shape: Vec<i64>,
    bytes: u64,
    change: Change,
}

/// What is done to the values.
#[derive(PartialEq)]
enum Change {
    None,
    MultipliedBy(f64),
    /// From a matrix of so many rows and columns.
    Transposed(u64, u64),
}

/// Why nothing was written.
enum Failed {
    Model(Error),
    /// What is wrong with the model, or with the names of its arrays or files.
    Name(String),
    Write(io::Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Model(error)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

pub fn run(options: &Options) -> ExitCode {
    let output = options.output.clone().unwrap_or_else(|| options.file.with_extension(options.to.extension()));
    match export(options, &output) {
        Ok(()) => {
            say::line(output.display());
            ExitCode::SUCCESS
        }
        Err(Failed::Model(error)) => say::failed(error),
        Err(Failed::Name(sentence)) => say::failed(format_args!("{}: {sentence}", options.file.display())),
        Err(Failed::Write(error)) => say::not_written(&output, &error),
    }
}

fn export(options: &Options, output: &Path) -> Result<(), Failed> {
    let model = Model::open(&options.file)?;
    if is_same(output, &options.file) {
        return Err(Failed::Name("is the model itself: name another file with --output".into()));
    }
    let tensors = tensors(&model, options)?;
    // An operator that fills a tensor belongs to no net's description.
    let is_fill = |layer: &Layer| model.kind() == Kind::InitNet && layer.type_name().ends_with("Fill");
    if tensors.is_empty() && !model.layers().iter().any(is_fill) {
        let sentence = "has no arrays of numbers: it only describes a net, as Caffe2's predict_net.pb does; give the file with the values, a \
            .caffemodel or Caffe2's init_net.pb";
        return Err(Failed::Name(sentence.into()));
    }
    if model.kind() == Kind::InitNet {
        name_left_out(&model, options);
    }
    if tensors.is_empty() {
        let sentence = "has no arrays of numbers that can be read; run the net with Caffe2, and save its tensors";
        return Err(Failed::Name(sentence.into()));
    }
    if options.names == Names::Torch && model.kind() == Kind::Net {
        name_doubtful(&model, options)?;
    }
    let mut file = new_file(output)?;
    let bar = progress::bar(tensors.iter().map(|tensor| tensor.bytes).sum(), "writing");
    match options.to {
        Format::Safetensors => safetensors::write(&model, tensors, &mut file, &bar)?,
        Format::Npz => npz::write(&model, &tensors, &mut file, &bar)?,
    }
    bar.finish_and_clear();
    Ok(file.publish()?)
}

/// Says which outputs of operators have no array.
fn name_left_out(model: &Model, options: &Options) {
    let file = options.file.display();
    let called = |layer: &Layer| format!("{} ({})", layer.name(), layer.type_name());
    let (texts, others): (Vec<_>, Vec<_>) =
        model.layers().iter().filter(|layer| layer.blobs().is_empty()).partition(|layer| layer.texts().is_some());
    for layer in texts {
        let layer = called(layer);
        say::error(format_args!("{file}: {layer} holds texts, and is left out: arrays of numbers are exported"));
    }
    if !others.is_empty() {
        let others = others.into_iter().map(called).collect::<Vec<_>>().join(", ");
        say::error(format_args!(
            "{file}: has no values of {others}, which are left out: run the net with Caffe2, and save them"
        ));
    }
}

/// What is to be written: each can be read.
fn tensors(model: &Model, options: &Options) -> Result<Vec<Tensor>, Failed> {
    let is_torch = options.names == Names::Torch;
    let role = |at: &At| if is_torch { names::role(model, *at) } else { None };
    // PyTorch has no factor, and the diffs of sums say nothing.
    let is_left_out = |at: &At| {
        role(at).is_some_and(|role| role.name().is_none() || names::is_average(role) && at.part == Part::Diff)
    };
    let wanted = arrays::places(model).into_iter().filter(|at| options.diffs || at.part == Part::Data);
    let named = names::named(model, wanted.filter(|at| !is_left_out(at)), options.names).map_err(Failed::Name)?;
    named
        .into_iter()
        .map(|(name, at)| {
            let (array, layer) = (model.array(at)?, &model.layers()[at.layer]);
            let of_torch = layer.torch(at.blob).filter(|_| is_torch);
            let shape = match of_torch {
                Some((_, shape)) => Some(shape),
                None if is_torch || options.net_shapes => layer.shape_in_net(at.blob),
                None => None,
            };
            let mut shape = shape.unwrap_or(layer.blobs()[at.blob].shape()).to_vec();
            let change = match of_torch {
                Some((role, _)) if names::is_average(role) => match names::factor(model, at.layer)? {
                    None | Some(0.0 | 1.0) => Change::None,
                    Some(factor) => Change::MultipliedBy(1.0 / factor),
                },
                Some((TorchRole::TransposedWeight, [rows, columns])) => {
                    shape.reverse();
                    Change::Transposed(rows.unsigned_abs(), columns.unsigned_abs())
                }
                _ => Change::None,
            };
            // Products of halves are floats.
            let element = match (array.element(), &change) {
                (Element::F16, Change::MultipliedBy(_)) => Element::F32,
                (element, _) => element,
            };
            Ok(Tensor { name, at, element, shape, bytes: array.count() * element.size() as u64, change })
        })
        .collect()
}

/// Says which layers have no names of PyTorch's, and of which the averages are doubtful.
fn name_doubtful(model: &Model, options: &Options) -> Result<(), Error> {
    let file = options.file.display();
    for (number, layer) in model.layers().iter().enumerate() {
        let (name, of) = (layer.name(), layer.type_name());
        if let Some(blob) = (0..layer.blobs().len()).find(|blob| layer.torch(*blob).is_none()) {
            say::error(format_args!(
                "{file}: {name} ({of}) has blobs that are no parameters of a module of PyTorch: they are called {name}.{blob} and so on, and \
                 their values are as Caffe stores them"
            ));
        }
        if names::factor(model, number)? == Some(0.0) {
            say::error(format_args!(
                "{file}: {name} ({of}) has the factor 0, for which BVLC's Caffe takes its means and variances for zeros, and NVIDIA's as they \
                 are: they are exported as they are; compare the outputs"
            ));
        }
    }
    Ok(())
}

/// Bytes.
const BLOCK: usize = 1 << 20;

fn copy(model: &Model, tensor: &Tensor, into: &mut impl Write, bar: &ProgressBar) -> Result<(), Failed> {
    if let Change::Transposed(rows, columns) = tensor.change {
        return transpose(model, tensor, [rows, columns].map(|axis| axis as usize), into, bar);
    }
    if let Change::MultipliedBy(scale) = tensor.change {
        let mut written = Ok(());
        values::read(model, tensor.at, bar, |_, block| {
            let mut write = |value: &f64| match tensor.element {
                Element::F64 => into.write_all(&(value * scale).to_le_bytes()),
                // As Caffe multiplies.
                _ => into.write_all(&(*value as f32 * scale as f32).to_le_bytes()),
            };
            if written.is_ok() {
                written = block.iter().try_for_each(&mut write);
            }
        })?;
        return Ok(written?);
    }
    let size = tensor.element.size();
    let mut block = vec![0; BLOCK.min(usize::try_from(tensor.bytes).unwrap_or(BLOCK))];
    let mut written = 0;
    while written < tensor.bytes {
        let block = &mut block[..(tensor.bytes - written).min(BLOCK as u64) as usize];
        model.read_bytes(tensor.at, written / size as u64, block)?;
        into.write_all(block)?;
        written += block.len() as u64;
        bar.inc(block.len() as u64);
    }
    Ok(())
}

/// Bytes of the columns that are read at once, of which each takes as many as it has.
const BAND: usize = 16 << 20;

fn transpose(
    model: &Model,
    tensor: &Tensor,
    [rows, columns]: [usize; 2],
    into: &mut impl Write,
    bar: &ProgressBar,
) -> Result<(), Failed> {
    let size = tensor.element.size();
    let at_once = (BAND / (rows * size).max(1)).max(1);
    for first in (0..columns).step_by(at_once) {
        let width = at_once.min(columns - first);
        let mut band = vec![0; rows * width * size];
        for (row, part) in band.chunks_exact_mut(width * size).enumerate() {
            model.read_bytes(tensor.at, (row * columns + first) as u64, part)?;
        }
        into.write_all(&transposed(&band, width, size))?;
        bar.inc(band.len() as u64);
    }
    Ok(())
}
