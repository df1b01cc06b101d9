//! Caffe2's tensors, blobs of one value, and workspaces of named blobs.
//!
//! The rules are those of Caffe2 v0.8.1 and its last commits, without their faults; `tests/caffe2/` names both. One thread at a
//! time uses a tensor, as in Caffe2; any number of threads use a blob or a workspace, under the one [`lock`].

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
