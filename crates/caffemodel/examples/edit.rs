//! Writes model files with other values, as lines on standard input say, for `oracle/writes.py`.
//!
//! `F old new`, then any of `R layer blob data|diff type values` (values in hexadecimal), `S layer blob dims` (with commas) and
//! `X layer blob` (without its diff), then `W`, which prints `ok` or the sentence of the error.

use std::io::{self, BufRead};

use caffemodel::{At, Edit, Element, Model, Part, Values};

/// The changes of one file, in words.
type Changes = Vec<Vec<String>>;

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2).map(|digits| std::str::from_utf8(digits).ok());
    digits.map(|digits| u8::from_str_radix(digits?, 16).ok()).collect()
}

fn apply<'c>(edit: &mut Edit<'c>, change: &[String], values: &'c [u8]) -> Option<()> {
    let (layer, blob) = (change.get(1)?.parse().ok()?, change.get(2)?.parse().ok()?);
    match (change[0].as_str(), &change[3..]) {
        ("R", [part, element, ..]) => {
            let part = if part == "data" { Part::Data } else { Part::Diff };
            let element =
                [Element::F64, Element::F32, Element::F16].into_iter().find(|of| format!("{of:?}") == *element)?;
            let count = values.len() / element.size();
            edit.replace(At { layer, blob, part }, Values::new(element, count as u64, values).stored_as(element));
        }
        ("S", [dims]) => {
            let dims: Option<Vec<i64>> =
                dims.split(',').filter(|dim| !dim.is_empty()).map(|dim| dim.parse().ok()).collect();
            edit.reshape(layer, blob, &dims?);
        }
        _ => drop(edit.remove_diff(layer, blob)),
    }
    Some(())
}

fn write(changes: &Changes) -> Result<(), String> {
    let [_, old, new] = &changes[0][..] else { return Err("no file is named".into()) };
    let model = Model::open(old).map_err(|error| error.to_string())?;
    let values: Vec<_> =
        changes.iter().map(|change| change.get(5).and_then(|text| bytes(text)).unwrap_or_default()).collect();
    let mut edit = Edit::of(&model);
    for (change, values) in changes.iter().zip(&values).skip(1) {
        apply(&mut edit, change, values).ok_or_else(|| format!("{change:?} is not understood"))?;
    }
    edit.write_to(new).map_err(|error| error.to_string())
}

fn main() {
    let mut changes = Changes::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match line.as_str() {
            "W" => match write(&std::mem::take(&mut changes)) {
                Ok(()) => println!("ok"),
                Err(sentence) => println!("{sentence}"),
            },
            line => changes.push(line.split(' ').map(String::from).collect()),
        }
    }
}
