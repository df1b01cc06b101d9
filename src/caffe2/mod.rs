//! Caffe2's storage: tensors, blobs of one value of any type, and workspaces of named blobs.
//!
//! The rules are those of Caffe2 v0.8.1 and its last commits, without their faults: the tests in `tests/caffe2/` have each rule
//! and each fault by name. A tensor is dimensions, a type and a share of a [`storage`], which is an object of
//! [`SyncedMemory`](crate::object::SyncedMemory) with the items in it; so limits, pools, account and traces of the library hold
//! for tensors too. Tensors and blobs are used by one thread at a time, as in Caffe2; a workspace by any number, under the one
//! lock of [`lock`]. The caller's functions (constructors, destructors, deleters) run with no lock held.

pub mod attachment;
pub mod blob;
pub mod cpu;
pub mod error;
pub mod external;
pub mod handle;
#[cfg(feature = "blob")]
pub mod init_net;
pub mod lock;
pub mod report;
pub mod shape;
pub mod storage;
pub mod tensor;
pub mod type_name;
pub mod typemeta;
pub mod workspace;
