//! Caffe's `Blob`: a shape and two arrays, the data and the diff, each in a `SyncedMemory`.
//!
//! ```text
//! array (copy and math of one array, on the side that its head names)  →  math (the host's loops), device, open
//! shape (axes, counts, offsets: pure)  →  error
//! ```
//! The rules are those of BVLC's `blob.cpp`. `// Compat:` marks its quirks, and `// Mend N:` a fault of it that is not repeated; N
//! counts as the tests do, in `tests/blob/mends.rs`.
//!
//! A blob has no lock. Any number of threads may read it at once; a call that takes `&mut self` needs it alone. The
//! memory that it lends is a `SyncedMemory`, with that one's rules.

mod array;
mod device;
pub mod error;
mod math;
pub mod open;
pub mod shape;

use std::ffi::c_void;
use std::sync::OnceLock;

use syncedmem_trace::head::{Access, Side};

use crate::cuda;
use crate::object::SyncedMemory;
use crate::object::element::ElementType;
use crate::object::shared::Shared;
use array::Array;
pub use device::computed_on_host;
use error::Error;
use shape::Shape;

/// One of the two arrays of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The values.
    Data,
    /// Their gradients.
    Diff,
}

/// An array of a blob, to be shared or copied by another, or by the same.
#[derive(Debug)]
pub struct Source {
    element: ElementType,
    shape: Shape,
    memory: Shared,
}

/// A shape, data and diff.
#[derive(Debug)]
pub struct Blob {
    element: ElementType,
    shape: Shape,
    /// Data and diff: as many bytes as the shape needs, or more. `None` until the first reshape.
    memories: [Option<Shared>; 2],
    /// The dimensions, for kernels. Made where they are asked for, and dropped when the shape changes.
    // Mend 9: Caffe writes them at each reshape, into page-locked memory in GPU mode.
    gpu_shape: OnceLock<Shared>,
}

impl Blob {
    /// A blob without a shape, and so without memory: a default-constructed one in Caffe.
    pub fn new(element: ElementType) -> Result<Blob, Error> {
        match element {
            ElementType::Float32 | ElementType::Float64 | ElementType::Int32 | ElementType::UInt32 => {
                let gpu_shape = OnceLock::new();
                Ok(Blob { element, shape: Shape::default(), memories: [None, None], gpu_shape })
            }
            _ => Err(Error::NoType(element)),
        }
    }

    pub fn element(&self) -> ElementType {
        self.element
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Gives the blob a shape. An array whose memory is large enough keeps it, with its contents; any other gets new memory,
    /// without contents.
    // Mend 3: what can fail comes before the first change.
    pub fn reshape(&mut self, dims: &[i64]) -> Result<(), Error> {
        self.reshape_with(dims, |_| Ok(()))
    }

    /// `reshape`, unless `fill` fails, which gets the memories of data and diff first: those of the blob where they are large enough.
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

    /// The memories of the blob once it has `shape`: its own, where they are large enough.
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

    /// The size of an array's memory in bytes: to that size a reshape keeps it. 0 without a shape.
    // Mend 1: Caffe keeps the capacity of memory that it no longer has.
    pub fn capacity(&self, which: Which) -> Result<usize, Error> {
        self.memories[which as usize].as_ref().map_or(Ok(0), |memory| Ok(memory.size()?))
    }

    /// The memory of an array.
    pub fn memory(&self, which: Which) -> Result<&Shared, Error> {
        self.memories[which as usize].as_ref().ok_or(Error::NoShape)
    }

    /// Borrows the caller's memory as `side` of an array, which is then the newest. Memory of another size than the count's is
    /// replaced first.
    ///
    /// # Safety
    /// `data` stays readable and writable memory of `side`, for all elements, while the blob refers to it. Pointers to the
    /// memory before it are not used any more.
    // Mend 2: Caffe replaces the other array too, and follows a null pointer if there is no shape.
    #[expect(unsafe_code, reason = "memory is borrowed from the caller")]
    pub unsafe fn set(&mut self, which: Which, side: Side, data: *mut c_void) -> Result<(), Error> {
        let (bytes, size) = (self.bytes_of(&self.shape), self.element.bytes());
        if data.addr() % size != 0 {
            return Err(Error::Misaligned { bytes: size });
        }
        // SAFETY: the caller guarantees it, and the memory has the count's size.
        let set = |memory: &SyncedMemory| unsafe { memory.set_data(side, data) };
        let memory = self.memory(which)?;
        if memory.size()? == bytes {
            return Ok(set(memory)?);
        }
        let memory = Shared::new(bytes)?;
        set(&memory)?;
        self.memories[which as usize] = Some(memory);
        Ok(())
    }

    /// An array as others see it.
    pub fn source(&self, which: Which) -> Result<Source, Error> {
        Ok(Source { element: self.element, shape: self.shape, memory: self.memory(which)?.clone() })
    }

    /// Uses the memory of another blob's array as its own, until one of the two gets other memory.
    pub fn share(&mut self, which: Which, source: Source) -> Result<(), Error> {
        self.check_type(&source)?;
        let (own, other) = (self.shape.count(), source.shape.count());
        if own != other {
            return Err(Error::CountsDiffer { own, other });
        }
        self.memories[which as usize] = Some(source.memory);
        Ok(())
    }

    /// Copies the contents of an array, on the side where they are. One of another shape is refused unless `reshape` says that
    /// this blob takes that shape.
    pub fn copy_from(&mut self, which: Which, source: &Source, reshape: bool) -> Result<(), Error> {
        self.check_type(source)?;
        let from = Array { element: source.element, count: source.shape.count(), memory: &source.memory };
        if self.shape == source.shape {
            return self.array(which)?.copy_from(from);
        }
        if !reshape {
            return Err(Error::ShapesDiffer);
        }
        let memories = self.memories_for(&source.shape)?;
        Array { memory: &memories[which as usize], ..from }.copy_from(from)?;
        self.take(source.shape, memories);
        Ok(())
    }

    /// Subtracts the diff from the data, where the data is.
    pub fn update(&mut self) -> Result<(), Error> {
        self.check_math()?;
        self.array(Which::Data)?.subtract(self.array(Which::Diff)?)
    }

    /// The sum of the absolute values; 0 of memory that was never touched.
    pub fn asum(&self, which: Which) -> Result<f64, Error> {
        self.check_math()?;
        self.memories[which as usize].as_ref().map_or(Ok(0.0), |_| self.array(which)?.asum())
    }

    /// The sum of the squares; 0 of memory that was never touched.
    pub fn sumsq(&self, which: Which) -> Result<f64, Error> {
        self.check_math()?;
        self.memories[which as usize].as_ref().map_or(Ok(0.0), |_| self.array(which)?.sumsq())
    }

    /// Multiplies each element by `factor`. Nothing is done with memory that was never touched.
    pub fn scale(&mut self, which: Which, factor: f64) -> Result<(), Error> {
        self.check_math()?;
        self.memories[which as usize].as_ref().map_or(Ok(()), |_| self.array(which)?.scale(factor))
    }

    /// The address of the dimensions on the device, as `int`s; null without axes. It is valid until the shape changes.
    pub fn gpu_shape(&self) -> Result<*const c_void, Error> {
        cuda::driver()?;
        let memory = match self.gpu_shape.get() {
            Some(memory) => memory,
            None => {
                let memory = Shared::new(size_of_val(self.shape.dims()))?;
                array::fill(&memory, self.shape.dims())?;
                // The memory was made before: a fork in between leaves no cell half initialised.
                self.gpu_shape.get_or_init(|| memory)
            }
        };
        Ok(memory.data(Access::Read, Side::Device)?.cast_const())
    }

    fn array(&self, which: Which) -> Result<Array<'_>, Error> {
        Ok(Array { element: self.element, count: self.shape.count(), memory: self.memory(which)? })
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

/// `memory`, if it has that many bytes, else a new one.
fn at_least(bytes: usize, memory: Option<&Shared>) -> Result<Shared, Error> {
    match memory {
        Some(memory) if memory.size()? >= bytes => Ok(memory.clone()),
        _ => Ok(Shared::new(bytes)?),
    }
}
