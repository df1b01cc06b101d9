//! A net of Caffe's, read through its exported accessors. Names are bytes, because a prototxt may have any.
#![expect(unsafe_code, reason = "Caffe's objects are read")]

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

/// A net during one of its calls: the net's thread is in the call, so the net lives and no other thread changes it.
#[derive(Clone, Copy)]
pub struct Net {
    this: *mut c_void,
    pub caffe: &'static Caffe,
    of: &'static NetAccessors,
    /// A null blob of the net's class: the net's blobs are `at` their addresses. `None`: this Caffe has no accessors of blobs.
    blob: Option<Blob>,
}

/// A blob and the parts of its name.
#[derive(Clone, Copy)]
pub struct Named {
    pub blob: Blob,
    pub layer: usize,
    pub which: Which,
    /// Whether the first axis may be the batch.
    pub may_grow: bool,
}

/// The role of a blob in its layer. Each has the blob's number, and the number of blobs of that role.
#[derive(Clone, Copy)]
pub enum Which {
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
    /// Whether the layer has no inputs.
    pub is_source: bool,
    /// Addresses of its outputs.
    tops: Vec<usize>,
}

impl Newest {
    /// The role of a blob that is an output.
    pub fn output(&self, blob: Blob) -> Option<Which> {
        let at = self.tops.iter().position(|&top| top == blob.address())?;
        let count = self.tops.len();
        Some(if self.is_source { Which::Data(at, count) } else { Which::Output(at, count) })
    }
}

/// The layers of a net, and its blobs by address.
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
    /// The type if the class is Caffe's own, or empty.
    pub caffes_kind: &'static str,
    pub bottoms: Vec<usize>,
    /// Whether the layer writes the diff of each bottom.
    pub propagates: Vec<bool>,
    pub tops: Vec<usize>,
}

impl Layer {
    /// The class if it is Caffe's own.
    pub fn caffes_class(&self) -> Option<Class> {
        self.class.filter(|_| !self.caffes_kind.is_empty())
    }

    pub fn is_cudnn(&self) -> bool {
        self.class.is_some_and(|class| class.symbol.contains("CuDNN"))
    }
}

impl Net {
    /// `None`: this Caffe has no accessors of nets.
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
        // SAFETY: the net's thread is in a call of the net (see `Net`).
        unsafe { get.read(self.this) }
    }

    /// The number of layers that exist; `Init` adds them one by one.
    pub fn layer_count(self) -> Option<usize> {
        Some(self.read(self.of.layers)?.len())
    }

    /// The newest layer, which `Init` is setting up. The vectors of inputs have the length of all layers from the beginning.
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
        // If Caffe lacks this accessor, no layer counts as writing a diff.
        let propagates = self.of.propagates.and_then(|get| self.read(get)).unwrap_or_default();
        // Each class is looked up once per net, a program's own too.
        let mut classes: HashMap<usize, Option<Class>> = HashMap::new();
        let mut layers = Vec::new();
        for (number, ((Shared { object, .. }, name), (bottoms, tops))) in objects.zip(inputs_and_outputs).enumerate() {
            let table = (object.is_aligned() && !object.is_null()).then(|| {
                // SAFETY: the net holds the layer, which begins with the address of its table of virtual functions.
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
                // SAFETY: the net's thread is in a call of the net (see `Net`).
                propagates: propagates.get(number).and_then(|bits| unsafe { bits.bits() }).unwrap_or_default(),
                tops: blobs(tops)?.iter().map(|blob| blob.addr()).collect(),
            });
        }
        Some(Structure { layers, blob_names })
    }

    /// Each layer's outputs, and whether it has no inputs.
    fn outputs_by_layer(self) -> Option<impl Iterator<Item = Option<(bool, &'static [*const c_void])>>> {
        let (tops, bottoms) = (self.read(self.of.tops)?, self.read(self.of.bottoms)?);
        Some(tops.iter().zip(bottoms).map(|(tops, bottoms)| Some((blobs(bottoms)?.is_empty(), blobs(tops)?))))
    }

    /// The outputs of the layers without inputs that exist.
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
                // SAFETY: the net's thread is in a call of the net, which holds its names and does not change them (see `Net`).
                names[range(names.len())].iter().map(|name| unsafe { name.text() }).collect()
            }
            Names::Old(get) => {
                let names = self.read(*get)?;
                // SAFETY: the net's thread is in a call of the net, which holds its names and does not change them (see `Net`).
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
            // SAFETY: the net holds the layer, and its thread is in a call of the net.
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

    /// The blobs of a solver's history, one or two for each parameter, with the parameter, and whether it is the second.
    pub fn history(self, solver: *const c_void) -> Option<Vec<(Blob, Named, bool)>> {
        let (of, learnable) = (self.blob?, self.read(self.of.learnable?)?);
        // SAFETY: the solver's thread is in a call of the solver, which made this net.
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
/// The current thread is in a call of this net, which belongs to this Caffe.
pub unsafe fn is_test(net: *const c_void, letter: &'static str, caffe: &'static Caffe) -> Option<bool> {
    const TEST: c_int = 1;
    let phase = passes(letter, caffe)?.phase?;
    // SAFETY: the net is of the accessor's class, by this function's contract; the accessor returns an enumeration.
    Some(unsafe { phase(net) } == TEST)
}

/// The iteration of a solver.
///
/// # Safety
/// The current thread is in a call of this solver, which belongs to this Caffe.
pub unsafe fn iteration(solver: *const c_void, letter: &'static str, caffe: &'static Caffe) -> Option<u64> {
    let iteration = passes(letter, caffe)?.iteration?;
    // SAFETY: the solver is of the accessor's class, by this function's contract; the accessor returns an int.
    u64::try_from(unsafe { iteration(solver) }).ok()
}

impl Structure {
    /// The layers in the format of `syncedmem::net`. The blobs of an inner net are left out: no prototxt names them.
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
    // SAFETY: `Net::read` found the vector in a net, whose thread is in a call of the net (see `Net`).
    unsafe { elements((&raw const *vector).cast()) }
}
