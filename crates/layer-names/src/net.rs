//! A net of Caffe's, read through its exported accessors.

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::layout::{NewString, OldString, Shared, Vector, elements, is_readable};
use crate::original::find;

/// `const X& name() const`
type Accessor = unsafe extern "C" fn(*const c_void) -> *const c_void;
/// `Phase phase() const` and `int iter() const`
type Number = unsafe extern "C" fn(*const c_void) -> c_int;

/// # Safety
/// `of` is of the accessor's class, no other thread changes it, and the vector's elements begin with a `T`.
unsafe fn read<'a, T: Copy>(get: Accessor, of: *const c_void) -> Option<&'a [T]> {
    // SAFETY: the caller guarantees it.
    let vector = unsafe { get(of) };
    // SAFETY: as above.
    unsafe { elements(vector) }
}

/// Of one element type.
struct Accessors {
    layer_names: Accessor,
    /// Of the ABI since GCC 5, which the symbol tells.
    are_new_strings: bool,
    layers: Accessor,
    bottoms: Accessor,
    tops: Accessor,
    layer_blobs: Accessor,
    learnable: Option<Accessor>,
    history: Option<Accessor>,
}

/// What was found for each element type, by its letter.
struct Found<T>([AtomicPtr<Option<T>>; 4]);

impl<T> Found<T> {
    const fn new() -> Found<T> {
        Found([const { AtomicPtr::new(null_mut()) }; 4])
    }

    /// Looked up once. Not in a OnceLock: a child of fork would wait for ever for a thread that was looking it up. Threads that do
    /// so at once find the same.
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
        // SAFETY: Caffe's headers give each of these names this signature: a reference is a pointer, and so is `this`.
        let find = |symbol: String| find(&symbol).map(|found| unsafe { transmute::<*mut c_void, Accessor>(found) });
        let net = |name: &str| find(format!("_ZNK5caffe3NetI{letter}E{name}Ev"));
        let new_strings = net("11layer_namesB5cxx11");
        Some(Accessors {
            are_new_strings: new_strings.is_some(),
            layer_names: new_strings.or_else(|| net("11layer_names"))?,
            layers: net("6layers")?,
            bottoms: net("11bottom_vecs")?,
            tops: net("8top_vecs")?,
            layer_blobs: find(format!("_ZN5caffe5LayerI{letter}E5blobsEv"))?,
            learnable: net("16learnable_params"),
            history: find(format!("_ZN5caffe9SGDSolverI{letter}E7historyEv")),
        })
    }
}

/// Of one element type.
struct BlobAccessors {
    data: Accessor,
    diff: Accessor,
    /// Blobs before Caffe's rc2 have no such function.
    shape: Option<Accessor>,
}

impl BlobAccessors {
    fn of(letter: &'static str) -> Option<&'static BlobAccessors> {
        static FOUND: Found<BlobAccessors> = Found::new();
        FOUND.of(letter, BlobAccessors::find)
    }

    fn find(letter: &str) -> Option<BlobAccessors> {
        let blob = |name: &str| {
            // SAFETY: Caffe's headers give each of these names this signature.
            find(&format!("_ZNK5caffe4BlobI{letter}E{name}Ev"))
                .map(|found| unsafe { transmute::<*mut c_void, Accessor>(found) })
        };
        Some(BlobAccessors { data: blob("4data")?, diff: blob("4diff")?, shape: blob("5shape") })
    }
}

/// Caffe's own thread is using it.
#[derive(Clone, Copy)]
pub struct Blob {
    this: *const c_void,
    letter: &'static str,
}

impl Blob {
    pub fn new(this: *const c_void, letter: &'static str) -> Blob {
        Blob { this, letter }
    }

    pub fn address(self) -> usize {
        self.this.addr()
    }

    /// Its axes; empty if this Caffe has no accessor for them.
    fn shape(self) -> Option<&'static [c_int]> {
        let accessors = BlobAccessors::of(self.letter)?;
        match accessors.shape {
            // SAFETY: the blob lives while Caffe's thread is inside a call of its net; the accessor returns a vector of ints.
            Some(shape) => unsafe { read::<c_int>(shape, self.this) },
            None => Some(&[]),
        }
    }

    /// Caffe's layers use it for the items of a batch; 0 without one.
    pub fn first_axis(self) -> u64 {
        self.shape().and_then(|shape| u64::try_from(*shape.first()?).ok()).unwrap_or(0)
    }

    /// For comparisons: in any unit.
    fn elements(self) -> i64 {
        self.shape().map_or(0, |shape| shape.iter().map(|&axis| i64::from(axis)).product())
    }

    /// The memory of its data, and of its diff. Null before the blob has a shape.
    pub fn memory(self) -> Option<[*mut c_void; 2]> {
        let accessors = BlobAccessors::of(self.letter)?;
        // The accessors end the process for a blob without elements.
        if self.this.is_null() || self.shape()?.contains(&0) {
            return None;
        }
        let [data, diff] = [accessors.data, accessors.diff].map(|get| {
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
    /// Whether the first axis may be the batch.
    pub may_grow: bool,
}

pub struct Newest {
    pub name: String,
    pub is_source: bool,
    /// It takes the images of a batch one by one: what it has inside does not grow with the batch.
    pub one_by_one: bool,
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

    /// The names of the layers so far.
    fn layer_names(self, accessors: &Accessors) -> Option<Vec<&str>> {
        self.texts(accessors, |count| 0..count)
    }

    pub fn newest_name(self) -> Option<String> {
        let last = self.texts(Accessors::of(self.letter)?, |count| count.saturating_sub(1)..count)?;
        last.first().map(|&name| name.to_owned())
    }

    pub fn newest_layer(self) -> Option<Newest> {
        let accessors = Accessors::of(self.letter)?;
        let name = self.newest_name()?;
        // SAFETY: as in `texts`; the accessors return vectors of vectors of pointers to blobs, and of shared pointers
        // to layers.
        let bottoms = unsafe { read::<Vector>(accessors.bottoms, self.this) };
        // SAFETY: as above.
        let layers = unsafe { read::<Shared>(accessors.layers, self.this) };
        // SAFETY: as above.
        let bottoms = unsafe { elements::<*const c_void>((&raw const *bottoms?.last()?).cast()) }?;
        Some(Newest { name, is_source: bottoms.is_empty(), one_by_one: is_convolution(layers?.last()?.object) })
    }

    /// The first axis of the largest output of its layers without inputs, so far; 0 without one.
    pub fn batch(self) -> Option<u64> {
        let accessors = Accessors::of(self.letter)?;
        // SAFETY: as in `texts`; the accessors return vectors of vectors of pointers to blobs.
        let [tops, bottoms] = [accessors.tops, accessors.bottoms].map(|get| unsafe { read::<Vector>(get, self.this) });
        let mut largest = (0, 0);
        for (tops, bottoms) in tops?.iter().zip(bottoms?) {
            // SAFETY: as above.
            if !unsafe { elements::<*const c_void>((&raw const *bottoms).cast()) }?.is_empty() {
                continue;
            }
            // SAFETY: as above.
            for &top in unsafe { elements::<*const c_void>((&raw const *tops).cast()) }? {
                let blob = Blob::new(top, self.letter);
                largest = largest.max((blob.elements(), blob.first_axis()));
            }
        }
        Some(largest.1)
    }

    /// The names of the layers whose numbers `range` gives for the number of layers.
    fn texts(self, accessors: &Accessors, range: impl FnOnce(usize) -> Range<usize>) -> Option<Vec<&str>> {
        // SAFETY, of all below: Caffe's thread is inside a call of this net, so it lives, and no other thread changes it. The
        // accessor returns a vector of strings of that ABI.
        if accessors.are_new_strings {
            // SAFETY: as above.
            let names = unsafe { read::<NewString>(accessors.layer_names, self.this) }?;
            // SAFETY: as above.
            names[range(names.len())].iter().map(|name| unsafe { name.text() }).collect()
        } else {
            // SAFETY: as above.
            let names = unsafe { read::<OldString>(accessors.layer_names, self.this) }?;
            // SAFETY: as above.
            names[range(names.len())].iter().map(|name| unsafe { name.text() }).collect()
        }
    }

    /// The parameters of all layers.
    pub fn parameters(self) -> Option<Vec<Named>> {
        let accessors = Accessors::of(self.letter)?;
        let names = self.layer_names(accessors)?;
        // SAFETY: as in `texts`; the accessor returns a vector of shared pointers to layers.
        let layers = unsafe { read::<Shared>(accessors.layers, self.this) }?;
        if layers.len() != names.len() {
            return None;
        }
        let mut found = Vec::new();
        for (layer, name) in layers.iter().zip(names) {
            if layer.object.is_null() {
                return None;
            }
            // SAFETY: the net holds the layer; the accessor returns a vector of shared pointers to blobs.
            let blobs = unsafe { read::<Shared>(accessors.layer_blobs, layer.object) }?;
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

    /// The outputs of all layers. Those of a layer without inputs are data.
    pub fn outputs(self) -> Option<Vec<Named>> {
        let accessors = Accessors::of(self.letter)?;
        let names = self.layer_names(accessors)?;
        // SAFETY: as in `texts`; the accessors return vectors of vectors of pointers to blobs.
        let [tops, bottoms] = [accessors.tops, accessors.bottoms].map(|get| unsafe { read::<Vector>(get, self.this) });
        let (tops, bottoms) = (tops?, bottoms?);
        if tops.len() != names.len() || bottoms.len() != names.len() {
            return None;
        }
        let mut found = Vec::new();
        for ((tops, bottoms), name) in tops.iter().zip(bottoms).zip(names) {
            // SAFETY: as above.
            let tops = unsafe { elements::<*const c_void>((&raw const *tops).cast()) }?;
            // SAFETY: as above.
            let bottoms = unsafe { elements::<*const c_void>((&raw const *bottoms).cast()) }?;
            let which = if bottoms.is_empty() { "data" } else { "output" };
            for (number, &blob) in tops.iter().enumerate() {
                let number = if tops.len() > 1 { format!(" {number}") } else { String::new() };
                let blob = Blob::new(blob, self.letter);
                found.push(Named { blob, name: format!("{name} {which}{number}"), may_grow: true });
            }
        }
        Some(found)
    }

    /// Whether its phase is TEST.
    pub fn is_test(self) -> Option<bool> {
        const TEST: c_int = 1;
        static PHASE: Found<Number> = Found::new();
        let phase = PHASE.of(self.letter, |letter| number(&format!("_ZNK5caffe3NetI{letter}E5phaseEv")))?;
        // SAFETY: as in `texts`; the accessor returns an enumeration.
        Some(unsafe { phase(self.this) } == TEST)
    }

    /// The history of a solver, with the parameters' names: one or two for each parameter, in their order.
    pub fn history(self, solver: *const c_void) -> Option<Vec<Named>> {
        let accessors = Accessors::of(self.letter)?;
        // SAFETY: as in `texts`; the accessor returns a vector of pointers to blobs.
        let learnable = unsafe { read::<*const c_void>(accessors.learnable?, self.this) }?;
        // SAFETY: Caffe's thread is inside a call of the solver; the accessor returns a vector of shared pointers to blobs.
        let history = unsafe { read::<Shared>(accessors.history?, solver) }?;
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

/// The iteration that a solver of this element type is in.
pub fn iteration(solver: *const c_void, letter: &'static str) -> Option<u64> {
    static ITERATION: Found<Number> = Found::new();
    let iteration = ITERATION.of(letter, |letter| number(&format!("_ZNK5caffe6SolverI{letter}E4iterEv")))?;
    // SAFETY: Caffe's thread is inside a call of the solver; the accessor returns an int.
    u64::try_from(unsafe { iteration(solver) }).ok()
}

fn number(symbol: &str) -> Option<Number> {
    // SAFETY: Caffe's headers give the symbols that are looked up here this signature.
    find(symbol).map(|found| unsafe { transmute::<*mut c_void, Number>(found) })
}

/// Whether a layer is a convolution, by the name of its class's table: Caffe's, or a program's with such a name.
fn is_convolution(layer: *const c_void) -> bool {
    if !layer.cast::<usize>().is_aligned() || !is_readable(layer.addr(), size_of::<usize>()) {
        return false;
    }
    // SAFETY: an object with virtual functions begins with the address of its class's table.
    let table = unsafe { *layer.cast::<*const c_void>() };
    let mut symbol = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr takes any address; the structure is writable, and zeros are a value of it.
    unsafe { libc::dladdr(table, symbol.as_mut_ptr()) };
    // SAFETY: as above.
    let name = unsafe { symbol.assume_init() }.dli_sname;
    // SAFETY: the loader's names are NUL-terminated.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    let name = name.to_bytes();
    [&b"onvolutionLayer"[..], b"Im2colLayer"].iter().any(|class| name.windows(class.len()).any(|part| part == *class))
}
