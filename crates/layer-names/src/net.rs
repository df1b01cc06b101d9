//! A net of Caffe's, read through its exported accessors.

use std::ffi::c_void;
use std::mem::transmute;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::layout::{NewString, OldString, Shared, Vector, elements, is_readable};
use crate::original::find;

/// An accessor: `const X& name() const`.
type Accessor = unsafe extern "C" fn(*const c_void) -> *const c_void;

/// The elements of the vector that an accessor returns.
///
/// # Safety
/// `of` is an object of the accessor's class, which no other thread changes, and the vector's elements begin with a `T`.
unsafe fn read<'a, T: Copy>(get: Accessor, of: *const c_void) -> Option<&'a [T]> {
    // SAFETY: the caller guarantees it.
    let vector = unsafe { get(of) };
    // SAFETY: as above.
    unsafe { elements(vector) }
}

/// The accessors for one element type.
struct Accessors {
    layer_names: Accessor,
    /// Whether the names are strings of the ABI since GCC 5, which the symbol tells.
    are_new_strings: bool,
    layers: Accessor,
    bottoms: Accessor,
    tops: Accessor,
    layer_blobs: Accessor,
    data: Accessor,
    diff: Accessor,
    learnable: Option<Accessor>,
    history: Option<Accessor>,
}

impl Accessors {
    /// Not in a OnceLock: a child of fork would wait for ever for a thread that was looking them up. Threads that do so at once find
    /// the same.
    fn of(letter: &'static str) -> Option<&'static Accessors> {
        static FLOAT: AtomicPtr<Option<Accessors>> = AtomicPtr::new(null_mut());
        static DOUBLE: AtomicPtr<Option<Accessors>> = AtomicPtr::new(null_mut());
        let place = if letter == "f" { &FLOAT } else { &DOUBLE };
        let mut found = place.load(Ordering::Acquire);
        if found.is_null() {
            found = Box::into_raw(Box::new(Accessors::find(letter)));
            place.store(found, Ordering::Release);
        }
        // SAFETY: it was boxed here, and is never freed.
        unsafe { &*found }.as_ref()
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
            data: find(format!("_ZNK5caffe4BlobI{letter}E4dataEv"))?,
            diff: find(format!("_ZNK5caffe4BlobI{letter}E4diffEv"))?,
            learnable: net("16learnable_params"),
            history: find(format!("_ZN5caffe9SGDSolverI{letter}E7historyEv")),
        })
    }
}

/// A net that Caffe's own thread is using.
#[derive(Clone, Copy)]
pub struct Net {
    this: *const c_void,
    letter: &'static str,
}

/// A blob of a net, with the name of its memory.
pub struct Named {
    pub blob: *const c_void,
    pub name: String,
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

    /// The names of its layers so far.
    fn layer_names(self, accessors: &Accessors) -> Option<Vec<&str>> {
        self.texts(accessors, |count| 0..count)
    }

    /// The name of the layer that was added last.
    pub fn newest_layer(self) -> Option<String> {
        let last = self.texts(Accessors::of(self.letter)?, |count| count.saturating_sub(1)..count)?;
        last.first().map(|&name| name.to_owned())
    }

    /// Those of the names of its layers whose numbers `range` gives for their count.
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
        // SAFETY: as in `layer_names`; the accessor returns a vector of shared pointers to layers.
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
                found.push(Named { blob: blob.object, name: format!("{name} {which}") });
            }
        }
        Some(found)
    }

    /// The outputs of all layers. Those of a layer without inputs are data.
    pub fn outputs(self) -> Option<Vec<Named>> {
        let accessors = Accessors::of(self.letter)?;
        let names = self.layer_names(accessors)?;
        // SAFETY: as in `layer_names`; the accessors return vectors of vectors of pointers to blobs.
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
                found.push(Named { blob, name: format!("{name} {which}{number}") });
            }
        }
        Some(found)
    }

    /// The memory of a blob of this net: that of its data, and that of its diff. Null before the blob has a shape.
    pub fn memory(self, blob: *const c_void) -> Option<[*mut c_void; 2]> {
        let accessors = Accessors::of(self.letter)?;
        if blob.is_null() {
            return None;
        }
        let [data, diff] = [accessors.data, accessors.diff].map(|get| {
            // SAFETY: the net holds the blob.
            let pointer = unsafe { get(blob) }.cast::<Shared>();
            let is_pointer = pointer.is_aligned() && is_readable(pointer.addr(), size_of::<Shared>());
            // SAFETY: the accessor returns a reference to a shared pointer.
            is_pointer.then(|| unsafe { (*pointer).object })
        });
        Some([data?, diff?])
    }

    /// The history of a solver, each with the name of its parameter: the first ones, which are in the order of the parameters.
    pub fn history(self, solver: *const c_void) -> Option<Vec<Named>> {
        let accessors = Accessors::of(self.letter)?;
        // SAFETY: as in `layer_names`; the accessor returns a vector of pointers to blobs.
        let learnable = unsafe { read::<*const c_void>(accessors.learnable?, self.this) }?;
        // SAFETY: Caffe's thread is inside a call of the solver; the accessor returns a vector of shared pointers to blobs.
        let history = unsafe { read::<Shared>(accessors.history?, solver) }?;
        if history.len() < learnable.len() {
            return None;
        }
        let parameters = self.parameters()?;
        let named = learnable.iter().zip(history).filter_map(|(&parameter, blob)| {
            let name = &parameters.iter().find(|named| named.blob == parameter)?.name;
            Some(Named { blob: blob.object, name: format!("{name} history") })
        });
        Some(named.collect())
    }
}
