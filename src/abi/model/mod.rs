//! Model files: Caffe's .caffemodel, .binaryproto and .solverstate, and Caffe2's init_net.pb, without Caffe, Caffe2 or
//! protobuf.
//!
//! syncedmem_model_open reads the structure of a file (layers, names, shapes, types) and no values, so that a file of
//! any size opens in milliseconds. A file that is no net has one layer of all blobs: "blobs", or a solver's "history".
//!
//! Ownership. syncedmem_model_open pairs with syncedmem_model_close. Strings and shapes of a model live until it is
//! closed. Objects filled from it do not depend on it.
//!
//! Threads. Any number of threads may use one model at once, each with its own objects, and so may a forked child.
//! Only syncedmem_model_close needs the model alone.
//!
//! Files. The file stays open until the model is closed. It is read, never mapped: one that another program cuts
//! meanwhile gives SYNCEDMEM_ERROR_FILE, not a signal. A layer or blob that does not exist gives INVALID_ARGUMENT.
//!
//! All else is as in syncedmem.h, except that calls need a stack of 64 KiB, and that signal handlers may not make them.
#![expect(unsafe_code, reason = "C functions")]

pub mod blob_file;
pub mod info;
pub mod open;
pub mod read;

use super::call::Failure;
use super::status::syncedmem_status_t;
use crate::error;
use crate::models::{ErrorKind, Failure as Error};

impl Failure for Error {
    fn status(&self) -> syncedmem_status_t {
        match self {
            Self::Own(error) => error.status(),
            Self::Blob(error) => error.status(),
            Self::File(error) => match error.kind() {
                ErrorKind::Io => syncedmem_status_t::SYNCEDMEM_ERROR_FILE,
                ErrorKind::Format => syncedmem_status_t::SYNCEDMEM_ERROR_FORMAT,
                ErrorKind::Unsupported => syncedmem_status_t::SYNCEDMEM_ERROR_UNSUPPORTED,
                ErrorKind::Argument => syncedmem_status_t::SYNCEDMEM_ERROR_INVALID_ARGUMENT,
                ErrorKind::OutOfMemory { .. } => syncedmem_status_t::SYNCEDMEM_ERROR_OUT_OF_MEMORY,
            },
        }
    }

    fn cause(&self) -> Option<error::Error> {
        match self {
            Self::Own(error) => Some(*error),
            Self::Blob(error) => error.cause(),
            _ => None,
        }
    }
}
