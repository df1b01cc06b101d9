//! Caffe2's storage over the SyncedMemory of syncedmem.h: tensors, blobs of one value of any type, and workspaces of
//! named blobs. The rules are those of Caffe2 v0.8.1, without the faults that docs/caffe2.md lists.
//!
//! A syncedmem_tensor_t is dimensions, a type and memory on one side: the host's as TensorCPU, or the device's as
//! TensorCUDA. Memory comes with the first syncedmem_tensor_mutable_data, aligned to 64 bytes, on the host with zeros.
//! Tensors may share it.
//!
//! Ownership. Tensors, blobs and workspaces are reference-counted: a create, a retain and each function that writes a
//! handle add a reference, which a destroy drops; the last one frees. Pointers to data are valid until the
//! tensor gets other memory, or the blob another value.
//!
//! Threads. Any number of threads may use one workspace at once, and one blob, and call functions whose tensor is
//! const. A tensor is changed by one thread while no other uses it. Tensors that share memory may be used and destroyed
//! on different threads.
//!
//! Callbacks (a type's functions, deleters, visitors) are called without locks, on the thread of the call that needs
//! them. They neither throw nor leave by longjmp, nor use the tensor that the call changes. A callback may end other
//! tensors, blobs and workspaces, whose own callbacks may end others in turn, in chains of any length: each has ended
//! when its destroy returns, unless 16 ends are nested. Deeper ones end in order before the outermost returns. Tensors
//! within tensors are copied as deep; a copy of deeper ones gives INVALID_STATE.
//!
//! All else is as in syncedmem.h. After an error tensors, blobs and workspaces are as before; the items of a copy's
//! target may be old or new. An axis that does not exist gives INVALID_ARGUMENT. A destroyed handle is not detected.
#![expect(unsafe_code, reason = "C functions")]

pub mod blob;
pub mod cpu;
pub mod data;
mod held;
pub mod info;
#[cfg(feature = "blob")]
pub mod init_net;
pub mod tensor;
pub mod typemeta;
pub mod workspace;

use super::call::Failure;
use super::status::syncedmem_status_t::{self, *};
use crate::caffe2::error::Error;

impl Failure for Error {
    fn status(&self) -> syncedmem_status_t {
        match self {
            Error::Own(error) => (*error).into(),
            #[cfg(feature = "blob")]
            Error::File(failure) => failure.status(),
            Error::Argument(_) | Error::OtherType { .. } => SYNCEDMEM_ERROR_INVALID_ARGUMENT,
            Error::State(_) | Error::Refused(..) => SYNCEDMEM_ERROR_INVALID_STATE,
            Error::Unsupported(_) | Error::NotCopied(_) => SYNCEDMEM_ERROR_UNSUPPORTED,
        }
    }

    fn cause(&self) -> Option<crate::error::Error> {
        match self {
            Error::Own(error) => Some(*error),
            #[cfg(feature = "blob")]
            Error::File(failure) => failure.cause(),
            _ => None,
        }
    }
}
