//! npz: a zip archive of one .npy file for each array, as numpy.savez writes it.

use std::io::{BufWriter, Write};

use caffemodel::{Element, Model, NewFile};
use indicatif::ProgressBar;

use super::zip::Archive;
use super::{Failed, Tensor, copy};

pub fn write(model: &Model, tensors: &[Tensor], file: &mut NewFile, bar: &ProgressBar) -> Result<(), Failed> {
    let mut archive = Archive::new(BufWriter::new(file));
    for tensor in tensors {
        // Programs that unpack archives would write such a file elsewhere.
        if tensor.name.starts_with('/') || tensor.name.split('/').any(|part| part == "..") {
            let sentence =
                format!("a file in an archive cannot be called {}; export to safetensors instead", tensor.name);
            return Err(Failed::Name(sentence));
        }
        let header = header(tensor);
        let mut entry = archive.begin(format!("{}.npy", tensor.name), header.len() as u64 + tensor.bytes)?;
        entry.write_all(&header)?;
        copy(model, tensor, &mut entry, bar)?;
        entry.end()?;
    }
    Ok(archive.end()?)
}

/// What .npy files begin with; their values begin at a multiple of 64 bytes.
fn header(tensor: &Tensor) -> Vec<u8> {
    let descr = match tensor.element {
        Element::F64 => "<f8",
        Element::F32 => "<f4",
        Element::F16 => "<f2",
        Element::I64 => "<i8",
        Element::I32 => "<i4",
        Element::I16 => "<i2",
        Element::I8 => "|i1",
        Element::U16 => "<u2",
        Element::U8 => "|u1",
        Element::Bool => "|b1",
    };
    // A tuple of one value has a comma behind it, and so may others.
    let shape: String = tensor.shape.iter().map(|dim| format!("{dim},")).collect();
    let about = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // Magic, version 1.0 and the length take ten bytes, the line end one. A shape of 32 axes fits 16 bits.
    let length = (10 + about.len() + 1).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((length as u16).to_le_bytes());
    header.extend(format!("{about:<width$}\n", width = length - 1).bytes());
    header
}
