//! The layers of Caffe's nets, and those that could write over their input.
//!
//! A recording has a net as Caffe made it: a blob that several layers read goes through a Split layer, so each blob has one
//! reader. The layers of BVLC's master work in place under the rules below, in both phases. Layers of other types, and the
//! layers after them, get no advice.

use std::collections::{HashMap, HashSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The layer's type as in prototxt; empty: not known.
    pub kind: String,
    pub name: String,
    pub bottoms: Vec<String>,
    pub tops: Vec<String>,
}

/// Reads the layers of a net from the text of a recording. Damaged lines are skipped.
pub fn layers(text: &str) -> Vec<Layer> {
    let layer = |line: &str| {
        let mut words = line.split('\t').map(str::to_string);
        let (kind, name, count) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
        let bottoms: Vec<_> = words.by_ref().take(count).collect();
        (bottoms.len() == count).then(|| Layer { kind, name, bottoms, tops: words.collect() })
    };
    text.lines().filter_map(layer).collect()
}

/// Memory that a layer does not need if it works in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Saved {
    /// The output and its gradient.
    Both,
    /// The gradient: the layer keeps a copy of its input.
    Gradient,
    /// The output: the layer keeps a copy of the output's gradient, if there is one.
    Data,
}

impl Saved {
    fn of(kind: &str) -> Option<Saved> {
        Some(match kind {
            "ReLU" | "ELU" | "Dropout" | "Sigmoid" | "TanH" | "Exp" | "Swish" | "Bias" => Saved::Both,
            "Scale" | "PReLU" => Saved::Gradient,
            "BatchNorm" => Saved::Data,
            _ => return None,
        })
    }

    /// Bytes that are saved. `data` and `gradient` are the bytes of the output, `input` those of the input's gradient.
    pub fn bytes(self, data: u64, gradient: u64, input: u64) -> u64 {
        let one_gradient = gradient.min(input);
        match self {
            Saved::Both => data.saturating_add(one_gradient),
            Saved::Gradient => one_gradient,
            Saved::Data => data.saturating_add(one_gradient).saturating_sub(gradient),
        }
    }
}

/// Consecutive layers that could all write over the memory of one blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The blob, and in `maker` the layer that makes it.
    pub blob: String,
    pub maker: String,
    /// Each layer with its top, and the memory that it saves.
    pub layers: Vec<(String, String, Saved)>,
}

/// A layer that writes to a block of memory.
#[derive(PartialEq, Eq, Hash)]
struct Writer<'n> {
    kind: &'n str,
    in_place: bool,
}

impl Writer<'_> {
    /// Whether its Backward does not need the output, which a layer of this type would overwrite. `bottoms` is the number of bottoms
    /// of the layer that makes the memory.
    fn gives_way_to(&self, kind: &str, bottoms: usize) -> bool {
        match self.kind {
            "Convolution" | "Deconvolution" | "InnerProduct" | "Pooling" | "BatchNorm" | "Scale" | "Bias" | "PReLU"
            | "Dropout" | "Eltwise" => true,
            // A Concat of one bottom has the memory of the bottom.
            "Concat" => bottoms > 1,
            // A ReLU in place needs the signs of its output. These layers keep them where the gradient is not zero.
            "ReLU" => !self.in_place || matches!(kind, "ReLU" | "Dropout"),
            _ => false,
        }
    }
}

struct Memory<'n> {
    first: &'n Layer,
    writers: HashSet<Writer<'n>>,
    chain: Vec<(String, String, Saved)>,
}

/// Nets that still disagree after these rounds get no advice.
const ROUNDS: usize = 16;

/// Finds the chains of all nets of a process. A layer of the same name in another net must allow the same change.
pub fn chains(nets: &[Vec<Layer>]) -> Vec<Chain> {
    let mut refused: HashSet<(String, String)> = HashSet::new();
    let mut separate: HashMap<&str, usize> = HashMap::new();
    for layer in nets.iter().flatten().filter(|layer| !is_in_place(layer)) {
        *separate.entry(&layer.name).or_default() += 1;
    }
    for _ in 0..ROUNDS {
        let found: Vec<Chain> = nets.iter().flat_map(|net| of_net(net, &refused)).collect();
        let mut allowed: HashMap<(&str, &str, &str), usize> = HashMap::new();
        found.iter().flat_map(Chain::links).for_each(|link| *allowed.entry(link).or_default() += 1);
        let before = refused.len();
        let disagrees = |&(&(name, ..), &count): &(&(&str, &str, &str), &usize)| separate.get(name) != Some(&count);
        refused.extend(allowed.iter().filter(disagrees).map(|((name, top, _), _)| (name.to_string(), top.to_string())));
        if refused.len() == before {
            return joined(found);
        }
    }
    Vec::new()
}

/// Joins the parts of a chain that several nets have.
fn joined(found: Vec<Chain>) -> Vec<Chain> {
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut all: Vec<Chain> = Vec::new();
    for chain in found.into_iter().filter(|chain| !chain.layers.is_empty()) {
        let place = *places.entry((chain.blob.clone(), chain.maker.clone())).or_insert(all.len());
        match all.get_mut(place) {
            Some(other) if other.layers != chain.layers => {
                let known: HashSet<_> = other.layers.iter().cloned().collect();
                other.layers.extend(chain.layers.into_iter().filter(|layer| !known.contains(layer)));
            }
            Some(_) => {}
            None => all.push(chain),
        }
    }
    all
}

impl Chain {
    fn links(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.layers.iter().map(|(name, top, _)| (name.as_str(), top.as_str(), self.blob.as_str()))
    }
}

fn is_in_place(layer: &Layer) -> bool {
    let bottoms: HashSet<_> = layer.bottoms.iter().collect();
    layer.tops.iter().any(|top| bottoms.contains(top))
}

fn of_net(net: &[Layer], refused: &HashSet<(String, String)>) -> Vec<Chain> {
    let read: HashSet<&str> = net.iter().flat_map(|layer| &layer.bottoms).map(String::as_str).collect();
    let mut memories: Vec<Memory> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for layer in net {
        if is_in_place(layer) {
            for place in layer.tops.iter().filter_map(|top| places.get(top.as_str())) {
                memories[*place].writers.insert(Writer { kind: &layer.kind, in_place: true });
            }
            continue;
        }
        if let ([bottom], [top], Some(saved)) = (&layer.bottoms[..], &layer.tops[..], Saved::of(&layer.kind)) {
            let place = places.get(bottom.as_str()).copied().filter(|&place| {
                let Memory { first, writers, .. } = &memories[place];
                // A layer without bottoms may fill its tops only once.
                let is_only_top = first.tops.len() == 1 && !first.bottoms.is_empty();
                let gives_way = |writer: &Writer| writer.gives_way_to(&layer.kind, first.bottoms.len());
                // A top that no layer reads is an output of the net, and keeps its name.
                is_only_top && writers.iter().all(gives_way) && read.contains(top.as_str())
            });
            if let Some(place) = place.filter(|_| !refused.contains(&(layer.name.clone(), top.clone()))) {
                memories[place].writers.insert(Writer { kind: &layer.kind, in_place: true });
                memories[place].chain.push((layer.name.clone(), top.clone(), saved));
                places.insert(top, place);
                continue;
            }
        }
        for top in &layer.tops {
            places.insert(top, memories.len());
            let writers = HashSet::from([Writer { kind: &layer.kind, in_place: false }]);
            memories.push(Memory { first: layer, writers, chain: Vec::new() });
        }
    }
    let chain = |memory: Memory| {
        let blob = memory.first.tops.first()?.clone();
        Some(Chain { blob, maker: memory.first.name.clone(), layers: memory.chain })
    };
    memories.into_iter().filter_map(chain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads layers written as `type name bottoms > tops`. A last layer reads all tops.
    fn net(text: &str) -> Vec<Layer> {
        let line = |line: &str| {
            let (head, tops) = line.split_once('>').unwrap_or((line, ""));
            let words: Vec<_> = head.split_whitespace().collect();
            let tops: String = tops.split_whitespace().map(|top| format!("\t{top}")).collect();
            let bottoms: String = words[2..].iter().map(|bottom| format!("\t{bottom}")).collect();
            format!("{}\t{}\t{}{bottoms}{tops}\n", words[0], words[1], words.len() - 2)
        };
        let read: String = text.split(';').filter_map(|layer| layer.rsplit('>').next()).collect();
        let end = format!("Silence end {read} >");
        layers(&text.split(';').chain([end.as_str()]).map(line).collect::<String>())
    }

    /// `blob: tops` of each chain.
    fn shown(nets: &[&str]) -> Vec<String> {
        let nets: Vec<_> = nets.iter().map(|text| net(text)).collect();
        let tops = |chain: &Chain| chain.layers.iter().map(|(_, top, _)| format!(" {top}")).collect::<String>();
        chains(&nets).iter().map(|chain| format!("{}:{}", chain.blob, tops(chain))).collect()
    }

    fn shown_of(text: &str) -> Vec<String> {
        shown(&[text])
    }

    const CONV: &str = "Input data > data; Convolution conv data > conv; ";

    #[test]
    fn consecutive_layers_are_one_chain() {
        let text =
            format!("{CONV} BatchNorm bn conv > bn; Scale sc bn > sc; ReLU r sc > r; Pooling p r > p; ReLU q p > q");
        assert_eq!(shown_of(&text), ["conv: bn sc r", "p: q"]);
    }

    #[test]
    fn a_layer_that_is_in_place_already_gets_no_advice() {
        assert_eq!(shown_of(&format!("{CONV} BatchNorm bn conv > conv; ReLU r conv > r")), ["conv: r"]);
        assert!(shown_of(&format!("{CONV} ReLU r conv > conv")).is_empty());
    }

    #[test]
    fn the_input_of_a_layer_that_has_it_from_outside_stays() {
        for first in ["Input data > data", "DummyData data > data", "Data data > data l"] {
            assert!(shown_of(&format!("{first}; ReLU r data > r")).is_empty(), "{first}");
        }
    }

    #[test]
    fn what_other_layers_read_or_share_stays() {
        for kind in ["Split", "Reshape", "Flatten", "Concat", "Slice", "LRN", "Python"] {
            assert!(shown_of(&format!("{CONV} {kind} share conv > a; ReLU r a > r")).is_empty(), "{kind}");
        }
        assert_eq!(shown_of(&format!("{CONV} Convolution d data > d; Concat c conv d > c; ReLU r c > r")), ["c: r"]);
    }

    #[test]
    fn the_output_that_a_layer_s_backward_reads_stays() {
        for kind in ["Sigmoid", "TanH", "ELU", "Exp", "Swish", "Power", "Softmax", "BNLL", "MVN", "Log", "AbsVal"] {
            let shown = shown_of(&format!("{CONV} {kind} a conv > a; Bias b a > b"));
            assert!(!shown.iter().any(|chain| chain.ends_with('b')), "{kind}: {shown:?}");
        }
    }

    #[test]
    fn the_signs_that_a_relu_in_place_needs_stay() {
        assert_eq!(shown_of(&format!("{CONV} ReLU r conv > r; BatchNorm bn r > bn")), ["conv: r"]);
        assert_eq!(shown_of(&format!("{CONV} ReLU r conv > r; Dropout d r > d; ReLU q d > q")), ["conv: r d q"]);
        assert!(shown_of(&format!("{CONV} ReLU r conv > conv; Scale s conv > s")).is_empty());
    }

    #[test]
    fn other_types_are_not_advised_about() {
        for kind in ["LRN", "Softmax", "Eltwise", "Power", "BNLL", "Log", "AbsVal", "Reshape", "MyReLU", "Clip"] {
            assert!(shown_of(&format!("{CONV} {kind} a conv > a")).is_empty(), "{kind}");
        }
        assert!(shown_of(&format!("{CONV} Input x > x; Scale s conv x > s")).is_empty());
    }

    #[test]
    fn an_output_of_the_net_keeps_its_name() {
        let text = "Input\tdata\t0\tdata\nConvolution\tconv\t1\tdata\tconv\nReLU\tr\t1\tconv\tr\n";
        assert!(chains(&[layers(text)]).iter().all(|chain| chain.layers.is_empty()));
    }

    #[test]
    fn a_layer_must_allow_it_in_every_net() {
        let (one, other) = (format!("{CONV} ReLU r conv > r"), format!("{CONV} Sigmoid s conv > s; ReLU r s > r"));
        assert_eq!(shown(&[&one, &one]), ["conv: r"]);
        assert_eq!(shown(&[&one, &other]), ["conv: s"]);
        assert_eq!(
            shown(&[
                &format!("{CONV} BatchNorm b conv > b; ReLU r b > r"),
                &format!("{CONV} BatchNorm b conv > conv; ReLU r conv > r")
            ]),
            ["conv: b r"]
        );
        let already = format!("{CONV} ReLU r conv > conv");
        assert_eq!(shown(&[&one, &already, "Input x > x"]), ["conv: r"]);
    }

    #[test]
    fn what_a_layer_keeps_in_place_is_not_saved() {
        let saved = [Saved::Both, Saved::Gradient, Saved::Data];
        assert_eq!(saved.map(|saved| saved.bytes(8, 8, 8)), [16, 8, 8], "in training");
        assert_eq!(saved.map(|saved| saved.bytes(8, 0, 0)), [8, 0, 8], "in a test");
        assert_eq!(saved.map(|saved| saved.bytes(8, 8, 0)), [8, 0, 0], "after a layer that is not trained");
    }

    #[test]
    fn a_line_is_a_layer_unless_it_is_damaged() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
        let data = Layer { kind: "Input".into(), name: "in put".into(), bottoms: vec![], tops: words(&["a", "b"]) };
        let eltwise = Layer { kind: String::new(), name: "e".into(), bottoms: words(&["a", "b"]), tops: words(&["c"]) };
        let text = "Input\tin put\t0\ta\tb\n\nReLU\nReLU\tr\tx\ta\nReLU\tr\t2\ta\n\te\t2\ta\tb\tc\n";
        assert_eq!(layers(text), [data, eltwise]);
    }
}
