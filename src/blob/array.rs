//! One array of a blob, copied and computed on the side that is current.
#![expect(unsafe_code, reason = "elements are read and written in memory of objects")]

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::{Access, Head, Side};

use super::device::{self, Math, Ready};
use super::error::Error;
use super::math;
use super::math::{Term, Values};
use crate::cuda;
use crate::object::element::ElementType;
use crate::object::owner::Shared;

/// The first `count` elements of a memory. Invariant: the memory has at least that many.
#[derive(Clone, Copy, Debug)]
pub struct Array<'b> {
    pub element: ElementType,
    pub count: usize,
    pub memory: &'b Shared,
}

/// The side to work on; `None` if the memory was never touched.
///
/// Compat: SYNCED means the device, where there is one.
fn side(memory: &Shared) -> Result<Option<Side>, Error> {
    Ok(match memory.head()? {
        Head::Uninitialized => None,
        Head::AtCpu => Some(Side::Host),
        Head::AtGpu => Some(Side::Device),
        Head::Synced if cuda::driver().is_ok() => Some(Side::Device),
        Head::Synced => Some(Side::Host),
    })
}

impl Array<'_> {
    /// Copies on the side where `from` is current.
    // Unlike Caffe: Caffe chooses the side by its mode, so data may cross the bus.
    pub fn copy_from(self, from: Array<'_>) -> Result<(), Error> {
        if self.memory == from.memory {
            return Ok(());
        }
        let Some(side) = side(from.memory)? else { return self.zero() };
        let source = Ready::new(from.memory, Access::Read, side)?;
        let target = Ready::new(self.memory, self.renewal()?, side)?;
        match side {
            // SAFETY: by the invariant of `Array` both memories have that many bytes.
            Side::Device => unsafe { device::copy(&target, &source, self.bytes()) },
            Side::Host => {
                let (target, source) = (target.address.cast::<u8>(), source.address.cast::<u8>());
                // SAFETY: by the invariant of `Array` both have that many bytes; `copy_from` allows them to overlap.
                unsafe { target.copy_from(source, self.bytes()) };
                Ok(())
            }
        }
    }

    /// Compat: a copy of an untouched source writes zeros.
    fn zero(self) -> Result<(), Error> {
        if side(self.memory)?.is_none() {
            return Ok(());
        }
        let target = Ready::new(self.memory, self.renewal()?, Side::Host)?;
        // SAFETY: by the invariant of `Array` the memory has that many bytes.
        unsafe { target.address.cast::<u8>().write_bytes(0, self.bytes()) };
        Ok(())
    }

    pub fn subtract(self, diff: Array<'_>) -> Result<(), Error> {
        let Some(side) = self.side()? else {
            return if side(self.memory)?.is_some() { Ok(()) } else { Err(Error::Untouched) };
        };
        if let Some(math) = self.math_at(side)? {
            self.check_one_device(diff)?;
            let from = Ready::new(diff.memory, Access::Read, side)?;
            let own = Ready::new(self.memory, Access::Write, side)?;
            // SAFETY: by the invariant of `Array` both have the elements of `math`.
            return unsafe { math.subtract(&own, &from) };
        }
        let from = Ready::new(diff.memory, Access::Read, Side::Host)?;
        let own = Ready::new(self.memory, Access::Write, Side::Host)?;
        math::subtract(self.values(&own)?, diff.values(&from)?);
        Ok(())
    }

    pub fn sum(self, term: Term) -> Result<f64, Error> {
        let Some(side) = self.side()? else { return Ok(0.0) };
        if let Some(math) = self.math_at(side)? {
            let own = Ready::new(self.memory, Access::Read, side)?;
            // SAFETY: by the invariant of `Array` the memory has the elements of `math`.
            return unsafe { math.sum(&own, term) };
        }
        let own = Ready::new(self.memory, Access::Read, Side::Host)?;
        Ok(math::sum(self.values(&own)?, term))
    }

    pub fn scale(self, factor: f64) -> Result<(), Error> {
        let Some(side) = self.side()? else { return Ok(()) };
        if let Some(math) = self.math_at(side)? {
            let own = Ready::new(self.memory, Access::Write, side)?;
            // SAFETY: by the invariant of `Array` the memory has the elements of `math`.
            return unsafe { math.scale(&own, factor) };
        }
        let own = Ready::new(self.memory, Access::Write, Side::Host)?;
        math::scale(self.values(&own)?, factor);
        Ok(())
    }

    fn side(self) -> Result<Option<Side>, Error> {
        if self.count == 0 { Ok(None) } else { side(self.memory) }
    }

    /// A kernel cannot read another device's memory.
    fn check_one_device(self, other: Array<'_>) -> Result<(), Error> {
        match (self.memory.device_ordinal()?, other.memory.device_ordinal()?) {
            (Some(own), Some(other)) if own != other => Err(Error::TwoDevices { own, other }),
            _ => Ok(()),
        }
    }

    /// `None` if the host computes.
    fn math_at(self, side: Side) -> Result<Option<Math<'static>>, Error> {
        if side == Side::Host {
            return Ok(None);
        }
        // An access for reading: the head stays if the host computes.
        let own = Ready::new(self.memory, Access::Read, side)?;
        Math::begin(&own, self.element, self.count)
    }

    fn bytes(self) -> usize {
        self.count * self.element.bytes()
    }

    /// The access that replaces all elements of the array, and keeps those of the memory beyond them.
    fn renewal(self) -> Result<Access, Error> {
        Ok(if self.memory.size()? == self.bytes() { Access::Overwrite } else { Access::Write })
    }

    fn values<'a>(self, ready: &'a Ready<'_>) -> Result<Values<'a>, Error> {
        let first = NonNull::new(ready.address).filter(|_| self.count > 0);
        if first.is_some_and(|first| first.addr().get() % self.element.bytes() != 0) {
            return Err(Error::Misaligned { bytes: self.element.bytes() });
        }
        match self.element {
            // SAFETY: by the invariant of `Array` the memory has that many elements; they are aligned as just checked.
            ElementType::Float32 => Ok(Values::Float32(unsafe { cells(first, self.count) })),
            // SAFETY: by the invariant of `Array` the memory has that many elements; they are aligned as just checked.
            ElementType::Float64 => Ok(Values::Float64(unsafe { cells(first, self.count) })),
            other => Err(Error::NoMath(other)),
        }
    }
}

/// `Cell`s, because data and diff may be the same memory of a caller.
///
/// # Safety
/// At `first` are `count` aligned values, which stay for `'a`.
unsafe fn cells<'a, T>(first: Option<NonNull<c_void>>, count: usize) -> &'a [Cell<T>] {
    match first {
        // SAFETY: the caller of `cells` passes the address of `count` aligned values.
        Some(first) => unsafe { std::slice::from_raw_parts(first.as_ptr().cast(), count) },
        None => &[],
    }
}

/// Writes `dims` to a memory of their size.
pub fn fill(memory: &Shared, dims: &[i32]) -> Result<(), Error> {
    let ready = Ready::new(memory, Access::Overwrite, Side::Host)?;
    // SAFETY: `Blob::gpu_shape`, the one caller, made the memory with the size of `dims`.
    unsafe { ready.address.cast::<u8>().copy_from(dims.as_ptr().cast(), size_of_val(dims)) };
    Ok(())
}
