//! Tensors of others, whose memory is lent to our objects.
#![expect(unsafe_code, reason = "structures of a C ABI, which others have made")]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::{
    CPU, CUDA, CUDA_HOST, CUDA_MANAGED, Holding, MAJOR, MOST_DIMENSIONS, Managed, ManagedVersioned, READ_ONLY, Tensor,
    export,
};
use crate::error::Error;
use crate::platform::limits::ADDRESS_SPACE;
use crate::state::head::Side;

/// Somebody else's tensor, whose memory is lent.
#[derive(Clone, Copy, Debug)]
pub struct Lent {
    tensor: NonNull<c_void>,
    versioned: bool,
}

// SAFETY: a deleter may be called on any thread (DLPack's Python specification: consumers are free to).
unsafe impl Send for Lent {}

impl Lent {
    /// The tensor at `tensor`, and the memory that it describes, if that can be lent to an object of `bytes`.
    ///
    /// # Safety
    /// `tensor` leads to a `DLManagedTensorVersioned`, or, without `versioned`, to a `DLManagedTensor`.
    pub unsafe fn read(
        tensor: NonNull<c_void>,
        versioned: bool,
        bytes: usize,
    ) -> Result<(Lent, Side, *mut c_void), Error> {
        let wrong = |what| Error::InvalidArgument { what };
        if !tensor.cast::<Managed>().is_aligned() {
            return Err(wrong("tensor is not aligned to 8 bytes, so it is no tensor of DLPack's"));
        }
        let described = if versioned {
            let managed = tensor.cast::<ManagedVersioned>();
            // SAFETY: the caller guarantees it; the version comes first, whichever it is.
            if unsafe { managed.cast::<u32>().read() } != MAJOR {
                return Err(wrong(
                    "the tensor is not of DLPack's major version 1; ask its maker for max_version (1, 0)",
                ));
            }
            // SAFETY: the caller guarantees it, of this version.
            let managed = unsafe { managed.as_ref() };
            if managed.flags & READ_ONLY != 0 {
                return Err(wrong(
                    "the tensor is read-only, and a copy from the other side would write to it; lend a copy of it",
                ));
            }
            managed.tensor
        } else {
            // SAFETY: the caller guarantees it.
            unsafe { tensor.cast::<Managed>().as_ref() }.tensor
        };
        let side = match described.device.kind {
            CPU | CUDA_HOST => Side::Host,
            CUDA | CUDA_MANAGED => Side::Device,
            _ => return Err(wrong("the tensor is neither on the CPU nor on a CUDA device; copy it to one of them")),
        };
        // SAFETY: the caller guarantees it.
        let held = unsafe { described.compact_bytes() }?;
        if held != bytes as u64 {
            return Err(wrong("the tensor's bytes are not those of the object; make the object of the tensor's size"));
        }
        if described.data.is_null() {
            return Err(wrong("the tensor's data is NULL; an empty one cannot be lent"));
        }
        if !described.has_addresses(held) {
            return Err(wrong(
                "the tensor ends beyond the address space; correct its data or byte_offset, which counts bytes",
            ));
        }
        // Within the address space, so nothing is cut off and nothing wraps.
        let data = described.data.wrapping_byte_add(described.byte_offset as usize);
        Ok((Lent { tensor, versioned }, side, data))
    }

    /// Says that the memory is not needed any more: to its maker, by the deleter, or, where that is this library, to the
    /// caller.
    #[must_use = "what our own tensor held is to be let go"]
    pub fn end(self) -> Option<Holding> {
        // SAFETY: whoever lent it passed a tensor of that type, with its ownership.
        let ours = unsafe { export::reclaim(self.tensor, self.versioned) };
        if ours.is_none() {
            // SAFETY: as above.
            unsafe { delete(self.tensor, self.versioned) };
        }
        ours
    }
}

/// Calls the deleter of a tensor.
///
/// # Safety
/// `tensor` leads to a `DLManagedTensorVersioned`, or, without `versioned`, to a `DLManagedTensor`, which is not used any more.
pub unsafe fn delete(tensor: NonNull<c_void>, versioned: bool) {
    if versioned {
        // SAFETY: the caller guarantees it.
        unsafe { end(tensor.cast::<ManagedVersioned>(), |managed| managed.deleter) };
    } else {
        // SAFETY: the caller guarantees it.
        unsafe { end(tensor.cast::<Managed>(), |managed| managed.deleter) };
    }
}

/// # Safety
/// `managed` leads to a tensor that is not used any more.
unsafe fn end<T>(managed: NonNull<T>, deleter: impl Fn(&T) -> Option<unsafe extern "C-unwind" fn(*mut T)>) {
    // SAFETY: the caller guarantees it.
    let deleter = deleter(unsafe { managed.as_ref() });
    // NULL says that there is nothing to do.
    if let Some(deleter) = deleter {
        let ended = Ended;
        // SAFETY: it is called once, with its own tensor.
        unsafe { deleter(managed.as_ptr()) };
        std::mem::forget(ended);
    }
}

/// What becomes of a thread that is ended inside a deleter, and not by a return: it waits for the end of the process.
///
/// CPython before 3.14 ends a thread with pthread_exit(3) where it waits for the GIL while the interpreter ends, as
/// NumPy's deleter does. That unwinds frames of this library, which would end the process with a message.
struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        loop {
            // SAFETY: it has no preconditions.
            unsafe { libc::pause() };
        }
    }
}

impl Tensor {
    /// Whether each of its `bytes` has an address.
    fn has_addresses(&self, bytes: u64) -> bool {
        // The bits above the address space are no part of an address: aarch64 lets a process keep a tag there.
        let begin = self.data.addr() as u64 % ADDRESS_SPACE as u64;
        let end = begin.checked_add(self.byte_offset).and_then(|begin| begin.checked_add(bytes));
        end.is_some_and(|end| end <= ADDRESS_SPACE as u64)
    }

    /// How many bytes it has, if they lie one behind the other in C's order.
    ///
    /// # Safety
    /// `shape` and `strides` are what DLPack says.
    unsafe fn compact_bytes(&self) -> Result<u64, Error> {
        let wrong = |what| Error::InvalidArgument { what };
        let odd = "the tensor's shape makes no sense: it is NULL, negative, of more than 64 dimensions, or too large";
        let count = usize::try_from(self.dimensions).ok().filter(|&count| count <= MOST_DIMENSIONS);
        let count = count.filter(|&count| count == 0 || !self.shape.is_null()).ok_or(wrong(odd))?;
        // SAFETY: the caller guarantees so many of them.
        let length_at = |at| unsafe { number(self.shape, at) };
        if (0..count).any(|at| length_at(at) < 0) {
            return Err(wrong(odd));
        }
        // Where there are no elements nobody takes a step, however many there would be along the other dimensions.
        if (0..count).any(|at| length_at(at) == 0) {
            return Ok(0);
        }
        let mut elements = 1i64;
        for at in (0..count).rev() {
            let length = length_at(at);
            // SAFETY: as above.
            let stride = (!self.strides.is_null()).then(|| unsafe { number(self.strides, at) });
            // Along a dimension of one element nobody takes a step.
            if length > 1 && stride.is_some_and(|stride| stride != elements) {
                return Err(wrong("the tensor is not contiguous in C's order; lend a contiguous copy of it"));
            }
            elements = elements.checked_mul(length).ok_or(wrong(odd))?;
        }
        let bits = u64::from(self.data_type.bits) * u64::from(self.data_type.lanes);
        let all = u64::try_from(elements).ok().and_then(|elements| elements.checked_mul(bits));
        all.map(|bits| bits.div_ceil(8)).ok_or(wrong(odd))
    }
}

/// # Safety
/// `numbers` has more than `at` of them.
unsafe fn number(numbers: *const i64, at: usize) -> i64 {
    // SAFETY: the caller guarantees it.
    let number = unsafe { numbers.add(at) };
    // SAFETY: as above.
    unsafe { number.read() }
}
