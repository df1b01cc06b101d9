//! Counts, bytes and axes of a tensor's dimensions.

use super::error::Error;

/// The count of a tensor without a shape.
pub const UNSHAPED: i64 = -1;

/// The number of items; 1 without dimensions. The product that leaves out zeros must fit too, so that no partial product overflows.
pub fn count(dims: impl Iterator<Item = i64> + Clone) -> Result<i64, Error> {
    if dims.clone().any(|dim| dim < 0) {
        return Err(Error::Argument(
            "a dimension is negative; pass how many items there are along each, or the result of a product that did not \
             overflow",
        ));
    }
    let widest = dims.clone().try_fold(1i64, |product, dim| product.checked_mul(dim.max(1)));
    let widest =
        widest.ok_or(Error::Argument("the dimensions have more items than 64 bits count; pass smaller ones"))?;
    Ok(if dims.into_iter().any(|dim| dim == 0) { 0 } else { widest })
}

/// The bytes of `count` items; 0 without a shape.
pub fn bytes(count: i64, itemsize: usize) -> Result<usize, Error> {
    let count = usize::try_from(count).unwrap_or(0);
    count
        .checked_mul(itemsize)
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or(Error::Argument("the items need more bytes than an address space has; pass smaller dimensions"))
}

const NO_AXIS: Error = Error::Argument("the tensor has no such axis; pass a number from 0 to ndim - 1");

pub fn axis(dims: &[i64], axis: i32) -> Result<usize, Error> {
    usize::try_from(axis).ok().filter(|&axis| axis < dims.len()).ok_or(NO_AXIS)
}

/// A negative axis counts from the end.
pub fn canonical_axis(dims: &[i64], axis: i32) -> Result<i32, Error> {
    let known = i64::try_from(dims.len()).unwrap_or(i64::MAX);
    let from_start = if axis < 0 { i64::from(axis) + known } else { i64::from(axis) };
    let place = i32::try_from(from_start).ok().filter(|_| (0..known).contains(&from_start));
    place.ok_or(Error::Argument("the tensor has no such axis; pass a number from -ndim to ndim - 1"))
}

pub fn size_from(dims: &[i64], axis: i32) -> Result<i64, Error> {
    let from = usize::try_from(axis).map_err(|_| NO_AXIS)?;
    // Compat: the product is 1 for an axis after the last one.
    Ok(dims.get(from..).unwrap_or_default().iter().product())
}

/// Compat: unlike in `size_from`, the number of axes is refused.
pub fn size_to(dims: &[i64], axis: i32) -> Result<i64, Error> {
    Ok(dims[..self::axis(dims, axis)?].iter().product())
}

/// The product of the dimensions between two axes, in either order, without theirs.
pub fn size_between(dims: &[i64], one: i32, other: i32) -> Result<i64, Error> {
    let (one, other) = (axis(dims, one)?, axis(dims, other)?);
    let (first, last) = (one.min(other), one.max(other));
    Ok(dims.get(first + 1..last).unwrap_or_default().iter().product())
}

pub fn dim(dims: &[i64], axis: i32) -> Result<i64, Error> {
    Ok(dims[self::axis(dims, axis)?])
}

pub fn dim32(dims: &[i64], axis: i32) -> Result<i32, Error> {
    let wide = dim(dims, axis)?;
    i32::try_from(wide).map_err(|_| Error::State("the dimension is larger than 32 bits hold; ask for it in 64 bits"))
}
