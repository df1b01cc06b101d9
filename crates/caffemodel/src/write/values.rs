use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use crate::element::Element;
use crate::error::{Error, ErrorKind};
use crate::half;

/// New values of an array. They are stored in the type of those that they replace: widened if needed, never rounded.
pub struct Values<'v> {
    pub(crate) element: Element,
    pub(crate) count: u64,
    from: Box<dyn Read + 'v>,
}

impl<'v> Values<'v> {
    /// The caller's floats.
    pub fn f32(values: &'v [f32]) -> Self {
        Self::new(Element::F32, values.len() as u64, bytemuck::cast_slice::<_, u8>(values))
    }

    /// The caller's doubles.
    pub fn f64(values: &'v [f64]) -> Self {
        Self::new(Element::F64, values.len() as u64, bytemuck::cast_slice::<_, u8>(values))
    }

    /// `count` values, little-endian and packed, read when the file is written.
    pub fn new(element: Element, count: u64, from: impl Read + 'v) -> Self {
        Self { element, count, from: Box::new(from) }
    }

    /// Fills `into` with the next values as `element`, which is exact.
    pub(crate) fn read(&mut self, element: Element, into: &mut [u8]) -> io::Result<()> {
        let (from_size, to_size) = (self.element.size(), element.size());
        let count = into.len() / to_size;
        // Values are read to the end of `into` and widened to its beginning, so each is overwritten only after it was widened.
        let start = (to_size - from_size) * count;
        self.from.read_exact(&mut into[start..])?;
        if self.element != element {
            (0..count).for_each(|number| self.widen(into, start + number * from_size, element, number * to_size));
        }
        Ok(())
    }

    /// The error for a file that was being written when the new values could not be read.
    pub(crate) fn unread(file: &Path, cause: io::Error) -> Error {
        let (what, advice) = ("new values could not be read", "a file that was there is unchanged");
        Error::new(ErrorKind::Io, file.display(), what, advice).because(cause)
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
