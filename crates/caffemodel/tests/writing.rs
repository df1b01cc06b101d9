//! Files with new values: everything else is the same byte for byte.
#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::SystemTime;

use caffemodel::{At, Edit, Element, Error, ErrorKind, Kind, Model, Values, write_blob};
use support::*;

/// The file with values of one array, in a net around a blob unless it is of another kind.
fn changed(file: &[u8], kind: Kind, at: At, values: Values) -> Result<Vec<u8>, Error> {
    let folder = Folder::new(&format!("written-{:?}", std::thread::current().id()));
    let path = folder.0.join("new");
    let model = Model::from_bytes(file.to_vec(), "old", Some(kind)).unwrap();
    Edit::of(&model).replace(at, values).write_to(&path)?;
    Ok(std::fs::read(path).unwrap())
}

/// A net with a layer of this blob.
fn around(blob: &[u8]) -> Vec<u8> {
    let [before, behind] = ["before", "behind"].map(|name| layer(name, "Scale", &[support::blob(&[1], &[9.0])]));
    let fields = [group(77, &number(1, 300)), bytes(102, "of a fork")].concat();
    [bytes(1, "net"), before, fields.clone(), layer("conv1", "Convolution", &[blob.to_vec()]), behind, fields].concat()
}

fn refusal(result: Result<Vec<u8>, Error>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    error.to_string()
}

const AT: At = At { layer: 1, blob: 0, part: caffemodel::Part::Data };
const DIFF: At = At { layer: 1, blob: 0, part: caffemodel::Part::Diff };

#[test]
fn new_values_lie_where_the_old_ones_lay_and_are_of_their_type() {
    let (halves, floats, doubles) = ([0x00, 0x47, 0x00, 0xb8], f32_bytes(&[7.0, -0.5]), f64_bytes(&[7.0, -0.5]));
    let rest = [shape(&[2]), bytes(99, "unknown")].concat();
    let raw = |kind, values: &[u8]| [number(10, kind), bytes(12, values), number(11, 1), rest.clone()].concat();
    let legacy_of = |dims: &[i64], number, values: &[u8]| [legacy(dims), bytes(number, values)].concat();
    let diff = |number, values: &[u8]| [bytes(5, [9; 8]), bytes(number, values), rest.clone()].concat();
    let apart =
        |values: [f32; 2]| [fixed32(5, values[0]), bytes(98, "x"), fixed32(5, values[1]), rest.clone()].concat();
    let alike = |values: [f64; 2]| [fixed64(8, values[0]), fixed64(8, values[1]), rest.clone()].concat();
    let cases = [
        (AT, diff(6, &[1; 8]), [bytes(5, &floats), bytes(6, [1; 8]), rest.clone()].concat()),
        (AT, legacy_of(&[1, 1, 1, 2], 5, &[1; 8]), legacy_of(&[1, 1, 1, 2], 5, &floats)),
        // Floats are not read if there are doubles.
        (AT, diff(8, &[1; 16]), diff(8, &doubles)),
        (AT, raw(1, &[1; 8]), raw(1, &floats)),
        (AT, raw(0, &[1; 16]), raw(0, &doubles)),
        (AT, raw(2, &[1; 4]), raw(2, &halves)),
        (AT, legacy_of(&[1, 1, 1, 1, 2], 6, &[1; 8]), legacy_of(&[1, 1, 1, 1, 2], 6, &floats)),
        (AT, apart([1.0, 2.0]), apart([7.0, -0.5])),
        (AT, alike([1.0, 2.0]), alike([7.0, -0.5])),
        (DIFF, diff(6, &[1; 8]), diff(6, &floats)),
        (DIFF, diff(9, &[1; 16]), diff(9, &doubles)),
    ];
    for (at, old, new) in cases {
        // Halves are widened to the stored type.
        let file = changed(&around(&old), Kind::Net, at, Values::new(Element::F16, 2, &halves[..])).unwrap();
        assert_eq!(file, around(&new), "{old:x?}");
    }
}

#[test]
fn blobs_of_old_layers_lists_and_solvers_are_replaced_where_they_are() {
    let (old, new) = (blob(&[2], &[1.0, 2.0]), blob(&[2], &[3.0, 4.0]));
    let net = |blob: &Vec<u8>| {
        let piece = |name: &str, blob: &Vec<u8>| bytes(1, [bytes(1, name), bytes(2, "conv"), bytes(50, blob)].concat());
        let in_two_pieces = bytes(2, [piece("first", &old), bytes(3, "top"), piece("second", blob)].concat());
        [layer_v1("ip", 14, std::slice::from_ref(&old)), layer_v0("pad", "padding", &[]), in_two_pieces].concat()
    };
    let list = |blob: &Vec<u8>| [bytes(1, &old), bytes(1, blob)].concat();
    let state = |blob: &Vec<u8>| [number(1, 9), bytes(3, blob), bytes(3, &old), number(4, 1)].concat();
    for (kind, at, file, expected) in [
        (Kind::Net, At::data(1, 1), net(&old), net(&new)),
        (Kind::Blobs, At::data(0, 1), list(&old), list(&new)),
        (Kind::SolverState, At::data(0, 0), state(&old), state(&new)),
        (Kind::Blob, At::data(0, 0), old.clone(), new.clone()),
    ] {
        assert_eq!(changed(&file, kind, at, Values::f32(&[3.0, 4.0])).unwrap(), expected, "{kind:?}");
    }
}

#[test]
fn values_become_wider_where_they_are_stored_so_and_are_never_rounded() {
    let to = |old: &[u8], values| changed(&around(old), Kind::Net, AT, values);
    let halves = [0x00, 0x3c, 0x01, 0x00, 0x01, 0x7e];
    let widened = [1.0, 2f32.powi(-24), f32::from_bits(0x7fc0_2000)];
    let of_halves = to(&blob(&[3], &[0.0; 3]), Values::new(Element::F16, 3, &halves[..]));
    assert_eq!(of_halves.unwrap(), around(&blob(&[3], &widened)));
    // The values fill many blocks.
    let values: Vec<f32> = (0..200_001u32).map(|value| value as f32 + 0.5).collect();
    let doubles: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
    let of_doubles = |values: &[f64]| [bytes(8, f64_bytes(values)), shape(&[values.len() as i64])].concat();
    let new = to(&of_doubles(&vec![1.0; values.len()]), Values::f32(&values)).unwrap();
    assert!(new == around(&of_doubles(&doubles)));

    let said = refusal(to(&blob(&[1], &[0.0]), Values::f64(&[0.1])));
    assert!(
        said.contains("layer 1 \"conv1\", blob 0: float64 values are to be stored as float32, which is not exact"),
        "{said}"
    );
    let whole = to(&blob(&[1], &[0.0]), Values::new(Element::I32, 1, &[1, 0, 0, 0][..]));
    assert!(refusal(whole).contains("int32 values are to be stored as float32, which is not exact"));
    let raw = [number(10, 2), bytes(12, [0; 2]), shape(&[1])].concat();
    assert!(refusal(to(&raw, Values::f32(&[1.0]))).contains("float32 values are to be stored as float16"));
}

#[test]
fn arrays_that_are_not_there_or_of_another_count_are_refused() {
    let to = |at, values| refusal(changed(&around(&blob(&[2], &[1.0, 2.0])), Kind::Net, at, Values::f32(values)));
    let said = to(AT, &[1.0; 3]);
    assert!(
        said.contains("layer 1 \"conv1\", blob 0: its data has 3 values, and its shape 2 needs 2; give as many"),
        "{said}"
    );
    assert!(to(DIFF, &[1.0; 2]).contains("has no diff"));
    assert!(to(At::data(7, 0), &[1.0]).contains("has no layer 7: it has 3"));
}

#[test]
fn a_file_of_one_blob_is_made_from_nothing() {
    let folder = Folder::new("one");
    let path = folder.0.join("mean.binaryproto");
    write_blob(&path, &[1, 2], Values::f32(&[1.0, 2.0]), Some(Values::f32(&[3.0, 4.0]))).unwrap();
    let model = Model::open(&path).unwrap();
    assert_eq!((model.kind(), model.layers()[0].blobs()[0].shape()), (Kind::Blob, &[1, 2][..]));
    assert_eq!((floats(&model), floats_at(&model, At::diff(0, 0))), (vec![1.0, 2.0], vec![3.0, 4.0]));
    write_blob(&path, &[], Values::f64(&[5.0]), None).unwrap();
    assert_eq!(stored(&Model::open(&path).unwrap(), At::data(0, 0)), (Element::F64, f64_bytes(&[5.0])));
    for (dims, values, what) in [
        (&[-2][..], Values::f32(&[1.0]), "dimension 0 of its shape is -2"),
        (&[1; 33], Values::f32(&[1.0]), "33 axes"),
        (&[2], Values::f32(&[1.0]), "its data has 1 values, and its shape 2 needs 2"),
        (&[1], Values::new(Element::I8, 1, &[1][..]), "int8 values cannot be stored in a blob"),
    ] {
        let refused = write_blob(&path, dims, values, None).unwrap_err();
        assert!(refused.kind() == ErrorKind::Argument && refused.to_string().contains(what), "{refused}");
    }
    assert_eq!(folder.names(), ["mean.binaryproto"]);
}

/// Values whose reading fails after so many bytes.
struct Failing(usize);

impl Read for Failing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = into.len().min(self.0);
        self.0 -= length;
        if length == 0 { Err(io::Error::other("the disk is gone")) } else { Ok(length) }
    }
}

#[test]
fn writing_that_fails_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new("fails");
    let large = vec![1.0; 1 << 20];
    let path = folder.file("a.caffemodel", &layer("a", "Scale", &[blob(&[1 << 20], &large), blob(&[1], &[2.0])]));
    let old = std::fs::read(&path).unwrap();
    let model = Model::open(&path).unwrap();
    let to_itself = |values| Edit::of(&model).replace(At::data(0, 0), values).write_to(&path).unwrap_err().to_string();

    let said = to_itself(Values::new(Element::F32, 1 << 20, Failing(3 << 20)));
    assert!(said.contains("layer 0 \"a\", blob 0: new values could not be read (the disk is gone)"), "{said}");
    let said = to_itself(Values::new(Element::F32, 1 << 20, &old[..3 << 20]));
    assert!(said.contains("new values could not be read (failed to fill"), "{said}");
    assert!(to_itself(Values::f32(&[1.0])).contains("its data has 1 values"));
    assert_eq!((folder.names(), std::fs::read(&path).unwrap() == old), (vec!["a.caffemodel".into()], true));

    for place in ["no/folder", "..", "/dev/full", "a.caffemodel/b"] {
        let error = Edit::of(&model).write_to(folder.0.join(place)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("cannot be written ("), "{error}");
    }
    // The old file is cut while it is copied.
    let new = folder.0.join("new.caffemodel");
    std::fs::write(&new, "as before").unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    let mut edit = Edit::of(&model);
    edit.on_progress(|_| file.set_len(2 << 20).unwrap());
    let error = edit.write_to(&new).unwrap_err();
    assert!(error.to_string().contains("another program has cut the file since it was opened"), "{error}");
    assert_eq!(
        (folder.names(), std::fs::read(&new).unwrap()),
        (vec!["a.caffemodel".into(), "new.caffemodel".into()], b"as before".to_vec())
    );
}

#[test]
fn a_file_that_was_changed_since_it_was_opened_is_not_written() {
    let folder = Folder::new("changed");
    let path = folder.file("a.caffemodel", &layer("a", "Scale", &[blob(&[2], &[1.0, 2.0])]));
    let model = Model::open(&path).unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let said = Edit::of(&model).write_to(folder.0.join("new")).unwrap_err().to_string();
    assert!(said.contains("another program has changed the file since it was opened; open it again"), "{said}");
    assert_eq!(folder.names(), ["a.caffemodel"]);
}

#[test]
fn the_new_file_replaces_the_one_that_was_opened_and_has_its_mode_or_that_of_the_umask() {
    let folder = Folder::new("itself");
    let path = folder.file("a.caffemodel", &layer("a", "Scale", &[blob(&[2], &[1.0, 2.0])]));
    let model = Model::open(&path).unwrap();
    Edit::of(&model).replace(At::data(0, 0), Values::f32(&[3.0, 4.0])).write_to(&path).unwrap();
    assert_eq!(floats(&Model::open(&path).unwrap()), [3.0, 4.0]);
    assert_eq!(floats(&model), [1.0, 2.0], "the open file is the old one");
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let plain = folder.file("plain", b"");
    assert_eq!(mode(&path), mode(&plain));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    Edit::of(&model).write_to(&path).unwrap();
    assert_eq!(mode(&path), 0o600, "what was kept private stays so");
    // A link is replaced, not its file; a name may have the greatest length.
    let link = folder.0.join("link");
    symlink(&plain, &link).unwrap();
    Edit::of(&model).write_to(&link).unwrap();
    assert!(std::fs::read(&plain).unwrap().is_empty() && !link.is_symlink());
    Edit::of(&model).write_to(folder.0.join("n".repeat(255))).unwrap();
    assert_eq!(folder.names().len(), 4);
}

#[test]
fn a_file_that_caffe_cannot_read_for_its_size_is_written_only_if_it_is_allowed() {
    let folder = Folder::new("size");
    let (path, new) = (folder.0.join("a.caffemodel"), folder.0.join("new.caffemodel"));
    sparse_model(&path);
    let model = Model::open(&path).unwrap();
    let mut edit = Edit::of(&model);
    let error = edit.write_to(&new).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("bytes, and Caffe reads at most 2147483647; allow large files"), "{error}");
    // Writing begins, and fails where these values end.
    edit.replace(At::data(0, 0), Values::new(Element::F32, LARGE, io::repeat(0).take(8))).allow_large();
    assert_eq!(edit.write_to(&new).unwrap_err().kind(), ErrorKind::Io);
    let error = write_blob(&new, &[i64::MAX], Values::new(Element::F32, i64::MAX as u64, io::empty()), None);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(folder.names(), ["a.caffemodel"]);
}
