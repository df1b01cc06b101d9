//! Reads and writes Caffe's model files without Caffe and without protobuf: `.caffemodel`, `.binaryproto` and
//! `.solverstate`; and reads Caffe2's `init_net.pb`.
//!
//! ```no_run
//! use caffemodel::{At, Model};
//!
//! let model = Model::open("lenet.caffemodel")?;
//! for (index, layer) in model.layers().iter().enumerate() {
//!     println!("{} ({}): {} blobs", layer.name(), layer.type_name(), layer.blobs().len());
//!     if !layer.blobs().is_empty() {
//!         let at = At::data(index, 0);
//!         let mut values = vec![0.0; model.array(at)?.count() as usize];
//!         model.read_f32(at, 0, &mut values)?;
//!     }
//! }
//! # Ok::<(), caffemodel::Error>(())
//! ```
//!
//! [`Model::open`] scans the structure and skips the values. [`Model::read_bytes`], [`Model::read_f32`] and [`Model::read_f64`]
//! read values into the caller's memory by `pread`, without an intermediate copy if the types agree. Threads may share a `Model`.
//!
//! [`Edit`] writes a file with other values: the rest is copied byte for byte, in constant memory, and the new file
//! appears under its name once it is whole. [`write_blob`] makes a `.binaryproto`.
//!
//! # The format
//!
//! These files are protobuf messages of `caffe.proto`: fields, each a tag (`number << 3 | wire type`), for wire type 2
//! a length, and a value. Fields that the table lacks are skipped, so forks with other fields can be read.
//!
//! | Message | Fields |
//! |---|---|
//! | net | name 1, layers 2 (V0 and V1), layer 100 (V2) |
//! | layer, V2 | name 1, type 2, bottom 3, blobs 7, inner_product_param 117 (transpose 6) |
//! | layer, V1 | a V0 layer 1, bottom 2, name 4, type 5 (a number), blobs 6, inner_product_param 17 (transpose 6) |
//! | layer, V0 | name 1, type 2, blobs 50 |
//! | blob | num, channels, height, width 1–4, data 5, diff 6, shape 7 (dim 1), double data 8, double diff 9 |
//! | blob, of NVIDIA's Caffe 0.16 and later | beside these: types of data and diff 10 and 11, their bytes 12 and 13 |
//! | blob, of C3D | num, channels, length, height, width 1–5, data 6, diff 7 |
//! | blobs (`.binaryproto` of several) | blob 1 |
//! | solver state | iter 1, learned_net 2, history 3, current_step 4 |
//! | net of Caffe2 (`init_net.pb`) | name 1, op 2 |
//! | operator | input 1, output 2, type 4, arg 5 |
//! | argument | name 1, f 2, i 3, s 4, floats 5, ints 6, strings 7 |
//!
//! Double values win over floats, floats over NVIDIA's bytes, legacy dimensions over a shape. A varint in field 5 of a
//! blob means C3D's message. Layers of V0 and V1 get the name and type of Caffe's `upgrade_net_proto_binary`.
//!
//! Each output of an operator of Caffe2 is a layer with its name. Those of `GivenTensor…Fill` and `ConstantFill` have a
//! blob, of the arguments `dtype` and `shape`; those of `Int8Given…TensorFill` also one of the scale (of the scales, if it
//! has one for each channel) and one of the zero point; `GivenTensorStringFill` has [`Texts`]; others have neither.
//!
//! # Limits
//!
//! Lengths have 64 bits, without protobuf's limit of 2 GiB. Opening a file allocates at most 4 MiB and the file's size,
//! of which 256 MiB count, whatever its lengths claim. A blob's values are read only if their count is that of its
//! shape.
#![forbid(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("values in memory have the byte order of the file, which is little-endian");

mod allocate;
mod blob;
mod chunks;
mod element;
mod error;
mod foreign;
mod half;
mod init_net;
mod kind;
mod model;
mod net;
mod problem;
mod read;
mod solver;
mod source;
mod torch;
mod upgrade;
mod varints;
mod wire;
mod write;

pub use blob::{Array, Blob, Dialect};
pub use element::Element;
pub use error::{Error, ErrorKind};
pub use kind::Kind;
pub use model::{At, Model, Part};
pub use net::{Layer, Texts, Version};
pub use problem::Shape;
pub use solver::State;
pub use source::open_regular;
pub use torch::TorchRole;
pub use write::{Edit, Values, write_blob};
