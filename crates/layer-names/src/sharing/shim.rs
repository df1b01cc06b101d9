//! Stands in front of one layer's `Forward_cpu` and `Backward_cpu`, and of `Forward_gpu` and `Backward_gpu`: the layer object gets a
//! copy of its class's table of virtual functions, with these slots exchanged. Layers of nets that share nothing keep their own.

use std::ffi::c_void;

use super::{library, with};
use crate::symbols::{find, table_of};

/// `Forward_cpu` and `Forward_gpu(const vector<Blob*>& bottom, const vector<Blob*>& top)`
type Forward = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void);
/// `Backward_cpu` and `Backward_gpu(const vector<Blob*>& top, const vector<bool>& propagate_down, const vector<Blob*>& bottom)`
type Backward = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void, *const c_void);

/// Before the first slot, to which objects point: the offset to the top, and the type.
const HEAD: usize = 2;
const WORD: usize = size_of::<usize>();

/// What is done at a call of a layer.
pub struct Layer {
    pub executing: u32,
    /// Of its `Forward` and its `Backward`: numbers of the steps that recordings have, and what is done behind the call.
    pub steps: [u64; 2],
    pub after: [Box<dyn Fn() + Send + Sync>; 2],
}

/// The copy of a table, behind the word that leads to its [`Shim`].
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

/// A class's table: its first slot, and the number of slots.
#[derive(Clone, Copy)]
struct Table {
    first: *const usize,
    slots: usize,
    symbol: &'static str,
}

impl Table {
    /// Of an object with virtual functions.
    fn of(object: *const c_void) -> Option<Table> {
        let table = table_of(object)?;
        let slots = (table.bytes / WORD).checked_sub(HEAD)?;
        let is_start = table.first == table.begin + HEAD * WORD && table.symbol.starts_with("_ZTVN");
        is_start.then_some(Table { first: table.first as *const usize, slots, symbol: table.symbol })
    }

    fn slot(self, at: usize) -> usize {
        // SAFETY: `at` is below the number of slots, which the symbol's size gives.
        unsafe { *self.first.add(at) }
    }

    /// The slot of the class's own function.
    fn find(self, function: &str) -> Option<usize> {
        let class = self.symbol.strip_prefix("_ZTV")?.strip_suffix('E')?;
        let address = find(&format!("_Z{class}{function}"))?.addr();
        (0..self.slots).find(|&at| self.slot(at) == address)
    }
}

impl Slots {
    /// `None`: the object's class has no such function of its own under the name that Caffe's header gives.
    pub fn of(object: *const c_void, letter: &str) -> Option<Slots> {
        let table = Table::of(object)?;
        let blobs = format!("RKSt6vectorIPNS_4BlobI{letter}EESaIS5_EE");
        let forward = table.find(&format!("11Forward_cpuE{blobs}S9_"))?;
        let backward = table.find(&format!("12Backward_cpuE{blobs}RKS2_IbSaIbEES9_"))?;
        // A class without code for the GPU has `Layer`'s there.
        Some(Slots { forward: [forward, forward + 1], backward: [backward, backward + 1] })
    }
}

/// Puts `layer` in front of the object's functions.
///
/// # Safety
/// The object is a layer that lives, and no thread calls it meanwhile.
pub unsafe fn attach(object: *mut c_void, slots: Slots, layer: Layer) -> Option<()> {
    let table = Table::of(object)?;
    let function = |at: usize| (at < table.slots).then(|| table.slot(at)).filter(|&address| address != 0);
    let [forward, forward_gpu] = slots.forward.map(function);
    let [backward, backward_gpu] = slots.backward.map(function);
    // SAFETY: the slots are those of the functions, of this type.
    let forward = [forward?, forward_gpu?].map(|at| unsafe { std::mem::transmute::<usize, Forward>(at) });
    // SAFETY: as for the forward ones.
    let backward = [backward?, backward_gpu?].map(|at| unsafe { std::mem::transmute::<usize, Backward>(at) });
    let shim = Box::into_raw(Box::new(Shim { forward, backward, layer }));
    let mut copy = vec![0; 1 + HEAD + table.slots].into_boxed_slice();
    copy[0] = shim.addr();
    for (at, word) in copy[1..].iter_mut().enumerate() {
        // SAFETY: a table's head lies before its first slot.
        *word = unsafe { *table.first.sub(HEAD).add(at) };
    }
    for (at, slot) in slots.forward.into_iter().enumerate() {
        copy[1 + HEAD + slot] = [before_forward::<0>, before_forward::<1>][at] as *const () as usize;
    }
    for (at, slot) in slots.backward.into_iter().enumerate() {
        copy[1 + HEAD + slot] = [before_backward::<0>, before_backward::<1>][at] as *const () as usize;
    }
    // SAFETY: the caller guarantees the object; the copy stays as long as it.
    unsafe { *object.cast::<*const usize>() = copy.as_ptr().add(1 + HEAD) };
    if let Some(old) = with(|state| state.tables.insert(object.addr(), copy)) {
        // SAFETY: the layer that was here has ended; its shim was boxed above.
        drop(unsafe { Box::from_raw(old[0] as *mut Shim) });
    }
    Some(())
}

/// # Safety
/// `object` has a copy of `attach`.
unsafe fn shim<'a>(object: *const c_void) -> &'a Shim {
    // SAFETY: the caller guarantees it: the word before the copy's head leads to the shim.
    unsafe { &*(*(*object.cast::<*const usize>()).sub(1 + HEAD) as *const Shim) }
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
            let Shim { $function, layer, .. } = unsafe { shim(object) };
            let executing = Executing(library::executing(layer.executing, layer.steps[$pass]));
            // SAFETY: the caller called the layer's function with these arguments.
            unsafe { ($function[GPU])(object, $($argument),*) };
            // A layer without code for the GPU calls that for the CPU.
            let is_inner = executing.0 != 0;
            drop(executing);
            if !is_inner {
                (layer.after[$pass])();
            }
        }
    };
}

before!(before_forward, forward, 0, bottom, top);
before!(before_backward, backward, 1, top, propagate_down, bottom);
