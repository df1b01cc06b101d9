//! The numbers of element types, and of a blob's arrays.

use super::arguments::one_of;
#[cfg(feature = "blob")]
use crate::blob::Part;
use crate::error::Error;
use crate::object::element::ElementType;

/// The type of the elements of a blob, a tensor, or an array in a model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_type_t {
    /// IEEE 754 binary32: `float`.
    SYNCEDMEM_FLOAT32 = 0,
    /// IEEE 754 binary64: `double`.
    SYNCEDMEM_FLOAT64 = 1,
    /// IEEE 754 binary16.
    SYNCEDMEM_FLOAT16 = 2,
    /// `int8_t`.
    SYNCEDMEM_INT8 = 3,
    /// `uint8_t`.
    SYNCEDMEM_UINT8 = 4,
    /// `int16_t`.
    SYNCEDMEM_INT16 = 5,
    /// `uint16_t`.
    SYNCEDMEM_UINT16 = 6,
    /// `int32_t`.
    SYNCEDMEM_INT32 = 7,
    /// `uint32_t`.
    SYNCEDMEM_UINT32 = 8,
    /// `int64_t`.
    SYNCEDMEM_INT64 = 9,
    /// One byte, 0 or 1.
    SYNCEDMEM_BOOL = 10,
}

pub(crate) fn element_type(number: i32) -> Result<ElementType, Error> {
    one_of(number, ElementType::ALL, "the type is no number of syncedmem_type_t; pass SYNCEDMEM_FLOAT32 or another")
}

/// One of a blob's two arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_array_t {
    /// The values.
    SYNCEDMEM_DATA = 0,
    /// Their gradients.
    SYNCEDMEM_DIFF = 1,
}

#[cfg(feature = "blob")]
pub(super) fn part(number: i32) -> Result<Part, Error> {
    let what = "array is not a syncedmem_array_t; pass SYNCEDMEM_DATA (0) or SYNCEDMEM_DIFF (1)";
    one_of(number, [Part::Data, Part::Diff], what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip]
    fn the_numbers_are_those_of_the_core() {
        use syncedmem_type_t::*;
        let numbers = [
            SYNCEDMEM_FLOAT32, SYNCEDMEM_FLOAT64, SYNCEDMEM_FLOAT16, SYNCEDMEM_INT8, SYNCEDMEM_UINT8, SYNCEDMEM_INT16,
            SYNCEDMEM_UINT16, SYNCEDMEM_INT32, SYNCEDMEM_UINT32, SYNCEDMEM_INT64, SYNCEDMEM_BOOL,
        ];
        for (number, element) in numbers.into_iter().zip(ElementType::ALL) {
            assert_eq!(format!("{number:?}"), format!("SYNCEDMEM_{}", element.name().to_uppercase()));
            assert_eq!((element_type(number as i32), element as i32), (Ok(element), number as i32));
        }
        assert!(element_type(11).is_err() && element_type(-1).is_err());
    }
}
