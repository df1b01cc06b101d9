//! Caffe's `Blob`: a shape, data and diff.
//!
//! The rules are those of BVLC's `blob.cpp`. `// Unlike Caffe:` marks a fault that is not repeated; `tests/blob/unlike_caffe.rs`
//! tests them. A blob has no lock: callers keep the rules of `&self` and `&mut self`.

mod array;
mod device;
pub mod error;
mod math;
pub mod shape;

use std::ffi::c_void;
use std::sync::OnceLock;

use syncedmem_core::head::{Access, Side};

use crate::cuda;
use crate::object::SyncedMemory;
use crate::object::element::ElementType;
use crate::object::owner::Shared;
use array::Array;
pub use caffemodel::Part;
pub use device::{Ready, computed_on_host};
use error::Error;
pub use math::Term;
use shape::Shape;

/// An array to share or copy.
#[derive(Debug)]
pub struct Source {
    element: ElementType,
    shape: Shape,
    memory: Shared,
}

#[derive(Debug)]
pub struct Blob {
    element: ElementType,
    shape: Shape,
    /// Data and diff, each of at least the shape's bytes; `None` until the first reshape.
    memories: [Option<Shared>; 2],
    /// The dimensions in device memory, made at the first `gpu_shape()` and dropped when the shape changes.
    // Unlike Caffe: Caffe writes them at each reshape, into page-locked memory in GPU mode.
    gpu_shape: OnceLock<Shared>,
}

impl Blob {
    pub fn new(element: ElementType) -> Result<Blob, Error> {
        use ElementType::{Float32, Float64, Int32, UInt32};
        if !matches!(element, Float32 | Float64 | Int32 | UInt32) {
            return Err(Error::NoType(element));
        }
        Ok(Blob { element, shape: Shape::default(), memories: [None, None], gpu_shape: OnceLock::new() })
    }

    pub fn element(&self) -> ElementType {
        self.element
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// An array keeps memory that is large enough, with its contents.
    // Unlike Caffe: every step that can fail comes before the first change.
    pub fn reshape(&mut self, dims: &[i64]) -> Result<(), Error> {
        self.reshape_with(dims, |_| Ok(()))
    }

    /// Reshapes after `fill` has filled the new memories; if `fill` fails, the blob is unchanged.
    pub fn reshape_with<E: From<Error>>(
        &mut self,
        dims: &[i64],
        fill: impl FnOnce(&[Shared; 2]) -> Result<(), E>,
    ) -> Result<(), E> {
        let shape = Shape::new(dims)?;
        let memories = self.memories_for(&shape)?;
        fill(&memories)?;
        self.take(shape, memories);
        Ok(())
    }

    fn memories_for(&self, shape: &Shape) -> Result<[Shared; 2], Error> {
        let bytes = self.bytes_of(shape);
        let [data, diff] = &self.memories;
        Ok([at_least(bytes, data.as_ref())?, at_least(bytes, diff.as_ref())?])
    }

    fn take(&mut self, shape: Shape, memories: [Shared; 2]) {
        self.memories = memories.map(Some);
        if shape != self.shape {
            self.gpu_shape.take();
            self.shape = shape;
        }
    }

    /// The size of an array's memory in bytes; 0 without a shape.
    // Unlike Caffe: Caffe keeps the capacity of memory that it no longer has.
    pub fn capacity(&self, part: Part) -> Result<usize, Error> {
        self.memories[part as usize].as_ref().map_or(Ok(0), |memory| Ok(memory.size()?))
    }

    pub fn memory(&self, part: Part) -> Result<&Shared, Error> {
        self.memories[part as usize].as_ref().ok_or(Error::NoShape)
    }

    /// Borrows the caller's memory as `side`, which is then the newest. Memory of another size than the count's is replaced.
    ///
    /// # Safety
    /// `data` is memory of `side` for all elements, as long as the blob refers to it. Pointers to the old memory are not used any
    /// more.
    // Unlike Caffe: Caffe replaces the other array too, and follows a null pointer if there is no shape.
    #[expect(unsafe_code, reason = "memory is borrowed from the caller")]
    pub unsafe fn set(&mut self, part: Part, side: Side, data: *mut c_void) -> Result<(), Error> {
        let (bytes, size) = (self.bytes_of(&self.shape), self.element.bytes());
        if data.addr() % size != 0 {
            return Err(Error::Misaligned { bytes: size });
        }
        // SAFETY: the caller of `Blob::set` keeps `data` valid and gives up old pointers; `memory` has the count's size.
        let set = |memory: &SyncedMemory| unsafe { memory.set_data(side, data) };
        let memory = self.memory(part)?;
        if memory.size()? == bytes {
            return Ok(set(memory)?);
        }
        let memory = Shared::new(bytes)?;
        set(&memory)?;
        self.memories[part as usize] = Some(memory);
        Ok(())
    }

    pub fn source(&self, part: Part) -> Result<Source, Error> {
        Ok(Source { element: self.element, shape: self.shape, memory: self.memory(part)?.clone() })
    }

    pub fn share(&mut self, part: Part, source: Source) -> Result<(), Error> {
        self.check_type(&source)?;
        let (own, other) = (self.shape.count(), source.shape.count());
        if own != other {
            return Err(Error::CountsDiffer { own, other });
        }
        self.memories[part as usize] = Some(source.memory);
        Ok(())
    }

    /// A source of another shape is refused, unless `reshape` lets the blob take its shape.
    pub fn copy_from(&mut self, part: Part, source: &Source, reshape: bool) -> Result<(), Error> {
        self.check_type(source)?;
        let from = Array { element: source.element, count: source.shape.count(), memory: &source.memory };
        if self.shape == source.shape {
            return self.array(part)?.copy_from(from);
        }
        if !reshape {
            return Err(Error::ShapesDiffer);
        }
        let memories = self.memories_for(&source.shape)?;
        Array { memory: &memories[part as usize], ..from }.copy_from(from)?;
        self.take(source.shape, memories);
        Ok(())
    }

    pub fn update(&mut self) -> Result<(), Error> {
        self.check_math()?;
        self.array(Part::Data)?.subtract(self.array(Part::Diff)?)
    }

    pub fn sum(&self, part: Part, term: Term) -> Result<f64, Error> {
        self.check_math()?;
        self.memories[part as usize].as_ref().map_or(Ok(0.0), |_| self.array(part)?.sum(term))
    }

    pub fn scale(&mut self, part: Part, factor: f64) -> Result<(), Error> {
        self.check_math()?;
        self.memories[part as usize].as_ref().map_or(Ok(()), |_| self.array(part)?.scale(factor))
    }

    /// The address of the dimensions in device memory, valid until the shape changes; null without axes.
    pub fn gpu_shape(&self) -> Result<*const c_void, Error> {
        cuda::driver()?;
        let memory = match self.gpu_shape.get() {
            Some(memory) => memory,
            None => {
                let memory = Shared::new(size_of_val(self.shape.dims()))?;
                array::fill(&memory, self.shape.dims())?;
                // The memory is ready before the cell is set, so a fork leaves no cell half initialised.
                self.gpu_shape.get_or_init(|| memory)
            }
        };
        Ok(memory.data(Access::Read, Side::Device)?.cast_const())
    }

    fn array(&self, part: Part) -> Result<Array<'_>, Error> {
        Ok(Array { element: self.element, count: self.shape.count(), memory: self.memory(part)? })
    }

    fn check_math(&self) -> Result<(), Error> {
        match self.element {
            ElementType::Float32 | ElementType::Float64 => Ok(()),
            other => Err(Error::NoMath(other)),
        }
    }

    fn bytes_of(&self, shape: &Shape) -> usize {
        shape.count() * self.element.bytes()
    }

    fn check_type(&self, other: &Source) -> Result<(), Error> {
        let (own, other) = (self.element, other.element);
        if own == other { Ok(()) } else { Err(Error::TypesDiffer { own, other }) }
    }
}

fn at_least(bytes: usize, memory: Option<&Shared>) -> Result<Shared, Error> {
    match memory {
        Some(memory) if memory.size()? >= bytes => Ok(memory.clone()),
        _ => Ok(Shared::new(bytes)?),
    }
}
