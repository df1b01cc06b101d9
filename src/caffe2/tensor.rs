//! A tensor: dimensions, and the items that [`items`] describes. Every step that can fail comes before the first change.

mod items;
mod sharing;

use std::ffi::c_void;
use std::fmt::{self, Write};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use syncedmem_core::head::{Access, Side};

use super::error::Error;
use super::shape::{self, UNSHAPED};
use super::storage::Storage;
use super::typemeta::TypeMeta;
use items::{Items, Origin};

pub struct Tensor {
    side: Side,
    dims: Vec<i64>,
    changes: u64,
    /// The count of items is the product of `dims`, or `UNSHAPED`.
    items: Items,
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
        Tensor { side, dims: Vec::new(), changes: 0, items: Items::none() }
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
        self.items.count()
    }

    pub fn meta(&self) -> &TypeMeta {
        self.items.meta()
    }

    pub fn storage(&self) -> Option<&Storage> {
        self.items.storage()
    }

    pub fn shares_data(&self) -> bool {
        self.items.origin() == Some(Origin::Shared)
    }

    /// Bytes of the items; 0 without a type or a shape.
    pub fn nbytes(&self) -> usize {
        // `resize` and `allocate` checked the product.
        self.bytes_of(self.count()).unwrap_or(0)
    }

    /// Bytes of the memory.
    pub fn capacity(&self) -> usize {
        self.storage().map_or(0, Storage::bytes)
    }

    fn bytes_of(&self, count: i64) -> Result<usize, Error> {
        shape::bytes(count, self.meta().itemsize)
    }

    /// Reserves memory for as many dimensions, so that `set_dims` cannot fail.
    fn prepare(&mut self, dims: usize) -> Result<(), Error> {
        let more = dims.saturating_sub(self.dims.len());
        self.dims.try_reserve(more).map_err(|_| Error::out_of_memory(dims * size_of::<i64>()))
    }

    /// The caller has called `prepare`.
    fn set_dims(&mut self, dims: &[i64]) {
        self.dims.clear();
        self.dims.extend_from_slice(dims);
        self.changes += 1;
    }

    /// Whether a resize to `needed` bytes keeps the storage.
    fn keeps(&self, needed: usize) -> bool {
        let capacity = self.capacity();
        if self.items.origin() == Some(Origin::Reserved) || capacity < needed {
            return capacity >= needed;
        }
        let (keep, most) = keep_on_shrink();
        keep && i64::try_from(capacity - needed).unwrap_or(i64::MAX) <= most
    }

    /// Sets other dimensions; without any the tensor is a scalar.
    pub fn resize(&mut self, dims: &[i64]) -> Result<(), Error> {
        let count = shape::count(dims.iter().copied())?;
        let bytes = self.bytes_of(count)?;
        self.prepare(dims.len())?;
        let keeps = count == self.count() || self.keeps(bytes);
        self.set_dims(dims);
        self.items.change(count, *self.meta(), keeps);
        Ok(())
    }

    pub fn reshape(&mut self, dims: &[i64]) -> Result<(), Error> {
        if shape::count(dims.iter().copied())? != self.count() {
            return Err(Error::Argument(
                "the dimensions have another number of items than the tensor; pass as many, or call resize",
            ));
        }
        self.prepare(dims.len())?;
        self.set_dims(dims);
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
        self.items.change(count, *self.meta(), true);
    }

    /// Makes the first dimension smaller. Items that stay do not move.
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

    /// Allocates memory for the items of `dims`, and keeps the present items.
    pub fn reserve(&mut self, dims: &[i64]) -> Result<(), Error> {
        self.reserve_items(shape::count(dims.iter().copied())?)
    }

    fn reserve_items(&mut self, count: i64) -> Result<(), Error> {
        if self.bytes_of(count)? <= self.capacity() {
            return Ok(());
        }
        // A tensor without memory may have more items than are asked for.
        let bytes = self.bytes_of(count.max(self.count()))?;
        let storage = Storage::new(*self.meta(), bytes, self.side, true)?;
        if let Some(old) = self.storage() {
            storage.copy_from(old, self.meta(), self.count())?;
        }
        self.items.put(self.count(), *self.meta(), storage, Origin::Reserved);
        Ok(())
    }

    /// Adds `more` to the first dimension. Memory that is too small grows by at least `growth` percent.
    pub fn extend(&mut self, more: i64, growth: f64) -> Result<(), Error> {
        let outer = self.outer()?;
        let wanted = outer.checked_add(more).filter(|_| more >= 0).ok_or(Error::Argument(
            "the number of items to add is negative or too large; pass 0 or more, or call shrink",
        ))?;
        let count = self.count_with(wanted)?;
        if self.bytes_of(count)? > self.capacity() && self.storage().is_some() {
            // The cast saturates, and turns NaN into 0.
            let grown = (outer as f64 * (100.0 + growth) / 100.0).ceil() as i64;
            self.reserve_items(self.count_with(grown.max(wanted))?)?;
        }
        self.set_outer(wanted, count);
        Ok(())
    }

    pub fn free_memory(&mut self) {
        self.items.change(self.count(), *self.meta(), false);
    }

    /// Copies dimensions, type and items. Memory that is large enough is reused.
    pub fn copy_from(&mut self, source: &Tensor) -> Result<(), Error> {
        let (count, meta) = (source.count(), *source.meta());
        if count == UNSHAPED {
            return Err(Error::State("the source has no shape; call resize on it before it is copied"));
        }
        if count > 0 && source.storage().is_none() {
            return Err(Error::State("the source has a shape and no memory yet; ask for its mutable data first"));
        }
        self.prepare(source.dims.len())?;
        let needed = source.nbytes();
        let keeps = count == self.count() || self.keeps(needed);
        let own = self.items.storage_for(count, &meta).filter(|_| keeps);
        let keeps = own.is_some();
        match (own, source.storage()) {
            (Some(own), Some(theirs)) => own.copy_from(theirs, &meta, count)?,
            (None, Some(theirs)) if needed > 0 => {
                let storage = Storage::new(meta, needed, self.side, false)?;
                storage.copy_from(theirs, &meta, count)?;
                self.set_dims(&source.dims);
                self.items.put(count, meta, storage, Origin::Own);
                return Ok(());
            }
            _ => {}
        }
        self.set_dims(&source.dims);
        self.items.change(count, meta, keeps);
        Ok(())
    }

    /// The items, for reading; `None` for a tensor without items that never had memory.
    pub fn raw_data(&self, meta: Option<&TypeMeta>) -> Result<Option<NonNull<c_void>>, Error> {
        let Some(storage) = self.storage() else {
            return match self.count() {
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
            Some(meta) if meta != self.meta() => {
                Err(Error::OtherType { holds: self.meta().shown(), asked: meta.shown() })
            }
            _ => Ok(()),
        }
    }

    /// The items, for reading and writing, as items of `meta` or else of the tensor's type. Allocates if no memory serves that type.
    #[inline]
    pub fn raw_mutable_data(&mut self, meta: Option<&TypeMeta>) -> Result<Option<NonNull<c_void>>, Error> {
        if let Some(storage) = self.storage() {
            if meta.is_none_or(|meta| meta == self.meta()) {
                return storage.data(Access::Write).map(Some);
            }
        }
        self.allocate(*meta.unwrap_or(self.meta()))
    }

    #[inline(never)]
    fn allocate(&mut self, meta: TypeMeta) -> Result<Option<NonNull<c_void>>, Error> {
        usable(&meta)?;
        let count = self.count();
        if count == UNSHAPED {
            return Err(Error::State(NO_SHAPE));
        }
        let needed = shape::bytes(count, meta.itemsize)?;
        if let Some(storage) = self.items.storage_for(count, &meta) {
            let data = storage.data(Access::Write)?;
            self.items.change(count, meta, true);
            return Ok(Some(data));
        }
        if needed == 0 {
            // The memory does not serve the type.
            self.items.change(count, meta, true);
            return Ok(None);
        }
        let storage = Storage::new(meta, needed, self.side, true)?;
        let data = storage.data(Access::Write)?;
        self.items.put(count, meta, storage, Origin::Own);
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
        write!(f, "tensor of {}, {} bytes each, ", self.meta().shown(), self.meta().itemsize)?;
        if self.count() == UNSHAPED {
            return f.write_str("without a shape");
        }
        for (axis, dim) in self.dims.iter().enumerate() {
            write!(f, "{}{dim}", if axis == 0 { "(" } else { ", " })?;
        }
        f.write_str(if self.dims.is_empty() { "a scalar" } else { ")" })?;
        let side = if self.side == Side::Device { " on the device" } else { "" };
        write!(f, ", {} of {} bytes in use{side}", self.nbytes(), self.capacity())?;
        if self.shares_data() { f.write_str(", shared") } else { f.write_char('.') }
    }
}
