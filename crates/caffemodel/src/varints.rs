//! Integers of a repeated field. Their encodings differ in length, so marks record the place of every 4096th.

use std::ops::Range;

use crate::error::Error;
use crate::wire::{Field, Scanner, Wire};

/// Numbers from one mark to the next.
const MARK_EVERY: u64 = 4096;

#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Offset of the number, or of its tag if it is not packed.
    at: u64,
    /// End of its packed list.
    packed_end: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Varints {
    number: u32,
    count: u64,
    marks: Vec<Mark>,
    /// Offset of the message's end.
    end: u64,
}

impl Varints {
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Records the numbers of a field, and calls `each` with them.
    pub fn take(
        &mut self,
        scanner: &mut Scanner,
        field: Field,
        end: u64,
        mut each: impl FnMut(u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        (self.number, self.end) = (field.number, end);
        if field.wire == Wire::Varint {
            self.mark(scanner, Mark { at: field.at, packed_end: None })?;
            each(scanner.varint(end)?)?;
            return Ok(());
        }
        let range = scanner.bytes(end)?;
        scanner.position = range.start;
        while scanner.position < range.end {
            self.mark(scanner, Mark { at: scanner.position, packed_end: Some(range.end) })?;
            each(scanner.varint(range.end)?)?;
        }
        Ok(())
    }

    fn mark(&mut self, scanner: &mut Scanner, mark: Mark) -> Result<(), Error> {
        if self.count % MARK_EVERY == 0 {
            scanner.reserve_one(&mut self.marks)?;
            self.marks.push(mark);
        }
        self.count += 1;
        Ok(())
    }

    /// Calls `each` with the numbers of `range`, which exist.
    pub fn read(
        &self,
        scanner: &mut Scanner,
        range: Range<u64>,
        mut each: impl FnMut(u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(mark) = self.marks.get((range.start / MARK_EVERY) as usize) else { return Ok(()) };
        let mut packed_end = mark.packed_end;
        let mut index = range.start / MARK_EVERY * MARK_EVERY;
        scanner.position = mark.at;
        while index < range.end {
            let end = match packed_end {
                Some(end) if scanner.position < end => end,
                _ => {
                    packed_end = None;
                    // The field is missing only if the file was changed.
                    let field = scanner
                        .field(self.end)?
                        .ok_or_else(|| scanner.format("a list has become shorter", self.end))?;
                    match field.wire {
                        Wire::Varint if field.number == self.number => self.end,
                        Wire::Bytes if field.number == self.number => {
                            let list = scanner.bytes(self.end)?;
                            (scanner.position, packed_end) = (list.start, Some(list.end));
                            continue;
                        }
                        _ => {
                            scanner.skip(field, self.end)?;
                            continue;
                        }
                    }
                }
            };
            let value = scanner.varint(end)?;
            if index >= range.start {
                each(value)?;
            }
            index += 1;
        }
        Ok(())
    }
}
