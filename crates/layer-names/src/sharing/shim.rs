//! Stands in front of one layer's `Forward_cpu` and `Backward_cpu`, and of `Forward_gpu` and `Backward_gpu`: the layer object gets a
//! copy of its class's table of virtual functions, with these slots exchanged. Layers of nets that share nothing keep their own.

use std::ffi::c_void;

use super::{Dead, library};
use crate::caffe::Class;
use crate::net::{self, Net};
use crate::table;

/// `Forward_cpu` and `Forward_gpu(const vector<Blob*>& bottom, const vector<Blob*>& top)`
type Forward = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void);
/// `Backward_cpu` and `Backward_gpu(const vector<Blob*>& top, const vector<bool>& propagate_down, const vector<Blob*>& bottom)`
type Backward = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void, *const c_void);

/// What is done at a call of a layer.
pub struct Layer {
    pub executing: u32,
    /// The numbers that its `Forward` and its `Backward` have in recordings, and what dies after each.
    pub steps: [u64; 2],
    pub dead: [Vec<Dead>; 2],
}

struct Shim {
    /// For the CPU and for the GPU.
    forward: [Forward; 2],
    backward: [Backward; 2],
    layer: Layer,
}

/// The slots of the functions, for the CPU and for the GPU, which are the same in all classes, because `Layer` declares them one
/// behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    forward: [usize; 2],
    backward: [usize; 2],
}

impl Slots {
    /// `None`: the layer's class is none of Caffe's, or has no such function of its own under the name that Caffe's header gives.
    pub fn of(layer: &net::Layer, net: Net) -> Option<Slots> {
        let class = layer.caffes_class()?;
        let name = class.name()?;
        let find = |function: &str| class.slot_of(net.caffe.find(&format!("_Z{name}{function}"))?);
        let blobs = format!("RKSt6vectorIPNS_4BlobI{}EESaIS5_EE", net.letter());
        let forward = find(&format!("11Forward_cpuE{blobs}S9_"))?;
        let backward = find(&format!("12Backward_cpuE{blobs}RKS2_IbSaIbEES9_"))?;
        // A class without code for the GPU has `Layer`'s there.
        Some(Slots { forward: [forward, forward + 1], backward: [backward, backward + 1] })
    }
}

/// Puts `shim` in front of the layer's functions. `None`: its class is none of Caffe's, or has other slots, and nothing has changed.
///
/// # Safety
/// The layer lives, and no thread calls it meanwhile.
pub unsafe fn attach(layer: &net::Layer, slots: Slots, shim: Layer) -> Option<()> {
    let class: Class = layer.caffes_class()?;
    let function = |at: usize| Some(class.slot(at)).filter(|&address| address != 0);
    let [forward, forward_gpu] = slots.forward.map(function);
    let [backward, backward_gpu] = slots.backward.map(function);
    // SAFETY: the slots are those of the functions, of this type.
    let forward = [forward?, forward_gpu?].map(|at| unsafe { std::mem::transmute::<usize, Forward>(at) });
    // SAFETY: the slots are those of the functions, of this type.
    let backward = [backward?, backward_gpu?].map(|at| unsafe { std::mem::transmute::<usize, Backward>(at) });
    let exchanged = [
        (slots.forward[0], before_forward::<0> as *const () as usize),
        (slots.forward[1], before_forward::<1> as *const () as usize),
        (slots.backward[0], before_backward::<0> as *const () as usize),
        (slots.backward[1], before_backward::<1> as *const () as usize),
    ];
    // SAFETY: the caller guarantees the layer; the functions have the types of those in the slots.
    unsafe { table::attach(layer.object, class, &exchanged, Shim { forward, backward, layer: shim }) }
}

/// What this thread executed before. An exception of Caffe's drops it too.
struct Executing(u32);

impl Drop for Executing {
    fn drop(&mut self) {
        library::executing(self.0, 0);
    }
}

/// The function of this library in the slots of a pass.
macro_rules! before {
    ($name:ident, $function:ident, $pass:literal, $($argument:ident),*) => {
        unsafe extern "C-unwind" fn $name<const GPU: usize>(object: *mut c_void, $($argument: *const c_void),*) {
            // SAFETY: only copies of `attach` have this function.
            let Shim { $function, layer, .. } = unsafe { table::of::<Shim>(object) };
            let executing = Executing(library::executing(layer.executing, layer.steps[$pass]));
            // SAFETY: the caller called the layer's function with these arguments.
            unsafe { ($function[GPU])(object, $($argument),*) };
            // A layer without code for the GPU calls that for the CPU.
            let is_inner = executing.0 != 0;
            drop(executing);
            if !is_inner {
                for dead in &layer.dead[$pass] {
                    crate::naming::naming(|| dead.discard());
                }
            }
        }
    };
}

before!(before_forward, forward, 0, bottom, top);
before!(before_backward, backward, 1, top, propagate_down, bottom);
