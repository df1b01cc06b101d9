//! The type of a layer, by the name of its class.

use std::ffi::c_void;

use crate::symbols::table_of;

pub fn is_convolution(layer: *const c_void) -> bool {
    let kind = type_of(layer);
    kind.ends_with("onvolution") || kind == "Im2col"
}

/// As the name of its class's table says: `ReLU` of `caffe::ReLULayer<float>` and of `caffe::CuDNNReLULayer<float>`,
/// Caffe's or a program's. Empty without one.
pub fn type_of(layer: *const c_void) -> &'static str {
    table_of(layer).map_or("", |table| type_in(table.symbol))
}

/// The last name in a mangled `_ZTVN5caffe9ReLULayerIfEE`, without `Layer` and `CuDNN`.
fn type_in(symbol: &str) -> &str {
    let Some(mut rest) = symbol.strip_prefix("_ZTV") else { return "" };
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut class = "";
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length = rest[..digits].parse().unwrap_or(0);
        let Some((name, more)) = rest[digits..].split_at_checked(length).filter(|(name, _)| !name.is_empty()) else {
            break;
        };
        (class, rest) = (name, more);
    }
    let class = class.strip_suffix("Layer").unwrap_or(class);
    class.strip_prefix("CuDNN").unwrap_or(class)
}

#[cfg(test)]
mod tests {
    use super::type_in;

    #[test]
    fn a_table_s_name_says_the_type_of_its_layers() {
        for (symbol, kind) in [
            ("_ZTVN5caffe9ReLULayerIfEE", "ReLU"),
            ("_ZTVN5caffe20SoftmaxWithLossLayerIdEE", "SoftmaxWithLoss"),
            ("_ZTVN5caffe21CuDNNConvolutionLayerIfEE", "Convolution"),
            ("_ZTV7MyLayer", "My"),
            ("_ZTVN5caffe99ReLULayerIfEE", "caffe"),
            ("_ZTVN5caffe", "caffe"),
            ("_ZTIN5caffe9ReLULayerIfEE", ""),
            ("", ""),
        ] {
            assert_eq!(type_in(symbol), kind, "{symbol}");
        }
    }
}
