//! A net of Caffe's, read through its exported accessors.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::ops::Range;

use crate::accessor::{Accessor, Found, Number, number};
use crate::blob::Blob;
use crate::layer_type::{is_convolution, type_of};
use crate::layout::{Bits, NewString, OldString, Shared, Vector, elements};

type Blobs = Vector<*const c_void>;

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
    /// Of each bottom, whether the layer writes its diff.
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
        self.read(Accessors::of(self.letter)?.layers)?.len().checked_sub(1)
    }

    pub fn structure(self) -> Option<Structure> {
        let accessors = Accessors::of(self.letter)?;
        let names = self.texts(&accessors.layer_names, |count| 0..count)?;
        let blob_names = self.texts(accessors.blob_names.as_ref()?, |count| 0..count)?;
        let addresses = self.read(accessors.blobs?)?.iter().map(|blob| blob.object.addr());
        let blob_names = addresses.zip(blob_names).collect();
        let objects = self.read(accessors.layers)?.iter().zip(names);
        let inputs_and_outputs = self.read(accessors.bottoms)?.iter().zip(self.read(accessors.tops)?);
        // A Caffe without this accessor has layers that are not known to write any diff.
        let propagates = accessors.propagates.and_then(|get| self.read(get)).unwrap_or_default();
        let mut layers = Vec::new();
        for (number, ((object, name), (bottoms, tops))) in objects.zip(inputs_and_outputs).enumerate() {
            layers.push(Layer {
                object: object.object,
                name: name.to_owned(),
                kind: type_of(object.object),
                bottoms: blobs(bottoms)?.iter().map(|blob| blob.addr()).collect(),
                // SAFETY: the net lives and does not change.
                propagates: propagates.get(number).and_then(|bits| unsafe { bits.bits() }).unwrap_or_default(),
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
        let Structure { layers, blob_names } = self.structure()?;
        let mut text = String::new();
        for layer in &layers {
            let (bottoms, tops) = if is_inner { (&[][..], &[][..]) } else { (&layer.bottoms[..], &layer.tops[..]) };
            // Writing to a string cannot fail.
            let _ = write!(text, "{}\t{}\t{}", layer.kind, plain(&layer.name)?, bottoms.len());
            for blob in bottoms.iter().chain(tops) {
                text.extend(["\t", plain(blob_names.get(blob)?)?]);
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
            let name = &parameters.iter().find(|named| named.blob.address() == parameter.addr())?.name;
            let second = if number < learnable.len() { "" } else { " 2" };
            let blob = Blob::new(blob.object, self.letter);
            Some(Named { blob, name: format!("{name} history{second}"), may_grow: false })
        });
        Some(named.collect())
    }
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

/// `None` if it would break the lines of [`Net::layers`].
fn plain(name: &str) -> Option<&str> {
    (!name.contains(char::is_control)).then_some(name)
}
