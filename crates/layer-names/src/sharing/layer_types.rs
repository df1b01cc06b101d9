//! What is known of each of Caffe's layer types: the list of those that may share memory.
//!
//! A type is in the list if its `Forward_cpu` writes all of each top's data before it reads any of it, and its
//! `Backward_cpu` all of the diff of each bottom that it propagates to. Blobs of other types are kept apart.

/// Tops that hold the memory of the first bottom (`ShareData`, `ShareDiff`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    None,
    Data,
    DataAndDiff,
    /// Only with one bottom and one top.
    OfOne,
}

/// A layer's own blobs that are neither parameters nor tops, as far as `Net::Init` leaves them untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Internals {
    Apart,
    /// `Backward` needs what `Forward` wrote.
    UntilBackward,
    /// Each of the two begins anew.
    Scratch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    pub alias: Alias,
    pub internals: Internals,
    /// Whether the layer is lent zeros: it scales a diff by 0 before it adds to it, or takes one that it does not write.
    pub zeros: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Shares(Shares),
    /// The reason, as a report says it.
    Apart(&'static str),
}

pub fn rule(kind: &str) -> Rule {
    let (alias, internals, zeros) = match kind {
        "AbsVal" | "Accuracy" | "ArgMax" | "BNLL" | "BatchReindex" | "Bias" | "Clip" | "ELU" | "Embed" | "Exp"
        | "HingeLoss" | "Im2col" | "InfogainLoss" | "InnerProduct" | "Log" | "ReLU" | "Reduction" | "SPP"
        | "Sigmoid" | "Silence" | "Swish" | "TanH" | "Threshold" | "Tile" => (Alias::None, Internals::Apart, false),
        "MultinomialLogisticLoss" | "SigmoidCrossEntropyLoss" => (Alias::None, Internals::Apart, false),
        "Concat" | "Slice" => (Alias::OfOne, Internals::Apart, false),
        "Flatten" | "Reshape" => (Alias::DataAndDiff, Internals::Apart, false),
        "Split" => (Alias::Data, Internals::Apart, false),
        "BatchNorm" | "Dropout" | "Eltwise" | "MVN" | "PReLU" | "Pooling" | "Scale" | "SoftmaxWithLoss" => {
            (Alias::None, Internals::UntilBackward, false)
        }
        "Convolution" | "Deconvolution" | "Softmax" => (Alias::None, Internals::Scratch, false),
        // Crop takes the diff of its first bottom also if it propagates nothing; Power has the gradient of a square.
        "ContrastiveLoss" | "Crop" | "Power" => (Alias::None, Internals::Apart, true),
        // LRN's squares within channels are a Power layer.
        "EuclideanLoss" | "LRN" => (Alias::None, Internals::UntilBackward, true),
        "Data" | "DummyData" | "HDF5Data" | "ImageData" | "Input" | "MemoryData" | "WindowData" => {
            return Rule::Apart("filled by a layer without inputs");
        }
        "LSTM" | "LSTMUnit" | "RNN" | "Recurrent" => {
            return Rule::Apart("a recurrent layer keeps state between passes");
        }
        "Filter" => return Rule::Apart("a Filter layer changes its outputs' gradients in place"),
        "HDF5Output" => return Rule::Apart("an HDF5Output layer keeps what it saves"),
        "Parameter" => return Rule::Apart("a parameter"),
        "Python" => return Rule::Apart("a Python layer may keep an array"),
        _ => return Rule::Apart("a layer of an unknown type touches it"),
    };
    Rule::Shares(Shares { alias, internals, zeros })
}
