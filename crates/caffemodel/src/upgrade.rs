//! Layer types of V0 and V1 as today's.

use std::borrow::Cow;

use crate::error::Error;
use crate::room;

/// By number, ten in a row.
#[rustfmt::skip]
const V1: [&str; 40] = [
    "", "Accuracy", "BNLL", "Concat", "Convolution", "Data", "Dropout", "EuclideanLoss", "Flatten", "HDF5Data",
    "HDF5Output", "Im2col", "ImageData", "InfogainLoss", "InnerProduct", "LRN", "MultinomialLogisticLoss", "Pooling", "ReLU", "Sigmoid",
    "Softmax", "SoftmaxWithLoss", "Split", "TanH", "WindowData", "Eltwise", "Power", "SigmoidCrossEntropyLoss", "HingeLoss", "MemoryData",
    "ArgMax", "Threshold", "DummyData", "Slice", "MVN", "AbsVal", "Silence", "ContrastiveLoss", "Exp", "Deconvolution",
];

/// C3D's own numbers, named as Caffe would name them.
const C3D: [(i32, &str); 12] = [
    (25, "EltwiseProduct"),
    (30, "Convolution3D"),
    (31, "Pooling3D"),
    (32, "VolumeData"),
    (33, "VideoData"),
    (34, "Deconvolution3D"),
    (35, "VideoSegmentationData"),
    (36, "VoxelSoftmax"),
    (37, "VoxelSoftmaxLoss"),
    (38, "VideoWithVoxelTruthData"),
    (39, "VoxelCustomLoss"),
    (40, "DownSampling"),
];

const V0: [(&str, &str); 24] = [
    ("accuracy", "Accuracy"),
    ("bnll", "BNLL"),
    ("concat", "Concat"),
    ("conv", "Convolution"),
    ("data", "Data"),
    ("dropout", "Dropout"),
    ("euclidean_loss", "EuclideanLoss"),
    ("flatten", "Flatten"),
    ("hdf5_data", "HDF5Data"),
    ("hdf5_output", "HDF5Output"),
    ("im2col", "Im2col"),
    ("images", "ImageData"),
    ("infogain_loss", "InfogainLoss"),
    ("innerproduct", "InnerProduct"),
    ("lrn", "LRN"),
    ("multinomial_logistic_loss", "MultinomialLogisticLoss"),
    ("pool", "Pooling"),
    ("relu", "ReLU"),
    ("sigmoid", "Sigmoid"),
    ("softmax", "Softmax"),
    ("softmax_loss", "SoftmaxWithLoss"),
    ("split", "Split"),
    ("tanh", "TanH"),
    ("window_data", "WindowData"),
];

/// `#57` for a number without a name.
pub(crate) fn numbered(number: i32, is_c3d: bool) -> Result<Cow<'static, str>, Error> {
    let own = C3D.iter().find(|(of_c3d, _)| is_c3d && *of_c3d == number).map(|(_, name)| *name);
    let shared = || usize::try_from(number).ok().and_then(|number| V1.get(number).copied());
    match own.or_else(shared) {
        Some(name) => Ok(Cow::Borrowed(name)),
        None => Ok(Cow::Owned(room::text(&format_args!("#{number}"))?)),
    }
}

/// A name that Caffe does not know stays.
pub(crate) fn from_v0(name: String) -> Cow<'static, str> {
    V0.iter().find(|(old, _)| *old == name).map_or(Cow::Owned(name), |(_, new)| Cow::Borrowed(new))
}
