//! Rows about host memory.

use std::time::Instant;

use super::measure::{Once, Row};
use super::object::{Block, Object, Original, give_back};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Time to create, write and destroy a block.
fn made<B: Block>(bytes: usize) -> Once {
    Box::new(move || {
        let begun = Instant::now();
        let mut block = B::of(bytes)?;
        block.write();
        drop(block);
        Some(begun.elapsed())
    })
}

/// Time to create and write a block while no memory is kept for reuse.
fn made_fresh<B: Block>(bytes: usize) -> Once {
    Box::new(move || {
        give_back();
        let begun = Instant::now();
        let mut block = B::of(bytes)?;
        block.write();
        Some(begun.elapsed())
    })
}

fn row(bytes: usize, once: [fn(usize) -> Once; 2]) -> Row {
    let [original, library] = once.map(|make| make(bytes));
    let name = if bytes < MIB { format!("{} KiB", bytes / KIB) } else { format!("{} MiB", bytes / MIB) };
    Row { name, original: Some(original), library, bytes: None }
}

pub fn fresh() -> Vec<Row> {
    let sizes = [64 * KIB, MIB, 16 * MIB, 256 * MIB];
    sizes.map(|bytes| row(bytes, [made_fresh::<Original>, made_fresh::<Object>])).into()
}

pub fn again() -> Vec<Row> {
    let sizes = [4 * KIB, 256 * KIB, 4 * MIB, 64 * MIB];
    sizes.map(|bytes| row(bytes, [made::<Original>, made::<Object>])).into()
}

/// Sizes of all blobs of a forward pass of AlexNet with one 227 by 227 image, in floats: the data, and the blobs that
/// Caffe allocates for each layer (columns of a convolution, scales of a normalisation, positions of maxima, results).
const ALEXNET: [usize; 30] = [
    3 * 227 * 227,
    // conv1: columns, ones, result
    363 * 55 * 55,
    55 * 55,
    96 * 55 * 55,
    // norm1: result, scale
    96 * 55 * 55,
    96 * 55 * 55,
    // pool1: result, places
    96 * 27 * 27,
    96 * 27 * 27,
    // conv2
    96 * 25 * 27 * 27,
    27 * 27,
    256 * 27 * 27,
    // norm2
    256 * 27 * 27,
    256 * 27 * 27,
    // pool2
    256 * 13 * 13,
    256 * 13 * 13,
    // conv3
    256 * 9 * 13 * 13,
    13 * 13,
    384 * 13 * 13,
    // conv4
    384 * 9 * 13 * 13,
    13 * 13,
    384 * 13 * 13,
    // conv5
    384 * 9 * 13 * 13,
    13 * 13,
    256 * 13 * 13,
    // pool5
    256 * 6 * 6,
    256 * 6 * 6,
    // fc6, fc7, fc8 and prob
    4096,
    4096,
    1000,
    1000,
];

fn image<B: Block>() -> Once {
    Box::new(|| {
        let begun = Instant::now();
        let mut blobs = Vec::with_capacity(ALEXNET.len());
        for values in ALEXNET {
            let mut blob = B::of(values * size_of::<f32>())?;
            blob.write();
            blobs.push(blob);
        }
        drop(blobs);
        Some(begun.elapsed())
    })
}

pub fn network() -> Vec<Row> {
    let bytes = ALEXNET.iter().sum::<usize>() * size_of::<f32>();
    let name = format!("{} blobs of {:.0} MiB in all", ALEXNET.len(), bytes as f64 / MIB as f64);
    vec![Row { name, original: Some(image::<Original>()), library: image::<Object>(), bytes: None }]
}
