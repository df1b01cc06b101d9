//! Names the memory of an unmodified Caffe after its layers: `fc6 weights`, `conv1 output gradient`, `norm1 internal`.
//!
//! `syncedmem run` preloads this library in front of libsyncedmem.so. It defines functions that libcaffe calls through
//! its PLT or its tables of virtual functions. Each calls the original of its caller's Caffe ([`original`]), then names what it finds:
//!
//! - `Net::Init` makes layers, parameters and outputs. A blob that gets memory meanwhile belongs to the newest layer.
//! - `Net::Reshape` and `Net::ForwardFromTo` may replace memory: if an object was constructed, the net is walked again.
//! - `SGDSolver::PreSolve` makes the history of the parameters of the net that `Solver::InitTrainNet` made,
//!   `AdaDeltaPreSolve` and `AdamPreSolve` a second one.
//! - `Net::ForwardFromTo`, `Net::BackwardFromTo` and `SGDSolver::ApplyUpdate` are noted in the recording ([`pass`]).
//! - `Blob::Reshape`: where a blob's first axis is the batch of its net, `syncedmem_set_items` says so.
//!
//! What is known of a net belongs to it and ends with it ([`nets`]); what is known of a Caffe belongs to its loaded file, which is held
//! ([`caffe`]). The net is read through Caffe's accessors alone (docs/caffe-abi.md); [`layout`] has the containers that
//! they return. If an accessor is missing, or returns something else, nothing is named. A Caffe that is bound within
//! itself does not call these functions: where libsyncedmem takes it over, [`detour`] leads there.
#![expect(unsafe_code, reason = "it stands in front of C++ functions and reads C++ objects")]

mod accessor;
mod at_fork;
mod blob;
mod caffe;
mod call;
mod detour;
mod layer_type;
mod layout;
mod library;
mod loaded;
mod naming;
mod net;
mod nets;
mod original;
mod pass;
mod record;
mod sharing;
mod table;

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Weak};

use blob::Blob;
use call::{Call, Inside, Reshaping, inside};
use naming::naming;
use net::Net;
use nets::Known;
use original::Original;
use pass::{Kind, Pass};

/// A training net of a solver.
struct Training {
    solver: usize,
    net: Net,
    known: Weak<Known>,
}

thread_local! {
    /// The net that this thread made last, while a solver makes its own.
    static NEWEST: RefCell<Option<(Net, Weak<Known>)>> = const { RefCell::new(None) };
    /// A training net, until its solver has made its history; some solvers make a second history next.
    static TRAINING: RefCell<Option<Training>> = const { RefCell::new(None) };
}

/// A wrapper around one of Caffe's functions. `before` gets the caller's Caffe and returns a guard that lives during the call, and a value
/// for `after`.
macro_rules! in_front {
    (
        $symbol:expr, $function:ident($this:ident: $of_this:ty $(, $argument:ident: $of:ty)*) $(-> $result:ty)?, $caffe:ident,
        $before:expr, $kept:pat => $after:expr
    ) => {
        #[unsafe(export_name = $symbol)]
        unsafe extern "C-unwind" fn $function($this: $of_this $(, $argument: $of)*) $(-> $result)? {
            const NUMBER: usize = original::number($symbol);
            let Original { function, caffe: $caffe } = original::of_caller(NUMBER, $this);
            // SAFETY: Caffe's headers give the symbol this type.
            let function = unsafe {
                std::mem::transmute::<*const c_void, unsafe extern "C-unwind" fn($of_this $(, $of)*) $(-> $result)?>(function)
            };
            let (guard, $kept) = $before;
            let result = {
                let _guard = guard;
                // SAFETY: the caller called Caffe's function with these arguments.
                unsafe { function($this $(, $argument)*) }
            };
            $after;
            result
        }
    };
}

/// A function that makes a history of a solver: `PreSolve` the first, others a second one after it.
macro_rules! makes_history {
    ($function:ident, $symbol:expr) => {
        in_front!($symbol, $function(this: *mut c_void), _caffe, ((), ()), () => naming(|| history(this)));
    };
}

/// Names the history of the solver's training net, if both are those that were made last.
fn history(solver: *mut c_void) -> Option<()> {
    TRAINING.with_borrow(|training| {
        let training = training.as_ref().filter(|training| training.solver == solver.addr())?;
        let _lives = training.known.upgrade()?;
        record::history(training.net, solver)
    })
}

/// One element type: its letter in mangled names, and what `Forward` returns.
macro_rules! in_front_of {
    ($letter:literal, $real:ty) => {
        const _: () = {
            in_front!(
                concat!("_ZN5caffe3NetI", $letter, "E4InitERKNS_12NetParameterE"),
                init(this: *mut c_void, parameters: *const c_void), caffe,
                {
                    // A recurrent layer makes a net of its own.
                    let is_inner = inside().is_some();
                    naming(at_fork::watch);
                    let net = naming(|| Net::new(this, $letter, caffe));
                    let known = naming(|| Some((net?, nets::begin(net?, is_inner))));
                    (known.clone().map(|(net, known)| Inside::of(net, known, true)), (known, is_inner))
                },
                (known, is_inner) => if let Some((net, known)) = known {
                    made(net, &known, is_inner);
                }
            );

            in_front!(
                concat!("_ZN5caffe3NetI", $letter, "E7ReshapeEv"),
                reshape(this: *mut c_void), caffe,
                {
                    let inside = Inside::again(naming(|| Net::new(this, $letter, caffe)));
                    let known = inside.as_ref().map(Inside::known);
                    (inside, known)
                },
                known => if let Some((net, known)) = known {
                    naming(|| known.lock().names.again(net));
                    naming(|| known.lock().sharing.place_again());
                }
            );

            in_front!(
                concat!("_ZN5caffe3NetI", $letter, "E13ForwardFromToEii"),
                forward(this: *mut c_void, start: c_int, end: c_int) -> $real, caffe,
                {
                    let net = naming(|| Net::new(this, $letter, caffe));
                    // SAFETY: the caller called the net of its Caffe.
                    let is_test = naming(|| unsafe { net::is_test(this, $letter, caffe) }).unwrap_or(false);
                    let inside = Inside::again(net);
                    let known = inside.as_ref().map(Inside::known);
                    let pass = Pass::begin(if is_test { Kind::Test } else { Kind::Forward }, None);
                    ((inside, pass), known)
                },
                known => if let Some((net, known)) = known {
                    naming(|| known.lock().names.again(net));
                    naming(|| known.lock().sharing.after_pass(net, false));
                }
            );

            in_front!(
                concat!("_ZN5caffe3NetI", $letter, "E14BackwardFromToEii"),
                backward(this: *mut c_void, start: c_int, end: c_int), caffe,
                {
                    let net = naming(|| Net::new(this, $letter, caffe));
                    let known = naming(|| Some((net?, nets::find(net?)?)));
                    (Pass::begin(Kind::Backward, None), known)
                },
                known => if let Some((net, known)) = known {
                    naming(|| known.lock().sharing.after_pass(net, true));
                }
            );

            in_front!(
                concat!("_ZN5caffe9SGDSolverI", $letter, "E11ApplyUpdateEv"),
                apply_update(this: *mut c_void), caffe,
                // SAFETY: the caller called the solver of its Caffe.
                (Pass::begin(Kind::Update, naming(|| unsafe { net::iteration(this, $letter, caffe) })), ()),
                () => ()
            );

            in_front!(
                concat!("_ZN5caffe6SolverI", $letter, "E12InitTrainNetEv"),
                init_train_net(this: *mut c_void), _caffe,
                (naming(|| NEWEST.take()).map(|_| ()), ()),
                () => naming(|| {
                    let training = NEWEST.take().map(|(net, known)| Training { solver: this.addr(), net, known });
                    TRAINING.set(training);
                    Some(())
                })
            );

            makes_history!(pre_solve, concat!("_ZN5caffe9SGDSolverI", $letter, "E8PreSolveEv"));
            makes_history!(ada_delta, concat!("_ZN5caffe14AdaDeltaSolverI", $letter, "E16AdaDeltaPreSolveEv"));
            makes_history!(adam, concat!("_ZN5caffe10AdamSolverI", $letter, "E12AdamPreSolveEv"));
        };
    };
}

in_front_of!("f", f32);
in_front_of!("d", f64);

/// Reads and names a net at the end of its `Init`.
fn made(net: Net, known: &Arc<Known>, is_inner: bool) {
    naming(|| {
        nets::keep(net, known);
        NEWEST.set(Some((net, Arc::downgrade(known))));
        Some(())
    });
    naming(|| known.lock().names.made(net));
    let structure = naming(|| net.structure());
    if let Some(structure) = structure {
        naming(|| record::note(structure.text(is_inner)?));
        if !is_inner {
            naming(|| known.lock().sharing.attach(net, structure));
        }
    }
    naming(|| nets::end_with(net, known));
}

/// libsyncedmem calls it before it records that an allocation of this thread failed. A net that is being made gets its
/// names only at the end of `Net::Init`.
#[unsafe(export_name = "_ZN9syncedmem11name_layersEv")]
extern "C" fn name_layers() {
    if let Some(Call { net, known, is_new }) = inside() {
        naming(|| known.try_lock()?.names.so_far(*net, *is_new));
    }
}

/// The most bytes of a blob's shape: 32 axes.
const SHAPE: usize = 32 * size_of::<c_int>();

/// `SyncedMemory(size_t)`. The C++ ABI has it under two names, for complete objects and for base classes.
macro_rules! constructor {
    ($function:ident, $symbol:literal) => {
        in_front!($symbol, $function(this: *mut c_void, bytes: usize), _caffe, ((), ()), () => {
            record::constructed(this);
            // A blob's data gets its name when the blob has its shape; no accessor leads to the memory of the shape itself.
            if let Some(Call { net, known, is_new: true }) = inside().filter(|_| !Reshaping::is_on() || bytes <= SHAPE) {
                naming(|| known.lock().names.constructed(*net, this));
            }
        });
    };
}

/// `Blob::Reshape(const vector<int>&)`: all ways to give a blob a shape lead to it.
macro_rules! reshape_of_blobs {
    ($function:ident, $letter:literal) => {
        in_front!(
            concat!("_ZN5caffe4BlobI", $letter, "E7ReshapeERKSt6vectorIiSaIiEE"),
            $function(this: *mut c_void, shape: *const c_void), caffe,
            // Outside of nets, a blob's objects are those of the constructor.
            {
                let is_watched = is_watched();
                (is_watched.then(Reshaping::begin), is_watched.then(record::constructed_here))
            },
            before => if let Some(before) = before {
                naming(|| {
                    let blob = || Blob::new(this, $letter, caffe);
                    let has_new = record::has_constructed(before, blob);
                    let call = inside().filter(|_| has_new || sharing::is_on())?;
                    reshaped(call, blob()?, has_new)
                });
            }
        );
    };
}

fn is_watched() -> bool {
    inside().is_some() || !record::has_constructor()
}

fn reshaped(call: &Call, blob: Blob, has_new: bool) -> Option<()> {
    let mut of_net = call.known.lock();
    match (has_new, call.is_new) {
        (true, true) => {
            let layer = of_net.names.reshaped_in_init(call.net, blob)?;
            of_net.sharing.reshaped_in_init(layer, blob);
        }
        (true, false) => {
            naming(|| of_net.names.reshaped(blob));
            of_net.sharing.reshaped(blob);
        }
        (false, _) => {}
    }
    of_net.sharing.measured(blob)
}

reshape_of_blobs!(reshape_floats, "f");
reshape_of_blobs!(reshape_doubles, "d");
reshape_of_blobs!(reshape_integers, "i");
reshape_of_blobs!(reshape_counts, "j");

constructor!(construct_complete, "_ZN5caffe12SyncedMemoryC1Em");
constructor!(construct_base, "_ZN5caffe12SyncedMemoryC2Em");
