use std::fmt;

use super::error::Error;

/// Caffe's `kMaxBlobAxes`.
pub const MOST_AXES: usize = 32;

/// Up to 32 dimensions and their product. The default is a blob without a shape: no axes, and a count of 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    axes: usize,
    count: i32,
    /// 0 beyond `axes`.
    dims: [i32; MOST_AXES],
}

impl Shape {
    /// A shape of `dims`; without any the count is 1.
    // Unlike Caffe: a dimension that no `int` holds is refused, not narrowed.
    pub fn new(dims: &[i64]) -> Result<Shape, Error> {
        if dims.len() > MOST_AXES {
            return Err(Error::TooManyAxes { axes: dims.len() });
        }
        let mut shape = Shape { axes: dims.len(), count: 1, ..Shape::default() };
        for (axis, (&dim, slot)) in dims.iter().zip(&mut shape.dims).enumerate() {
            *slot = i32::try_from(dim).ok().filter(|&dim| dim >= 0).ok_or(Error::NoDim { axis, dim })?;
            // Compat: after a dimension of 0 the product no longer has a limit.
            shape.count = shape.count.checked_mul(*slot).ok_or(Error::TooLarge { axis })?;
        }
        Ok(shape)
    }

    pub fn dims(&self) -> &[i32] {
        &self.dims[..self.axes]
    }

    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// A negative axis counts from the end.
    pub fn dim(&self, axis: i64) -> Result<i64, Error> {
        let from_start = if axis < 0 { axis.checked_add(self.axes as i64) } else { Some(axis) };
        let place = from_start.and_then(|place| usize::try_from(place).ok());
        let dim = place.and_then(|place| self.dims().get(place));
        dim.map(|&dim| dim.into()).ok_or(Error::NoAxis { axis, axes: self.axes })
    }

    /// The product of the axes from `start` up to `end`, exclusive; 1 for an empty range.
    // Unlike Caffe: a product that no `int` holds is refused. It can occur beside a dimension of 0.
    pub fn count_of(&self, start: i64, end: i64) -> Result<i64, Error> {
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let dims = range.and_then(|(start, end)| self.dims().get(start..end));
        let dims = dims.ok_or(Error::NoRange { start, end, axes: self.axes })?;
        let product = dims.iter().try_fold(1i32, |product, &dim| product.checked_mul(dim));
        product.map(i64::from).ok_or(Error::TooLargeRange { start, end })
    }

    /// The dimension of a legacy axis, 1 if the shape lacks it. A negative axis counts from the end.
    pub fn legacy_dim(&self, axis: i64) -> Result<i64, Error> {
        if self.axes > 4 || !(-4..4).contains(&axis) {
            return Err(Error::NotLegacy { axis, axes: self.axes });
        }
        Ok(self.dim(axis).unwrap_or(1))
    }

    /// The place of an element; missing trailing indices are 0.
    pub fn offset(&self, indices: &[i64]) -> Result<i64, Error> {
        if indices.len() > self.axes {
            return Err(Error::TooManyIndices { indices: indices.len(), axes: self.axes });
        }
        let mut offset = 0;
        for (axis, &dim) in self.dims().iter().enumerate() {
            let (dim, index) = (i64::from(dim), indices.get(axis).copied());
            if let Some(index) = index.filter(|index| !(0..dim).contains(index)) {
                return Err(Error::NoIndex { axis, index, most: dim - 1 });
            }
            // Each index is 0 or below its dimension, so the offset stays below the count and cannot overflow.
            offset = offset * dim + index.unwrap_or(0);
        }
        Ok(offset)
    }

    /// Compat: each index may be one past its axis, which programs use for the end of a range.
    // Unlike Caffe: Caffe refuses only a negative first index.
    pub fn legacy_offset(&self, indices: [i64; 4]) -> Result<i64, Error> {
        let mut offset = 0i64;
        for (axis, index) in indices.into_iter().enumerate() {
            let dim = self.legacy_dim(axis as i64)?;
            if !(0..=dim).contains(&index) {
                return Err(Error::NoIndex { axis, index, most: dim });
            }
            let next = offset.checked_mul(dim).and_then(|offset| offset.checked_add(index));
            offset = next.filter(|&offset| offset <= i32::MAX.into()).ok_or(Error::TooLarge { axis })?;
        }
        Ok(offset)
    }

    pub fn equals(&self, dims: &[i64]) -> bool {
        self.dims().iter().map(|&dim| i64::from(dim)).eq(dims.iter().copied())
    }

    /// Compat: dimensions are compared from the end, because old files store a bias of N as 1×1×1×N.
    pub fn equals_legacy(&self, dims: [i64; 4]) -> bool {
        (-4..).zip(dims).all(|(axis, dim)| self.legacy_dim(axis) == Ok(dim))
    }
}

/// The text of Caffe's `shape_string`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dims().iter().try_for_each(|dim| write!(f, "{dim} "))?;
        write!(f, "({})", self.count)
    }
}
