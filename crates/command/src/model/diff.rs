//! `syncedmem model diff`.

use std::path::PathBuf;
use std::process::ExitCode;

use caffemodel::{At, Blob, Error, Model, Shape};
use clap::{Args, ValueHint};
use serde::Serialize;

use super::arrays;
use super::values;
use crate::pairs::{self, Pairs};
use crate::say;

/// Say what differs between two model files: layers, types, shapes and values.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem model diff iter_1000.caffemodel iter_2000.caffemodel
  syncedmem model diff original.caffemodel upgraded.caffemodel --json

Layers are matched by their names. Leading ones of legacy dimensions are no difference, as in Caffe. Diffs (gradients) are not \
compared.

Exit status: 0 if nothing differs, 1 if something does or a file cannot be read, 2 if the command line is wrong.")]
pub struct Options {
    /// The first file.
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    a: PathBuf,
    /// The second file.
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    b: PathBuf,
    /// One JSON object on standard output.
    #[arg(long)]
    json: bool,
}

#[derive(Default, Serialize)]
struct ModelDifferences {
    only_in_a: Vec<String>,
    only_in_b: Vec<String>,
    layers: Vec<Change>,
    values: Vec<Difference>,
    same: usize,
}

/// A difference in a layer of both models, other than values.
#[derive(Serialize)]
struct Change {
    layer: String,
    what: String,
    a: String,
    b: String,
}

#[derive(Default, Serialize)]
struct Difference {
    layer: String,
    blob: usize,
    count: u64,
    /// Number of values that differ. Two NaN are equal.
    different: u64,
    largest: f64,
    mean: f64,
    /// The largest distance, as a share of the larger of the two values.
    relative: f64,
    /// Number of pairs in which only one value is a number, or whose difference is infinite. The figures leave them out.
    incomparable: u64,
}

pub fn run(options: &Options) -> ExitCode {
    let found = match Model::open(&options.a).and_then(|a| compare(&a, &Model::open(&options.b)?)) {
        Ok(found) => found,
        Err(error) => return say::failed(error),
    };
    if options.json {
        say::json(&found);
    } else {
        print(&found, options);
    }
    let ModelDifferences { only_in_a, only_in_b, layers, values, .. } = &found;
    say::status(only_in_a.is_empty() && only_in_b.is_empty() && layers.is_empty() && values.is_empty())
}

fn compare(a: &Model, b: &Model) -> Result<ModelDifferences, Error> {
    let mut found = ModelDifferences::default();
    if a.state() != b.state() {
        let [of_a, of_b] = [a, b].map(|model| {
            model.state().map(|state| {
                format!("iteration {}, step {}, net {}", state.iter, state.current_step, state.learned_net)
            })
        });
        let [a, b] = [of_a, of_b].map(|state| state.unwrap_or_else(|| "none".into()));
        found.layers.push(Change { layer: "solver".into(), what: "state".into(), a, b });
    }
    let [names_a, names_b] = [a, b].map(|model| model.layers().iter().map(caffemodel::Layer::name));
    let Pairs { both, only_in } = pairs::by_name(names_a, names_b);
    both.into_iter().try_for_each(|(one, other)| compare_layers((a, one), (b, other), &mut found))?;
    [found.only_in_a, found.only_in_b] = only_in.map(|layers| layers.into_iter().map(String::from).collect());
    Ok(found)
}

fn compare_layers(a: (&Model, usize), b: (&Model, usize), found: &mut ModelDifferences) -> Result<(), Error> {
    let (layer_a, layer_b) = (&a.0.layers()[a.1], &b.0.layers()[b.1]);
    let layer = layer_a.name().to_string();
    let mut differs = |what: &str, a: String, b: String| {
        if a != b {
            found.layers.push(Change { layer: layer.clone(), what: what.to_string(), a, b });
        }
    };
    differs("type", layer_a.type_name().to_string(), layer_b.type_name().to_string());
    differs("number of blobs", layer_a.blobs().len().to_string(), layer_b.blobs().len().to_string());
    let mut of_one_shape = Vec::new();
    for (blob, (blob_a, blob_b)) in layer_a.blobs().iter().zip(layer_b.blobs()).enumerate() {
        let [shape_a, shape_b] = comparable(blob_a, blob_b);
        differs(&format!("shape of blob {blob}"), Shape(shape_a).to_string(), Shape(shape_b).to_string());
        let [type_a, type_b] = [blob_a, blob_b].map(|blob| blob.data().element().to_string());
        differs(&format!("type of blob {blob}"), type_a, type_b);
        if shape_a == shape_b {
            of_one_shape.push(blob);
        }
    }
    for blob in of_one_shape {
        let difference = compare_values((a.0, At::data(a.1, blob)), (b.0, At::data(b.1, blob)))?;
        if difference.different > 0 {
            found.values.push(Difference { layer: layer.clone(), blob, ..difference });
        } else {
            found.same += 1;
        }
    }
    Ok(())
}

/// The shapes, without leading ones if one of them is a legacy shape.
fn comparable<'m>(a: &'m Blob, b: &'m Blob) -> [&'m [i64]; 2] {
    let is_legacy = a.is_legacy() || b.is_legacy();
    [a, b].map(|blob| {
        let leading = blob.shape().iter().take_while(|dim| is_legacy && **dim == 1).count();
        &blob.shape()[leading..]
    })
}

fn compare_values(a: (&Model, At), b: (&Model, At)) -> Result<Difference, Error> {
    let mut difference = Difference { count: a.0.array(a.1)?.count(), ..Difference::default() };
    b.0.array(b.1)?;
    let (mut sum, mut other) = (0.0, Vec::new());
    values::read(a.0, a.1, |first, block| {
        other.resize(block.len(), 0.0);
        b.0.read_f64(b.1, first, &mut other)?;
        for (a, b) in block.iter().zip(&other) {
            if a == b || a.is_nan() && b.is_nan() {
                continue;
            }
            difference.different += 1;
            let distance = (a - b).abs();
            if distance.is_finite() {
                difference.largest = difference.largest.max(distance);
                difference.relative = difference.relative.max(distance / a.abs().max(b.abs()));
                sum += distance;
            } else {
                difference.incomparable += 1;
            }
        }
        Ok::<_, Error>(())
    })?;
    let compared = difference.count - difference.incomparable;
    difference.mean = if compared > 0 { sum / compared as f64 } else { 0.0 };
    Ok(difference)
}

fn print(found: &ModelDifferences, options: &Options) {
    for (path, layers) in [(&options.a, &found.only_in_a), (&options.b, &found.only_in_b)] {
        layers.iter().for_each(|layer| say::line(format_args!("{layer}: only in {}", path.display())));
    }
    for Change { layer, what, a, b } in &found.layers {
        say::line(format_args!("{layer}: {what} {a} -> {b}"));
    }
    for Difference { layer, blob, count, different, largest, mean, relative, incomparable } in &found.values {
        let beside = if *incomparable > 0 { format!(", {incomparable} not comparable") } else { String::new() };
        say::line(format_args!(
            "{layer}: blob {blob}: {different} of {count} values differ, largest {largest:.6e} (relative \
             {relative:.1e}), mean {mean:.6e}{beside}"
        ));
    }
    say::line(format_args!("the same: {}, different: {}", arrays::counted(found.same), found.values.len()));
}
