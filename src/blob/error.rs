//! The errors of blobs, each with its sentence.

use std::fmt;

use crate::cuda::cublas::BlasFailure;
use crate::error;
use crate::object::element::ElementType;

/// The reason why an operation on a blob failed. The blob is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The memory's own error.
    Memory(error::Error),
    /// No blob has elements of this type.
    NoType(ElementType),
    /// More than 32 axes.
    TooManyAxes { axes: usize },
    /// A dimension that is negative or above `i32::MAX`.
    NoDim { axis: usize, dim: i64 },
    /// The count, or an offset, would exceed `i32::MAX`, from this axis on.
    TooLarge { axis: usize },
    /// The count of some axes would exceed `i32::MAX`.
    TooLargeRange { start: i64, end: i64 },
    /// There is no such axis.
    NoAxis { axis: i64, axes: usize },
    /// There is no such range of axes.
    NoRange { start: i64, end: i64, axes: usize },
    /// There is no such legacy axis, or the blob has too many axes for them.
    NotLegacy { axis: i64, axes: usize },
    /// More indices than axes.
    TooManyIndices { indices: usize, axes: usize },
    /// An index outside of its axis.
    NoIndex { axis: usize, index: i64, most: i64 },
    /// The blob was never given a shape.
    NoShape,
    /// Memory can be shared between equal counts only.
    CountsDiffer { own: usize, other: usize },
    /// Contents are copied between equal shapes only.
    ShapesDiffer,
    /// Two blobs of different types.
    TypesDiffer { own: ElementType, other: ElementType },
    /// Integers have no math.
    NoMath(ElementType),
    /// `update` of data that was never written.
    Untouched,
    /// The address given is no multiple of the element's size.
    Misaligned { bytes: usize },
    /// Data and diff are on two devices.
    TwoDevices { own: i32, other: i32 },
    /// A call of cuBLAS failed.
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
