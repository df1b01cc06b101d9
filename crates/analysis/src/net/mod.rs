//! The layers of Caffe's nets, as a recording has them.

mod in_place;
mod prefix;

pub use in_place::{Chain, Saved, chains};
pub use prefix::by_beginning;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// As prototxt has it; empty: not known.
    pub kind: String,
    pub name: String,
    pub bottoms: Vec<String>,
    pub tops: Vec<String>,
}

/// Lines that are no layers are passed over.
pub fn layers(text: &str) -> Vec<Layer> {
    let layer = |line: &str| {
        let mut words = line.split('\t').map(str::to_string);
        let (kind, name, count) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
        let bottoms: Vec<_> = words.by_ref().take(count).collect();
        (bottoms.len() == count).then(|| Layer { kind, name, bottoms, tops: words.collect() })
    };
    text.lines().filter_map(layer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_layer_unless_it_is_damaged() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
        let data = Layer { kind: "Input".into(), name: "in put".into(), bottoms: vec![], tops: words(&["a", "b"]) };
        let eltwise = Layer { kind: String::new(), name: "e".into(), bottoms: words(&["a", "b"]), tops: words(&["c"]) };
        let text = "Input\tin put\t0\ta\tb\n\nReLU\nReLU\tr\tx\ta\nReLU\tr\t2\ta\n\te\t2\ta\tb\tc\n";
        assert_eq!(layers(text), [data, eltwise]);
    }
}
