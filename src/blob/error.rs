use std::fmt;

use crate::cuda::cublas::BlasFailure;
use crate::error;
use crate::object::element::ElementType;

/// Why an operation on a blob failed. The blob is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    Memory(error::Error),
    NoType(ElementType),
    TooManyAxes { axes: usize },
    NoDim { axis: usize, dim: i64 },
    TooLarge { axis: usize },
    TooLargeRange { start: i64, end: i64 },
    NoAxis { axis: i64, axes: usize },
    NoRange { start: i64, end: i64, axes: usize },
    NotLegacy { axis: i64, axes: usize },
    TooManyIndices { indices: usize, axes: usize },
    NoIndex { axis: usize, index: i64, most: i64 },
    NoShape,
    CountsDiffer { own: usize, other: usize },
    ShapesDiffer,
    TypesDiffer { own: ElementType, other: ElementType },
    NoMath(ElementType),
    Untouched,
    Misaligned { bytes: usize },
    TwoDevices { own: i32, other: i32 },
    Blas(BlasFailure),
}

impl From<BlasFailure> for Error {
    fn from(failure: BlasFailure) -> Self {
        Error::Blas(failure)
    }
}

impl From<error::Error> for Error {
    fn from(error: error::Error) -> Self {
        Error::Memory(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Memory(error) => error.fmt(f),
            Error::NoType(element) => write!(
                f,
                "no blob has elements of type {}; make one of float32, float64, int32 or uint32",
                element.name()
            ),
            Error::TooManyAxes { axes } => {
                write!(f, "the shape has {axes} axes, and a blob has at most 32; join some of them")
            }
            Error::NoDim { axis, dim } => {
                write!(f, "the dimension of axis {axis} is {dim}; pass one of 0 to {}", i32::MAX)
            }
            Error::TooLarge { axis } => write!(
                f,
                "with axis {axis} the count exceeds {}, the most elements of a blob; use several blobs",
                i32::MAX
            ),
            Error::TooLargeRange { start, end } => {
                write!(f, "the count of the axes {start} to {end} exceeds {}; ask for fewer axes", i32::MAX)
            }
            Error::NoAxis { axis, axes } => {
                write!(f, "axis {axis} does not exist in a blob of {axes} axes; count from 0, or from -1 backwards")
            }
            Error::NoRange { start, end, axes } => write!(
                f,
                "axes {start} to {end} are no range of a blob of {axes} axes; pass 0 <= start <= end <= {axes}"
            ),
            Error::NotLegacy { axis, axes } if axes <= 4 => write!(
                f,
                "legacy axis {axis} does not exist; 0 to 3 are num, channels, height and width, -4 to -1 from the end"
            ),
            Error::NotLegacy { axes, .. } => write!(
                f,
                "num, channels, height and width are for blobs of up to 4 axes, and this one has {axes}; ask for the \
                 shape of an axis"
            ),
            Error::TooManyIndices { indices, axes } => {
                write!(f, "{indices} indices are too many for a blob of {axes} axes; pass at most one for each")
            }
            Error::NoIndex { axis, index, most } if most < 0 => {
                write!(f, "index {index} of axis {axis} does not exist: its dimension is 0; leave the index out")
            }
            Error::NoIndex { axis, index, most } => {
                write!(f, "index {index} of axis {axis} does not exist; pass one of 0 to {most}")
            }
            Error::NoShape => f.write_str("the blob has no shape yet, and so no memory; reshape it first"),
            Error::CountsDiffer { own, other } => write!(
                f,
                "the blob has {own} elements and the other {other}, and memory is shared between equal counts only; reshape \
                 one of them first"
            ),
            Error::ShapesDiffer => {
                f.write_str("the blobs have different shapes; reshape this one first, or pass reshape as true")
            }
            Error::TypesDiffer { own, other } => write!(
                f,
                "the blob has elements of type {} and the other {}; use blobs of one type",
                own.name(),
                other.name()
            ),
            Error::NoMath(element) => {
                write!(f, "a blob of {} has no math, as in Caffe; use a blob of float32 or float64", element.name())
            }
            Error::Untouched => f.write_str(
                "the blob's data was never written, so there is nothing to update; write it first, on either side",
            ),
            Error::Misaligned { bytes } => write!(
                f,
                "the address of the data is no multiple of {bytes}, the size of an element; copy the data to one that is"
            ),
            Error::TwoDevices { own, other } => write!(
                f,
                "the data is on device {own} and the diff on device {other}; bring the diff to the host first \
                 (syncedmem_mutable_cpu_data, then syncedmem_release_gpu)"
            ),
            Error::Blas(BlasFailure { call, status }) => write!(
                f,
                "{call} of cuBLAS returned status {status} of cublasStatus_t; an earlier kernel may have failed \
                 (compute-sanitizer finds it)"
            ),
        }
    }
}

impl std::error::Error for Error {}
