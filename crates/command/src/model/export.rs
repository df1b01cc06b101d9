//! `syncedmem model export`: safetensors (the length of a JSON header in 8 bytes, the header, and the values) and npz (a zip
//! archive of one .npy file for each array, as numpy.savez writes it).

use std::cmp::Reverse;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use caffemodel::{At, Element, Error, Kind, Layer, Model, Part, TorchRole};
use clap::{Args, ValueHint};
use serde_json::{Map, Value, json};
use syncedmem_core::new_file::NewFile;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::arrays::{self, Names};
use super::types::{self, Format};
use super::values::{self, transposed};
use crate::output::new_file;
use crate::report::input::is_same;
use crate::say;

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

/// The change that is made to the values.
#[derive(PartialEq)]
enum Change {
    None,
    MultipliedBy(f64),
    /// The values are a matrix with this many rows and columns.
    Transposed(u64, u64),
}

/// The reason why nothing was written.
enum Failed {
    Model(Error),
    /// The model, or the name of an array or a file, is wrong: the sentence says how.
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
    // The description of a net has no operators that fill tensors.
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
    match options.to {
        Format::Safetensors => write_safetensors(&model, tensors, &mut file)?,
        Format::Npz => write_npz(&model, &tensors, &mut file)?,
    }
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

/// The arrays to be written. All of them can be read.
fn tensors(model: &Model, options: &Options) -> Result<Vec<Tensor>, Failed> {
    let is_torch = options.names == Names::Torch;
    let role = |at: &At| if is_torch { arrays::role(model, *at) } else { None };
    // PyTorch has no factor, and the diffs of sums have no meaning.
    let is_left_out = |at: &At| {
        role(at).is_some_and(|role| role.name().is_none() || arrays::is_average(role) && at.part == Part::Diff)
    };
    let wanted = arrays::places(model).into_iter().filter(|at| options.diffs || at.part == Part::Data);
    let named = arrays::named(model, wanted.filter(|at| !is_left_out(at)), options.names).map_err(Failed::Name)?;
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
                Some((role, _)) if arrays::is_average(role) => match arrays::factor(model, at.layer)? {
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

/// Names the layers that have no names in PyTorch, and those whose averages are doubtful.
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
        if arrays::factor(model, number)? == Some(0.0) {
            say::error(format_args!(
                "{file}: {name} ({of}) has the factor 0, for which BVLC's Caffe takes its means and variances for zeros, and NVIDIA's as they \
                 are: they are exported as they are; compare the outputs"
            ));
        }
    }
    Ok(())
}

/// Bytes that are copied at once.
const BLOCK: usize = 1 << 20;

fn copy(model: &Model, tensor: &Tensor, into: &mut impl Write) -> Result<(), Failed> {
    if let Change::Transposed(rows, columns) = tensor.change {
        return transpose(model, tensor, [rows, columns].map(|axis| axis as usize), into);
    }
    if let Change::MultipliedBy(scale) = tensor.change {
        return values::read(model, tensor.at, |_, block| {
            block.iter().try_for_each(|value| match tensor.element {
                Element::F64 => Ok(into.write_all(&(value * scale).to_le_bytes())?),
                // Caffe multiplies floats.
                _ => Ok(into.write_all(&(*value as f32 * scale as f32).to_le_bytes())?),
            })
        });
    }
    let size = tensor.element.size();
    let mut block = vec![0; BLOCK.min(usize::try_from(tensor.bytes).unwrap_or(BLOCK))];
    let mut written = 0;
    while written < tensor.bytes {
        let block = &mut block[..(tensor.bytes - written).min(BLOCK as u64) as usize];
        model.read_bytes(tensor.at, written / size as u64, block)?;
        into.write_all(block)?;
        written += block.len() as u64;
    }
    Ok(())
}

/// Bytes of the columns that are read at once.
const BAND: usize = 16 << 20;

fn transpose(model: &Model, tensor: &Tensor, [rows, columns]: [usize; 2], into: &mut impl Write) -> Result<(), Failed> {
    let size = tensor.element.size();
    let at_once = (BAND / (rows * size).max(1)).max(1);
    for first in (0..columns).step_by(at_once) {
        let width = at_once.min(columns - first);
        let mut band = vec![0; rows * width * size];
        for (row, part) in band.chunks_exact_mut(width * size).enumerate() {
            model.read_bytes(tensor.at, (row * columns + first) as u64, part)?;
        }
        into.write_all(&transposed(&band, width, size))?;
    }
    Ok(())
}

/// Readers expect that the values are aligned if the header is.
const ALIGNMENT: usize = 8;

fn write_safetensors(model: &Model, mut tensors: Vec<Tensor>, file: &mut NewFile) -> Result<(), Failed> {
    // Large values first: each array then begins at a multiple of the size of its values.
    tensors.sort_by_key(|tensor| Reverse(tensor.element.size()));
    let header = safetensors_header(&tensors);
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(&header)?;
    tensors.iter().try_for_each(|tensor| copy(model, tensor, file))
}

fn safetensors_header(tensors: &[Tensor]) -> Vec<u8> {
    let mut begin = 0;
    let entries = tensors.iter().map(|tensor| {
        let end = begin + tensor.bytes;
        let dtype = types::safetensors(tensor.element);
        let about = json!({"dtype": dtype, "shape": tensor.shape, "data_offsets": [begin, end]});
        begin = end;
        (tensor.name.clone(), about)
    });
    let mut header = Value::Object(entries.collect::<Map<_, _>>()).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(ALIGNMENT), b' ');
    header
}

fn write_npz(model: &Model, tensors: &[Tensor], file: &mut NewFile) -> Result<(), Failed> {
    let mut archive = ZipWriter::new(BufWriter::new(file));
    let added = tensors.iter().try_for_each(|tensor| add(&mut archive, model, tensor));
    // The archive is flushed before `finish`: after an error it must be forgotten as below.
    if let Err(error) = added.and_then(|()| Ok(archive.flush()?)) {
        // Dropping the archive would write the list of files, and print an error.
        std::mem::forget(archive);
        return Err(error);
    }
    Ok(archive.finish().map_err(reason)?.flush()?)
}

/// The error of the system, if it is one.
fn reason(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        error => error.into(),
    }
}

fn add(archive: &mut ZipWriter<impl Write + Seek>, model: &Model, tensor: &Tensor) -> Result<(), Failed> {
    if unpacks_elsewhere(&tensor.name) {
        let sentence = format!("a file in an archive cannot be called {}; export to safetensors instead", tensor.name);
        return Err(Failed::Name(sentence));
    }
    let name = format!("{}.npy", tensor.name);
    if name.len() > usize::from(u16::MAX) {
        return Err(Failed::Name("has a name that is too long for an archive; export to safetensors instead".into()));
    }
    // The date is fixed: archives of the same arrays are the same.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .large_file(true);
    archive.start_file(name, options).map_err(reason)?;
    archive.write_all(&npy_header(tensor))?;
    copy(model, tensor, archive)
}

/// Whether a program that unpacks archives, on Windows too, would write such a file to another folder.
fn unpacks_elsewhere(name: &str) -> bool {
    let has_drive = matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    has_drive || name.starts_with('/') || name.contains('\\') || name.split('/').any(|part| part == "..")
}

/// The header of a .npy file. The values begin at a multiple of 64 bytes.
fn npy_header(tensor: &Tensor) -> Vec<u8> {
    let descr = types::numpy(tensor.element);
    // A tuple of one value needs a comma at its end, and others may have it.
    let shape: String = tensor.shape.iter().map(|dim| format!("{dim},")).collect();
    let about = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // Magic, version 1.0 and the length take ten bytes, the line end one. A shape of 32 axes fits 16 bits.
    let length = (10 + about.len() + 1).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((length as u16).to_le_bytes());
    header.extend(format!("{about:<width$}\n", width = length - 1).bytes());
    header
}
