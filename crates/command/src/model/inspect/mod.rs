//! `syncedmem model inspect`.

mod given;

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;

use caffemodel::{Array, At, Blob, Dialect, Error, Model, Shape, State, Version};
use clap::{Args, ValueHint};
use serde::Serialize;
use syncedmem_core::text::Size;

use super::arrays;
use super::types::Format;
use super::values::ValueRange;
use crate::say;

/// Show the layers of a model file: types, shapes and bytes. Takes milliseconds for a file of any size.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem model inspect lenet.caffemodel
  syncedmem model inspect lenet.caffemodel --ranges
      reads every value
  syncedmem model inspect mean.binaryproto --json
  syncedmem model inspect some.npz
      the arrays of a file that `export` wrote, or another program")]
pub struct Options {
    /// A .caffemodel, .binaryproto, .solverstate, Caffe2's init_net.pb, or arrays: .npz, .safetensors.
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Read all values, and show the least and the greatest of each blob. Takes longer.
    #[arg(long)]
    ranges: bool,
    /// One JSON object on standard output instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ShownModel<'m> {
    file: String,
    kind: &'static str,
    name: &'m str,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<ShownState<'m>>,
    layers: Vec<ShownLayer<'m>>,
}

#[derive(Serialize)]
struct ShownState<'m> {
    iter: i32,
    learned_net: &'m str,
    current_step: i32,
}

#[derive(Serialize)]
struct ShownLayer<'m> {
    name: &'m str,
    #[serde(rename = "type")]
    type_name: &'m str,
    version: &'static str,
    blobs: Vec<ShownBlob<'m>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<ShownTexts<'m>>,
}

#[derive(Serialize)]
struct ShownTexts<'m> {
    shape: &'m [i64],
    count: usize,
    bytes: u64,
}

#[derive(Serialize)]
struct ShownBlob<'m> {
    shape: &'m [i64],
    /// The shape without the leading ones of legacy dimensions.
    shape_in_net: &'m [i64],
    written_by: &'static str,
    data: ShownArray,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<ShownArray>,
    /// The reason why its values cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[derive(Serialize)]
struct ShownArray {
    #[serde(rename = "type")]
    element: String,
    count: u64,
    bytes: u64,
    #[serde(flatten)]
    found: Option<ValueRange>,
}

pub fn run(options: &Options) -> ExitCode {
    if let Some(format) = Format::of_name(&options.file) {
        return match given::show(options, format) {
            Ok(()) => ExitCode::SUCCESS,
            Err(what) => say::failed(format_args!("{}: {what}", options.file.display())),
        };
    }
    let shown = Model::open(&options.file).and_then(|model| {
        print(&show(&model, options)?, options);
        Ok(())
    });
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => say::failed(error),
    }
}

fn show<'m>(model: &'m Model, options: &Options) -> Result<ShownModel<'m>, Error> {
    let layers = (0..).zip(model.layers()).map(|(number, layer)| {
        let blobs = (0..).zip(layer.blobs()).map(|(blob, found)| {
            let shape_in_net = layer.shape_in_net(blob).unwrap_or(found.shape());
            show_blob(model, At::data(number, blob), found, shape_in_net, options.ranges)
        });
        let version = match layer.version() {
            Version::V0 => "V0",
            Version::V1 => "V1",
            Version::V2 => "V2",
        };
        let blobs = blobs.collect::<Result<_, _>>()?;
        let texts =
            layer.texts().map(|texts| ShownTexts { shape: texts.shape(), count: texts.count(), bytes: texts.bytes() });
        Ok(ShownLayer { name: layer.name(), type_name: layer.type_name(), version, blobs, texts })
    });
    let state = |State { iter, learned_net, current_step }: &'m State| ShownState {
        iter: *iter,
        learned_net,
        current_step: *current_step,
    };
    Ok(ShownModel {
        file: options.file.display().to_string(),
        kind: arrays::kind(model.kind()),
        name: model.name(),
        bytes: model.file_bytes(),
        state: model.state().map(state),
        layers: layers.collect::<Result<_, Error>>()?,
    })
}

fn show_blob<'m>(
    model: &'m Model,
    at: At,
    blob: &'m Blob,
    shape_in_net: &'m [i64],
    ranges: bool,
) -> Result<ShownBlob<'m>, Error> {
    let problem = model.array(at).err().map(|error| error.to_string());
    let array = |array: &Array, at: At| -> Result<ShownArray, Error> {
        let found = if ranges && problem.is_none() { Some(ValueRange::in_array(model, at)?) } else { None };
        Ok(ShownArray { element: array.element().to_string(), count: array.count(), bytes: array.bytes(), found })
    };
    let data = array(blob.data(), at)?;
    let diff = blob.diff().map(|diff| array(diff, At::diff(at.layer, at.blob))).transpose()?;
    let written_by = match blob.dialect() {
        Dialect::Bvlc => "BVLC",
        Dialect::Nvidia => "NVIDIA",
        Dialect::C3d => "C3D",
        Dialect::Caffe2 => "Caffe2",
    };
    Ok(ShownBlob { shape: blob.shape(), shape_in_net, written_by, data, diff, problem })
}

fn print(shown: &ShownModel, options: &Options) {
    if options.json {
        return say::json(shown);
    }
    let blobs = || shown.layers.iter().flat_map(|layer| &layer.blobs);
    let values: u64 = blobs().map(|blob| blob.data.count).sum();
    let name = if shown.name.is_empty() { String::new() } else { format!(" \"{}\"", shown.name) };
    let layers = match shown.kind {
        "net" => format!("{} layers, ", shown.layers.len()),
        "Caffe2 net" => format!("{} outputs, ", shown.layers.len()),
        _ => String::new(),
    };
    let bytes = Size(shown.bytes);
    let counted = arrays::counted(blobs().count());
    say::line(format_args!("{}: {}{name}, {layers}{counted}, {values} values, {bytes}", shown.file, shown.kind));
    if let Some(state) = &shown.state {
        let ShownState { iter, learned_net, current_step } = state;
        say::line(format_args!("iteration {iter}, step {current_step}, net {learned_net}"));
    }
    say::line("");
    let rows = rows(shown, options.ranges);
    table(|| rows.iter().cloned(), 5);
    for problem in blobs().filter_map(|blob| blob.problem.as_ref()) {
        say::line(problem);
    }
}

fn rows(shown: &ShownModel, ranges: bool) -> Vec<Vec<String>> {
    let mut head = vec!["layer", "type", "blob", "shape", "values", "bytes"];
    if ranges {
        head.extend(RANGE);
    }
    let mut rows = vec![head.into_iter().map(String::from).collect::<Vec<_>>()];
    for layer in &shown.layers {
        let before = rows.len();
        for (number, blob) in layer.blobs.iter().enumerate() {
            let parts = [(String::new(), Some(&blob.data)), (" diff".into(), blob.diff.as_ref())];
            for (part, array) in parts.into_iter().filter_map(|(part, array)| Some((part, array?))) {
                let is_first = rows.len() == before;
                let of_layer = |text: &str| if is_first { text.to_string() } else { String::new() };
                let mut row = vec![of_layer(layer.name), of_layer(layer.type_name), format!("{number}{part}")];
                row.extend(cells(&Shape(blob.shape), array));
                rows.push(row);
            }
        }
        if rows.len() == before {
            let mut row = vec![layer.name.to_string(), layer.type_name.to_string()];
            if let Some(ShownTexts { shape, bytes, .. }) = &layer.texts {
                row.extend(["0".into(), Shape(shape).to_string(), "text".into(), bytes.to_string()]);
            }
            rows.push(row);
        }
    }
    rows
}

/// The cells from the column of the shape on.
fn cells(shape: &dyn Display, array: &ShownArray) -> Vec<String> {
    let cells = [shape.to_string(), array.element.clone(), array.bytes.to_string()].into_iter();
    cells.chain(array.found.map(range).into_iter().flatten()).collect()
}

const RANGE: [&str; 3] = ["min", "max", "not finite"];

fn range(found: ValueRange) -> [String; 3] {
    let number = |value: Option<f64>| value.map_or_else(String::new, short);
    let others = found.nan + found.infinite;
    [number(found.min), number(found.max), if others == 0 { String::new() } else { others.to_string() }]
}

/// Six digits after the point, or an exponent if they would not show the value.
fn short(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) { format!("{value:.6}") } else { format!("{value:.5e}") }
}

/// Letters of a column, at most. A longer name does not widen its column.
const WIDEST: usize = 60;

/// Prints a table. Columns from `first_number` on are numbers, which are aligned to the right.
fn table<R: Iterator<Item = Vec<String>>>(rows: impl Fn() -> R, first_number: usize) {
    let mut widths = Vec::new();
    for row in rows() {
        widths.resize(widths.len().max(row.len()), 0);
        let of_row = row.iter().map(|cell| cell.chars().count().min(WIDEST));
        widths.iter_mut().zip(of_row).for_each(|(width, of_row)| *width = of_row.max(*width));
    }
    for row in rows() {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column < first_number {
            true => format!("{cell:<width$}  "),
            false => format!("{cell:>width$}  "),
        });
        say::line(cells.collect::<String>().trim_end());
    }
}
