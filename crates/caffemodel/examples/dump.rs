//! Prints all that is read from model files, in lines for `oracle/checks.py`.
//!
//! `F path`, then `E sentence`, or: `K kind name`, `S iter step net` for a solver state, `L type name` for a layer, and for a blob
//! `B shape`, then `D type values` and perhaps `G type values` (its diff), or `P sentence`; for each text of a tensor `T text`. Names,
//! values and texts are in hexadecimal.

use std::fmt::Write as _;

use caffemodel::{At, Error, Model};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::from("x"), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn values(model: &Model, at: At) -> Result<String, Error> {
    let array = model.array(at)?;
    let mut bytes = vec![0; usize::try_from(array.bytes()).unwrap_or(usize::MAX)];
    model.read_bytes(at, 0, &mut bytes)?;
    Ok(format!("{:?} {}", array.element(), hex(&bytes)))
}

fn dump(path: &str) -> Result<(), Error> {
    let model = Model::open(path)?;
    println!("K {:?} {}", model.kind(), hex(model.name().as_bytes()));
    if let Some(state) = model.state() {
        println!("S {} {} {}", state.iter, state.current_step, hex(state.learned_net.as_bytes()));
    }
    for (index, layer) in model.layers().iter().enumerate() {
        println!("L {} {}", hex(layer.type_name().as_bytes()), hex(layer.name().as_bytes()));
        for text in 0..layer.texts().map_or(0, |texts| texts.count()) {
            println!("T {}", hex(&model.text(index, text)?));
        }
        for (number, blob) in layer.blobs().iter().enumerate() {
            println!("B {:?}", blob.shape());
            match values(&model, At::data(index, number)) {
                Ok(data) => println!("D {data}"),
                Err(error) => println!("P {error}"),
            }
            if let Ok(diff) = values(&model, At::diff(index, number)) {
                println!("G {diff}");
            }
        }
    }
    Ok(())
}

fn main() {
    for path in std::env::args().skip(1) {
        println!("F {path}");
        if let Err(error) = dump(&path) {
            println!("E {error}");
        }
    }
}
