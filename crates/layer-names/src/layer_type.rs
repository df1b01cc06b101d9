//! The type of a layer, by the name of its class.

use std::ffi::{CStr, c_void};

use crate::layout::is_readable;

pub fn is_convolution(layer: *const c_void) -> bool {
    let kind = type_of(layer);
    kind.ends_with("onvolution") || kind == "Im2col"
}

/// As the name of its class's table says: `ReLU` of `caffe::ReLULayer<float>` and of `caffe::CuDNNReLULayer<float>`,
/// Caffe's or a program's. Empty without one.
pub fn type_of(layer: *const c_void) -> &'static str {
    if !layer.cast::<usize>().is_aligned() || !is_readable(layer.addr(), size_of::<usize>()) {
        return "";
    }
    // SAFETY: an object with virtual functions begins with the address of its class's table.
    let table = unsafe { *layer.cast::<*const c_void>() };
    let mut symbol = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr takes any address; the structure is writable.
    unsafe { libc::dladdr(table, symbol.as_mut_ptr()) };
    // SAFETY: zeros are a value of it.
    let name = unsafe { symbol.assume_init() }.dli_sname;
    // SAFETY: the loader's names are NUL-terminated, and stay while Caffe, whose layer this is, is loaded.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    type_in(name.to_str().unwrap_or_default())
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
