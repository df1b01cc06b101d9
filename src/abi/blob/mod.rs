//! Blobs: Caffe's Blob over the SyncedMemory of syncedmem.h.
//!
//! A syncedmem_blob_t is a shape and two arrays, the data and the diff: a parameter `array` is a syncedmem_array_t.
//! Each array has a syncedmem_t, which syncedmem_blob_memory writes: every call of syncedmem.h works on it. The rules
//! are those of Caffe's Blob, without the faults that docs/blob.md lists.
//!
//! Ownership. syncedmem_blob_create pairs with syncedmem_blob_destroy. The syncedmem_t of an array belongs to the blobs
//! that share it: never destroy it, and do not use it after a call that gives the array other memory (a reshape beyond
//! its capacity, setting data, syncedmem_blob_share), or that destroys its last blob. Tensors made of it keep its
//! memory.
//!
//! Threads. Any number of threads may at once call functions whose blob is const. Each other call needs the blob alone,
//! and scale, update and copies need its memory alone too. Blobs that share memory may be used and destroyed on
//! different threads.
//!
//! All else is as in syncedmem.h. After an error the blob is as it was, but a side of its memory may have been brought
//! up to date. An axis that does not exist gives INVALID_ARGUMENT.
#![expect(unsafe_code, reason = "C functions")]

pub mod arrays;
pub mod handle;
pub mod math;
pub mod shape;

use super::call::Failure;
use super::status::syncedmem_status_t::{self, *};
use crate::blob::error::Error;

impl Failure for Error {
    fn status(&self) -> syncedmem_status_t {
        match *self {
            Error::Memory(error) => error.into(),
            Error::NoType(_) | Error::NoMath(_) => SYNCEDMEM_ERROR_UNSUPPORTED,
            Error::NoShape | Error::Untouched => SYNCEDMEM_ERROR_INVALID_STATE,
            Error::Blas(_) => SYNCEDMEM_ERROR_DRIVER,
            Error::TwoDevices { .. } => SYNCEDMEM_ERROR_WRONG_DEVICE,
            Error::TooManyAxes { .. }
            | Error::NoDim { .. }
            | Error::TooLarge { .. }
            | Error::TooLargeRange { .. }
            | Error::NoAxis { .. }
            | Error::NoRange { .. }
            | Error::NotLegacy { .. }
            | Error::TooManyIndices { .. }
            | Error::NoIndex { .. }
            | Error::CountsDiffer { .. }
            | Error::ShapesDiffer
            | Error::TypesDiffer { .. }
            | Error::Misaligned { .. } => SYNCEDMEM_ERROR_INVALID_ARGUMENT,
        }
    }

    fn cause(&self) -> Option<crate::error::Error> {
        match *self {
            Error::Memory(error) => Some(error),
            _ => None,
        }
    }
}
