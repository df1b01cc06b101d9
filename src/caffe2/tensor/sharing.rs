//! Tensors that use memory of other tensors or of the caller.
#![expect(unsafe_code, reason = "a caller's memory is shared")]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::items::Origin;
use super::{Tensor, usable};
use crate::caffe2::error::Error;
use crate::caffe2::external::Foreign;
use crate::caffe2::shape;
use crate::caffe2::storage::Storage;
use crate::caffe2::typemeta::TypeMeta;

impl Tensor {
    pub fn share_data(&mut self, source: &Tensor) -> Result<(), Error> {
        if self.side != source.side {
            return Err(Error::Argument("the tensors are on different sides; share with one of the same, or copy"));
        }
        if self.count() != source.count() {
            return Err(Error::Argument(
                "the source has another number of items; resize to as many before its data is shared",
            ));
        }
        if source.storage().is_none() && source.count() != 0 {
            return Err(Error::State("the source has no memory to share yet; ask for its mutable data first"));
        }
        let (count, meta) = (source.count(), *source.meta());
        match source.storage() {
            Some(storage) => self.items.put(count, meta, storage.clone(), Origin::Shared),
            None => self.items.change(count, meta, false),
        }
        Ok(())
    }

    /// The bytes that shared memory must have.
    fn shared_bytes(&self, meta: &TypeMeta) -> Result<usize, Error> {
        usable(meta)?;
        if self.count() <= 0 {
            return Err(Error::State("the tensor has no items; call resize before memory is shared with it"));
        }
        shape::bytes(self.count(), meta.itemsize)
    }

    /// Uses the caller's memory of `capacity` bytes; 0 stands for the bytes of the items.
    ///
    /// # Safety
    /// The contract "Foreign" of [`Storage::external`].
    pub unsafe fn share_external(&mut self, meta: TypeMeta, capacity: usize, memory: Foreign) -> Result<(), Error> {
        let needed = self.shared_bytes(&meta)?;
        let capacity = if capacity == 0 { needed } else { capacity };
        if capacity < needed {
            return Err(Error::Argument(
                "capacity is smaller than the tensor's items; pass the bytes of the memory, or 0",
            ));
        }
        // SAFETY: the caller of `share_external` keeps the contract "Foreign".
        let storage = unsafe { Storage::external(meta, capacity, self.side, memory) }?;
        self.items.put(self.count(), meta, storage, Origin::Shared);
        Ok(())
    }

    /// Uses the memory of a tensor of DLPack. After an error `tensor` stays the caller's.
    ///
    /// # Safety
    /// The contract "Imported" of [`Storage::dlpack`].
    pub unsafe fn share_dlpack(
        &mut self,
        meta: TypeMeta,
        tensor: NonNull<c_void>,
        versioned: bool,
    ) -> Result<(), Error> {
        let bytes = self.shared_bytes(&meta)?;
        // SAFETY: the caller of `share_dlpack` keeps the contract "Imported".
        let storage = unsafe { Storage::dlpack(meta, bytes, self.side, tensor, versioned) }?;
        self.items.put(self.count(), meta, storage, Origin::Shared);
        Ok(())
    }
}
