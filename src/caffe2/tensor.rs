//! Invariant: a storage has room for the items, and serves the type. What can fail comes before the first change.

mod sharing;

use std::ffi::c_void;
use std::fmt::{self, Write};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use syncedmem_trace::head::{Access, Side};

use super::error::Error;
use super::shape::{self, UNSHAPED};
use super::storage::Storage;
use super::typemeta::TypeMeta;

pub struct Tensor {
    side: Side,
    dims: Vec<i64>,
    changes: u64,
    /// The product of `dims`, or `UNSHAPED`.
    count: i64,
    meta: TypeMeta,
    storage: Option<Storage>,
    /// The storage came from another tensor or from the caller.
    shares_data: bool,
    /// The storage came from `reserve`.
    reserved: bool,
}

static KEEP_ON_SHRINK: AtomicBool = AtomicBool::new(true);
static MAX_KEPT: AtomicI64 = AtomicI64::new(i64::MAX);

/// Whether tensors that shrink keep their storage, and how many unused bytes at most.
pub fn set_keep_on_shrink(keep: bool, most: i64) {
    KEEP_ON_SHRINK.store(keep, Relaxed);
    MAX_KEPT.store(most, Relaxed);
}

pub fn keep_on_shrink() -> (bool, i64) {
    (KEEP_ON_SHRINK.load(Relaxed), MAX_KEPT.load(Relaxed))
}

const NO_SHAPE: &str = "the tensor has no shape; call resize before its data is asked for";
const NOT_ALLOCATED: &str =
    "the tensor has a shape and no memory yet, because memory comes with the first mutable data; ask for that first";

impl Tensor {
    pub fn new(side: Side) -> Tensor {
        let (dims, meta) = (Vec::new(), TypeMeta::NONE);
        Tensor { side, dims, changes: 0, count: UNSHAPED, meta, storage: None, shares_data: false, reserved: false }
    }

    pub fn side(&self) -> Side {
        self.side
    }

    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    pub fn changes(&self) -> u64 {
        self.changes
    }

    pub fn count(&self) -> i64 {
        self.count
    }

    pub fn meta(&self) -> &TypeMeta {
        &self.meta
    }

    pub fn storage(&self) -> Option<&Storage> {
        self.storage.as_ref()
    }

    pub fn shares_data(&self) -> bool {
        self.shares_data
    }

    /// 0 without a type or a shape.
    pub fn nbytes(&self) -> usize {
        // `resize` and `allocate` checked the product.
        shape::bytes(self.count, self.meta.itemsize).unwrap_or(0)
    }

    /// In bytes.
    pub fn capacity(&self) -> usize {
        self.storage.as_ref().map_or(0, Storage::bytes)
    }

    /// 0 without a shape.
    fn items(&self) -> usize {
        usize::try_from(self.count).unwrap_or(0)
    }

    fn prepare(&mut self, dims: usize) -> Result<(), Error> {
        let more = dims.saturating_sub(self.dims.len());
        self.dims.try_reserve(more).map_err(|_| Error::no_room(dims * size_of::<i64>()))
    }

    /// Needs `prepare` first.
    fn set_dims(&mut self, dims: &[i64], count: i64) {
        self.dims.clear();
        self.dims.extend_from_slice(dims);
        self.changes += 1;
        self.count = count;
    }

    /// Whether `resize` keeps the storage.
    fn keeps(&self, needed: usize) -> bool {
        let capacity = self.capacity();
        if self.reserved || capacity < needed {
            return capacity >= needed;
        }
        let (keep, most) = keep_on_shrink();
        keep && i64::try_from(capacity - needed).unwrap_or(i64::MAX) <= most
    }

    /// Without dimensions it becomes a scalar.
    pub fn resize(&mut self, dims: &[i64]) -> Result<(), Error> {
        let count = shape::count(dims.iter().copied())?;
        let bytes = shape::bytes(count, self.meta.itemsize)?;
        self.prepare(dims.len())?;
        let keeps = count == self.count || self.keeps(bytes);
        self.set_dims(dims, count);
        if !keeps {
            self.free_memory();
        }
        Ok(())
    }

    pub fn reshape(&mut self, dims: &[i64]) -> Result<(), Error> {
        if shape::count(dims.iter().copied())? != self.count {
            return Err(Error::Argument(
                "the dimensions have another number of items than the tensor; pass as many, or call resize",
            ));
        }
        self.prepare(dims.len())?;
        self.set_dims(dims, self.count);
        Ok(())
    }

    fn outer(&self) -> Result<i64, Error> {
        self.dims.first().copied().ok_or(Error::State("the tensor has no first dimension; call resize with one"))
    }

    fn count_with(&self, outer: i64) -> Result<i64, Error> {
        shape::count(std::iter::once(outer).chain(self.dims.iter().skip(1).copied()))
    }

    fn set_outer(&mut self, outer: i64, count: i64) {
        self.dims.iter_mut().take(1).for_each(|first| *first = outer);
        self.changes += 1;
        self.count = count;
    }

    /// Items that stay do not move.
    pub fn shrink(&mut self, outer: i64) -> Result<(), Error> {
        if outer > self.outer()? {
            return Err(Error::Argument(
                "the first dimension is smaller than that already; pass at most it, or call extend",
            ));
        }
        let count = self.count_with(outer)?;
        self.set_outer(outer, count);
        Ok(())
    }

    /// Keeps the present items.
    pub fn reserve(&mut self, dims: &[i64]) -> Result<(), Error> {
        self.reserve_items(shape::count(dims.iter().copied())?)
    }

    fn reserve_items(&mut self, count: i64) -> Result<(), Error> {
        let bytes = shape::bytes(count, self.meta.itemsize)?;
        if bytes <= self.capacity() {
            return Ok(());
        }
        let storage = Storage::new(self.meta, bytes, self.side, true)?;
        if let Some(old) = &self.storage {
            storage.copy_from(old, &self.meta, self.items())?;
        }
        self.replace(storage, false);
        self.reserved = true;
        Ok(())
    }

    /// Makes missing room for `growth` percent more than there was.
    pub fn extend(&mut self, more: i64, growth: f64) -> Result<(), Error> {
        let outer = self.outer()?;
        let wanted = outer.checked_add(more).filter(|_| more >= 0).ok_or(Error::Argument(
            "the number of items to add is negative or too large; pass 0 or more, or call shrink",
        ))?;
        let count = self.count_with(wanted)?;
        if shape::bytes(count, self.meta.itemsize)? > self.capacity() && self.storage.is_some() {
            // The cast saturates, and makes 0 of NaN.
            let grown = (outer as f64 * (100.0 + growth) / 100.0).ceil() as i64;
            self.reserve_items(self.count_with(grown.max(wanted))?)?;
        }
        self.set_outer(wanted, count);
        Ok(())
    }

    /// Keeps dimensions and type.
    pub fn free_memory(&mut self) {
        (self.shares_data, self.reserved) = (false, false);
        drop(self.storage.take());
    }

    /// The old storage ends last: that may call functions of the caller's.
    fn replace(&mut self, storage: Storage, shares_data: bool) {
        (self.shares_data, self.reserved) = (shares_data, false);
        drop(self.storage.replace(storage));
    }

    /// Uses memory that is large enough again.
    pub fn copy_from(&mut self, source: &Tensor) -> Result<(), Error> {
        if source.count == UNSHAPED {
            return Err(Error::State("the source has no shape; call resize on it before it is copied"));
        }
        if source.count > 0 && source.storage.is_none() {
            return Err(Error::State("the source has a shape and no memory yet; ask for its mutable data first"));
        }
        self.prepare(source.dims.len())?;
        let needed = source.nbytes();
        let keeps = source.count == self.count || self.keeps(needed);
        let fits = |storage: &&Storage| keeps && storage.bytes() >= needed && storage.meta().serves(&source.meta);
        match (self.storage.as_ref().filter(fits), &source.storage) {
            (Some(own), Some(theirs)) => own.copy_from(theirs, &source.meta, source.items())?,
            (Some(_), None) => {}
            (None, Some(theirs)) if needed > 0 => {
                let storage = Storage::new(source.meta, needed, self.side, false)?;
                storage.copy_from(theirs, &source.meta, source.items())?;
                self.meta = source.meta;
                self.set_dims(&source.dims, source.count);
                self.replace(storage, false);
                return Ok(());
            }
            (None, _) => self.free_memory(),
        }
        self.meta = source.meta;
        self.set_dims(&source.dims, source.count);
        Ok(())
    }

    /// `None`: no items, and never any memory.
    pub fn raw_data(&self, meta: Option<&TypeMeta>) -> Result<Option<NonNull<c_void>>, Error> {
        let Some(storage) = &self.storage else {
            return match self.count {
                0 => self.is(meta).map(|()| None),
                UNSHAPED => Err(Error::State(NO_SHAPE)),
                _ => Err(Error::State(NOT_ALLOCATED)),
            };
        };
        self.is(meta)?;
        storage.data(Access::Read).map(Some)
    }

    fn is(&self, meta: Option<&TypeMeta>) -> Result<(), Error> {
        match meta {
            Some(meta) if *meta != self.meta => Err(Error::OtherType { holds: self.meta.shown(), asked: meta.shown() }),
            _ => Ok(()),
        }
    }

    /// As `raw_data`. Allocates where no memory serves the type, by default the tensor's own.
    #[inline]
    pub fn raw_mutable_data(&mut self, meta: Option<&TypeMeta>) -> Result<Option<NonNull<c_void>>, Error> {
        if let Some(storage) = &self.storage {
            if meta.is_none_or(|meta| *meta == self.meta) {
                return storage.data(Access::Write).map(Some);
            }
        }
        self.allocate(*meta.unwrap_or(&self.meta))
    }

    #[inline(never)]
    fn allocate(&mut self, meta: TypeMeta) -> Result<Option<NonNull<c_void>>, Error> {
        usable(&meta)?;
        if self.count == UNSHAPED {
            return Err(Error::State(NO_SHAPE));
        }
        let needed = shape::bytes(self.count, meta.itemsize)?;
        if let Some(storage) = self.storage.as_ref().filter(|now| now.bytes() >= needed && now.meta().serves(&meta)) {
            let data = storage.data(Access::Write)?;
            self.meta = meta;
            return Ok(Some(data));
        }
        if needed == 0 {
            // The memory does not serve the type.
            self.meta = meta;
            self.free_memory();
            return Ok(None);
        }
        let storage = Storage::new(meta, needed, self.side, true)?;
        let data = storage.data(Access::Write)?;
        self.meta = meta;
        self.replace(storage, false);
        Ok(Some(data))
    }

    pub fn swap(&mut self, other: &mut Tensor) -> Result<(), Error> {
        if self.side != other.side {
            return Err(Error::Argument("the tensors are on different sides; copy one to the other"));
        }
        std::mem::swap(self, other);
        let changes = self.changes.max(other.changes) + 1;
        (self.changes, other.changes) = (changes, changes);
        Ok(())
    }
}

fn usable(meta: &TypeMeta) -> Result<(), Error> {
    if meta.is_none() {
        return Err(Error::State("the tensor has no type; pass one"));
    }
    if meta.itemsize == 0 {
        return Err(Error::Argument("the type's items have no bytes; pass a type with an itemsize"));
    }
    Ok(())
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tensor of {}, {} bytes each, ", self.meta.shown(), self.meta.itemsize)?;
        if self.count == UNSHAPED {
            return f.write_str("without a shape");
        }
        for (axis, dim) in self.dims.iter().enumerate() {
            write!(f, "{}{dim}", if axis == 0 { "(" } else { ", " })?;
        }
        f.write_str(if self.dims.is_empty() { "a scalar" } else { ")" })?;
        let side = if self.side == Side::Device { " on the device" } else { "" };
        write!(f, ", {} of {} bytes in use{side}", self.nbytes(), self.capacity())?;
        if self.shares_data { f.write_str(", shared") } else { f.write_char('.') }
    }
}
