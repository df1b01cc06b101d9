#![expect(unsafe_code, reason = "structures of a C ABI, which others have made")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;

use super::{
    CPU, CUDA, CUDA_HOST, CUDA_MANAGED, Deleter, Holding, MAJOR, MOST_DIMENSIONS, Managed, ManagedVersioned, READ_ONLY,
    Tensor, export, wrong,
};
use crate::error::Error;
use crate::platform::fallible_arc::FallibleArc;
use crate::platform::limits::ADDRESS_SPACE;
use crate::platform::nesting;

#[derive(Clone, Copy, Debug)]
pub struct Imported {
    tensor: NonNull<c_void>,
    versioned: bool,
}

// SAFETY: DLPack's Python specification lets a consumer call the deleter on any thread.
unsafe impl Send for Imported {}

impl Imported {
    /// Returns the tensor, its side and the address of its memory, if an object of `bytes` can borrow the memory.
    ///
    /// # Safety
    /// Tensor: `tensor` points to a `DLManagedTensorVersioned` or, without `versioned`, to a `DLManagedTensor`, and describes its memory
    /// and its shape as DLPack prescribes.
    pub unsafe fn read(
        tensor: NonNull<c_void>,
        versioned: bool,
        bytes: usize,
    ) -> Result<(Imported, Side, *mut c_void), Error> {
        if !tensor.cast::<Managed>().is_aligned() {
            return Err(wrong("tensor is not aligned to 8 bytes, so it is no tensor of DLPack's"));
        }
        let described = if versioned {
            let managed = tensor.cast::<ManagedVersioned>();
            // SAFETY: the caller of this function guarantees Tensor; every version begins with its number.
            if unsafe { managed.cast::<u32>().read() } != MAJOR {
                return Err(wrong(
                    "the tensor is not of DLPack's major version 1; ask its maker for max_version (1, 0)",
                ));
            }
            // SAFETY: the caller of this function guarantees Tensor, and the version was checked.
            let managed = unsafe { managed.as_ref() };
            if managed.flags & READ_ONLY != 0 {
                return Err(wrong(
                    "the tensor is read-only, and a copy from the other side would write to it; lend a copy of it",
                ));
            }
            managed.tensor
        } else {
            // SAFETY: the caller of this function guarantees Tensor.
            unsafe { tensor.cast::<Managed>().as_ref() }.tensor
        };
        let side = match described.device.kind {
            CPU | CUDA_HOST => Side::Host,
            CUDA | CUDA_MANAGED => Side::Device,
            _ => return Err(wrong("the tensor is neither on the CPU nor on a CUDA device; copy it to one of them")),
        };
        // SAFETY: the caller of this function guarantees Tensor.
        let held = unsafe { described.compact_bytes() }?;
        let refused = if held != bytes as u64 {
            "the tensor's bytes are not those of the object; make the object of the tensor's size"
        } else if described.data.is_null() {
            "the tensor's data is NULL; an empty one cannot be lent"
        } else if !described.has_addresses(held) {
            "the tensor ends beyond the address space; correct its data or byte_offset, which counts bytes"
        } else {
            // Within the address space: the cast cuts nothing off.
            let data = described.data.wrapping_byte_add(described.byte_offset as usize);
            return Ok((Imported { tensor, versioned }, side, data));
        };
        Err(wrong(refused))
    }

    /// Calls a foreign tensor's deleter. Frees the library's own tensor and returns its holding.
    #[must_use = "the holding of this library's own tensor has to be ended"]
    pub fn end(self) -> Option<Holding> {
        // SAFETY: `set_tensor`'s caller passed a tensor of that type with its ownership.
        let (context, _) = unsafe { makers(self.tensor, self.versioned) };
        if context == export::mark() {
            // SAFETY: `Blank::fill` made it, as the mark shows; it is not used again.
            return Some(unsafe { export::free(self.tensor) });
        }
        if nesting::nest(|| drop(Foreign(self))).is_none() {
            // Ends that nest too deep wait in the thread's list, unless there is no memory for it.
            drop(FallibleArc::new(Foreign(self)));
        }
        None
    }
}

/// The deleter of a tensor may end another object that has such a tensor, and so on.
struct Foreign(Imported);

impl Drop for Foreign {
    fn drop(&mut self) {
        // SAFETY: `set_tensor`'s caller passed the tensor with its ownership, and `end` gives it up once.
        unsafe { delete(self.0.tensor, self.0.versioned) };
    }
}

/// # Safety
/// Tensor, as in [`Imported::read`]. The tensor is not used again.
pub unsafe fn delete(tensor: NonNull<c_void>, versioned: bool) {
    // SAFETY: the caller of this function guarantees Tensor.
    if let (_, Some(deleter)) = unsafe { makers(tensor, versioned) } {
        let ended = Ended;
        // SAFETY: the caller of this function gives the tensor up, so its deleter is called once.
        unsafe { deleter(tensor.as_ptr()) };
        std::mem::forget(ended);
    }
}

/// # Safety
/// Tensor, as in [`Imported::read`].
unsafe fn makers(tensor: NonNull<c_void>, versioned: bool) -> (*mut c_void, Option<Deleter>) {
    if versioned {
        // SAFETY: the caller of this function guarantees Tensor.
        let managed = unsafe { tensor.cast::<ManagedVersioned>().as_ref() };
        (managed.context, managed.deleter)
    } else {
        // SAFETY: the caller of this function guarantees Tensor.
        let managed = unsafe { tensor.cast::<Managed>().as_ref() };
        (managed.context, managed.deleter)
    }
}

/// This guard is dropped only if the thread ends inside a deleter. The thread then sleeps until the process ends: CPython before
/// 3.14 calls pthread_exit(3) on a thread that waits for the GIL during finalisation, as NumPy's deleter does, and unwinding this
/// library's frames would end the process with a message.
struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        loop {
            // SAFETY: pause has no preconditions.
            unsafe { libc::pause() };
        }
    }
}

impl Tensor {
    fn has_addresses(&self, bytes: u64) -> bool {
        // aarch64 lets a process keep a tag in the bits above.
        let begin = self.data.addr() as u64 % ADDRESS_SPACE as u64;
        let end = begin.checked_add(self.byte_offset).and_then(|begin| begin.checked_add(bytes));
        end.is_some_and(|end| end <= ADDRESS_SPACE as u64)
    }

    /// If the elements are contiguous in C order.
    ///
    /// # Safety
    /// `shape` and `strides` have the lengths that DLPack prescribes.
    unsafe fn compact_bytes(&self) -> Result<u64, Error> {
        let odd = "the tensor's shape makes no sense: it is NULL, negative, of more than 64 dimensions, or too large";
        let count = usize::try_from(self.dimensions).ok().filter(|&count| count <= MOST_DIMENSIONS);
        let count = count.filter(|&count| count == 0 || !self.shape.is_null()).ok_or(wrong(odd))?;
        let numbers = |at: *const i64| {
            // SAFETY: the caller of this function guarantees `count` lengths, and as many strides unless they are NULL.
            (count > 0 && !at.is_null()).then(|| unsafe { std::slice::from_raw_parts(at, count) })
        };
        let shape = numbers(self.shape).unwrap_or_default();
        if shape.iter().any(|&length| length < 0) {
            return Err(wrong(odd));
        }
        // Without elements the strides do not matter.
        if shape.contains(&0) {
            return Ok(0);
        }
        let (strides, mut elements) = (numbers(self.strides), 1i64);
        for (axis, &length) in shape.iter().enumerate().rev() {
            // The stride of one element does not matter.
            if length > 1 && strides.is_some_and(|strides| strides[axis] != elements) {
                return Err(wrong("the tensor is not contiguous in C's order; lend a contiguous copy of it"));
            }
            elements = elements.checked_mul(length).ok_or(wrong(odd))?;
        }
        let bits = u64::from(self.data_type.bits) * u64::from(self.data_type.lanes);
        let all = u64::try_from(elements).ok().and_then(|elements| elements.checked_mul(bits));
        all.map(|bits| bits.div_ceil(8)).ok_or(wrong(odd))
    }
}
