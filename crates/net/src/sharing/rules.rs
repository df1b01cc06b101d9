//! The types of Caffe's layers whose blobs may share memory. Pure.
//!
//! Such a type's `Forward_cpu` writes all of each top's data before it reads any of it, and its `Backward_cpu` writes all of the diff of
//! each bottom to which it propagates. Blobs of other types are not shared.

/// Which memory of the first bottom the tops hold (`ShareData`, `ShareDiff`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    None,
    Data,
    DataAndDiff,
    /// Data and diff, if the layer has one bottom and one top.
    OfOne,
}

/// How long a layer's internal blobs, which are neither parameters nor tops, need their contents. Blobs that `Net::Init` touches are never
/// shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Internals {
    /// For ever.
    Kept,
    /// From `Forward` to the end of `Backward`.
    UntilBackward,
    /// During each call.
    Scratch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    pub alias: Alias,
    pub internals: Internals,
    /// Whether the layer's memory must begin as zeros: it scales a diff by 0 before it adds to it, or does not write one that it uses.
    pub zeros: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Shares(Shares),
    /// Blobs of the layer are not shared, for this reason.
    Excludes(&'static str),
}

/// The data that a layer's `Backward` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// The bottoms from this one on.
    pub bottoms_from: usize,
    pub tops: bool,
}

const NO_BOTTOMS: usize = usize::MAX;

/// What the `Backward_cpu` and the `Backward_gpu` of a layer's class read, from BVLC's sources. A function of BVLC's that asks for data that it
/// does not read counts as reading them, except an Eltwise sum ([`asks_for_unread`]).
pub fn reads(kind: &str, form: Form) -> Reads {
    let (bottoms_from, tops) = match kind {
        "Convolution" | "Deconvolution" => (0, false),
        // The other layers with cuDNN ask for both, whatever they compute.
        _ if form.is_cudnn && !cfg!(syncedmem_fault = "cuDNN reads what Caffe's kernels read") => (0, true),
        "ReLU" if cfg!(syncedmem_fault = "ReLU has the reads of another class") => (NO_BOTTOMS, false),
        "AbsVal"
        | "BNLL"
        | "Clip"
        | "Embed"
        | "InnerProduct"
        | "Log"
        | "MultinomialLogisticLoss"
        | "PReLU"
        | "ReLU"
        | "Reduction" => (0, false),
        "Exp" | "Sigmoid" | "Softmax" | "Swish" | "TanH" => (NO_BOTTOMS, true),
        // Labels, weights of labels, and permutations.
        "BatchReindex" | "ContrastiveLoss" | "HingeLoss" | "InfogainLoss" | "SigmoidCrossEntropyLoss" => (1, false),
        // `Backward_gpu` uses the memory of its loss.
        "SoftmaxWithLoss" => (1, true),
        // In place it reads its copy.
        "Scale" => (usize::from(form.is_in_place), false),
        // With a second top that is the mask.
        "Pooling" => (NO_BOTTOMS, form.tops > 1),
        "Eltwise" if form.is_sum => (NO_BOTTOMS, false),
        "Accuracy" | "ArgMax" | "BatchNorm" | "Bias" | "Concat" | "Crop" | "Dropout" | "EuclideanLoss" | "Flatten"
        | "Im2col" | "Reshape" | "Silence" | "Slice" | "Split" | "Threshold" | "Tile" => (NO_BOTTOMS, false),
        _ => (0, true),
    };
    Reads { bottoms_from, tops }
}

/// What a layer's type does not say of its `Backward`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    pub is_cudnn: bool,
    /// An Eltwise layer that adds.
    pub is_sum: bool,
    /// Whether the layer's first top is its first bottom.
    pub is_in_place: bool,
    pub tops: usize,
}

/// Whether the layer's `Backward` asks for data that it does not read.
pub fn asks_for_unread(kind: &str, form: Form) -> bool {
    kind == "Eltwise" && form.is_sum && !form.is_cudnn
}

/// Whether the layer's tops are expected to have many zeros: always, if its bottoms have, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zeros {
    Many,
    AsBottoms,
    Few,
}

pub fn zeros(kind: &str) -> Zeros {
    match kind {
        "ReLU" | "Dropout" => Zeros::Many,
        "Concat" | "Flatten" | "LRN" | "Reshape" | "Slice" | "Split" => Zeros::AsBottoms,
        _ => Zeros::Few,
    }
}

pub fn rule(kind: &str) -> Rule {
    let (alias, internals, zeros) = match kind {
        "AbsVal" | "Accuracy" | "ArgMax" | "BNLL" | "BatchReindex" | "Bias" | "Clip" | "ELU" | "Embed" | "Exp"
        | "HingeLoss" | "Im2col" | "InfogainLoss" | "InnerProduct" | "Log" | "ReLU" | "Reduction" | "SPP"
        | "Sigmoid" | "Silence" | "Swish" | "TanH" | "Threshold" | "Tile" => (Alias::None, Internals::Kept, false),
        "MultinomialLogisticLoss" | "SigmoidCrossEntropyLoss" => (Alias::None, Internals::Kept, false),
        "Concat" | "Slice" => (Alias::OfOne, Internals::Kept, false),
        "Flatten" | "Reshape" => (Alias::DataAndDiff, Internals::Kept, false),
        "Split" if cfg!(syncedmem_fault = "an alias is forgotten") => (Alias::None, Internals::Kept, false),
        "Split" => (Alias::Data, Internals::Kept, false),
        "BatchNorm" | "Dropout" | "Eltwise" | "MVN" | "PReLU" | "Pooling" | "Scale" | "SoftmaxWithLoss" => {
            (Alias::None, Internals::UntilBackward, false)
        }
        "Convolution" | "Deconvolution" | "Softmax" => (Alias::None, Internals::Scratch, false),
        // Crop uses the diff of its first bottom even if it propagates nothing; Power has the gradient of a square.
        "ContrastiveLoss" | "Crop" | "Power" => (Alias::None, Internals::Kept, true),
        // LRN within channels has a Power layer inside.
        "EuclideanLoss" | "LRN" => (Alias::None, Internals::UntilBackward, true),
        "Data" | "DummyData" | "HDF5Data" | "ImageData" | "Input" | "MemoryData" | "WindowData" => {
            return Rule::Excludes("filled by a layer without inputs");
        }
        "LSTM" | "LSTMUnit" | "RNN" | "Recurrent" => {
            return Rule::Excludes("a recurrent layer keeps state between passes");
        }
        "Filter" => return Rule::Excludes("a Filter layer changes its outputs' gradients in place"),
        "HDF5Output" => return Rule::Excludes("an HDF5Output layer keeps what it saves"),
        "Parameter" => return Rule::Excludes("a parameter"),
        "Python" => return Rule::Excludes("a Python layer may keep an array"),
        _ => return Rule::Excludes("a layer of an unknown type touches it"),
    };
    Rule::Shares(Shares { alias, internals, zeros })
}
