//! What a layer's `LayerParameter` says, read from its serialized bytes: the layout of the message in memory differs between versions of
//! protobuf.
#![expect(unsafe_code, reason = "a function of protobuf is called")]

use std::ffi::{c_int, c_void};

use crate::caffe::Caffe;
use crate::layout::is_readable;

/// Whether an Eltwise layer adds its bottoms. False if that cannot be told.
///
/// # Safety
/// `layer` is a layer of this Caffe's, which lives and is not called meanwhile.
pub unsafe fn is_sum(layer: *const c_void, caffe: &'static Caffe) -> bool {
    // SAFETY: the caller of this function guarantees the layer.
    unsafe { serialized(layer, caffe) }.is_some_and(|bytes| operation(&bytes) == Some(SUM))
}

/// `EltwiseParameter::EltwiseOp` of caffe.proto.
const SUM: u64 = 1;

/// # Safety
/// The caller guarantees what [`is_sum`] asks for.
unsafe fn serialized(layer: *const c_void, caffe: &'static Caffe) -> Option<Vec<u8>> {
    /// In every Caffe whose layers have a `LayerParameter`, it follows the address of the table of virtual functions.
    const OFFSET: usize = size_of::<usize>();
    /// The parameters of an Eltwise layer have neither blobs nor fillers.
    const MOST: usize = 64 << 10;
    let table = caffe.find("_ZTVN5caffe14LayerParameterE")?.addr() + 2 * size_of::<usize>();
    let parameter = layer.wrapping_byte_add(OFFSET);
    if !is_readable(parameter.addr(), size_of::<usize>()) {
        return None;
    }
    // SAFETY: the word is readable, and aligned as the layer is.
    if unsafe { *parameter.cast::<usize>() } != table {
        return None;
    }
    // bool google::protobuf::MessageLite::SerializePartialToArray(void* data, int size) const
    let serialize = caffe.find("_ZNK6google8protobuf11MessageLite23SerializePartialToArrayEPvi")?;
    // SAFETY: the symbol is that of a member function of this type.
    let serialize = unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_void, *mut c_void, c_int) -> bool>(serialize)
    };
    let mut bytes = vec![0u8; MOST];
    // The function does not return the number of bytes. No field has the number 0, so the zeros after them end the message.
    // SAFETY: the parameter has the class's table; the function writes at most so many bytes.
    unsafe { serialize(parameter, bytes.as_mut_ptr().cast(), MOST as c_int) }.then_some(bytes)
}

/// The operation in a serialized `LayerParameter` of the type Eltwise. `None`: it is another message.
fn operation(message: &[u8]) -> Option<u64> {
    const TYPE: u64 = 2;
    const ELTWISE_PARAM: u64 = 110;
    const OPERATION: u64 = 1;
    // An older Caffe numbers the fields in another way, and has no text in this one.
    let is_eltwise = fields(message).any(|field| field == (TYPE, Value::Bytes(b"Eltwise")));
    let parameter = fields(message).filter_map(|field| match field {
        (ELTWISE_PARAM, Value::Bytes(bytes)) => Some(bytes),
        _ => None,
    });
    let operations = parameter.flat_map(fields).filter_map(|field| match field {
        (OPERATION, Value::Number(number)) => Some(number),
        _ => None,
    });
    is_eltwise.then(|| operations.last().unwrap_or(SUM))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'m> {
    Number(u64),
    Bytes(&'m [u8]),
    Fixed,
}

/// The fields of a message, each with its number, up to a 0 or to one that is damaged.
fn fields(mut rest: &[u8]) -> impl Iterator<Item = (u64, Value<'_>)> {
    std::iter::from_fn(move || {
        let key = varint(&mut rest).filter(|&key| key != 0)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut rest)?),
            1 => take(&mut rest, 8).map(|_| Value::Fixed)?,
            2 => {
                let bytes = usize::try_from(varint(&mut rest)?).ok()?;
                Value::Bytes(take(&mut rest, bytes)?)
            }
            5 => take(&mut rest, 4).map(|_| Value::Fixed)?,
            _ => return None,
        };
        Some((key >> 3, value))
    })
}

fn take<'m>(rest: &mut &'m [u8], bytes: usize) -> Option<&'m [u8]> {
    let (taken, others) = rest.split_at_checked(bytes)?;
    *rest = others;
    Some(taken)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *take(rest, 1)?.first()?;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name: "sum" type: "Eltwise" eltwise_param { operation: … coeff: 1 }`
    fn message(operation: &[u8]) -> Vec<u8> {
        let parameter = [operation, &[0x15, 0, 0, 0x80, 0x3F]].concat();
        let head = [&b"\x0a\x03sum\x12\x07Eltwise"[..], &[0xF2, 0x06, parameter.len() as u8]].concat();
        [&head[..], &parameter, &[0; 9]].concat()
    }

    #[test]
    fn an_eltwise_layer_adds_unless_its_parameter_says_otherwise() {
        assert_eq!(operation(&message(&[])), Some(1));
        assert_eq!(operation(&message(&[8, 0])), Some(0));
        assert_eq!(operation(&message(&[8, 2])), Some(2));
        assert_eq!(operation(b"\x12\x07Eltwise\0\0"), Some(1));
    }

    #[test]
    fn a_message_of_another_version_or_layer_is_not_understood() {
        // In a Caffe of 2014 field 2 is the name, and the type is a number.
        assert_eq!(operation(b"\x12\x03sum\x28\x19"), None);
        assert_eq!(operation(b"\x12\x04ReLU"), None);
        for end in 0..12 {
            assert_eq!(operation(&message(&[])[..end]), None, "{end}");
        }
    }
}
