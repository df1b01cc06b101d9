//! Protobuf's wire format.
//!
//! The scanner reads a small window of the file, and skips values without reading them.

use std::fmt::Display;
use std::ops::Range;

use crate::allocate;
use crate::error::{Error, ErrorKind};
use crate::source::Source;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Varint,
    Fixed64,
    Bytes,
    GroupStart,
    GroupEnd,
    Fixed32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub number: u32,
    pub wire: Wire,
    /// Offset of the tag.
    pub at: u64,
}

/// Bytes of the window after a jump, when little may be needed.
const WINDOW_AFTER_JUMP: u64 = 4 << 10;
const WINDOW: u64 = 64 << 10;

/// The most nested groups, as in protobuf.
const DEEPEST_GROUP: usize = 100;

/// Bytes that a scan may allocate beyond the file's size.
const ALLOWANCE: u64 = 4 << 20;
/// The most bytes of the file's size that count, because a sparse file may have any size.
const MOST_BY_SIZE: u64 = 256 << 20;
/// Bytes charged for each byte of a growing vector: it has up to twice its contents, and twice that while it moves.
const GROWTH: u64 = 4;

const DAMAGED: &str = "the file is damaged or is no Caffe file: fetch or copy it again";

pub(crate) struct Scanner<'s> {
    source: &'s Source,
    window: Vec<u8>,
    window_at: u64,
    pub position: u64,
    /// Bytes left to allocate.
    budget: u64,
}

impl<'s> Scanner<'s> {
    pub fn new(source: &'s Source) -> Self {
        let budget = source.length().min(MOST_BY_SIZE) + ALLOWANCE;
        Self { source, window: Vec::new(), window_at: 0, position: 0, budget }
    }

    pub fn format(&self, what: impl Display, offset: u64) -> Error {
        Error::format(self.source.name(), what, DAMAGED).at(offset)
    }

    /// Charges items of a growing vector to the budget.
    pub fn charge<T>(&mut self, number: usize) -> Result<(), Error> {
        self.charge_bytes(number as u64 * size_of::<T>() as u64 * GROWTH)
    }

    /// Reserves memory for one more item, within the budget.
    pub fn reserve_one<T>(&mut self, items: &mut Vec<T>) -> Result<(), Error> {
        self.charge::<T>(1)?;
        Ok(allocate::reserve_one(items)?)
    }

    fn charge_bytes(&mut self, bytes: u64) -> Result<(), Error> {
        self.budget = self.budget.checked_sub(bytes).ok_or_else(|| {
            let length = self.source.length();
            Error::new(
                ErrorKind::Unsupported,
                self.source.name(),
                format_args!("a file of {length} bytes describes more layers, blobs and names than it can hold"),
                "such a file was made to exhaust memory: do not use it",
            )
            .at(self.position)
        })?;
        Ok(())
    }

    /// The next field's tag; `None` at `end`.
    pub fn field(&mut self, end: u64) -> Result<Option<Field>, Error> {
        if self.position == end {
            return Ok(None);
        }
        let at = self.position;
        let tag = self.varint(end)?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| *number != 0 && tag <= u64::from(u32::MAX));
        let wire = match tag & 7 {
            0 => Some(Wire::Varint),
            1 => Some(Wire::Fixed64),
            2 => Some(Wire::Bytes),
            3 => Some(Wire::GroupStart),
            4 => Some(Wire::GroupEnd),
            5 => Some(Wire::Fixed32),
            _ => None,
        };
        match (number, wire) {
            (Some(number), Some(wire)) => Ok(Some(Field { number, wire, at })),
            _ => Err(self.format(format_args!("{tag} is not the tag of a field"), at)),
        }
    }

    pub fn varint(&mut self, end: u64) -> Result<u64, Error> {
        let at = self.position;
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte(end, at)?;
            // Compat: bits beyond the 64th are dropped, as protobuf drops them.
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.format("a number is longer than ten bytes", at))
    }

    /// Skips a length and the value after it; returns the value's range.
    pub fn bytes(&mut self, end: u64) -> Result<Range<u64>, Error> {
        let (range, cut) = self.bytes_or_rest(end)?;
        cut.map_or(Ok(range), Err)
    }

    /// Does the same for a value that `end` may cut: the range is then the rest, and an error comes with it.
    pub fn bytes_or_rest(&mut self, end: u64) -> Result<(Range<u64>, Option<Error>), Error> {
        let at = self.position;
        let length = self.varint(end)?;
        let start = self.position;
        match self.step(length, end, at) {
            Ok(()) => Ok((start..self.position, None)),
            Err(error) => Ok((start..end, Some(error))),
        }
    }

    pub fn skip(&mut self, field: Field, end: u64) -> Result<(), Error> {
        match field.wire {
            Wire::Varint => self.varint(end).map(drop),
            Wire::Fixed64 => self.step(8, end, field.at),
            Wire::Fixed32 => self.step(4, end, field.at),
            Wire::Bytes => self.bytes(end).map(drop),
            Wire::GroupStart => self.skip_group(field, end),
            Wire::GroupEnd => {
                Err(self.format(format_args!("group {} ends, and has not begun", field.number), field.at))
            }
        }
    }

    /// Skips the next fields with the one-byte tag of `field` and a value of `size` bytes; returns their number.
    pub fn skip_alike(&mut self, field: Field, size: u64, end: u64) -> Result<u64, Error> {
        let step = self.position - field.at;
        if step != 1 + size {
            return Ok(0);
        }
        let tag = (field.number << 3) as u8 | if size == 4 { 5 } else { 1 };
        let first = self.position;
        while end - self.position >= step && self.peek()? == tag {
            self.position += step;
        }
        Ok((self.position - first) / step)
    }

    fn skip_group(&mut self, first: Field, end: u64) -> Result<(), Error> {
        let mut open = [first.number; DEEPEST_GROUP];
        let mut depth = 1;
        while depth > 0 {
            let at = self.position;
            let field = self
                .field(end)?
                .ok_or_else(|| self.format(format_args!("group {} has no end", open[depth - 1]), at))?;
            match field.wire {
                Wire::GroupStart if depth == DEEPEST_GROUP => {
                    return Err(self.format(format_args!("groups lie more than {DEEPEST_GROUP} deep"), at));
                }
                Wire::GroupStart => {
                    open[depth] = field.number;
                    depth += 1;
                }
                Wire::GroupEnd if field.number == open[depth - 1] => depth -= 1,
                Wire::GroupEnd => {
                    let (ends, inside) = (field.number, open[depth - 1]);
                    return Err(self.format(format_args!("group {ends} ends inside of group {inside}"), at));
                }
                _ => self.skip(field, end)?,
            }
        }
        Ok(())
    }

    /// Skips `length` bytes before `end`. An error names the offset `at`.
    fn step(&mut self, length: u64, end: u64, at: u64) -> Result<(), Error> {
        let left = end - self.position;
        if length > left {
            return Err(self.cut(length, left, end, at));
        }
        self.position += length;
        Ok(())
    }

    fn cut(&self, length: u64, left: u64, end: u64, at: u64) -> Error {
        if end < self.source.length() {
            return self.format(format_args!("a value of {length} bytes has {left} bytes left in its message"), at);
        }
        let missing = length - left;
        Error::format(
            self.source.name(),
            format_args!("the file ends {missing} bytes too early: {length} bytes are announced, {left} are left"),
            "it was cut off, or is no Caffe file: fetch or copy it again",
        )
        .at(at)
    }

    /// Reads a short text into `buffer`; empty if it does not fit.
    pub fn word<'b>(&self, range: Option<Range<u64>>, buffer: &'b mut [u8]) -> Result<&'b [u8], Error> {
        let fits = |range: &Range<u64>| range.end - range.start <= buffer.len() as u64;
        let range = range.filter(fits).unwrap_or(0..0);
        let word = &mut buffer[..(range.end - range.start) as usize];
        self.source.read(word, range.start)?;
        Ok(word)
    }

    pub fn fixed32(&mut self, end: u64) -> Result<u32, Error> {
        let at = self.position;
        (0..4).try_fold(0, |value, number| Ok(value | u32::from(self.byte(end, at)?) << (8 * number)))
    }

    /// Reads a text, escaped by [`allocate::escaped`].
    pub fn text(&mut self, end: u64) -> Result<String, Error> {
        let range = self.bytes(end)?;
        let length = range.end - range.start;
        // An escaped byte takes three bytes, beside the one that is read.
        self.charge_bytes(length.saturating_mul(GROWTH))?;
        let mut bytes = allocate::zeros(length as usize)?;
        self.source.read(&mut bytes, range.start)?;
        Ok(allocate::escaped(bytes)?)
    }

    fn byte(&mut self, end: u64, at: u64) -> Result<u8, Error> {
        if self.position >= end {
            return Err(self.cut(1, 0, end, at));
        }
        let byte = self.peek()?;
        self.position += 1;
        Ok(byte)
    }

    /// The byte at the position, which is before the file's end.
    fn peek(&mut self) -> Result<u8, Error> {
        if !(self.window_at..self.window_at + self.window.len() as u64).contains(&self.position) {
            self.fill()?;
        }
        Ok(self.window[(self.position - self.window_at) as usize])
    }

    fn fill(&mut self) -> Result<(), Error> {
        let skipped = self.position.checked_sub(self.window_at + self.window.len() as u64);
        let goes_on = self.position > 0 && skipped.is_some_and(|bytes| bytes < WINDOW_AFTER_JUMP);
        let wanted = if goes_on { WINDOW } else { WINDOW_AFTER_JUMP };
        let length = wanted.min(self.source.length() - self.position);
        let more = (length as usize).saturating_sub(self.window.len());
        self.window.try_reserve_exact(more).map_err(|_| allocate::NoMemory(more))?;
        self.window_at = self.position;
        self.window.resize(length as usize, 0);
        self.source.read(&mut self.window, self.position).inspect_err(|_| self.window.clear())
    }
}
