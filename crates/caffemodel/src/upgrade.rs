//! Upgrades of the layer types of V0 and V1 to those of V2.

use std::borrow::Cow;

use crate::allocate;
use crate::error::Error;

/// The types of V1 by number, ten in a row.
#[rustfmt::skip]
const V1: [&str; 40] = [
    "", "Accuracy", "BNLL", "Concat", "Convolution", "Data", "Dropout", "EuclideanLoss", "Flatten", "HDF5Data",
    "HDF5Output", "Im2col", "ImageData", "InfogainLoss", "InnerProduct", "LRN", "MultinomialLogisticLoss", "Pooling", "ReLU", "Sigmoid",
    "Softmax", "SoftmaxWithLoss", "Split", "TanH", "WindowData", "Eltwise", "Power", "SigmoidCrossEntropyLoss", "HingeLoss", "MemoryData",
    "ArgMax", "Threshold", "DummyData", "Slice", "MVN", "AbsVal", "Silence", "ContrastiveLoss", "Exp", "Deconvolution",
];

/// C3D's own numbers of V1, named as Caffe would name them.
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

/// The types of V0 that are not those of V1 in lower case, with or without underscores.
const V0: [(&str, &str); 4] =
    [("conv", "Convolution"), ("images", "ImageData"), ("pool", "Pooling"), ("softmax_loss", "SoftmaxWithLoss")];

/// The type of a V1 layer; `#57` for a number without a name.
pub(crate) fn numbered(number: i32, is_c3d: bool) -> Result<Cow<'static, str>, Error> {
    let own = C3D.iter().find(|(of_c3d, _)| is_c3d && *of_c3d == number).map(|(_, name)| *name);
    let shared = || usize::try_from(number).ok().and_then(|number| V1.get(number).copied());
    match own.or_else(shared) {
        Some(name) => Ok(Cow::Borrowed(name)),
        None => Ok(Cow::Owned(allocate::text(&format_args!("#{number}"))?)),
    }
}

/// The type of a V0 layer. A name that Caffe does not know stays.
pub(crate) fn from_v0(name: String) -> Cow<'static, str> {
    let letters = || name.bytes().filter(|letter| *letter != b'_');
    let is_it = |of: &&&str| !name.is_empty() && letters().eq(of.bytes().map(|letter| letter.to_ascii_lowercase()));
    let other = V0.iter().find(|(old, _)| *old == name).map(|(_, new)| new);
    other.or_else(|| V1.iter().find(is_it)).map_or(Cow::Owned(name), |new| Cow::Borrowed(new))
}
