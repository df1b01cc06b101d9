//! The number, the type and the memory of a tensor's items.
//!
//! Invariant: the memory is large enough for that many items, and serves their type. Only [`Items::set`] changes the three.

use crate::caffe2::shape::{self, UNSHAPED};
use crate::caffe2::storage::Storage;
use crate::caffe2::typemeta::TypeMeta;

pub struct Items {
    count: i64,
    meta: TypeMeta,
    memory: Option<Memory>,
}

struct Memory {
    storage: Storage,
    origin: Origin,
}

impl Memory {
    fn fits(&self, count: i64, meta: &TypeMeta) -> bool {
        self.storage.meta().serves(meta)
            && shape::bytes(count, meta.itemsize).is_ok_and(|needed| needed <= self.storage.bytes())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The memory was made for the items.
    Own,
    Reserved,
    /// The memory is another tensor's or the caller's.
    Shared,
}

impl Items {
    pub fn none() -> Items {
        Items { count: UNSHAPED, meta: TypeMeta::NONE, memory: None }
    }

    /// `UNSHAPED` without a shape.
    pub fn count(&self) -> i64 {
        self.count
    }

    pub fn meta(&self) -> &TypeMeta {
        &self.meta
    }

    #[inline]
    pub fn storage(&self) -> Option<&Storage> {
        self.memory.as_ref().map(|memory| &memory.storage)
    }

    /// The present memory, if it fits so many items of that type.
    pub fn storage_for(&self, count: i64, meta: &TypeMeta) -> Option<&Storage> {
        self.memory.as_ref().filter(|memory| memory.fits(count, meta)).map(|memory| &memory.storage)
    }

    pub fn origin(&self) -> Option<Origin> {
        self.memory.as_ref().map(|memory| memory.origin)
    }

    /// Changes count and type. With `keeps` the memory stays if it fits.
    pub fn change(&mut self, count: i64, meta: TypeMeta, keeps: bool) {
        let kept = self.memory.take_if(|_| keeps);
        self.set(count, meta, kept);
    }

    /// Changes count, type and memory. The old memory ends.
    pub fn put(&mut self, count: i64, meta: TypeMeta, storage: Storage, origin: Origin) {
        self.set(count, meta, Some(Memory { storage, origin }));
    }

    /// Sets the three. Memory that does not stay ends last, because its end may call the caller's functions.
    fn set(&mut self, count: i64, meta: TypeMeta, mut memory: Option<Memory>) {
        (self.count, self.meta) = (count, meta);
        let fitting = memory.take_if(|memory| memory.fits(count, &meta));
        let old = std::mem::replace(&mut self.memory, fitting);
        drop((old, memory));
    }
}
