//! The blobs of layers as parameters of PyTorch's modules.

use crate::net::Layer;

/// The parameter of PyTorch's module that a blob is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TorchRole {
    /// `weight`.
    Weight,
    /// `weight`, with its two axes swapped.
    TransposedWeight,
    /// `bias`.
    Bias,
    /// `running_mean`, times the factor.
    RunningMean,
    /// `running_var`, times the factor.
    RunningVar,
    /// The divisor of the layer's `RunningMean` and `RunningVar`, if it is not 0. PyTorch has no such parameter.
    Factor,
    /// No parameter.
    Unused,
}

impl TorchRole {
    /// The parameter's name; `None` if a module has no such parameter.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Weight | Self::TransposedWeight => Some("weight"),
            Self::Bias => Some("bias"),
            Self::RunningMean => Some("running_mean"),
            Self::RunningVar => Some("running_var"),
            Self::Factor | Self::Unused => None,
        }
    }
}

impl Layer {
    /// The role of a blob in PyTorch's module of the layer's type, and its dimensions there, for a `TransposedWeight` before they are
    /// swapped. `None` if there is no such module, or if the layer has other blobs than Caffe's.
    pub fn torch(&self, blob: usize) -> Option<(TorchRole, &[i64])> {
        use TorchRole::{Bias, Factor, RunningMean, RunningVar, TransposedWeight, Unused, Weight};
        let shape = self.shape_in_net(blob)?;
        let is_single = |blob: usize| self.blobs()[blob].data().count() == 1;
        let roles: &[TorchRole] = match (self.type_name(), self.blobs().len()) {
            ("BatchNorm", 3) if is_single(2) => &[RunningMean, RunningVar, Factor],
            // NVIDIA's and Intel's Caffe store five blobs; DIGITS wrote those of NVIDIA's older ones.
            ("BatchNorm", 5) => match (is_single(2), is_single(4)) {
                (true, false) => &[RunningMean, RunningVar, Factor, Weight, Bias],
                (false, true) => &[Weight, Bias, RunningMean, RunningVar, Unused],
                _ => return None,
            },
            ("InnerProduct", _) if self.is_transposed && blob == 0 && shape.len() != 2 => return None,
            ("InnerProduct", _) if self.is_transposed => &[TransposedWeight, Bias],
            // If the factor is another layer's output, the only blob is the bias.
            ("Scale", _) if self.bottoms > 1 => &[Bias],
            ("Bias", _) => &[Bias],
            ("PReLU", _) => &[Weight],
            ("InnerProduct" | "Scale" | "Embed", _) => &[Weight, Bias],
            ("Convolution" | "Deconvolution" | "Convolution3D" | "Deconvolution3D", _) => &[Weight, Bias],
            _ => return None,
        };
        let is_vector = matches!(self.type_name(), "BatchNorm" | "PReLU");
        Some((*roles.get(blob)?, if is_vector { vector(shape) } else { shape }))
    }
}

/// Drops axes of length 1 from a shape with at most one longer axis. One axis stays, because parameters of modules have one.
fn vector(shape: &[i64]) -> &[i64] {
    let mut longer = (0..shape.len()).filter(|axis| shape[*axis] != 1);
    match (longer.next(), longer.next()) {
        (None, _) => &[1],
        (Some(axis), None) => &shape[axis..=axis],
        _ => shape,
    }
}
