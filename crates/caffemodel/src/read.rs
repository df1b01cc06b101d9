//! Values from the file into the caller's memory.

use crate::blob::{Array, Element};
use crate::chunks::Run;
use crate::error::Error;
use crate::half;
use crate::model::{At, Model};

/// Values that are converted or have tags between them pass through a buffer of this size.
const BUFFER: usize = 16 << 10;

impl Model {
    /// Fills `into` with values from number `first` on, as they are stored: little-endian, packed.
    ///
    /// # Errors
    /// `Argument`: `into` is no whole number of values, or reaches behind the last one. `Io`: reading failed, or the file was cut
    /// since it was opened. Those of [`Model::array`].
    pub fn read_bytes(&self, at: At, first: u64, into: &mut [u8]) -> Result<(), Error> {
        let array = self.array(at)?;
        let size = array.element.size();
        if into.len() % size != 0 {
            let what = format!("a buffer of {} bytes is no whole number of values of {size} bytes", into.len());
            return Err(self.refuse(at, what, "lend one of a multiple of that size"));
        }
        self.check_range(at, array, first, into.len() / size)?;
        self.stored(at, array, first, into)
    }

    /// Fills `into` with values from number `first` on, as floats: doubles are rounded, halves are exact.
    ///
    /// # Errors
    /// Those of [`Model::read_bytes`].
    pub fn read_f32(&self, at: At, first: u64, into: &mut [f32]) -> Result<(), Error> {
        let array = self.array(at)?;
        self.check_range(at, array, first, into.len())?;
        match array.element {
            Element::F32 => {
                self.stored(at, array, first, bytemuck::cast_slice_mut(into))?;
                // Nothing on a little-endian machine.
                into.iter_mut().for_each(|value| *value = f32::from_bits(u32::from_le(value.to_bits())));
                Ok(())
            }
            Element::F64 => self.converted(at, array, first, into, |bytes| f64::from_le_bytes(bytes) as f32),
            Element::F16 => self.converted(at, array, first, into, |bytes| half::to_f32(u16::from_le_bytes(bytes))),
        }
    }

    /// Fills `into` with values from number `first` on, as doubles: exact for every type.
    ///
    /// # Errors
    /// Those of [`Model::read_bytes`].
    pub fn read_f64(&self, at: At, first: u64, into: &mut [f64]) -> Result<(), Error> {
        let array = self.array(at)?;
        self.check_range(at, array, first, into.len())?;
        match array.element {
            Element::F64 => {
                self.stored(at, array, first, bytemuck::cast_slice_mut(into))?;
                into.iter_mut().for_each(|value| *value = f64::from_bits(u64::from_le(value.to_bits())));
                Ok(())
            }
            Element::F32 => self.converted(at, array, first, into, |bytes| f64::from(f32::from_le_bytes(bytes))),
            Element::F16 => {
                self.converted(at, array, first, into, |bytes| f64::from(half::to_f32(u16::from_le_bytes(bytes))))
            }
        }
    }

    fn check_range(&self, at: At, array: &Array, first: u64, length: usize) -> Result<(), Error> {
        let count = array.count();
        if first.checked_add(length as u64).is_some_and(|end| end <= count) {
            return Ok(());
        }
        let what = format!("{length} values from number {first} on were asked for, and it has {count}");
        Err(self.refuse(at, what, "ask for fewer"))
    }

    /// Reads whole values as they are stored; the range was checked.
    fn stored(&self, at: At, array: &Array, mut first: u64, mut into: &mut [u8]) -> Result<(), Error> {
        let size = array.element.size();
        while let Some(run) = array.chunks.run(first, (into.len() / size) as u64).filter(|run| run.count > 0) {
            // It fits `into`, whose length is a usize.
            let (now, rest) = into.split_at_mut(run.count as usize * size);
            let read =
                if run.step == size as u64 { self.source.read(now, run.at) } else { self.gather(run, size, now) };
            read.map_err(|error| self.place(error, at))?;
            first += run.count;
            into = rest;
        }
        Ok(())
    }

    /// Reads values that have tags between them.
    fn gather(&self, run: Run, size: usize, into: &mut [u8]) -> Result<(), Error> {
        let mut buffer = [0; BUFFER];
        // A step is a tag of ten bytes at most and a value.
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

    /// Reads values of `SIZE` bytes through a buffer, each converted.
    fn converted<const SIZE: usize, T>(
        &self,
        at: At,
        array: &Array,
        mut first: u64,
        into: &mut [T],
        convert: impl Fn([u8; SIZE]) -> T,
    ) -> Result<(), Error> {
        let mut buffer = [0; BUFFER];
        for part in into.chunks_mut(BUFFER / SIZE) {
            let bytes = &mut buffer[..part.len() * SIZE];
            self.stored(at, array, first, bytes)?;
            for (into, value) in part.iter_mut().zip(bytes.chunks_exact(SIZE)) {
                if let Ok(value) = value.try_into() {
                    *into = convert(value);
                }
            }
            first += part.len() as u64;
        }
        Ok(())
    }
}
