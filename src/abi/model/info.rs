//! A model's kind, layers and blobs.

use std::ffi::{c_char, c_int};
use std::mem::offset_of;

use super::open::syncedmem_model_t;
use crate::abi::arguments::{Grows, handle, out, sized_out};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::models::{At, BlobInNet, Kind, TorchRole, element_type};

/// What a model file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_model_kind_t {
    /// A net: `.caffemodel`.
    SYNCEDMEM_MODEL_NET = 0,
    /// One blob: `.binaryproto`, such as a mean image.
    SYNCEDMEM_MODEL_BLOB = 1,
    /// A list of blobs: `.binaryproto`.
    SYNCEDMEM_MODEL_BLOBS = 2,
    /// The state of a solver: `.solverstate`.
    SYNCEDMEM_MODEL_SOLVER_STATE = 3,
    /// Caffe2's weights: `init_net.pb`. Each tensor is a layer, with its operator as its type. Blobs 1 and 2 of a quantized
    /// one are its scale and its zero point.
    SYNCEDMEM_MODEL_INIT_NET = 4,
}

/// What a blob is to the PyTorch module that corresponds to its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_torch_role_t {
    /// There is no such module, or the layer has other blobs than Caffe's.
    SYNCEDMEM_TORCH_NONE = 0,
    /// `weight`.
    SYNCEDMEM_TORCH_WEIGHT = 1,
    /// `weight`, with its two axes swapped.
    SYNCEDMEM_TORCH_TRANSPOSED_WEIGHT = 2,
    /// `bias`.
    SYNCEDMEM_TORCH_BIAS = 3,
    /// `running_mean`, times the factor if the layer has one.
    SYNCEDMEM_TORCH_RUNNING_MEAN = 4,
    /// `running_var`, times the factor if the layer has one.
    SYNCEDMEM_TORCH_RUNNING_VAR = 5,
    /// The factor, which PyTorch does not have. If it is 0, BVLC's Caffe takes the mean and the variance for zeros, NVIDIA's
    /// takes them unscaled.
    SYNCEDMEM_TORCH_FACTOR = 6,
    /// A blob that PyTorch has no use for.
    SYNCEDMEM_TORCH_UNUSED = 7,
}

impl From<TorchRole> for syncedmem_torch_role_t {
    fn from(role: TorchRole) -> Self {
        match role {
            TorchRole::Weight => Self::SYNCEDMEM_TORCH_WEIGHT,
            TorchRole::TransposedWeight => Self::SYNCEDMEM_TORCH_TRANSPOSED_WEIGHT,
            TorchRole::Bias => Self::SYNCEDMEM_TORCH_BIAS,
            TorchRole::RunningMean => Self::SYNCEDMEM_TORCH_RUNNING_MEAN,
            TorchRole::RunningVar => Self::SYNCEDMEM_TORCH_RUNNING_VAR,
            TorchRole::Factor => Self::SYNCEDMEM_TORCH_FACTOR,
            TorchRole::Unused => Self::SYNCEDMEM_TORCH_UNUSED,
        }
    }
}

/// What a model file contains beside its layers.
#[repr(C)]
pub struct syncedmem_model_info_t {
    /// `sizeof(syncedmem_model_info_t)` before the call, then the bytes written.
    pub size: usize,
    /// A `syncedmem_model_kind_t`.
    pub kind: i32,
    /// The iteration of a solver's state; else 0.
    pub iter: i32,
    /// The step of the learning rate in a solver's state; else 0.
    pub current_step: i32,
    /// The net's name, or empty.
    pub name: *const c_char,
    /// The `.caffemodel` that was saved with a solver's state; else empty.
    pub learned_net: *const c_char,
}

/// What a model file says about a blob.
#[repr(C)]
pub struct syncedmem_blob_info_t {
    /// `sizeof(syncedmem_blob_info_t)` before the call, then the bytes written.
    pub size: usize,
    /// How its values are stored: a `syncedmem_type_t`.
    pub element_type: i32,
    /// Number of dimensions of `shape`; 0 for a single value.
    pub axes: c_int,
    /// The stored dimensions.
    pub shape: *const i64,
    /// Number of dimensions of `net_shape`.
    pub net_axes: c_int,
    /// The dimensions in the net: without the leading ones of files from before 2015.
    pub net_shape: *const i64,
    /// Number of values. It fits the shape, or `syncedmem_model_read_blob` gives `FORMAT`.
    pub count: u64,
    /// Whether gradients are stored too.
    pub has_diff: bool,
    /// How they are stored: a `syncedmem_type_t`.
    pub diff_element_type: i32,
    /// A `syncedmem_torch_role_t`.
    pub torch_role: i32,
    /// Number of dimensions of `torch_shape`.
    pub torch_axes: c_int,
    /// The dimensions in PyTorch's module, before those of `SYNCEDMEM_TORCH_TRANSPOSED_WEIGHT` are swapped; without such a
    /// module `net_shape`.
    pub torch_shape: *const i64,
}

const _: () = assert!(offset_of!(syncedmem_model_info_t, size) == 0 && offset_of!(syncedmem_blob_info_t, size) == 0);

impl Grows for syncedmem_model_info_t {
    const LEAST: usize = size_of::<Self>();
}

impl Grows for syncedmem_blob_info_t {
    const LEAST: usize = size_of::<Self>();
}

/// Writes to `*info` what the file contains beside its layers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_model_info(
    model: *const syncedmem_model_t,
    info: *mut syncedmem_model_info_t,
) -> syncedmem_status_t {
    entry!(handle(model), sized_out(info), |model, out| {
        let kind = match model.kind() {
            Kind::Net => syncedmem_model_kind_t::SYNCEDMEM_MODEL_NET,
            Kind::Blob => syncedmem_model_kind_t::SYNCEDMEM_MODEL_BLOB,
            Kind::Blobs => syncedmem_model_kind_t::SYNCEDMEM_MODEL_BLOBS,
            Kind::SolverState => syncedmem_model_kind_t::SYNCEDMEM_MODEL_SOLVER_STATE,
            Kind::InitNet => syncedmem_model_kind_t::SYNCEDMEM_MODEL_INIT_NET,
        };
        out.set(&syncedmem_model_info_t {
            size: out.size,
            kind: kind as i32,
            iter: model.state().map_or(0, |state| state.iter),
            current_step: model.state().map_or(0, |state| state.current_step),
            name: model.name().as_ptr(),
            learned_net: model.learned_net().as_ptr(),
        });
    })
}

/// Writes the number of layers to `*count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_model_layer_count(
    model: *const syncedmem_model_t,
    count: *mut usize,
) -> syncedmem_status_t {
    entry!(handle(model), out(count), |model, count| count.set(model.layer_count()))
}

/// Writes a layer's name, its type as Caffe has named it since 2015, and its number of blobs. Layers are numbered from
/// 0, in the order of the file; two may have one name. Names are UTF-8: in this and all strings of a model, bytes that
/// are no UTF-8, NULs, and each `%` before two hexadecimal digits are percent-encoded (`%BE`), so that different names
/// stay different, and percent-decoding gives their bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_model_layer(
    model: *const syncedmem_model_t,
    layer: usize,
    name: *mut *const c_char,
    type_name: *mut *const c_char,
    blobs: *mut usize,
) -> syncedmem_status_t {
    entry!(handle(model), out(name), out(type_name), out(blobs), |model, name, type_name, blobs| {
        let (layer, its_name, its_type) = model.layer(layer)?;
        name.set(its_name.as_ptr());
        type_name.set(its_type.as_ptr());
        blobs.set(layer.blobs().len());
    })
}

/// Writes to `*info` what the file says about a blob. Blobs are numbered from 0: weights before biases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_model_blob_info(
    model: *const syncedmem_model_t,
    layer: usize,
    blob: usize,
    info: *mut syncedmem_blob_info_t,
) -> syncedmem_status_t {
    entry!(handle(model), sized_out(info), |model, out| {
        let BlobInNet { blob, net_shape, torch } = model.blob(At::data(layer, blob))?;
        let (torch_role, torch_shape) = match torch {
            Some((role, shape)) => (role.into(), shape),
            None => (syncedmem_torch_role_t::SYNCEDMEM_TORCH_NONE, net_shape),
        };
        out.set(&syncedmem_blob_info_t {
            size: out.size,
            element_type: element_type(blob.data().element()) as i32,
            // A shape has at most 32 axes.
            axes: blob.shape().len() as c_int,
            shape: blob.shape().as_ptr(),
            net_axes: net_shape.len() as c_int,
            net_shape: net_shape.as_ptr(),
            count: blob.data().count(),
            has_diff: blob.diff().is_some(),
            diff_element_type: element_type(blob.diff().unwrap_or(blob.data()).element()) as i32,
            torch_role: torch_role as i32,
            torch_axes: torch_shape.len() as c_int,
            torch_shape: torch_shape.as_ptr(),
        });
    })
}
