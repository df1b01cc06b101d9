//! The values of arrays, block by block.

use caffemodel::{At, Error, Model};
use indicatif::ProgressBar;
use serde::Serialize;

const BLOCK: usize = 1 << 16;

/// `each` gets the number of a block's first value, and the block.
pub fn read(model: &Model, at: At, bar: &ProgressBar, mut each: impl FnMut(u64, &[f64])) -> Result<(), Error> {
    let array = model.array(at)?;
    let (count, size) = (array.count(), array.element().size() as u64);
    let mut block = vec![0.0; BLOCK.min(usize::try_from(count).unwrap_or(BLOCK))];
    let mut first = 0;
    while first < count {
        let length = (count - first).min(BLOCK as u64);
        let block = &mut block[..length as usize];
        model.read_f64(at, first, block)?;
        each(first, block);
        bar.inc(length * size);
        first += length;
    }
    Ok(())
}

/// The range of the finite values.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Found {
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub nan: u64,
    pub infinite: u64,
    /// Number of the first value that is not finite.
    #[serde(skip)]
    pub first: Option<u64>,
}

impl Found {
    pub fn in_array(model: &Model, at: At, bar: &ProgressBar) -> Result<Self, Error> {
        let mut found = Self::default();
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        read(model, at, bar, |first, block| {
            for (index, value) in (first..).zip(block) {
                if value.is_finite() {
                    (min, max) = (min.min(*value), max.max(*value));
                } else {
                    found.first.get_or_insert(index);
                    *(if value.is_nan() { &mut found.nan } else { &mut found.infinite }) += 1;
                }
            }
        })?;
        if min <= max {
            (found.min, found.max) = (Some(min), Some(max));
        }
        Ok(found)
    }
}
