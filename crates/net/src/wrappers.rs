//! The wrappers around Caffe's functions.
#![expect(unsafe_code, reason = "C++ functions are defined and called")]

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Weak};

use crate::blob::{Blob, Object};
use crate::call::{Call, Inside, Reshaping, inside};
use crate::net::{self, Net};
use crate::nets::{self, Known};
use crate::original::{self, Original};
use crate::pass::{Kind, Pass};
use crate::{at_fork, guarded, library, naming, sharing};

/// A solver and its training net.
struct Training {
    solver: usize,
    net: Net,
    known: Weak<Known>,
}

thread_local! {
    /// The net that this thread made last.
    static NEWEST: RefCell<Option<(Net, Weak<Known>)>> = const { RefCell::new(None) };
    /// The training net that this thread made last, whose solver makes its history, or two, next.
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
            // SAFETY: Caffe's headers declare the function with this type.
            let function = unsafe {
                std::mem::transmute::<*const c_void, unsafe extern "C-unwind" fn($of_this $(, $of)*) $(-> $result)?>(function)
            };
            let (guard, $kept) = $before;
            let result = {
                let _guard = guard;
                // SAFETY: the program called Caffe's function with these arguments.
                unsafe { function($this $(, $argument)*) }
            };
            $after;
            result
        }
    };
}

/// A wrapper around a function that makes a history of a solver.
macro_rules! makes_history {
    ($function:ident, $symbol:expr) => {
        in_front!($symbol, $function(this: *mut c_void), _caffe, ((), ()), () => guarded(|| history(this)));
    };
}

/// Names the solver's history, if this thread made its training net last.
fn history(solver: *mut c_void) -> Option<()> {
    TRAINING.with_borrow(|training| {
        let training = training.as_ref().filter(|training| training.solver == solver.addr())?;
        let _lives = training.known.upgrade()?;
        naming::history(training.net, solver)
    })
}

/// The wrappers for one element type: its letter in mangled names, and the type.
macro_rules! in_front_of {
    ($letter:literal, $real:ty) => {
        const _: () = {
            in_front!(
                concat!("_ZN5caffe3NetI", $letter, "E4InitERKNS_12NetParameterE"),
                init(this: *mut c_void, parameters: *const c_void), caffe,
                {
                    // A recurrent layer makes an inner net.
                    let is_inner = inside().is_some();
                    guarded(at_fork::watch);
                    let net = guarded(|| Net::new(this, $letter, caffe));
                    let known = guarded(|| Some((net?, nets::begin(net?, is_inner))));
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
                    let inside = Inside::again(guarded(|| Net::new(this, $letter, caffe)));
                    let known = inside.as_ref().map(Inside::known);
                    (inside, known)
                },
                known => if let Some((net, known)) = known {
                    guarded(|| known.lock().names.again(net));
                    guarded(|| known.lock().sharing.place_again());
                }
            );

            in_front!(
                concat!("_ZN5caffe3NetI", $letter, "E13ForwardFromToEii"),
                forward(this: *mut c_void, start: c_int, end: c_int) -> $real, caffe,
                {
                    let net = guarded(|| Net::new(this, $letter, caffe));
                    // SAFETY: this is a call of the net, which belongs to that Caffe.
                    let is_test = guarded(|| unsafe { net::is_test(this, $letter, caffe) }).unwrap_or(false);
                    let inside = Inside::again(net);
                    let known = inside.as_ref().map(Inside::known);
                    let pass = Pass::begin(if is_test { Kind::Test } else { Kind::Forward }, None);
                    ((inside, pass), known)
                },
                known => if let Some((net, known)) = known {
                    guarded(|| known.lock().names.again(net));
                    guarded(|| known.lock().sharing.after_pass(net, false));
                }
            );

            in_front!(
                concat!("_ZN5caffe3NetI", $letter, "E14BackwardFromToEii"),
                backward(this: *mut c_void, start: c_int, end: c_int), caffe,
                {
                    let net = guarded(|| Net::new(this, $letter, caffe));
                    let known = guarded(|| Some((net?, nets::find(net?)?)));
                    (Pass::begin(Kind::Backward, None), known)
                },
                known => if let Some((net, known)) = known {
                    guarded(|| known.lock().sharing.after_pass(net, true));
                }
            );

            in_front!(
                concat!("_ZN5caffe9SGDSolverI", $letter, "E11ApplyUpdateEv"),
                apply_update(this: *mut c_void), caffe,
                // SAFETY: this is a call of the solver, which belongs to that Caffe.
                (Pass::begin(Kind::Update, guarded(|| unsafe { net::iteration(this, $letter, caffe) })), ()),
                () => ()
            );

            in_front!(
                concat!("_ZN5caffe6SolverI", $letter, "E12InitTrainNetEv"),
                init_train_net(this: *mut c_void), _caffe,
                (guarded(|| NEWEST.take()).map(|_| ()), ()),
                () => guarded(|| {
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

/// Names a net at the end of its `Init`, and lets it share.
fn made(net: Net, known: &Arc<Known>, is_inner: bool) {
    guarded(|| {
        nets::keep(net, known);
        NEWEST.set(Some((net, Arc::downgrade(known))));
        Some(())
    });
    guarded(|| known.lock().names.made(net));
    let structure = guarded(|| net.structure());
    if let Some(structure) = structure {
        guarded(|| library::note(structure.text(is_inner)?));
        if !is_inner {
            guarded(|| known.lock().sharing.attach(net, structure));
        }
    }
    guarded(|| nets::end_with(net, known));
}

/// libsyncedmem calls it before it records a failed allocation of this thread: a net that is being made would get its names only at the end
/// of `Net::Init`.
#[unsafe(export_name = "_ZN9syncedmem11name_layersEv")]
extern "C" fn name_layers() {
    if let Some(Call { net, known, is_new }) = inside() {
        guarded(|| known.try_lock()?.names.so_far(*net, *is_new));
    }
}

/// Most bytes of the object that has a blob's shape, of at most 32 axes.
const SHAPE: usize = 32 * size_of::<c_int>();

/// A wrapper around `SyncedMemory(size_t)`, which the C++ ABI has under two names: for complete objects and for base classes.
macro_rules! constructor {
    ($function:ident, $symbol:literal) => {
        in_front!($symbol, $function(this: *mut c_void, bytes: usize), _caffe, ((), ()), () => {
            // SAFETY: the constructor of Caffe has returned.
            let object = unsafe { Object::new(this) };
            naming::constructed(object);
            // The data of a blob gets its name once the blob has its shape. No accessor returns the memory of the shape.
            if let Some(Call { net, known, is_new: true }) = inside().filter(|_| !Reshaping::is_on() || bytes <= SHAPE) {
                guarded(|| known.lock().names.constructed(*net, object));
            }
        });
    };
}

/// A wrapper around `Blob::Reshape(const vector<int>&)`, to which all ways to reshape a blob lead.
macro_rules! reshape_of_blobs {
    ($function:ident, $letter:literal) => {
        in_front!(
            concat!("_ZN5caffe4BlobI", $letter, "E7ReshapeERKSt6vectorIiSaIiEE"),
            $function(this: *mut c_void, shape: *const c_void), caffe,
            {
                let is_watched = is_watched();
                (is_watched.then(Reshaping::begin), is_watched.then(naming::constructed_here))
            },
            before => if let Some(before) = before {
                guarded(|| {
                    let blob = || Blob::new(this, $letter, caffe);
                    let has_new = naming::has_constructed(before, blob);
                    let call = inside().filter(|_| has_new || sharing::is_on())?;
                    reshaped(call, blob()?, has_new)
                });
            }
        );
    };
}

/// Outside of nets, only an inlined constructor leaves objects to be found in blobs.
fn is_watched() -> bool {
    inside().is_some() || !naming::has_constructor()
}

fn reshaped(call: &Call, blob: Blob, has_new: bool) -> Option<()> {
    let mut of_net = call.known.lock();
    match (has_new, call.is_new) {
        (true, true) => {
            let layer = of_net.names.reshaped_in_init(call.net, blob)?;
            of_net.sharing.reshaped_in_init(layer, blob);
        }
        (true, false) => {
            guarded(|| of_net.names.reshaped(blob));
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
