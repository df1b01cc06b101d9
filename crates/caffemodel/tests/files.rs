//! Files on a disk.

mod support;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;

use caffemodel::{At, ErrorKind, Kind, Model};
use support::*;

#[test]
fn a_model_beyond_two_gibibytes_is_read_to_its_last_value() {
    let folder = Folder::new("large");
    let path = folder.0.join("large.caffemodel");
    sparse_model(&path);
    let model = Model::open(&path).unwrap();
    assert!(model.file_bytes() > i32::MAX as u64);
    assert_eq!(model.array(At::data(0, 0)).unwrap().count(), LARGE);
    let mut last = [1.0; 2];
    model.read_f32(At::data(0, 0), LARGE - 2, &mut last).unwrap();
    assert_eq!(last, [0.0, 7.5]);
    assert_eq!(floats_at(&model, At::data(1, 0)), [3.0, 4.0]);
}

#[test]
fn a_sparse_file_does_not_make_opening_it_take_its_size_in_memory() {
    const NAME: u64 = 1 << 40;
    let folder = Folder::new("sparse");
    let path = folder.0.join("sparse.caffemodel");
    let file = File::create(&path).unwrap();
    // The name, and an unknown field of four times its size.
    let head = [vec![0x0a], varint(NAME)].concat();
    let after = [vec![0x9a, 0x7d], varint(4 * NAME)].concat();
    file.write_all_at(&head, 0).unwrap();
    file.write_all_at(&after, head.len() as u64 + NAME).unwrap();
    file.set_len(head.len() as u64 + NAME + after.len() as u64 + 4 * NAME).unwrap();
    let error = Model::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("exhaust memory"), "{error}");
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let folder = Folder::new("irregular");
    let pipe = folder.0.join("pipe.caffemodel");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [&pipe, &folder.0] {
        let error = Model::open(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().ends_with("name a regular file: values are read from any place in it"), "{error}");
    }
    let missing = Model::open(folder.0.join("missing")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    assert!(missing.to_string().contains("cannot be opened (No such file"), "{missing}");
}

#[test]
fn the_name_of_a_file_decides_what_it_is_before_its_fields_do() {
    let folder = Folder::new("names");
    let only_iter = number(1, 4);
    assert_eq!(Model::open(folder.file("a.solverstate", &only_iter)).unwrap().kind(), Kind::SolverState);
    assert_eq!(Model::open(folder.file("a.caffemodel", &only_iter)).unwrap().kind(), Kind::Net);
    let mean = [legacy(&[1, 1, 1, 1]), bytes(5, f32_bytes(&[1.0]))].concat();
    let path = folder.file("mean.binaryproto", &mean);
    assert_eq!(Model::open(&path).unwrap().kind(), Kind::Blob);
    assert_eq!(Model::from_bytes(mean, "mean", Some(Kind::Net)).unwrap().layers().len(), 0);
}

#[test]
fn a_file_that_is_cut_while_it_is_open_gives_an_error() {
    let folder = Folder::new("cut");
    let path = folder.file("a.caffemodel", &layer("a", "Scale", &[blob(&[1000], &[1.0; 1000])]));
    let model = Model::open(&path).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(500).unwrap();
    let error = model.read_f32(At::data(0, 0), 0, &mut [0.0; 1000]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let sentence = error.to_string();
    assert!(sentence.contains("layer 0 \"a\", blob 0: 4000 bytes could not be read"), "{sentence}");
    assert!(sentence.contains("another program has cut the file"), "{sentence}");
}
