//! The role of memory, read from the names that libsyncedmem_names.so gives: `fc6 weights gradient`.

use Role::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Data,
    Activations,
    ActivationGradients,
    Weights,
    WeightGradients,
    SolverHistory,
    /// Memory inside a layer: neither parameters nor outputs.
    Internal,
}

impl Role {
    pub const ALL: [Role; 7] =
        [Data, Activations, ActivationGradients, Weights, WeightGradients, SolverHistory, Internal];

    pub fn name(self) -> &'static str {
        match self {
            Data => "data",
            Activations => "activations",
            ActivationGradients => "gradients of activations",
            Weights => "weights",
            WeightGradients => "gradients of weights",
            SolverHistory => "solver history",
            Internal => "inside layers",
        }
    }

    pub fn of_name(name: &str) -> Option<Role> {
        Role::of_layer(name).map(|(_, role)| role)
    }

    /// Returns the layer and the role that a name contains.
    pub fn of_layer(name: &str) -> Option<(&str, Role)> {
        let (of, is_gradient) = name.strip_suffix(" gradient").map_or((name, false), |of| (of, true));
        // Parameters from the third on are numbered, and outputs of a layer with several outputs.
        let of = of.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end();
        let (layer, word) = of.rsplit_once(' ')?;
        let role = match (word, is_gradient) {
            ("weights" | "bias" | "parameter", false) => Weights,
            ("weights" | "bias" | "parameter", true) => WeightGradients,
            ("output", false) => Activations,
            // Caffe does not use the diff of a data layer: it has memory only if the next layer fills it.
            ("output" | "data", true) => ActivationGradients,
            ("data", false) => Data,
            ("history", false) => SolverHistory,
            ("internal", false) => Internal,
            _ => return None,
        };
        // The history of a solver belongs to a parameter.
        let layer = if role == SolverHistory { Role::of_layer(layer).map_or(layer, |(layer, _)| layer) } else { layer };
        Some((layer, role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_layers_contain_the_layer_and_the_role() {
        for (name, layer, role) in [
            ("fc6 weights", "fc6", Weights),
            ("fc6 bias", "fc6", Weights),
            ("bn1 parameter 2", "bn1", Weights),
            ("fc6 weights gradient", "fc6", WeightGradients),
            ("bn1 parameter 2 gradient", "bn1", WeightGradients),
            ("fc6 bias history", "fc6", SolverHistory),
            ("bn1 parameter 2 history", "bn1", SolverHistory),
            ("conv1 output", "conv1", Activations),
            ("slice1 output 3 gradient", "slice1", ActivationGradients),
            ("mnist data 1", "mnist", Data),
            ("norm1 internal", "norm1", Internal),
            ("a layer of three words output", "a layer of three words", Activations),
        ] {
            assert_eq!(Role::of_layer(name), Some((layer, role)), "{name}");
        }
    }

    #[test]
    fn other_names_contain_no_role() {
        for name in
            ["", "data", "conv1", "weights", "my own buffer", "output 3", "history of fc6", "fc6 history gradient"]
        {
            assert_eq!(Role::of_name(name), None, "{name}");
        }
    }
}
