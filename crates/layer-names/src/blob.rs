//! A blob of Caffe's, read through its exported accessors.

use std::ffi::{c_int, c_void};

use crate::accessor::BlobAccessors;
use crate::caffe::Caffe;
use crate::layout::{Shared, is_readable};

/// Caffe's own thread is using it.
#[derive(Clone, Copy)]
pub struct Blob {
    this: *const c_void,
    of: &'static BlobAccessors,
}

// SAFETY: whichever thread reads a blob is the one that its net runs on.
unsafe impl Send for Blob {}
// SAFETY: as for Send.
unsafe impl Sync for Blob {}

impl Blob {
    /// `None`: this Caffe's blobs cannot be read.
    pub fn new(this: *const c_void, letter: &'static str, caffe: &'static Caffe) -> Option<Blob> {
        let of = caffe.blobs.of(letter, || BlobAccessors::find(&|symbol| caffe.find(symbol), letter))?;
        Some(Blob { this, of })
    }

    /// Another blob of the same class.
    pub fn at(self, this: *const c_void) -> Blob {
        Blob { this, ..self }
    }

    pub fn address(self) -> usize {
        self.this.addr()
    }

    /// Empty if this Caffe has no accessor for it.
    fn shape(self) -> Option<&'static [c_int]> {
        match self.of.shape {
            // SAFETY: the blob lives while Caffe's thread is in a call of its net.
            Some(shape) => unsafe { shape.read(self.this) },
            None => Some(&[]),
        }
    }

    /// The first axis, which for Caffe's layers is the batch; 0 without one.
    pub fn first_axis(self) -> u64 {
        self.size().1
    }

    /// Elements, and the first axis.
    pub fn size(self) -> (i64, u64) {
        let Some(shape) = self.shape() else { return (0, 0) };
        let first = shape.first().and_then(|&axis| u64::try_from(axis).ok()).unwrap_or(0);
        (shape.iter().map(|&axis| i64::from(axis)).product(), first)
    }

    /// A blob without them may be one that has no memory yet, for which the accessors end the process.
    pub fn has_axes(self) -> bool {
        !self.this.is_null() && self.shape().is_some_and(|shape| !shape.is_empty())
    }

    /// Bytes of its elements, which may be fewer than its memory has.
    pub fn bytes(self) -> Option<usize> {
        self.of.shape?;
        usize::try_from(self.size().0).ok()?.checked_mul(self.of.element)
    }

    /// Of data and diff. Null before the blob has a shape.
    pub fn memory(self) -> Option<[*mut c_void; 2]> {
        // The accessors end the process for a blob without elements.
        if self.this.is_null() || self.shape()?.contains(&0) {
            return None;
        }
        let [data, diff] = self.of.memory.map(|accessor| {
            // SAFETY: as in `shape`.
            let pointer = unsafe { accessor.get(self.this) }.cast::<Shared>();
            let is_pointer = pointer.is_aligned() && is_readable(pointer.addr(), size_of::<Shared>());
            // SAFETY: the accessor returns a reference to a shared pointer.
            is_pointer.then(|| unsafe { (*pointer).object })
        });
        Some([data?, diff?])
    }
}

/// The size of a `SyncedMemory`, in bytes.
pub fn bytes_of(object: *const c_void) -> Option<usize> {
    const SIZE: usize = 16;
    let size = object.wrapping_byte_add(SIZE).cast::<usize>();
    let is_size = size.is_aligned() && is_readable(size.addr(), size_of::<usize>());
    // SAFETY: `size_` lies there in every Caffe's class.
    is_size.then(|| unsafe { *size })
}

/// Whether a side of the `SyncedMemory` has memory.
pub fn is_touched(object: *const c_void) -> bool {
    let sides = object.cast::<[usize; 2]>();
    // SAFETY: `cpu_ptr_` and `gpu_ptr_` lie there in every Caffe's class.
    sides.is_aligned() && is_readable(sides.addr(), size_of::<[usize; 2]>()) && unsafe { *sides } != [0; 2]
}
