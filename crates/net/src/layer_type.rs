//! The type of a layer, from the mangled name of its class's table: `ReLU` for `caffe::ReLULayer<float>` and for
//! `caffe::CuDNNReLULayer<float>`.

/// The type for reports, of any class; empty if the name has none.
pub fn type_in(symbol: &str) -> &str {
    let mut class = "";
    for name in names_in(symbol) {
        class = name;
    }
    type_of(class)
}

/// The type if the name is that of one of Caffe's own classes: a template of one element type, directly in the namespace `caffe`.
pub fn caffes_type(symbol: &'static str, letter: &str) -> Option<&'static str> {
    let names: Vec<&str> = names_in(symbol).collect();
    let [namespace, class] = names[..] else { return None };
    let is_layer = namespace == "caffe" && class.ends_with("Layer");
    let whole = format!("_ZTVN5caffe{}{class}I{letter}EE", class.len());
    (is_layer && symbol == whole).then(|| type_of(class))
}

pub fn is_convolution(kind: &str) -> bool {
    kind.ends_with("onvolution") || kind == "Im2col"
}

/// A recurrent layer keeps state from step to step, and the first axis of its blobs is time.
pub fn is_recurrent(kind: &str) -> bool {
    matches!(kind, "LSTM" | "RNN" | "Recurrent")
}

fn type_of(class: &str) -> &str {
    let class = class.strip_suffix("Layer").unwrap_or(class);
    match class.strip_prefix("CuDNN") {
        // LRN within channels.
        Some("LCN") => "LRN",
        kind => kind.unwrap_or(class),
    }
}

/// The names in a mangled name: `caffe` and `ReLULayer` in `_ZTVN5caffe9ReLULayerIfEE`.
fn names_in(symbol: &str) -> impl Iterator<Item = &str> {
    let rest = symbol.strip_prefix("_ZTV").unwrap_or_default();
    let mut rest = rest.strip_prefix('N').unwrap_or(rest);
    std::iter::from_fn(move || {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length = rest[..digits].parse().ok()?;
        let (name, more) = rest[digits..].split_at_checked(length).filter(|(name, _)| !name.is_empty())?;
        rest = more;
        Some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_table_has_the_type_of_its_layers() {
        for (symbol, kind) in [
            ("_ZTVN5caffe9ReLULayerIfEE", "ReLU"),
            ("_ZTVN5caffe20SoftmaxWithLossLayerIdEE", "SoftmaxWithLoss"),
            ("_ZTVN5caffe21CuDNNConvolutionLayerIfEE", "Convolution"),
            ("_ZTVN5caffe13CuDNNLCNLayerIfEE", "LRN"),
            ("_ZTV7MyLayer", "My"),
            ("_ZTVN5caffe99ReLULayerIfEE", "caffe"),
            ("_ZTVN5caffe", "caffe"),
            ("_ZTIN5caffe9ReLULayerIfEE", ""),
            ("", ""),
        ] {
            assert_eq!(type_in(symbol), kind, "{symbol}");
        }
    }

    #[test]
    fn a_class_of_a_program_is_not_caffes() {
        for (symbol, kind) in [
            ("_ZTVN5caffe9ReLULayerIfEE", Some("ReLU")),
            ("_ZTVN5caffe14CuDNNReLULayerIfEE", Some("ReLU")),
            ("_ZTVN5caffe9ReLULayerIdEE", None),
            ("_ZTVN6mosaic9TileLayerIfEE", None),
            ("_ZTVN5caffe6mosaic9TileLayerIfEE", None),
            ("_ZTVN5caffe9TileLayer", None),
            ("_ZTVN5caffe9TileLayerIfE5InnerE", None),
            ("_ZTV9TileLayerIfE", None),
        ] {
            assert_eq!(caffes_type(symbol, "f"), kind, "{symbol}");
        }
    }
}
