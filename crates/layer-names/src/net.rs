//! A net of Caffe's, read through its exported accessors.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::marker::PhantomData;
use std::mem::transmute;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::layer_type::{is_convolution, type_of};
use crate::layout::{Bits, NewString, OldString, Shared, Vector, elements, is_readable};
use crate::original::find;

/// `const vector<T>& name() const`; of a blob's memory, `const T& name() const`.
#[derive(Clone, Copy)]
struct Accessor<T>(Get, PhantomData<T>);
type Get = unsafe extern "C" fn(*const c_void) -> *const c_void;
/// `Phase phase() const` and `int iter() const`
type Number = unsafe extern "C" fn(*const c_void) -> c_int;
type Blobs = Vector<*const c_void>;

impl<T: Copy> Accessor<T> {
    fn find(symbol: &str) -> Option<Accessor<T>> {
        // SAFETY: Caffe's headers give the names in this file this signature: a reference is a pointer, and so is `this`.
        find(symbol).map(|found| Accessor(unsafe { transmute::<*mut c_void, Get>(found) }, PhantomData))
    }

    /// # Safety
    /// `of` is of the accessor's class, and no other thread changes it.
    unsafe fn read<'a>(self, of: *const c_void) -> Option<&'a [T]> {
        // SAFETY: the caller guarantees it.
        let vector = unsafe { (self.0)(of) };
        // SAFETY: as above; the accessor returns a vector of `T`.
        unsafe { elements(vector) }
    }
}

struct Accessors {
    layer_names: Names,
    layers: Accessor<Shared>,
    bottoms: Accessor<Blobs>,
    tops: Accessor<Blobs>,
    layer_blobs: Accessor<Shared>,
    learnable: Option<Accessor<*const c_void>>,
    history: Option<Accessor<Shared>>,
    blob_names: Option<Names>,
    blobs: Option<Accessor<Shared>>,
    propagates: Option<Accessor<Bits>>,
}

/// Strings of the ABI since GCC 5, which the symbol tells, or before.
enum Names {
    New(Accessor<NewString>),
    Old(Accessor<OldString>),
}

impl Names {
    /// `accessor` as mangled.
    fn find(letter: &str, accessor: &str) -> Option<Names> {
        let symbol = format!("_ZNK5caffe3NetI{letter}E{accessor}");
        let new = Accessor::find(&format!("{symbol}B5cxx11Ev")).map(Names::New);
        new.or_else(|| Accessor::find(&format!("{symbol}Ev")).map(Names::Old))
    }
}

/// What was found, by the letter of an element type.
struct Found<T>([AtomicPtr<Option<T>>; 4]);

impl<T> Found<T> {
    const fn new() -> Found<T> {
        Found([const { AtomicPtr::new(null_mut()) }; 4])
    }

    /// Not a OnceLock: a child of fork would wait for ever for a thread that was looking it up. Threads that look it up
    /// at once find the same.
    fn of(&self, letter: &str, find: fn(&str) -> Option<T>) -> Option<&T> {
        let place = &self.0[["f", "d", "i", "j"].iter().position(|&known| known == letter)?];
        let mut found = place.load(Ordering::Acquire);
        if found.is_null() {
            found = Box::into_raw(Box::new(find(letter)));
            place.store(found, Ordering::Release);
        }
        // SAFETY: it was boxed here, and is never freed.
        unsafe { &*found }.as_ref()
    }
}

impl Accessors {
    fn of(letter: &'static str) -> Option<&'static Accessors> {
        static FOUND: Found<Accessors> = Found::new();
        FOUND.of(letter, Accessors::find)
    }

    fn find(letter: &str) -> Option<Accessors> {
        let net = |name: &str| format!("_ZNK5caffe3NetI{letter}E{name}Ev");
        Some(Accessors {
            layer_names: Names::find(letter, "11layer_names")?,
            layers: Accessor::find(&net("6layers"))?,
            bottoms: Accessor::find(&net("11bottom_vecs"))?,
            tops: Accessor::find(&net("8top_vecs"))?,
            layer_blobs: Accessor::find(&format!("_ZN5caffe5LayerI{letter}E5blobsEv"))?,
            learnable: Accessor::find(&net("16learnable_params")),
            history: Accessor::find(&format!("_ZN5caffe9SGDSolverI{letter}E7historyEv")),
            blob_names: Names::find(letter, "10blob_names"),
            blobs: Accessor::find(&net("5blobs")),
            propagates: Accessor::find(&net("20bottom_need_backward")),
        })
    }
}

struct BlobAccessors {
    memory: [Accessor<Shared>; 2],
    /// Blobs before Caffe's rc2 have no such function.
    shape: Option<Accessor<c_int>>,
}

impl BlobAccessors {
    fn of(letter: &'static str) -> Option<&'static BlobAccessors> {
        static FOUND: Found<BlobAccessors> = Found::new();
        FOUND.of(letter, BlobAccessors::find)
    }

    fn find(letter: &str) -> Option<BlobAccessors> {
        let blob = |name: &str| format!("_ZNK5caffe4BlobI{letter}E{name}Ev");
        let memory = [Accessor::find(&blob("4data"))?, Accessor::find(&blob("4diff"))?];
        Some(BlobAccessors { memory, shape: Accessor::find(&blob("5shape")) })
    }
}

/// Caffe's own thread is using it.
#[derive(Clone, Copy)]
pub struct Blob {
    this: *const c_void,
    letter: &'static str,
}

// SAFETY: whichever thread reads a blob is the one that its net runs on.
unsafe impl Send for Blob {}
// SAFETY: as above.
unsafe impl Sync for Blob {}

impl Blob {
    pub fn new(this: *const c_void, letter: &'static str) -> Blob {
        Blob { this, letter }
    }

    pub fn address(self) -> usize {
        self.this.addr()
    }

    /// Empty if this Caffe has no accessor for it.
    fn shape(self) -> Option<&'static [c_int]> {
        let accessors = BlobAccessors::of(self.letter)?;
        match accessors.shape {
            // SAFETY: the blob lives while Caffe's thread is in a call of its net.
            Some(shape) => unsafe { shape.read(self.this) },
            None => Some(&[]),
        }
    }

    /// For Caffe's layers the items of a batch; 0 without one.
    pub fn first_axis(self) -> u64 {
        self.shape().and_then(|shape| u64::try_from(*shape.first()?).ok()).unwrap_or(0)
    }

    /// A blob without them may be one that has no memory yet, for which the accessors end the process.
    pub fn has_axes(self) -> bool {
        !self.this.is_null() && self.shape().is_some_and(|shape| !shape.is_empty())
    }

    fn elements(self) -> i64 {
        self.shape().map_or(0, |shape| shape.iter().map(|&axis| i64::from(axis)).product())
    }

    /// Of data and diff. Null before the blob has a shape.
    pub fn memory(self) -> Option<[*mut c_void; 2]> {
        let accessors = BlobAccessors::of(self.letter)?;
        // The accessors end the process for a blob without elements.
        if self.this.is_null() || self.shape()?.contains(&0) {
            return None;
        }
        let [data, diff] = accessors.memory.map(|Accessor(get, _)| {
            // SAFETY: as in `shape`.
            let pointer = unsafe { get(self.this) }.cast::<Shared>();
            let is_pointer = pointer.is_aligned() && is_readable(pointer.addr(), size_of::<Shared>());
            // SAFETY: the accessor returns a reference to a shared pointer.
            is_pointer.then(|| unsafe { (*pointer).object })
        });
        Some([data?, diff?])
    }
}

/// Caffe's own thread is using it.
#[derive(Clone, Copy)]
pub struct Net {
    this: *const c_void,
    letter: &'static str,
}

pub struct Named {
    pub blob: Blob,
    pub name: String,
    /// Its first axis may be the batch.
    pub may_grow: bool,
}

pub struct Newest {
    pub name: String,
    pub is_source: bool,
    /// It takes images one by one: its internals do not grow with the batch.
    pub one_by_one: bool,
}

/// A net's layers and blobs, by address.
pub struct Structure {
    pub layers: Vec<Layer>,
    pub blob_names: HashMap<usize, &'static str>,
}

pub struct Layer {
    pub object: *mut c_void,
    pub name: String,
    pub kind: &'static str,
    pub bottoms: Vec<usize>,
    /// Of each bottom, whether its diff is written.
    pub propagates: Vec<bool>,
    pub tops: Vec<usize>,
}

impl Net {
    pub fn new(this: *const c_void, letter: &'static str) -> Net {
        Net { this, letter }
    }

    pub fn letter(self) -> &'static str {
        self.letter
    }

    pub fn address(self) -> usize {
        self.this.addr()
    }

    fn read<T: Copy>(self, get: Accessor<T>) -> Option<&'static [T]> {
        // SAFETY: Caffe's thread is in a call of this net, so it lives, and no other thread changes it.
        unsafe { get.read(self.this) }
    }

    pub fn newest_name(self) -> Option<String> {
        let last = self.texts(&Accessors::of(self.letter)?.layer_names, |count| count.saturating_sub(1)..count)?;
        last.first().map(|&name| name.to_owned())
    }

    /// The number of the newest layer.
    pub fn newest_number(self) -> Option<usize> {
        let mut newest = None;
        self.texts(&Accessors::of(self.letter)?.layer_names, |count| {
            newest = count.checked_sub(1);
            0..0
        })?;
        newest
    }

    pub fn structure(self) -> Option<Structure> {
        let accessors = Accessors::of(self.letter)?;
        let names = self.texts(&accessors.layer_names, |count| 0..count)?;
        let blob_names = self.texts(accessors.blob_names.as_ref()?, |count| 0..count)?;
        let addresses = self.read(accessors.blobs?)?.iter().map(|blob| blob.object.addr());
        let blob_names = addresses.zip(blob_names).collect();
        let (objects, bottoms, tops) =
            (self.read(accessors.layers)?, self.read(accessors.bottoms)?, self.read(accessors.tops)?);
        let propagates = self.read(accessors.propagates?)?;
        let mut layers = Vec::new();
        for ((((object, name), bottoms), tops), propagates) in
            objects.iter().zip(names).zip(bottoms).zip(tops).zip(propagates)
        {
            layers.push(Layer {
                object: object.object,
                name: name.to_owned(),
                kind: type_of(object.object),
                bottoms: blobs(bottoms)?.iter().map(|blob| blob.addr()).collect(),
                // SAFETY: the net lives and does not change.
                propagates: unsafe { propagates.bits() }?,
                tops: blobs(tops)?.iter().map(|blob| blob.addr()).collect(),
            });
        }
        Some(Structure { layers, blob_names })
    }

    pub fn newest_layer(self) -> Option<Newest> {
        let accessors = Accessors::of(self.letter)?;
        let name = self.newest_name()?;
        let bottoms = blobs(self.read(accessors.bottoms)?.last()?)?;
        let layers = self.read(accessors.layers);
        Some(Newest { name, is_source: bottoms.is_empty(), one_by_one: is_convolution(layers?.last()?.object) })
    }

    /// Of each layer: whether it has no inputs, and its outputs.
    fn outputs_by_layer(self, accessors: &Accessors) -> Option<Vec<(bool, &'static [*const c_void])>> {
        let (tops, bottoms) = (self.read(accessors.tops)?, self.read(accessors.bottoms)?);
        tops.iter().zip(bottoms).map(|(tops, bottoms)| Some((blobs(bottoms)?.is_empty(), blobs(tops)?))).collect()
    }

    /// The first axis of the largest output, so far, of layers without inputs; 0 without one.
    pub fn batch(self) -> Option<u64> {
        let layers = self.outputs_by_layer(Accessors::of(self.letter)?)?;
        let sources = layers.into_iter().filter(|&(is_source, _)| is_source).flat_map(|(_, outputs)| outputs);
        let sizes =
            sources.map(|&output| Blob::new(output, self.letter)).map(|blob| (blob.elements(), blob.first_axis()));
        Some(sizes.max().map_or(0, |(_, axis)| axis))
    }

    /// `range` gets the number of names.
    fn texts(self, names: &Names, range: impl FnOnce(usize) -> Range<usize>) -> Option<Vec<&'static str>> {
        match names {
            Names::New(get) => {
                let names = self.read(*get)?;
                // SAFETY: the net's names live and do not change.
                names[range(names.len())].iter().map(|name| unsafe { name.text() }).collect()
            }
            Names::Old(get) => {
                let names = self.read(*get)?;
                // SAFETY: as above.
                names[range(names.len())].iter().map(|name| unsafe { name.text() }).collect()
            }
        }
    }

    pub fn parameters(self) -> Option<Vec<Named>> {
        let accessors = Accessors::of(self.letter)?;
        let names = self.texts(&accessors.layer_names, |count| 0..count)?;
        let layers = self.read(accessors.layers)?;
        if layers.len() != names.len() {
            return None;
        }
        let mut found = Vec::new();
        for (layer, name) in layers.iter().zip(names) {
            if layer.object.is_null() {
                return None;
            }
            // SAFETY: the net holds the layer.
            let blobs = unsafe { accessors.layer_blobs.read(layer.object) }?;
            for (number, blob) in blobs.iter().enumerate() {
                let which = match (number, blobs.len()) {
                    (0, ..=2) => "weights".to_owned(),
                    (1, ..=2) => "bias".to_owned(),
                    _ => format!("parameter {number}"),
                };
                let blob = Blob::new(blob.object, self.letter);
                found.push(Named { blob, name: format!("{name} {which}"), may_grow: false });
            }
        }
        Some(found)
    }

    /// Outputs of a layer without inputs are data.
    pub fn outputs(self) -> Option<Vec<Named>> {
        let accessors = Accessors::of(self.letter)?;
        let names = self.texts(&accessors.layer_names, |count| 0..count)?;
        let layers = self.outputs_by_layer(accessors)?;
        // A net that is being made has names for its first layers.
        if layers.len() < names.len() {
            return None;
        }
        let mut found = Vec::new();
        for ((is_source, tops), name) in layers.into_iter().zip(names) {
            let which = if is_source { "data" } else { "output" };
            for (number, &blob) in tops.iter().enumerate() {
                let number = if tops.len() > 1 { format!(" {number}") } else { String::new() };
                let blob = Blob::new(blob, self.letter);
                found.push(Named { blob, name: format!("{name} {which}{number}"), may_grow: true });
            }
        }
        Some(found)
    }

    /// The layers as `syncedmem::net` takes them; of an inner net without blobs, which no prototxt has.
    pub fn layers(self, is_inner: bool) -> Option<String> {
        let accessors = Accessors::of(self.letter)?;
        let names = self.texts(&accessors.layer_names, |count| 0..count)?;
        let blob_names = self.texts(accessors.blob_names.as_ref()?, |count| 0..count)?;
        let by_address: HashMap<_, _> =
            self.read(accessors.blobs?)?.iter().map(|blob| blob.object.addr()).zip(blob_names).collect();
        let mut text = String::new();
        let (layers, bottoms, tops) =
            (self.read(accessors.layers)?, self.read(accessors.bottoms)?, self.read(accessors.tops)?);
        for (((layer, name), bottoms), tops) in layers.iter().zip(names).zip(bottoms).zip(tops) {
            let (bottoms, tops) = if is_inner { (&[][..], &[][..]) } else { (blobs(bottoms)?, blobs(tops)?) };
            // Writing to a string cannot fail.
            let _ = write!(text, "{}\t{}\t{}", type_of(layer.object), plain(name)?, bottoms.len());
            for blob in bottoms.iter().chain(tops) {
                text.extend(["\t", plain(by_address.get(&blob.addr())?)?]);
            }
            text.push('\n');
        }
        Some(text)
    }

    pub fn is_test(self) -> Option<bool> {
        const TEST: c_int = 1;
        static PHASE: Found<Number> = Found::new();
        let phase = PHASE.of(self.letter, |letter| number(&format!("_ZNK5caffe3NetI{letter}E5phaseEv")))?;
        // SAFETY: as in `read`; the accessor returns an enumeration.
        Some(unsafe { phase(self.this) } == TEST)
    }

    /// One or two for each parameter, in their order.
    pub fn history(self, solver: *const c_void) -> Option<Vec<Named>> {
        let accessors = Accessors::of(self.letter)?;
        let learnable = self.read(accessors.learnable?)?;
        // SAFETY: Caffe's thread is in a call of the solver.
        let history = unsafe { accessors.history?.read(solver) }?;
        if history.len() < learnable.len() {
            return None;
        }
        let parameters = self.parameters()?;
        let named = learnable.iter().cycle().zip(history).enumerate().filter_map(|(number, (&parameter, blob))| {
            let name = &parameters.iter().find(|named| named.blob.this == parameter)?.name;
            let second = if number < learnable.len() { "" } else { " 2" };
            let blob = Blob::new(blob.object, self.letter);
            Some(Named { blob, name: format!("{name} history{second}"), may_grow: false })
        });
        Some(named.collect())
    }
}

/// The size of a `SyncedMemory`, in bytes.
pub fn bytes_of(object: *const c_void) -> Option<usize> {
    const SIZE: usize = 16;
    let size = object.wrapping_byte_add(SIZE).cast::<usize>();
    let is_size = size.is_aligned() && is_readable(size.addr(), size_of::<usize>());
    // SAFETY: `size_` lies there in every Caffe's class.
    is_size.then(|| unsafe { *size })
}

fn blobs(vector: &'static Blobs) -> Option<&'static [*const c_void]> {
    // SAFETY: `Net::read` found the vector in a net, which lives and does not change.
    unsafe { elements((&raw const *vector).cast()) }
}

pub fn iteration(solver: *const c_void, letter: &'static str) -> Option<u64> {
    static ITERATION: Found<Number> = Found::new();
    let iteration = ITERATION.of(letter, |letter| number(&format!("_ZNK5caffe6SolverI{letter}E4iterEv")))?;
    // SAFETY: Caffe's thread is in a call of the solver; the accessor returns an int.
    u64::try_from(unsafe { iteration(solver) }).ok()
}

fn number(symbol: &str) -> Option<Number> {
    // SAFETY: Caffe's headers give the symbols of the callers this signature.
    find(symbol).map(|found| unsafe { transmute::<*mut c_void, Number>(found) })
}

/// `None` if it would break the lines of [`Net::layers`].
fn plain(name: &str) -> Option<&str> {
    (!name.contains(char::is_control)).then_some(name)
}
