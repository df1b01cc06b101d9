//! Reads the nets of an unmodified Caffe: names the memory of their blobs after layers (`fc6 weights`, `conv1 output gradient`,
//! `norm1 internal`), and lets blobs share memory.
//!
//! `syncedmem run` preloads this library before libsyncedmem.so. It wraps functions that libcaffe calls through its PLT or its tables of
//! virtual functions. Each wrapper calls the [original](original) of its caller's Caffe:
//!
//! - `Net::Init` makes layers, parameters and outputs. A blob that gets memory meanwhile belongs to the newest layer.
//! - `Net::Reshape` and `Net::ForwardFromTo` may replace memory: if an object was constructed, its net is named again.
//! - `SGDSolver::PreSolve` makes the history for the net that `Solver::InitTrainNet` made; `AdaDeltaPreSolve` and `AdamPreSolve` make a
//!   second one.
//! - `Net::ForwardFromTo`, `Net::BackwardFromTo` and `SGDSolver::ApplyUpdate` are noted in the trace ([`pass`]).
//! - `Blob::Reshape` sets the items of a blob whose first axis is the batch of its net.
//!
//! One value owns all that is known of a net ([`nets`]), and one all that is known of a Caffe ([`caffe`]), whose file is held open. A net is
//! read only through Caffe's exported accessors (docs/caffe-abi.md) and the containers that they return ([`layout`]). If an accessor is
//! missing or returns something else, nothing is named. The calls of a Caffe that calls its own functions directly get here by jumps
//! ([`detour`]), if libsyncedmem takes it over.
//!
//! [`sharing`] plans in modules without unsafe code (`rules`, `plan`, `offsets`, `placing`).
#![deny(unsafe_code)]

mod accessor;
mod at_fork;
mod blob;
mod caffe;
mod call;
mod detour;
mod layer_parameter;
mod layer_type;
mod layout;
mod library;
mod loaded;
mod naming;
mod net;
mod nets;
mod original;
mod pass;
mod sharing;
mod table;
mod wrappers;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does this library's own work in a call of Caffe's: a bug in it must not end the program.
fn guarded<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok().flatten()
}
