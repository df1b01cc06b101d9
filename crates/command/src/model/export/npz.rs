//! npz: a zip archive of one .npy file for each array, as numpy.savez writes it.

use std::io::{self, BufWriter, Seek, Write};

use caffemodel::Model;
use indicatif::ProgressBar;
use syncedmem_core::new_file::NewFile;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::{Failed, Tensor, copy};
use crate::model::types;

pub fn write(model: &Model, tensors: &[Tensor], file: &mut NewFile, bar: &ProgressBar) -> Result<(), Failed> {
    let mut archive = ZipWriter::new(BufWriter::new(file));
    let added = tensors.iter().try_for_each(|tensor| add(&mut archive, model, tensor, bar));
    // Flushed here: an archive whose `finish` fails is dropped as below.
    if let Err(error) = added.and_then(|()| Ok(archive.flush()?)) {
        // Not dropped: that would write the list of the files, and print that it cannot.
        std::mem::forget(archive);
        return Err(error);
    }
    Ok(archive.finish().map_err(reason)?.flush()?)
}

/// The system's own sentence, if it is the system's error.
fn reason(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        error => error.into(),
    }
}

fn add(
    archive: &mut ZipWriter<impl Write + Seek>,
    model: &Model,
    tensor: &Tensor,
    bar: &ProgressBar,
) -> Result<(), Failed> {
    if unpacks_elsewhere(&tensor.name) {
        let sentence = format!("a file in an archive cannot be called {}; export to safetensors instead", tensor.name);
        return Err(Failed::Name(sentence));
    }
    let name = format!("{}.npy", tensor.name);
    if name.len() > usize::from(u16::MAX) {
        return Err(Failed::Name("has a name that is too long for an archive; export to safetensors instead".into()));
    }
    // One date: archives of the same arrays are the same.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .large_file(true);
    archive.start_file(name, options).map_err(reason)?;
    archive.write_all(&header(tensor))?;
    copy(model, tensor, archive, bar)
}

/// Whether a program that unpacks archives, on Windows too, would write such a file to another folder.
fn unpacks_elsewhere(name: &str) -> bool {
    let has_drive = matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    has_drive || name.starts_with('/') || name.contains('\\') || name.split('/').any(|part| part == "..")
}

/// Values begin at a multiple of 64 bytes.
fn header(tensor: &Tensor) -> Vec<u8> {
    let descr = types::numpy(tensor.element);
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
