//! The statuses of C functions, and their names.

use crate::error::Error;

/// The outcome of a call. Later versions add numbers, and never change or reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_status_t {
    /// Done.
    SYNCEDMEM_SUCCESS = 0,
    /// An argument cannot be used: NULL, misaligned, too small, or an unknown number.
    SYNCEDMEM_ERROR_INVALID_ARGUMENT = 1,
    /// The handle is not that of a live object.
    SYNCEDMEM_ERROR_INVALID_HANDLE = 2,
    /// Host or device memory ran out, or the size is impossible.
    SYNCEDMEM_ERROR_OUT_OF_MEMORY = 3,
    /// No GPU can be used; the message says why.
    SYNCEDMEM_ERROR_NO_GPU = 4,
    /// The object's head does not allow the call.
    SYNCEDMEM_ERROR_INVALID_STATE = 5,
    /// The calling thread is inside an operation on the same object, or a signal handler has interrupted it at a lock
    /// that the call needs.
    SYNCEDMEM_ERROR_REENTERED = 6,
    /// A bug of the library.
    SYNCEDMEM_ERROR_INTERNAL = 7,
    /// A call of the CUDA driver failed; the message names the call and its status.
    SYNCEDMEM_ERROR_DRIVER = 8,
    /// A driver call returned the error of an earlier kernel or copy of this process.
    SYNCEDMEM_ERROR_PENDING = 9,
    /// The device check is on, and the current device is not the one that holds the data.
    SYNCEDMEM_ERROR_WRONG_DEVICE = 10,
    /// A file cannot be opened, read or written.
    SYNCEDMEM_ERROR_FILE = 11,
    /// The call would take away memory that tensors use.
    SYNCEDMEM_ERROR_EXPORTED = 12,
    /// The file is damaged, cut off, or of another format.
    SYNCEDMEM_ERROR_FORMAT = 13,
    /// This library does not do it; the message says what does.
    SYNCEDMEM_ERROR_UNSUPPORTED = 14,
}

use syncedmem_status_t::*;

pub(crate) const NAMES: [(syncedmem_status_t, &std::ffi::CStr); 15] = [
    (SYNCEDMEM_SUCCESS, c"SYNCEDMEM_SUCCESS"),
    (SYNCEDMEM_ERROR_INVALID_ARGUMENT, c"SYNCEDMEM_ERROR_INVALID_ARGUMENT"),
    (SYNCEDMEM_ERROR_INVALID_HANDLE, c"SYNCEDMEM_ERROR_INVALID_HANDLE"),
    (SYNCEDMEM_ERROR_OUT_OF_MEMORY, c"SYNCEDMEM_ERROR_OUT_OF_MEMORY"),
    (SYNCEDMEM_ERROR_NO_GPU, c"SYNCEDMEM_ERROR_NO_GPU"),
    (SYNCEDMEM_ERROR_INVALID_STATE, c"SYNCEDMEM_ERROR_INVALID_STATE"),
    (SYNCEDMEM_ERROR_REENTERED, c"SYNCEDMEM_ERROR_REENTERED"),
    (SYNCEDMEM_ERROR_INTERNAL, c"SYNCEDMEM_ERROR_INTERNAL"),
    (SYNCEDMEM_ERROR_DRIVER, c"SYNCEDMEM_ERROR_DRIVER"),
    (SYNCEDMEM_ERROR_PENDING, c"SYNCEDMEM_ERROR_PENDING"),
    (SYNCEDMEM_ERROR_WRONG_DEVICE, c"SYNCEDMEM_ERROR_WRONG_DEVICE"),
    (SYNCEDMEM_ERROR_FILE, c"SYNCEDMEM_ERROR_FILE"),
    (SYNCEDMEM_ERROR_EXPORTED, c"SYNCEDMEM_ERROR_EXPORTED"),
    (SYNCEDMEM_ERROR_FORMAT, c"SYNCEDMEM_ERROR_FORMAT"),
    (SYNCEDMEM_ERROR_UNSUPPORTED, c"SYNCEDMEM_ERROR_UNSUPPORTED"),
];

impl From<Error> for syncedmem_status_t {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidArgument { .. } | Error::NullData { .. } => SYNCEDMEM_ERROR_INVALID_ARGUMENT,
            Error::InvalidHandle | Error::EndedHandle { .. } => SYNCEDMEM_ERROR_INVALID_HANDLE,
            Error::OutOfMemory { .. } => SYNCEDMEM_ERROR_OUT_OF_MEMORY,
            Error::NoGpu { .. } => SYNCEDMEM_ERROR_NO_GPU,
            Error::GivenUp { .. } | Error::NotRedundant { .. } | Error::NotAtCpu { .. } | Error::NothingToPull => {
                SYNCEDMEM_ERROR_INVALID_STATE
            }
            Error::Driver(_) | Error::Captured(_) | Error::DeviceReset => SYNCEDMEM_ERROR_DRIVER,
            Error::Pending(_) => SYNCEDMEM_ERROR_PENDING,
            Error::WrongDevice { .. } => SYNCEDMEM_ERROR_WRONG_DEVICE,
            Error::NoTrace { .. } => SYNCEDMEM_ERROR_FILE,
            Error::Exported { .. } => SYNCEDMEM_ERROR_EXPORTED,
            Error::Reentered | Error::Interrupted => SYNCEDMEM_ERROR_REENTERED,
            Error::Internal => SYNCEDMEM_ERROR_INTERNAL,
        }
    }
}
