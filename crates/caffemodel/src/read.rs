//! Reading of values into the caller's memory.

use crate::blob::{Array, Stored};
use crate::chunks::{Chunks, Run};
use crate::element::Element;
use crate::error::Error;
use crate::model::{At, Model};
use crate::varints::Varints;
use crate::wire::Scanner;

/// Bytes of the buffer for values that are converted or have tags between them.
const BUFFER: usize = 16 << 10;

impl Model {
    /// Fills `into` with the values from number `first` on in the stored type: little-endian, packed.
    ///
    /// # Errors
    /// `Argument`: `into` is no whole number of values, or more than there are. `Io`: reading failed, or the file was cut since it
    /// was opened. Those of [`Model::array`].
    #[inline(never)]
    pub fn read_bytes(&self, at: At, first: u64, into: &mut [u8]) -> Result<(), Error> {
        let array = self.array(at)?;
        let size = array.element.size();
        if into.len() % size != 0 {
            let length = into.len();
            return Err(self.refuse(
                at,
                format_args!("a buffer of {length} bytes is no whole number of values of {size} bytes"),
                "pass one of a multiple of that size",
            ));
        }
        self.check_range(at, array, first, into.len() / size)?;
        self.stored(at, array, first, into)
    }

    /// Fills `into` with floats: doubles and large integers are rounded.
    ///
    /// # Errors
    /// Those of [`Model::read_bytes`].
    #[inline(never)]
    pub fn read_f32(&self, at: At, first: u64, into: &mut [f32]) -> Result<(), Error> {
        self.read_as(at, first, into, Element::F32, |value| value as f32)
    }

    /// Fills `into` with doubles: exact for all values but integers beyond 2^53.
    ///
    /// # Errors
    /// Those of [`Model::read_bytes`].
    #[inline(never)]
    pub fn read_f64(&self, at: At, first: u64, into: &mut [f64]) -> Result<(), Error> {
        self.read_as(at, first, into, Element::F64, |value| value)
    }

    /// Fills `into`, whose type is `own`.
    fn read_as<T: bytemuck::Pod>(
        &self,
        at: At,
        first: u64,
        into: &mut [T],
        own: Element,
        convert: impl Fn(f64) -> T,
    ) -> Result<(), Error> {
        let array = self.array(at)?;
        self.check_range(at, array, first, into.len())?;
        if let (true, Stored::Runs(_)) = (array.element == own, &array.stored) {
            return self.stored(at, array, first, bytemuck::cast_slice_mut(into));
        }
        let (element, mut first, mut buffer) = (array.element, first, [0; BUFFER]);
        for part in into.chunks_mut(BUFFER / element.size()) {
            let bytes = &mut buffer[..part.len() * element.size()];
            self.stored(at, array, first, bytes)?;
            for (into, value) in part.iter_mut().zip(bytes.chunks_exact(element.size())) {
                *into = convert(element.value(value));
            }
            first += part.len() as u64;
        }
        Ok(())
    }

    fn check_range(&self, at: At, array: &Array, first: u64, length: usize) -> Result<(), Error> {
        let count = array.count();
        if first.checked_add(length as u64).is_some_and(|end| end <= count) {
            return Ok(());
        }
        Err(self.refuse(
            at,
            format_args!("{length} values from number {first} on were asked for, and it has {count}"),
            "ask for fewer",
        ))
    }

    /// Fills `into` with values of the array's type. The caller has checked the range.
    fn stored(&self, at: At, array: &Array, first: u64, into: &mut [u8]) -> Result<(), Error> {
        let size = array.element.size();
        let read = match &array.stored {
            Stored::Runs(chunks) => self.runs(chunks, size, first, into),
            Stored::Floats(chunks) => self.widened(chunks, first, into),
            Stored::Varints(varints) => self.ints(&varints[0], array.element, first, into),
            Stored::Constant { value, .. } => {
                into.chunks_exact_mut(size).for_each(|into| into.copy_from_slice(&value[..size]));
                Ok(())
            }
        };
        read.map_err(|error| self.place(error, at))
    }

    fn runs(&self, chunks: &Chunks, size: usize, mut first: u64, mut into: &mut [u8]) -> Result<(), Error> {
        while let Some(run) = chunks.run(first, (into.len() / size) as u64).filter(|run| run.count > 0) {
            // The run is no longer than `into`.
            let (now, rest) = into.split_at_mut(run.count as usize * size);
            if run.step == size as u64 {
                self.source.read(now, run.at)?;
            } else {
                self.gather(run, size, now)?;
            }
            first += run.count;
            into = rest;
        }
        Ok(())
    }

    fn widened(&self, chunks: &Chunks, mut first: u64, into: &mut [u8]) -> Result<(), Error> {
        let mut buffer = [0; BUFFER];
        for part in into.chunks_mut(2 * BUFFER) {
            let floats = &mut buffer[..part.len() / 2];
            self.runs(chunks, 4, first, floats)?;
            for (into, float) in part.chunks_exact_mut(8).zip(floats.chunks_exact(4)) {
                let float = f32::from_le_bytes([float[0], float[1], float[2], float[3]]);
                into.copy_from_slice(&f64::from(float).to_le_bytes());
            }
            first += (part.len() / 8) as u64;
        }
        Ok(())
    }

    fn ints(&self, varints: &Varints, element: Element, first: u64, into: &mut [u8]) -> Result<(), Error> {
        let (mut number, size) = (first, element.size());
        let mut rest = into.chunks_exact_mut(size);
        let end = first + rest.len() as u64;
        varints.read(&mut Scanner::new(&self.source), first..end, |value| {
            let Some(bytes) = element.of_int(value as i64) else {
                return Err(Error::format(
                    self.source.name(),
                    format_args!("value {number} is {}, which is no {element}", value as i64),
                    "Caffe2 refuses it too: save the net anew",
                ));
            };
            if let Some(into) = rest.next() {
                into.copy_from_slice(&bytes[..size]);
            }
            number += 1;
            Ok(())
        })
    }

    /// Reads values with tags between them.
    fn gather(&self, run: Run, size: usize, into: &mut [u8]) -> Result<(), Error> {
        let mut buffer = [0; BUFFER];
        // A step is a value and its tag of at most ten bytes.
        let step = run.step as usize;
        let at_once = (BUFFER - size) / step + 1;
        let mut at = run.at;
        for part in into.chunks_mut(at_once * size) {
            let values = part.len() / size;
            let spread = &mut buffer[..(values - 1) * step + size];
            self.source.read(spread, at)?;
            for (value, from) in part.chunks_exact_mut(size).zip(spread.chunks(step)) {
                value.copy_from_slice(&from[..size]);
            }
            at += values as u64 * run.step;
        }
        Ok(())
    }
}
