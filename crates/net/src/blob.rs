//! A blob of Caffe's, read through its exported accessors.
#![expect(unsafe_code, reason = "Caffe's objects are read")]

use std::ffi::{c_int, c_void};

use crate::accessor::BlobAccessors;
use crate::caffe::Caffe;
use crate::layout::{Shared, is_readable};

/// A blob of a net. Only the net's thread uses it, in a call of the net, while the blob lives.
#[derive(Clone, Copy)]
pub struct Blob {
    this: *const c_void,
    of: &'static BlobAccessors,
}

// SAFETY: Caffe runs a net on one thread at a time, and only that thread reads the net's blobs.
unsafe impl Send for Blob {}
// SAFETY: Caffe runs a net on one thread at a time, and only that thread reads the net's blobs.
unsafe impl Sync for Blob {}

/// A `SyncedMemory`: of a blob, or the one that is being constructed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object(*mut c_void);

impl Blob {
    /// `None`: this Caffe has no accessors of blobs.
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

    /// Empty in a Caffe before rc2, whose blobs have no such accessor.
    fn shape(self) -> Option<&'static [c_int]> {
        match self.of.shape {
            // SAFETY: the net's thread is in a call of the net, which holds the blob.
            Some(shape) => unsafe { shape.read(self.this) },
            None => Some(&[]),
        }
    }

    /// The first axis, which is the batch in Caffe's layers; 0 without axes.
    pub fn first_axis(self) -> u64 {
        self.size().1
    }

    /// Number of elements, and the first axis.
    pub fn size(self) -> (i64, u64) {
        let Some(shape) = self.shape() else { return (0, 0) };
        let first = shape.first().and_then(|&axis| u64::try_from(axis).ok()).unwrap_or(0);
        (shape.iter().map(|&axis| i64::from(axis)).product(), first)
    }

    /// The product of the axes before the first one in which the blobs differ; 1 if they are equal. If this blob is a concatenation that begins
    /// with the other one, it has so many rows.
    pub fn rows(self, other: Blob) -> Option<usize> {
        let (own, other) = (self.shape()?, other.shape()?);
        if own == other {
            return Some(1);
        }
        let axes = own.iter().zip(other);
        axes.take_while(|(one, other)| one == other)
            .try_fold(1usize, |rows, (&axis, _)| rows.checked_mul(usize::try_from(axis).ok()?))
    }

    /// A blob without axes may have no memory yet; then Caffe's accessors of memory end the process.
    pub fn has_axes(self) -> bool {
        !self.this.is_null() && self.shape().is_some_and(|shape| !shape.is_empty())
    }

    /// Bytes of the elements. The memory may have more.
    pub fn bytes(self) -> Option<usize> {
        self.of.shape?;
        usize::try_from(self.size().0).ok()?.checked_mul(self.of.element)
    }

    /// The objects of data and diff; null before the blob has a shape. `None` for a blob without elements, for which Caffe's accessors end
    /// the process.
    pub fn memory(self) -> Option<[Object; 2]> {
        if self.this.is_null() || self.shape()?.contains(&0) {
            return None;
        }
        let [data, diff] = self.of.memory.map(|accessor| {
            // SAFETY: the net's thread is in a call of the net, which holds the blob.
            let pointer = unsafe { accessor.get(self.this) }.cast::<Shared>();
            let is_pointer = pointer.is_aligned() && is_readable(pointer.addr(), size_of::<Shared>());
            // SAFETY: the accessor returns a reference to a shared pointer, which is readable.
            is_pointer.then(|| Object(unsafe { (*pointer).object }))
        });
        Some([data?, diff?])
    }
}

impl Object {
    /// The smallest `SyncedMemory` of any Caffe, in bytes.
    const BYTES: usize = 32;
    /// Offset of `size_`, in every Caffe.
    const SIZE: usize = 16;

    /// # Safety
    /// A `SyncedMemory` begins there.
    pub unsafe fn new(this: *mut c_void) -> Object {
        Object(this)
    }

    pub fn pointer(self) -> *mut c_void {
        self.0
    }

    pub fn address(self) -> usize {
        self.0.addr()
    }

    pub fn is_readable(self) -> bool {
        is_readable(self.address(), Object::BYTES)
    }

    pub fn bytes(self) -> Option<usize> {
        let size = self.0.wrapping_byte_add(Object::SIZE).cast::<usize>();
        let is_size = size.is_aligned() && is_readable(size.addr(), size_of::<usize>());
        // SAFETY: it is aligned and readable.
        is_size.then(|| unsafe { *size })
    }

    /// The contents of the host side, if it is current, in at most 16 parts of equal length, which stand for all.
    ///
    /// # Safety
    /// No thread changes the object meanwhile.
    pub unsafe fn sample(self) -> Option<Vec<&'static [u32]>> {
        /// `cpu_ptr_` comes first in every Caffe's class, and the head has the number 1 or 3 if the host is current.
        const HEAD: usize = 24;
        const PARTS: usize = 16;
        /// Words.
        const LONGEST: usize = 1 << 14;
        let words = self.bytes()? / size_of::<u32>();
        if !self.is_readable() {
            return None;
        }
        // SAFETY: the object is readable, and its fields are aligned.
        let (host, head) = unsafe { (*self.0.cast::<*const u32>(), *self.0.wrapping_byte_add(HEAD).cast::<u32>()) };
        if host.is_null() || !host.is_aligned() || head & 1 == 0 {
            return None;
        }
        // SAFETY: the host's block has the object's bytes, and no thread changes it, by this function's contract.
        let all = unsafe { std::slice::from_raw_parts(host, words) };
        let parts = all.chunks(words.div_ceil(PARTS).max(1));
        Some(parts.map(|part| &part[..part.len().min(LONGEST)]).collect())
    }

    /// Whether a side has memory: `cpu_ptr_` and `gpu_ptr_` come first in every Caffe's class.
    pub fn is_touched(self) -> bool {
        let sides = self.0.cast::<[usize; 2]>();
        // SAFETY: they are aligned and readable.
        sides.is_aligned() && is_readable(sides.addr(), size_of::<[usize; 2]>()) && unsafe { *sides } != [0; 2]
    }
}
