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

const PLAIN: Shares = Shares { alias: Alias::None, internals: Internals::Apart, zeros: false };
const SOURCE: Rule = Rule::Apart("filled by a layer without inputs");
const RECURRENT: Rule = Rule::Apart("a recurrent layer keeps state between passes");

const fn plain() -> Rule {
    Rule::Shares(PLAIN)
}

const fn alias(alias: Alias) -> Rule {
    Rule::Shares(Shares { alias, ..PLAIN })
}

const fn with(internals: Internals) -> Rule {
    Rule::Shares(Shares { internals, ..PLAIN })
}

const fn zeros(internals: Internals) -> Rule {
    Rule::Shares(Shares { internals, zeros: true, ..PLAIN })
}

const RULES: &[(&str, Rule)] = &[
    ("AbsVal", plain()),
    ("Accuracy", plain()),
    ("ArgMax", plain()),
    ("BNLL", plain()),
    ("BatchNorm", with(Internals::UntilBackward)),
    ("BatchReindex", plain()),
    ("Bias", plain()),
    ("Clip", plain()),
    ("Concat", alias(Alias::OfOne)),
    ("ContrastiveLoss", zeros(Internals::Apart)),
    ("Convolution", with(Internals::Scratch)),
    // Takes the diff of its first bottom also if it propagates nothing.
    ("Crop", zeros(Internals::Apart)),
    ("Data", SOURCE),
    ("Deconvolution", with(Internals::Scratch)),
    ("Dropout", with(Internals::UntilBackward)),
    ("DummyData", SOURCE),
    ("ELU", plain()),
    ("Eltwise", with(Internals::UntilBackward)),
    ("Embed", plain()),
    ("EuclideanLoss", zeros(Internals::UntilBackward)),
    ("Exp", plain()),
    ("Filter", Rule::Apart("a Filter layer changes its outputs' gradients in place")),
    ("Flatten", alias(Alias::DataAndDiff)),
    ("HDF5Data", SOURCE),
    ("HDF5Output", Rule::Apart("an HDF5Output layer keeps what it saves")),
    ("HingeLoss", plain()),
    ("Im2col", plain()),
    ("ImageData", SOURCE),
    ("InfogainLoss", plain()),
    ("InnerProduct", plain()),
    ("Input", SOURCE),
    // Its squares within channels are a Power layer.
    ("LRN", zeros(Internals::UntilBackward)),
    ("LSTM", RECURRENT),
    ("LSTMUnit", RECURRENT),
    ("Log", plain()),
    ("MVN", with(Internals::UntilBackward)),
    ("MemoryData", SOURCE),
    ("MultinomialLogisticLoss", plain()),
    ("PReLU", with(Internals::UntilBackward)),
    ("Parameter", Rule::Apart("a parameter")),
    ("Pooling", with(Internals::UntilBackward)),
    // The gradient of a square.
    ("Power", zeros(Internals::Apart)),
    ("Python", Rule::Apart("a Python layer may keep an array")),
    ("RNN", RECURRENT),
    ("ReLU", plain()),
    ("Recurrent", RECURRENT),
    ("Reduction", plain()),
    ("Reshape", alias(Alias::DataAndDiff)),
    ("SPP", plain()),
    ("Scale", with(Internals::UntilBackward)),
    ("Sigmoid", plain()),
    ("SigmoidCrossEntropyLoss", plain()),
    ("Silence", plain()),
    ("Slice", alias(Alias::OfOne)),
    ("Softmax", with(Internals::Scratch)),
    ("SoftmaxWithLoss", with(Internals::UntilBackward)),
    ("Split", alias(Alias::Data)),
    ("Swish", plain()),
    ("TanH", plain()),
    ("Threshold", plain()),
    ("Tile", plain()),
    ("WindowData", SOURCE),
];

pub fn rule(kind: &str) -> Rule {
    let found = RULES.binary_search_by(|(name, _)| (*name).cmp(kind));
    found.map_or(Rule::Apart("a layer of an unknown type touches it"), |at| RULES[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(RULES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(rule("ReLU"), plain());
        assert!(matches!(rule("MyLayer"), Rule::Apart(_)));
    }
}
