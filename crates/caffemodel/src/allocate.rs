//! The allocations of reading, which return an error if there is no memory.

use std::fmt::{self, Display, Write};

/// No memory was there for so many bytes.
#[derive(Debug)]
pub(crate) struct NoMemory(pub usize);

/// Reserves memory for one more item.
pub(crate) fn reserve_one<T>(items: &mut Vec<T>) -> Result<(), NoMemory> {
    items.try_reserve(1).map_err(|_| NoMemory(size_of::<T>()))
}

/// A vector of one item.
pub(crate) fn one<T>(item: T) -> Result<Vec<T>, NoMemory> {
    let mut one = Vec::new();
    one.try_reserve_exact(1).map_err(|_| NoMemory(size_of::<T>()))?;
    one.push(item);
    Ok(one)
}

/// A boxed array, because a full vector becomes one without another allocation.
pub(crate) fn boxed<T>(item: T) -> Result<Box<[T; 1]>, NoMemory> {
    one(item)?.try_into().map_err(|_| NoMemory(size_of::<T>()))
}

pub(crate) fn copy(items: &[i64]) -> Result<Vec<i64>, NoMemory> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(items.len()).map_err(|_| NoMemory(size_of_val(items)))?;
    copy.extend_from_slice(items);
    Ok(copy)
}

pub(crate) fn zeros(length: usize) -> Result<Vec<u8>, NoMemory> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(length).map_err(|_| NoMemory(length))?;
    zeros.resize(length, 0);
    Ok(zeros)
}

pub(crate) fn text(words: &dyn Display) -> Result<String, NoMemory> {
    let mut text = Growing { text: String::new(), refused: 0 };
    match write!(text, "{words}") {
        Ok(()) => Ok(text.text),
        Err(_) => Err(NoMemory(text.refused)),
    }
}

/// Percent-encodes bytes that are no UTF-8, NULs, and each `%` before two hexadecimal digits.
pub(crate) fn escaped(bytes: Vec<u8>) -> Result<String, NoMemory> {
    let mut length = Length(0);
    // Writing to a `Length` cannot fail.
    let _ = write!(length, "{}", Escaped(&bytes));
    if length.0 == bytes.len() {
        // No byte is escaped, so all of it is UTF-8.
        return Ok(String::from_utf8(bytes).unwrap_or_default());
    }
    let mut exact = Growing { text: String::new(), refused: 0 };
    exact.text.try_reserve_exact(length.0).map_err(|_| NoMemory(length.0))?;
    match write!(exact, "{}", Escaped(&bytes)) {
        Ok(()) => Ok(exact.text),
        Err(_) => Err(NoMemory(exact.refused)),
    }
}

struct Escaped<'b>(&'b [u8]);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            let mut rest = chunk.valid();
            while let Some(at) = (0..rest.len()).find(|at| is_escaped(&rest.as_bytes()[*at..])) {
                write!(f, "{}%{:02X}", &rest[..at], rest.as_bytes()[at])?;
                rest = &rest[at + 1..];
            }
            f.write_str(rest)?;
            chunk.invalid().iter().try_for_each(|byte| write!(f, "%{byte:02X}"))?;
        }
        Ok(())
    }
}

fn is_escaped(valid: &[u8]) -> bool {
    matches!(valid, [0, ..]) || matches!(valid, [b'%', a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
}

struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.0 += more.len();
        Ok(())
    }
}

struct Growing {
    text: String,
    /// Bytes for which there was no memory.
    refused: usize,
}

impl Write for Growing {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.text.try_reserve(more.len()).is_err() {
            self.refused = more.len();
            return Err(fmt::Error);
        }
        self.text.push_str(more);
        Ok(())
    }
}
