//! Fields in protobuf's wire format.

pub fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

pub fn number(number: u32, value: u64) -> Vec<u8> {
    [varint(u64::from(number) << 3), varint(value)].concat()
}

/// Before the `length` bytes of a text, a message or a packed list.
pub fn head(number: u32, length: u64) -> Vec<u8> {
    [varint(u64::from(number) << 3 | 2), varint(length)].concat()
}

pub fn bytes(number: u32, value: &[u8]) -> Vec<u8> {
    [&head(number, value.len() as u64), value].concat()
}

/// Of a blob.
pub fn shape(dims: &[i64]) -> Vec<u8> {
    let packed: Vec<u8> = dims.iter().flat_map(|dim| varint(*dim as u64)).collect();
    // protobuf does not write an empty list.
    bytes(7, &if packed.is_empty() { packed } else { bytes(1, &packed) })
}
