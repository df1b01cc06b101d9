//! Reading of values into objects.
#![expect(unsafe_code, reason = "an object's host side is filled")]

use std::fmt;

use caffemodel::{At, Element};

use super::{Failure, Model};
use crate::object::SyncedMemory;
use crate::object::element::ElementType;
use crate::platform::cancel_guard::CancelGuard;

/// The number of values that are converted in one call.
const AT_ONCE: usize = 512;

pub fn element_type(element: Element) -> ElementType {
    match element {
        Element::F64 => ElementType::Float64,
        Element::F32 => ElementType::Float32,
        Element::F16 => ElementType::Float16,
        Element::I64 => ElementType::Int64,
        Element::I32 => ElementType::Int32,
        Element::I16 => ElementType::Int16,
        Element::I8 => ElementType::Int8,
        Element::U16 => ElementType::UInt16,
        Element::U8 => ElementType::UInt8,
        Element::Bool => ElementType::Bool,
    }
}

impl Model {
    /// Reads an array into the host side, which is then the newest: as stored, as floats (doubles are rounded) or as doubles. The
    /// rest of a larger object stays.
    ///
    /// # Safety
    /// No other thread uses the object's host side during the call.
    pub unsafe fn read(&self, at: At, of: ElementType, into: &SyncedMemory) -> Result<(), Failure> {
        let _guard = CancelGuard::begin();
        let array = self.file.array(at)?;
        let (count, stored) = (array.count(), array.element());
        let refuse = |what: fmt::Arguments, advice| Failure::from(self.file.refuse(at, what, advice));
        let is_stored_type = of == element_type(stored);
        if !is_stored_type && !matches!(of, ElementType::Float32 | ElementType::Float64) {
            return Err(refuse(
                format_args!("its values are {}, which are not read as {}", element_type(stored).name(), of.name()),
                "ask for float32, float64 or the type that they are stored in",
            ));
        }
        let (size, needed) = (into.size()?, count.saturating_mul(of.bytes() as u64));
        if needed > size as u64 {
            return Err(refuse(
                format_args!("its {count} values of {} need {needed} bytes, and the object has {size}", of.name()),
                "pass an object of at least that size",
            ));
        }
        self.check_end(at, stored, count)?;
        // SAFETY: the caller of `read` lets no other thread use the host side.
        unsafe {
            into.fill(needed as usize, |bytes| match of {
                _ if is_stored_type => Ok(self.file.read_bytes(at, 0, bytes)?),
                ElementType::Float32 => {
                    converted(bytes, |first, part| self.file.read_f32(at, first, part), f32::to_ne_bytes)
                }
                _ => converted(bytes, |first, part| self.file.read_f64(at, first, part), f64::to_ne_bytes),
            })
        }
    }

    /// Reads the last value, so that a file that was cut since it was opened is found before anything is overwritten.
    fn check_end(&self, at: At, stored: Element, count: u64) -> Result<(), Failure> {
        let mut last = [0; 8];
        match count.checked_sub(1) {
            Some(number) => Ok(self.file.read_bytes(at, number, &mut last[..stored.size()])?),
            None => Ok(()),
        }
    }
}

/// Fills `bytes` with converted values, in pieces through an aligned buffer, because the caller's memory may be misaligned.
fn converted<T: Copy + Default, const SIZE: usize>(
    bytes: &mut [u8],
    read: impl Fn(u64, &mut [T]) -> Result<(), caffemodel::Error>,
    to_bytes: impl Fn(T) -> [u8; SIZE],
) -> Result<(), Failure> {
    let mut values = [T::default(); AT_ONCE];
    for (number, part) in bytes.chunks_mut(AT_ONCE * SIZE).enumerate() {
        let values = &mut values[..part.len() / SIZE];
        read((number * AT_ONCE) as u64, values)?;
        for (into, value) in part.chunks_exact_mut(SIZE).zip(values) {
            into.copy_from_slice(&to_bytes(*value));
        }
    }
    Ok(())
}
