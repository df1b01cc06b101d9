//! Wraps one layer's `Forward_cpu`, `Backward_cpu`, `Forward_gpu` and `Backward_gpu`: the layer gets a copy of its class's table of virtual
//! functions with these slots exchanged. Layers of nets that do not share keep their tables.
#![expect(unsafe_code, reason = "C++ functions are defined and called")]

use std::ffi::c_void;

use super::{Dead, Waiting};
use crate::caffe::Class;
use crate::net::{self, Net};
use crate::{guarded, library, table};

/// `Forward_cpu` and `Forward_gpu(const vector<Blob*>& bottom, const vector<Blob*>& top)`
type Forward = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void);
/// `Backward_cpu` and `Backward_gpu(const vector<Blob*>& top, const vector<bool>& propagate_down, const vector<Blob*>& bottom)`
type Backward = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void, *const c_void);

/// A wrapped layer. The arrays are for `Forward` and `Backward`.
pub struct Layer {
    /// Numbers of libsyncedmem's `Executing`.
    pub executing: [u32; 2],
    /// Numbers of the calls in the trace.
    pub steps: [u64; 2],
    /// Contents to discard after each call.
    pub dead: [Vec<Dead>; 2],
    /// Contents to park after each call.
    pub waiting: [Vec<Waiting>; 2],
}

struct Shim {
    /// The functions for the CPU and for the GPU.
    forward: [Forward; 2],
    backward: [Backward; 2],
    layer: Layer,
}

/// The slots of the functions for the CPU and for the GPU. They are the same in all classes: `Layer` declares each pair one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    forward: [usize; 2],
    backward: [usize; 2],
}

impl Slots {
    /// Finds the slots in the layer's class. `None`: the class is not Caffe's own, or does not define both functions.
    pub fn of(layer: &net::Layer, net: Net) -> Option<Slots> {
        let class = layer.caffes_class()?;
        let name = class.name()?;
        let find = |function: &str| class.slot_of(net.caffe.find(&format!("_Z{name}{function}"))?);
        let blobs = format!("RKSt6vectorIPNS_4BlobI{}EESaIS5_EE", net.letter());
        let forward = find(&format!("11Forward_cpuE{blobs}S9_"))?;
        let backward = find(&format!("12Backward_cpuE{blobs}RKS2_IbSaIbEES9_"))?;
        // A class without code for the GPU inherits `Layer`'s functions.
        Some(Slots { forward: [forward, forward + 1], backward: [backward, backward + 1] })
    }
}

/// Wraps the layer's functions. `None`: its class is not Caffe's own, or lacks a function, and nothing has changed.
///
/// # Safety
/// The layer lives, and no other thread calls it meanwhile.
pub unsafe fn attach(layer: &net::Layer, slots: Slots, shim: Layer) -> Option<()> {
    let class: Class = layer.caffes_class()?;
    let function = |at: usize| Some(class.slot(at)).filter(|&address| address != 0);
    let [forward, forward_gpu] = slots.forward.map(function);
    let [backward, backward_gpu] = slots.backward.map(function);
    // SAFETY: `Slots::of` found the slots of these functions, which have this type.
    let forward = [forward?, forward_gpu?].map(|at| unsafe { std::mem::transmute::<usize, Forward>(at) });
    // SAFETY: `Slots::of` found the slots of these functions, which have this type.
    let backward = [backward?, backward_gpu?].map(|at| unsafe { std::mem::transmute::<usize, Backward>(at) });
    let exchanged = [
        (slots.forward[0], before_forward::<0> as *const () as usize),
        (slots.forward[1], before_forward::<1> as *const () as usize),
        (slots.backward[0], before_backward::<0> as *const () as usize),
        (slots.backward[1], before_backward::<1> as *const () as usize),
    ];
    // SAFETY: the layer lives and is not called, by this function's contract; the functions have the types of those in the slots.
    unsafe { table::attach(layer.object, class, &exchanged, Shim { forward, backward, layer: shim }) }
}

/// Restores, when it is dropped, what this thread executed before. An exception drops it, too.
struct Executing(u32);

impl Drop for Executing {
    fn drop(&mut self) {
        library::executing(self.0, 0);
    }
}

/// The wrapper in the slots of one pass.
macro_rules! before {
    ($name:ident, $function:ident, $pass:literal, $($argument:ident),*) => {
        unsafe extern "C-unwind" fn $name<const GPU: usize>(object: *mut c_void, $($argument: *const c_void),*) {
            // SAFETY: only a table that `attach` made has this function.
            let Shim { $function, layer, .. } = unsafe { table::of::<Shim>(object) };
            let executing = Executing(library::executing(layer.executing[$pass], layer.steps[$pass]));
            // SAFETY: Caffe called the layer's function with these arguments.
            unsafe { ($function[GPU])(object, $($argument),*) };
            // `Layer`'s functions for the GPU call those for the CPU, which are wrapped, too.
            let is_inner = executing.0 != 0;
            drop(executing);
            if !is_inner {
                for dead in &layer.dead[$pass] {
                    guarded(|| dead.discard());
                }
                for waiting in &layer.waiting[$pass] {
                    guarded(|| waiting.park());
                }
            }
        }
    };
}

before!(before_forward, forward, 0, bottom, top);
before!(before_backward, backward, 1, top, propagate_down, bottom);
