//! Names the memory of an unmodified Caffe after its layers: `fc6 weights`, `conv1 output gradient`, `norm1 internal`.
//!
//! `syncedmem run` preloads this library in front of libsyncedmem.so. It defines functions that libcaffe calls through
//! its PLT or its tables of virtual functions. Each calls the original, then names what it finds:
//!
//! - `Net::Init` makes layers, parameters and outputs. A `SyncedMemory` that is constructed meanwhile belongs to the
//!   newest layer.
//! - `Net::Reshape` and `Net::ForwardFromTo` may replace memory: if an object was constructed, the net is walked again.
//! - `SGDSolver::PreSolve` makes the history of the parameters of the net that `Solver::InitTrainNet` made,
//!   `AdaDeltaPreSolve` and `AdamPreSolve` a second one.
//! - `Net::ForwardFromTo`, `Net::BackwardFromTo` and `SGDSolver::ApplyUpdate` are noted in the recording ([`pass`]).
//! - `Blob::Reshape`: where a blob's first axis is the batch of its net, `syncedmem_set_items` says so.
//!
//! The net is read through Caffe's accessors alone (docs/caffe-abi.md); [`layout`] has the containers that
//! they return. If an accessor is missing, or returns something else, nothing is named. A Caffe that is bound within
//! itself does not call these functions: where libsyncedmem takes it over, [`detour`] leads there.
#![expect(unsafe_code, reason = "it stands in front of C++ functions and reads C++ objects")]

mod accessor;
mod at_fork;
mod blob;
mod detour;
mod function;
mod layer_type;
mod layout;
mod net;
mod pass;
mod record;
mod sharing;
mod symbols;

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::panic::catch_unwind;

use blob::Blob;
use function::Function;
use net::Net;
use pass::{Kind, Pass};

thread_local! {
    /// The net that this thread is in a call of, and whether that is `Init`.
    static INSIDE: Cell<Option<(Net, bool)>> = const { Cell::new(None) };
    static NEWEST: Cell<Option<Net>> = const { Cell::new(None) };
    /// A training net, until its solver has made its history.
    static TRAINED: Cell<Option<Net>> = const { Cell::new(None) };
    /// The solver that made its history last, and its net: some make a second one next.
    static SOLVING: Cell<Option<(usize, Net)>> = const { Cell::new(None) };
}

/// [`INSIDE`] while it lives. An exception of Caffe's drops it too.
struct Inside(Option<(Net, bool)>);

impl Inside {
    fn of(net: Net, is_init: bool) -> Inside {
        Inside(INSIDE.replace(Some((net, is_init))))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}

/// `name` only reads Caffe's objects: a bug in it must not end the program.
fn naming<T>(name: impl FnOnce() -> Option<T> + std::panic::UnwindSafe) -> Option<T> {
    catch_unwind(name).ok().flatten()
}

/// A function in front of Caffe's of this symbol: what comes before gives a guard, which lives during the call, and what it keeps for what
/// comes after.
macro_rules! in_front {
    (
        $symbol:expr, $function:ident($($argument:ident: $of:ty),*) $(-> $result:ty)?,
        $before:expr, $kept:pat => $after:expr
    ) => {
        #[unsafe(export_name = $symbol)]
        unsafe extern "C-unwind" fn $function($($argument: $of),*) $(-> $result)? {
            static ORIGINAL: Function<unsafe extern "C-unwind" fn($($of),*) $(-> $result)?> = Function::new($symbol);
            let (guard, $kept) = $before;
            let result = {
                let _guard = guard;
                // SAFETY: the caller called Caffe's function with these arguments.
                unsafe { ORIGINAL.original()($($argument),*) }
            };
            $after;
            result
        }
    };
}

/// A function that makes a solver's second history, after `PreSolve` of the same solver.
macro_rules! second_history {
    ($function:ident, $symbol:expr) => {
        in_front!($symbol, $function(this: *mut c_void), ((), ()), () => {
            if let Some((_, net)) = SOLVING.take().filter(|&(solver, _)| solver == this.addr()) {
                naming(move || record::history(net, this));
            }
        });
    };
}

/// One element type: its letter in mangled names, and what `Forward` returns.
macro_rules! in_front_of {
    ($letter:literal, $real:ty) => {
        const _: () = {
            in_front!(
                concat!("_ZN5caffe3NetI", $letter, "E4InitERKNS_12NetParameterE"),
                init(this: *mut c_void, parameters: *const c_void),
                {
                    let net = Net::new(this, $letter);
                    // A recurrent layer makes a net of its own.
                    let is_inner = INSIDE.get().is_some();
                    naming(at_fork::watch);
                    naming(move || record::begin(net));
                    naming(move || sharing::begin(net, is_inner));
                    (Inside::of(net, true), (net, is_inner))
                },
                (net, is_inner) => {
                    NEWEST.set(Some(net));
                    naming(move || record::net(net, true));
                    naming(move || record::layers(net, is_inner));
                    if !is_inner {
                        naming(move || sharing::attach(net));
                    }
                }
            );

            in_front!(
                concat!("_ZN5caffe3NetI", $letter, "E7ReshapeEv"),
                reshape(this: *mut c_void),
                (Inside::of(Net::new(this, $letter), false), Net::new(this, $letter)),
                net => {
                    naming(move || record::net(net, false));
                    naming(move || sharing::place_again(net));
                }
            );

            in_front!(
                concat!("_ZN5caffe3NetI", $letter, "E13ForwardFromToEii"),
                forward(this: *mut c_void, start: c_int, end: c_int) -> $real,
                {
                    let net = Net::new(this, $letter);
                    let is_test = naming(move || net.is_test()).unwrap_or(false);
                    let pass = Pass::begin(if is_test { Kind::Test } else { Kind::Forward }, None);
                    ((Inside::of(net, false), pass), net)
                },
                net => {
                    naming(move || record::net(net, false));
                    naming(move || sharing::after_pass(net));
                }
            );

            in_front!(
                concat!("_ZN5caffe3NetI", $letter, "E14BackwardFromToEii"),
                backward(this: *mut c_void, start: c_int, end: c_int),
                (Pass::begin(Kind::Backward, None), ()),
                () => naming(move || sharing::after_pass(Net::new(this, $letter)))
            );

            in_front!(
                concat!("_ZN5caffe9SGDSolverI", $letter, "E11ApplyUpdateEv"),
                apply_update(this: *mut c_void),
                (Pass::begin(Kind::Update, naming(move || net::iteration(this, $letter))), ()),
                () => ()
            );

            in_front!(
                concat!("_ZN5caffe6SolverI", $letter, "E12InitTrainNetEv"),
                init_train_net(this: *mut c_void),
                ((), ()),
                () => TRAINED.set(NEWEST.get())
            );

            in_front!(
                concat!("_ZN5caffe9SGDSolverI", $letter, "E8PreSolveEv"),
                pre_solve(this: *mut c_void),
                ((), ()),
                () => {
                    let net = TRAINED.take().filter(|net| net.letter() == $letter);
                    SOLVING.set(net.map(|net| (this.addr(), net)));
                    if let Some(net) = net {
                        naming(move || record::history(net, this));
                    }
                }
            );

            second_history!(ada_delta, concat!("_ZN5caffe14AdaDeltaSolverI", $letter, "E16AdaDeltaPreSolveEv"));
            second_history!(adam, concat!("_ZN5caffe10AdamSolverI", $letter, "E12AdamPreSolveEv"));
        };
    };
}

in_front_of!("f", f32);
in_front_of!("d", f64);

/// libsyncedmem calls it before it records that an allocation of this thread failed. A net that is being made gets its
/// names only at the end of `Net::Init`.
#[unsafe(export_name = "_ZN9syncedmem11name_layersEv")]
extern "C" fn name_layers() {
    if let Some((net, is_new)) = INSIDE.get() {
        naming(move || record::net_so_far(net, is_new));
    }
}

/// `SyncedMemory(size_t)`. The C++ ABI has it under two names, for complete objects and for base classes.
macro_rules! constructor {
    ($function:ident, $symbol:literal) => {
        in_front!($symbol, $function(this: *mut c_void, bytes: usize), ((), ()), () => {
            record::constructed();
            if let Some((net, true)) = INSIDE.get() {
                naming(move || record::internal(net, this));
            }
        });
    };
}

/// `Blob::Reshape(const vector<int>&)`: all ways to give a blob a shape lead to it.
macro_rules! reshape_of_blobs {
    ($function:ident, $letter:literal) => {
        in_front!(
            concat!("_ZN5caffe4BlobI", $letter, "E7ReshapeERKSt6vectorIiSaIiEE"),
            $function(this: *mut c_void, shape: *const c_void),
            ((), record::constructed_here()),
            before => {
                if let Some((net, is_new)) = INSIDE.get().filter(|_| record::may_have_constructed(before)) {
                    naming(move || record::reshaped(net, is_new, Blob::new(this, $letter)));
                    naming(move || sharing::reshaped(net, is_new, Blob::new(this, $letter)));
                }
            }
        );
    };
}

reshape_of_blobs!(reshape_floats, "f");
reshape_of_blobs!(reshape_doubles, "d");
reshape_of_blobs!(reshape_integers, "i");
reshape_of_blobs!(reshape_counts, "j");

constructor!(construct_complete, "_ZN5caffe12SyncedMemoryC1Em");
constructor!(construct_base, "_ZN5caffe12SyncedMemoryC2Em");
