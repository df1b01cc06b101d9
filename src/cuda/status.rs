//! The driver's statuses, as integers: a newer driver may return others.

use std::ffi::c_int;

use cudarc::driver::sys::cudaError_enum as Known;

pub const SUCCESS: c_int = Known::CUDA_SUCCESS as c_int;
pub const INVALID_VALUE: c_int = Known::CUDA_ERROR_INVALID_VALUE as c_int;
pub const OUT_OF_MEMORY: c_int = Known::CUDA_ERROR_OUT_OF_MEMORY as c_int;
pub const DEINITIALIZED: c_int = Known::CUDA_ERROR_DEINITIALIZED as c_int;
pub const STUB_LIBRARY: c_int = Known::CUDA_ERROR_STUB_LIBRARY as c_int;
pub const NO_DEVICE: c_int = Known::CUDA_ERROR_NO_DEVICE as c_int;
pub const INVALID_CONTEXT: c_int = Known::CUDA_ERROR_INVALID_CONTEXT as c_int;
pub const NOT_READY: c_int = Known::CUDA_ERROR_NOT_READY as c_int;
pub const STREAM_CAPTURE_UNSUPPORTED: c_int = Known::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED as c_int;
pub const STREAM_CAPTURE_IMPLICIT: c_int = Known::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT as c_int;
pub const CONTEXT_IS_DESTROYED: c_int = Known::CUDA_ERROR_CONTEXT_IS_DESTROYED as c_int;

pub fn is_context_gone(status: c_int) -> bool {
    matches!(status, INVALID_CONTEXT | CONTEXT_IS_DESTROYED | DEINITIALIZED)
}

/// `false` while the driver itself ends.
pub fn can_be_recreated(status: c_int) -> bool {
    is_context_gone(status) && status != DEINITIALIZED
}

pub fn is_capture_error(status: c_int) -> bool {
    (STREAM_CAPTURE_UNSUPPORTED..=Known::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD as c_int).contains(&status)
}

/// An error of an earlier kernel. By the CUDA Driver API it leaves the process inconsistent, and all later work returns it.
pub fn is_sticky(status: c_int) -> bool {
    const FAMILY: [Known; 12] = [
        Known::CUDA_ERROR_ECC_UNCORRECTABLE,
        Known::CUDA_ERROR_NVLINK_UNCORRECTABLE,
        Known::CUDA_ERROR_ILLEGAL_ADDRESS,
        Known::CUDA_ERROR_LAUNCH_TIMEOUT,
        Known::CUDA_ERROR_ASSERT,
        Known::CUDA_ERROR_HARDWARE_STACK_ERROR,
        Known::CUDA_ERROR_ILLEGAL_INSTRUCTION,
        Known::CUDA_ERROR_MISALIGNED_ADDRESS,
        Known::CUDA_ERROR_INVALID_ADDRESS_SPACE,
        Known::CUDA_ERROR_INVALID_PC,
        Known::CUDA_ERROR_LAUNCH_FAILED,
        Known::CUDA_ERROR_CONTAINED,
    ];
    FAMILY.iter().any(|&known| known as c_int == status)
}
