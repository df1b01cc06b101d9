//! New values of an array.

use std::fmt;
use std::io::{self, Read};

use crate::element::Element;
use crate::error::Error;
use crate::half;

/// New values of an array.
///
/// Unless [`Values::stored_as`] says otherwise, they are stored as those that they replace: widened where needed, never
/// rounded.
pub struct Values<'v> {
    pub(crate) element: Element,
    pub(crate) count: u64,
    pub(crate) wanted: Option<Element>,
    from: Box<dyn Read + 'v>,
}

impl<'v> Values<'v> {
    /// The caller's floats.
    pub fn f32(values: &'v [f32]) -> Self {
        Self::new(Element::F32, values.len() as u64, Native::<4>(bytemuck::cast_slice(values)))
    }

    /// The caller's doubles.
    pub fn f64(values: &'v [f64]) -> Self {
        Self::new(Element::F64, values.len() as u64, Native::<8>(bytemuck::cast_slice(values)))
    }

    /// `count` values, little-endian and packed, read when the file is written.
    pub fn new(element: Element, count: u64, from: impl Read + 'v) -> Self {
        Self { element, count, wanted: None, from: Box::new(from) }
    }

    /// Halves can be stored only in place of halves.
    #[must_use]
    pub fn stored_as(mut self, element: Element) -> Self {
        self.wanted = Some(element);
        self
    }

    /// Calls `put` with blocks of the values as `element`.
    pub(crate) fn write(
        mut self,
        element: Element,
        block: &mut [u8],
        put: &mut impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Failed> {
        let (from_size, to_size) = (self.element.size(), element.size());
        // Values are read to the block's end and widened to its beginning: each is overwritten after it was widened.
        let at_once = block.len() / to_size;
        let mut left = self.count;
        while left > 0 {
            let now = left.min(at_once as u64) as usize;
            let start = (to_size - from_size) * now;
            self.from.read_exact(&mut block[start..start + now * from_size]).map_err(Failed::Read)?;
            if self.element != element {
                (0..now).for_each(|number| self.widen(block, start + number * from_size, element, number * to_size));
            }
            put(&block[..now * to_size]).map_err(Failed::Write)?;
            left -= now as u64;
        }
        Ok(())
    }

    fn widen(&self, block: &mut [u8], from: usize, element: Element, to: usize) {
        let value = match self.element {
            Element::F16 => half::to_f32(u16::from_le_bytes([block[from], block[from + 1]])),
            _ => f32::from_le_bytes([block[from], block[from + 1], block[from + 2], block[from + 3]]),
        };
        match element {
            Element::F64 => block[to..to + 8].copy_from_slice(&f64::from(value).to_le_bytes()),
            _ => block[to..to + 4].copy_from_slice(&value.to_le_bytes()),
        }
    }
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{} values of {:?}", self.count, self.element)
    }
}

pub(crate) enum Failed {
    Read(io::Error),
    Write(Error),
}

/// Values of the machine's byte order as little-endian bytes.
struct Native<'v, const SIZE: usize>(&'v [u8]);

impl<const SIZE: usize> Read for Native<'_, SIZE> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(into)?;
        if cfg!(target_endian = "big") {
            // Whole values are asked for.
            into[..read].chunks_exact_mut(SIZE).for_each(<[u8]>::reverse);
        }
        Ok(read)
    }
}
