//! The values of arrays, block by block.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use caffemodel::{At, Error, Model};
use serde::Serialize;

use super::given::Given;

const BLOCK: usize = 1 << 16;

/// Calls `each` with the number of a block's first value, and the block.
pub fn read<E: From<Error>>(
    model: &Model,
    at: At,
    mut each: impl FnMut(u64, &[f64]) -> Result<(), E>,
) -> Result<(), E> {
    let array = model.array(at)?;
    let count = array.count();
    let mut block = vec![0.0; BLOCK.min(usize::try_from(count).unwrap_or(BLOCK))];
    let mut first = 0;
    while first < count {
        let length = (count - first).min(BLOCK as u64);
        let block = &mut block[..length as usize];
        model.read_f64(at, first, block)?;
        each(first, block)?;
        first += length;
    }
    Ok(())
}

/// Transposes a matrix with this many columns of values of `size` bytes.
pub fn transposed(matrix: &[u8], columns: usize, size: usize) -> Vec<u8> {
    let mut swapped = Vec::with_capacity(matrix.len());
    for column in 0..columns {
        let values = matrix.chunks_exact(columns * size).map(|row| &row[column * size..][..size]);
        values.for_each(|value| swapped.extend_from_slice(value));
    }
    swapped
}

/// The range of the finite values.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ValueRange {
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub nan: u64,
    pub infinite: u64,
    /// Number of the first value that is not finite.
    #[serde(skip)]
    pub first: Option<u64>,
}

impl ValueRange {
    pub fn in_array(model: &Model, at: At) -> Result<Self, Error> {
        let mut found = Self::default();
        read(model, at, |first, block| {
            found.add(first, block.iter().copied());
            Ok::<_, Error>(())
        })?;
        Ok(found)
    }

    /// `None` if values of this type are not read.
    pub fn in_given(given: &Given, file: &Arc<File>) -> io::Result<Option<Self>> {
        let (Some(element), Some(count)) = (given.of.element(), given.count()) else { return Ok(None) };
        let (mut found, mut values, mut first) = (Self::default(), given.read(file)?, 0);
        let mut block = vec![0; BLOCK * element.size()];
        while first < count {
            let bytes = &mut block[..(count - first).min(BLOCK as u64) as usize * element.size()];
            values.read_exact(bytes)?;
            found.add(first, bytes.chunks_exact(element.size()).map(|value| element.value(value)));
            first += BLOCK as u64;
        }
        Ok(Some(found))
    }

    fn add(&mut self, first: u64, values: impl Iterator<Item = f64>) {
        let (mut min, mut max) = (self.min.unwrap_or(f64::INFINITY), self.max.unwrap_or(f64::NEG_INFINITY));
        for (index, value) in (first..).zip(values) {
            if value.is_finite() {
                (min, max) = (min.min(value), max.max(value));
            } else {
                self.first.get_or_insert(index);
                *(if value.is_nan() { &mut self.nan } else { &mut self.infinite }) += 1;
            }
        }
        if min <= max {
            (self.min, self.max) = (Some(min), Some(max));
        }
    }
}
