//! A net of Caffe's, read through its exported accessors. Names are bytes: a prototxt may have any.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use syncedmem_core::text::Escaped;

use crate::accessor::{Accessor, Blobs, Names, NetAccessors, PassAccessors};
use crate::blob::Blob;
use crate::caffe::{Caffe, Class};
use crate::layer_type::{caffes_type, type_in};
use crate::layout::{Shared, elements};

/// Caffe's own thread is using it.
#[derive(Clone, Copy)]
pub struct Net {
    this: *mut c_void,
    pub caffe: &'static Caffe,
    of: &'static NetAccessors,
    /// A net's blobs are `at` their addresses. `None`: this Caffe's blobs cannot be read.
    blob: Option<Blob>,
}

/// An object's name, without its text.
#[derive(Clone, Copy)]
pub struct Named {
    pub blob: Blob,
    pub layer: usize,
    pub which: Which,
    /// Its first axis may be the batch.
    pub may_grow: bool,
}

/// What a blob is for its layer.
#[derive(Clone, Copy)]
pub enum Which {
    /// A parameter: its number, and how many the layer has.
    Parameter(usize, usize),
    /// An output of a layer without inputs.
    Data(usize, usize),
    Output(usize, usize),
}

impl std::fmt::Display for Which {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, number) = match *self {
            Which::Parameter(0, ..=2) => ("weights", None),
            Which::Parameter(1, ..=2) => ("bias", None),
            Which::Parameter(number, _) => ("parameter", Some(number)),
            Which::Data(number, count) => ("data", (count > 1).then_some(number)),
            Which::Output(number, count) => ("output", (count > 1).then_some(number)),
        };
        f.write_str(name)?;
        number.map_or(Ok(()), |number| write!(f, " {number}"))
    }
}

pub struct Newest {
    pub number: usize,
    pub name: Arc<str>,
    /// The type for reports.
    pub kind: &'static str,
    pub is_source: bool,
    /// Addresses of its outputs.
    tops: Vec<usize>,
}

impl Newest {
    /// What the blob is, if it is an output.
    pub fn output(&self, blob: Blob) -> Option<Which> {
        let at = self.tops.iter().position(|&top| top == blob.address())?;
        let count = self.tops.len();
        Some(if self.is_source { Which::Data(at, count) } else { Which::Output(at, count) })
    }
}

/// A net's layers and blobs, by address.
pub struct Structure {
    pub layers: Vec<Layer>,
    pub blob_names: HashMap<usize, &'static [u8]>,
}

pub struct Layer {
    pub object: *mut c_void,
    pub name: &'static [u8],
    class: Option<Class>,
    /// The type for reports.
    pub kind: &'static str,
    /// The type of a class that is Caffe's own; empty for all others.
    pub caffes_kind: &'static str,
    pub bottoms: Vec<usize>,
    /// Of each bottom, whether the layer writes its diff.
    pub propagates: Vec<bool>,
    pub tops: Vec<usize>,
}

impl Layer {
    /// The class, if it is one of Caffe's.
    pub fn caffes_class(&self) -> Option<Class> {
        self.class.filter(|_| !self.caffes_kind.is_empty())
    }
}

impl Net {
    /// `None`: this Caffe's nets cannot be read.
    pub fn new(this: *mut c_void, letter: &'static str, caffe: &'static Caffe) -> Option<Net> {
        let of = caffe.nets.of(letter, || NetAccessors::find(&|symbol| caffe.find(symbol), letter))?;
        Some(Net { this, caffe, of, blob: Blob::new(std::ptr::null(), letter, caffe) })
    }

    pub fn letter(self) -> &'static str {
        self.of.letter
    }

    pub fn object(self) -> *mut c_void {
        self.this
    }

    pub fn address(self) -> usize {
        self.this.addr()
    }

    pub fn blob(self, address: *const c_void) -> Option<Blob> {
        Some(self.blob?.at(address))
    }

    fn read<T: Copy>(self, get: Accessor<T>) -> Option<&'static [T]> {
        // SAFETY: Caffe's thread is in a call of this net, so it lives, and no other thread changes it.
        unsafe { get.read(self.this) }
    }

    /// The number of layers that were made so far.
    pub fn layer_count(self) -> Option<usize> {
        Some(self.read(self.of.layers)?.len())
    }

    /// The newest layer, which is being set up. Caffe makes the vectors of inputs for all layers beforehand.
    pub fn newest_layer(self) -> Option<Newest> {
        let layers = self.read(self.of.layers)?;
        let number = layers.len().checked_sub(1)?;
        let name = *self.texts(&self.of.layer_names, |count| number.min(count)..count.min(number + 1))?.first()?;
        let of_layer = |vectors| self.read(vectors).and_then(|vectors| blobs(vectors.get(number)?));
        let bottoms = of_layer(self.of.bottoms);
        let kind = self.caffe.class_of(layers[number].object).map_or("", |class| type_in(class.symbol));
        let tops = of_layer(self.of.tops).unwrap_or_default().iter().map(|top| top.addr()).collect();
        let is_source = bottoms.is_some_and(<[_]>::is_empty);
        Some(Newest { number, name: Escaped(name).to_string().into(), kind, is_source, tops })
    }

    pub fn structure(self) -> Option<Structure> {
        let names = self.layer_names()?;
        let blob_names = self.texts(self.of.blob_names.as_ref()?, |count| 0..count)?;
        let addresses = self.read(self.of.blobs?)?.iter().map(|blob| blob.object.addr());
        let blob_names = addresses.zip(blob_names).collect();
        let objects = self.read(self.of.layers)?.iter().zip(names);
        let inputs_and_outputs = self.read(self.of.bottoms)?.iter().zip(self.read(self.of.tops)?);
        // A Caffe without this accessor has layers that are not known to write any diff.
        let propagates = self.of.propagates.and_then(|get| self.read(get)).unwrap_or_default();
        // A program's own classes, which are found anew for each net.
        let mut classes: HashMap<usize, Option<Class>> = HashMap::new();
        let mut layers = Vec::new();
        for (number, ((Shared { object, .. }, name), (bottoms, tops))) in objects.zip(inputs_and_outputs).enumerate() {
            let table = (object.is_aligned() && !object.is_null()).then(|| {
                // SAFETY: the net holds the layer, which has virtual functions and so begins with the address of its table.
                unsafe { *object.cast::<usize>() }
            })?;
            let class = *classes.entry(table).or_insert_with(|| self.caffe.class_of(*object));
            let symbol = class.map_or("", |class| class.symbol);
            let caffes_kind = class.filter(|class| class.is_caffes).and_then(|_| caffes_type(symbol, self.letter()));
            layers.push(Layer {
                object: *object,
                name,
                class,
                kind: type_in(symbol),
                caffes_kind: caffes_kind.unwrap_or_default(),
                bottoms: blobs(bottoms)?.iter().map(|blob| blob.addr()).collect(),
                // SAFETY: as in `read`.
                propagates: propagates.get(number).and_then(|bits| unsafe { bits.bits() }).unwrap_or_default(),
                tops: blobs(tops)?.iter().map(|blob| blob.addr()).collect(),
            });
        }
        Some(Structure { layers, blob_names })
    }

    /// Of each layer: whether it has no inputs, and its outputs.
    fn outputs_by_layer(self) -> Option<impl Iterator<Item = Option<(bool, &'static [*const c_void])>>> {
        let (tops, bottoms) = (self.read(self.of.tops)?, self.read(self.of.bottoms)?);
        Some(tops.iter().zip(bottoms).map(|(tops, bottoms)| Some((blobs(bottoms)?.is_empty(), blobs(tops)?))))
    }

    /// The outputs, so far, of layers without inputs.
    pub fn sources(self) -> Option<Vec<Blob>> {
        let (of, mut found) = (self.blob?, Vec::new());
        for layer in self.outputs_by_layer()? {
            let (is_source, tops) = layer?;
            found.extend(tops.iter().filter(|_| is_source).map(|&top| of.at(top)));
        }
        Some(found)
    }

    pub fn layer_names(self) -> Option<Vec<&'static [u8]>> {
        self.texts(&self.of.layer_names, |count| 0..count)
    }

    /// `range` gets the number of names.
    fn texts(self, names: &Names, range: impl FnOnce(usize) -> Range<usize>) -> Option<Vec<&'static [u8]>> {
        match names {
            Names::New(get) => {
                let names = self.read(*get)?;
                // SAFETY: the net's names live and do not change.
                names[range(names.len())].iter().map(|name| unsafe { name.text() }).collect()
            }
            Names::Old(get) => {
                let names = self.read(*get)?;
                // SAFETY: the net's names live and do not change.
                names[range(names.len())].iter().map(|name| unsafe { name.text() }).collect()
            }
        }
    }

    pub fn parameters(self) -> Option<Vec<Named>> {
        let (of, mut found) = (self.blob?, Vec::new());
        for (number, layer) in self.read(self.of.layers)?.iter().enumerate() {
            if layer.object.is_null() {
                return None;
            }
            // SAFETY: the net holds the layer.
            let blobs = unsafe { self.of.layer_blobs.read(layer.object) }?;
            found.extend(blobs.iter().enumerate().map(|(at, blob)| Named {
                blob: of.at(blob.object),
                layer: number,
                which: Which::Parameter(at, blobs.len()),
                may_grow: false,
            }));
        }
        Some(found)
    }

    /// Outputs of a layer without inputs are data.
    pub fn outputs(self) -> Option<Vec<Named>> {
        let (of, mut found) = (self.blob?, Vec::new());
        for (layer, outputs) in self.outputs_by_layer()?.enumerate() {
            let (is_source, tops) = outputs?;
            found.extend(tops.iter().enumerate().map(|(at, &blob)| Named {
                blob: of.at(blob),
                layer,
                which: if is_source { Which::Data(at, tops.len()) } else { Which::Output(at, tops.len()) },
                may_grow: true,
            }));
        }
        Some(found)
    }

    /// Blobs of the history, one or two for each parameter, with the parameter's name and whether it is the second.
    pub fn history(self, solver: *const c_void) -> Option<Vec<(Blob, Named, bool)>> {
        let (of, learnable) = (self.blob?, self.read(self.of.learnable?)?);
        // SAFETY: Caffe's thread is in a call of the solver.
        let history = unsafe { self.of.history?.read(solver) }?;
        if history.len() < learnable.len() {
            return None;
        }
        let parameters = self.parameters()?;
        let parameters: HashMap<usize, Named> =
            parameters.into_iter().rev().map(|named| (named.blob.address(), named)).collect();
        let named = learnable.iter().cycle().zip(history).enumerate().filter_map(|(number, (&parameter, blob))| {
            let named = parameters.get(&parameter.addr())?;
            Some((of.at(blob.object), *named, number >= learnable.len()))
        });
        Some(named.collect())
    }
}

fn passes(letter: &'static str, caffe: &'static Caffe) -> Option<&'static PassAccessors> {
    caffe.passes.of(letter, || Some(PassAccessors::find(&|symbol| caffe.find(symbol), letter)))
}

/// Whether a net is in phase TEST.
///
/// # Safety
/// Caffe's thread is in a call of this net of its Caffe.
pub unsafe fn is_test(net: *const c_void, letter: &'static str, caffe: &'static Caffe) -> Option<bool> {
    const TEST: c_int = 1;
    let phase = passes(letter, caffe)?.phase?;
    // SAFETY: the caller guarantees the net; the accessor returns an enumeration.
    Some(unsafe { phase(net) } == TEST)
}

/// The iteration of a solver.
///
/// # Safety
/// Caffe's thread is in a call of this solver of its Caffe.
pub unsafe fn iteration(solver: *const c_void, letter: &'static str, caffe: &'static Caffe) -> Option<u64> {
    let iteration = passes(letter, caffe)?.iteration?;
    // SAFETY: the caller guarantees the solver; the accessor returns an int.
    u64::try_from(unsafe { iteration(solver) }).ok()
}

impl Structure {
    /// The layers as `syncedmem::net` takes them; of an inner net without blobs, which no prototxt has.
    pub fn text(&self, is_inner: bool) -> Option<String> {
        let mut text = String::new();
        for layer in &self.layers {
            let (bottoms, tops) = if is_inner { (&[][..], &[][..]) } else { (&layer.bottoms[..], &layer.tops[..]) };
            // Writing to a string cannot fail.
            let _ = write!(text, "{}\t{}\t{}", layer.kind, Escaped(layer.name), bottoms.len());
            for blob in bottoms.iter().chain(tops) {
                let _ = write!(text, "\t{}", Escaped(self.blob_names.get(blob)?));
            }
            text.push('\n');
        }
        Some(text)
    }
}

fn blobs(vector: &'static Blobs) -> Option<&'static [*const c_void]> {
    // SAFETY: `Net::read` found the vector in a net, which lives and does not change.
    unsafe { elements((&raw const *vector).cast()) }
}
