//! Files with other values, where all else is the same byte for byte.
#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};

use caffemodel::{At, Edit, Element, Error, ErrorKind, Kind, Model, Values, write_blob};
use support::*;

/// The file with a change.
fn written<'v>(
    file: &[u8],
    kind: Kind,
    change: impl for<'e> FnOnce(&'e mut Edit<'v>) -> &'e mut Edit<'v>,
) -> Result<Vec<u8>, Error> {
    let folder = Folder::new(&format!("written-{:?}", std::thread::current().id()));
    let path = folder.0.join("new");
    // It outlives the values of the change.
    let model = Box::leak(Box::new(Model::from_bytes(file.to_vec(), "old", Some(kind)).unwrap()));
    let mut edit = Edit::of(model);
    change(&mut edit);
    edit.write_to(&path)?;
    Ok(std::fs::read(path).unwrap())
}

/// A net with a layer of this blob, after a change of it.
fn changed<'v>(
    blob: &[u8],
    change: impl for<'e> FnOnce(&'e mut Edit<'v>) -> &'e mut Edit<'v>,
) -> Result<Vec<u8>, Error> {
    written(&around(blob), Kind::Net, change)
}

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
fn a_file_without_changes_is_written_byte_for_byte_the_same() {
    let blob = blob(&[2], &[1.0, 2.0]);
    let files = [
        (Kind::Net, around(&[blob.clone(), bytes(99, "unknown")].concat())),
        (Kind::Net, layer_v0("old", "conv", std::slice::from_ref(&blob))),
        (Kind::Blob, blob.clone()),
        (Kind::Blobs, bytes(1, &blob).repeat(3)),
        (Kind::SolverState, [number(1, 300), bytes(3, &blob), number(4, 2)].concat()),
    ];
    for (kind, file) in files {
        assert_eq!(written(&file, kind, |edit| edit).unwrap(), file, "{kind:?}");
    }
}

#[test]
fn replaced_values_take_the_place_and_the_type_of_the_old_ones() {
    let new = [7.0f32, -0.5];
    let (floats, doubles) = (f32_bytes(&new), f64_bytes(&[7.0, -0.5]));
    let rest = [shape(&[2]), bytes(99, "unknown")].concat();
    let (half, raw) = ([0x00, 0x47, 0x00, 0xb8], |kind, values: &[u8]| {
        [number(10, kind), bytes(12, values), number(11, 1), rest.clone()].concat()
    });
    let cases = [
        ([bytes(5, [1; 8]), rest.clone()].concat(), [bytes(5, &floats), rest.clone()].concat()),
        ([legacy(&[1, 1, 1, 2]), bytes(5, [1; 8])].concat(), [legacy(&[1, 1, 1, 2]), bytes(5, &floats)].concat()),
        ([bytes(8, [1; 16]), rest.clone()].concat(), [bytes(8, &doubles), rest.clone()].concat()),
        ([bytes(5, [1; 8]), bytes(8, [1; 16]), rest.clone()].concat(), [bytes(8, &doubles), rest.clone()].concat()),
        (raw(1, &[1; 8]), raw(1, &floats)),
        (raw(0, &[1; 16]), raw(0, &doubles)),
        ([legacy(&[1, 1, 1, 1, 2]), bytes(6, [1; 8])].concat(), [legacy(&[1, 1, 1, 1, 2]), bytes(6, &floats)].concat()),
        // With a tag each, and in two pieces.
        ([fixed32(5, 1.0), bytes(98, "x"), fixed32(5, 2.0), rest.clone()].concat(), {
            [bytes(5, &floats), bytes(98, "x"), rest.clone()].concat()
        }),
    ];
    for (old, expected) in cases {
        let file = changed(&old, |edit| edit.replace(AT, Values::f32(&new))).unwrap();
        assert_eq!(file, around(&expected), "{old:x?}");
    }
    let halves = changed(&raw(2, &[1; 4]), |edit| edit.replace(AT, Values::new(Element::F16, 2, &half[..])));
    assert_eq!(halves.unwrap(), around(&raw(2, &half)));
}

#[test]
fn blobs_of_old_layers_lists_and_solvers_are_replaced_where_they_are() {
    let (old, new) = (blob(&[2], &[1.0, 2.0]), blob(&[2], &[3.0, 4.0]));
    let file = |blob: &Vec<u8>| {
        let piece = |name: &str, blob: &Vec<u8>| bytes(1, [bytes(1, name), bytes(2, "conv"), bytes(50, blob)].concat());
        let in_two_pieces = bytes(2, [piece("first", &old), bytes(3, "top"), piece("second", blob)].concat());
        [layer_v1("ip", 14, &[old.clone(), blob.clone()]), layer_v0("pad", "padding", &[]), in_two_pieces].concat()
    };
    let values = || Values::f32(&[3.0, 4.0]);
    let both = written(&file(&old), Kind::Net, |edit| {
        edit.replace(At::data(1, 1), values()).replace(At::data(0, 1), values())
    });
    assert_eq!(both.unwrap(), file(&new));
    let list = |blob| [bytes(1, &old), bytes(1, blob)].concat();
    assert_eq!(written(&list(&old), Kind::Blobs, |edit| edit.replace(At::data(0, 1), values())).unwrap(), list(&new));
    let state = |blob| [number(1, 9), bytes(2, "net"), bytes(3, blob), bytes(3, &old), number(4, 1)].concat();
    assert_eq!(
        written(&state(&old), Kind::SolverState, |edit| edit.replace(At::data(0, 0), values())).unwrap(),
        state(&new)
    );
    assert_eq!(written(&old, Kind::Blob, |edit| edit.replace(At::data(0, 0), values())).unwrap(), new);
}

#[test]
fn a_new_shape_stays_in_the_legacy_dimensions_if_it_has_four() {
    let values = [1.0; 6];
    let to = |old: &[u8], dims: &'static [i64]| {
        changed(old, |edit| edit.reshape(1, 0, dims).replace(AT, Values::f32(&values)))
    };
    let floats = bytes(5, f32_bytes(&values));
    let old = [legacy(&[1, 1, 1, 2]), bytes(5, [1; 8])].concat();
    assert_eq!(to(&old, &[1, 1, 2, 3]).unwrap(), around(&[legacy(&[1, 1, 2, 3]), floats.clone()].concat()));
    assert_eq!(to(&old, &[2, 3]).unwrap(), around(&[shape(&[2, 3]), floats.clone()].concat()));
    // Legacy dimensions win over a shape: none may stay.
    let both = [bytes(5, [1; 8]), number(2, 1), shape(&[2]), number(1, 2)].concat();
    assert_eq!(to(&both, &[6]).unwrap(), around(&[floats.clone(), shape(&[6])].concat()));
    let unshaped = bytes(5, [1; 4]);
    assert_eq!(to(&unshaped, &[6]).unwrap(), around(&[floats, shape(&[6])].concat()));
    let c3d = [legacy(&[1, 1, 1, 1, 2]), bytes(6, [1; 8])].concat();
    let expected = [legacy(&[1, 1, 2, 1, 3]), bytes(6, f32_bytes(&values))].concat();
    assert_eq!(to(&c3d, &[1, 1, 2, 1, 3]).unwrap(), around(&expected));
    assert!(refusal(to(&c3d, &[2, 3])).contains("a blob of C3D has five dimensions, and 2 were given; add ones"));
    // A shape alone, with the values as they are; and that of a single value.
    let kept = changed(&blob(&[2, 3], &values), |edit| edit.reshape(1, 0, &[3, 2]));
    assert_eq!(kept.unwrap(), around(&blob(&[3, 2], &values)));
    let single = changed(&blob(&[1], &[4.0]), |edit| edit.reshape(1, 0, &[]));
    assert_eq!(single.unwrap(), around(&[bytes(5, f32_bytes(&[4.0])), bytes(7, "")].concat()));
}

#[test]
fn values_become_wider_where_they_are_stored_so_and_are_never_rounded() {
    fn to<'v>(old: &[u8], values: Values<'v>) -> Result<Vec<u8>, Error> {
        changed(old, |edit| edit.replace(AT, values))
    }
    let halves = [0x00, 0x3c, 0x01, 0x00, 0x01, 0x7e];
    let half = || Values::new(Element::F16, 3, &halves[..]);
    let widened = [1.0, 2f32.powi(-24), f32::from_bits(0x7fc0_2000)];
    assert_eq!(to(&blob(&[3], &[0.0; 3]), half()).unwrap(), around(&blob(&[3], &widened)));
    let doubles = [bytes(8, f64_bytes(&[0.0; 3])), shape(&[3])].concat();
    let of_halves = to(&doubles, half()).unwrap();
    let model = Model::from_bytes(of_halves, "new", Some(Kind::Net)).unwrap();
    assert_eq!(model.array(AT).unwrap().element(), Element::F64);
    assert_eq!(floats_at(&model, AT)[..2], widened[..2]);

    let fine = [0.1, 0.2, 0.3];
    let said = refusal(to(&blob(&[3], &[0.0; 3]), Values::f64(&fine)));
    assert!(
        said.contains("layer 1 \"conv1\", blob 0: float64 values are to be stored as float32, which is not exact"),
        "{said}"
    );
    let whole = to(&blob(&[1], &[0.0]), Values::new(Element::I32, 1, &[1, 0, 0, 0][..]));
    assert!(refusal(whole).contains("int32 values are to be stored as float32, which is not exact"));
    let asked = to(&blob(&[3], &[0.0; 3]), Values::f64(&fine).stored_as(Element::F64));
    assert_eq!(asked.unwrap(), around(&[bytes(8, f64_bytes(&fine)), shape(&[3])].concat()));
    let raw = [number(10, 2), bytes(12, [0; 6]), shape(&[3])].concat();
    let as_floats = to(&raw, Values::f32(&widened).stored_as(Element::F32)).unwrap();
    assert_eq!(as_floats, around(&blob(&[3], &widened)), "NVIDIA's bytes become BVLC's floats");
    assert!(refusal(to(&raw, Values::f32(&widened))).contains("float32 values are to be stored as float16"));
    let said = refusal(to(&doubles, half().stored_as(Element::F16)));
    assert!(said.contains("float16 cannot be stored in this blob; give them as float32"), "{said}");
}

#[test]
fn many_values_are_widened_block_by_block() {
    let values: Vec<f32> = (0..200_001u32).map(|value| value as f32 + 0.5).collect();
    let doubles: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
    let old = [bytes(8, vec![1; 8 * values.len()]), shape(&[values.len() as i64])].concat();
    let new = changed(&old, |edit| edit.replace(AT, Values::f32(&values))).unwrap();
    assert!(new == around(&[bytes(8, f64_bytes(&doubles)), shape(&[values.len() as i64])].concat()));
}

#[test]
fn a_diff_is_replaced_added_and_removed() {
    let floats = |values: &[f32]| f32_bytes(values);
    let old = [bytes(5, floats(&[1.0])), bytes(6, floats(&[2.0])), shape(&[1])].concat();
    let replaced = changed(&old, |edit| edit.replace(DIFF, Values::f32(&[3.0]))).unwrap();
    assert_eq!(replaced, around(&[bytes(5, floats(&[1.0])), bytes(6, floats(&[3.0])), shape(&[1])].concat()));
    let removed = changed(&old, |edit| edit.remove_diff(1, 0)).unwrap();
    assert_eq!(removed, around(&blob(&[1], &[1.0])));
    let doubles = |diff| [bytes(8, f64_bytes(&[1.0])), bytes(9, f64_bytes(&[diff])), shape(&[1])].concat();
    let replaced = changed(&doubles(2.0), |edit| edit.replace(DIFF, Values::f64(&[3.0]))).unwrap();
    assert_eq!(replaced, around(&doubles(3.0)));
    let added = changed(&blob(&[1], &[1.0]), |edit| edit.replace(DIFF, Values::f64(&[3.0]))).unwrap();
    assert_eq!(added, around(&[blob(&[1], &[1.0]), bytes(9, f64_bytes(&[3.0]))].concat()));
    let raw = [number(10, 1), number(11, 1), bytes(12, [0; 4]), bytes(13, [0; 4]), shape(&[1])].concat();
    let removed = changed(&raw, |edit| edit.remove_diff(1, 0)).unwrap();
    assert_eq!(removed, around(&[number(10, 1), bytes(12, [0; 4]), shape(&[1])].concat()));
    let c3d = |diff| [legacy(&[1, 1, 1, 1, 1]), bytes(6, floats(&[1.0])), bytes(7, floats(&[diff]))].concat();
    let replaced = changed(&c3d(2.0), |edit| edit.replace(DIFF, Values::f32(&[3.0]))).unwrap();
    assert_eq!(replaced, around(&c3d(3.0)));
}

#[test]
fn counts_that_do_not_fit_the_shape_are_refused_with_both_numbers() {
    let both = [bytes(5, [0; 8]), bytes(6, [0; 8]), shape(&[2])].concat();
    let said = refusal(changed(&both, |edit| edit.replace(AT, Values::f32(&[1.0; 3]))));
    assert!(
        said.contains("layer 1 \"conv1\", blob 0: its data has 3 values, and its shape 2 needs 2; give as many"),
        "{said}"
    );
    let said = refusal(changed(&both, |edit| edit.reshape(1, 0, &[3]).replace(AT, Values::f32(&[1.0; 3]))));
    assert!(
        said.contains("its diff has 2 values, and its shape 3 needs 3; replace them too; a diff can also"),
        "{said}"
    );
    assert!(refusal(changed(&both, |edit| edit.reshape(1, 0, &[-1]))).contains("dimension 0 of its shape is -1"));
    assert!(refusal(changed(&both, |edit| edit.reshape(1, 0, &[1; 33]))).contains("33 axes"));
    assert!(refusal(changed(&both, |edit| edit.reshape(7, 0, &[1]))).contains("has no layer 7: it has 3"));
    // Bytes of an unknown type are not left beside new values.
    let raw = |kind| [number(11, kind), bytes(13, [0; 4]), blob(&[1], &[1.0])].concat();
    let said = refusal(changed(&raw(3), |edit| edit.replace(AT, Values::f32(&[2.0]))));
    assert!(said.contains("its diff is stored as bytes that are not read; replace them too"), "{said}");
    let mended = changed(&raw(3), |edit| edit.replace(AT, Values::f32(&[2.0])).remove_diff(1, 0));
    assert_eq!(mended.unwrap(), around(&blob(&[1], &[2.0])));
    // A blob whose count did not fit its shape can be given both.
    let broken = blob(&[5], &[1.0, 2.0]);
    let mended = changed(&broken, |edit| edit.reshape(1, 0, &[2])).unwrap();
    assert_eq!(mended, around(&blob(&[2], &[1.0, 2.0])));
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
    let refused = write_blob(&path, &[-2], Values::f32(&[1.0, 2.0]), None).unwrap_err();
    assert!(refused.to_string().contains("dimension 0 of its shape is -2"), "{refused}");
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
    // Cut while it is copied.
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
fn a_file_that_was_changed_since_it_was_opened_is_not_written_with_the_change_left_out() {
    let folder = Folder::new("changed");
    let path = folder.file("a.caffemodel", &layer("of a", "Scale", &[blob(&[2, 1], &[1.0, 2.0])]));
    let model = Model::open(&path).unwrap();
    let (length, span) = (std::fs::metadata(&path).unwrap().len(), model.layers()[0].blobs()[0].span());
    assert_eq!((span.end, span.start % 2, length % 2), (length, 0, 0));
    let said = |contents: Vec<u8>| {
        assert_eq!(contents.len() as u64, length);
        std::fs::write(&path, contents).unwrap();
        let mut edit = Edit::of(&model);
        edit.replace(At::data(0, 0), Values::f32(&[3.0, 4.0]));
        edit.write_to(folder.0.join("new")).unwrap_err().to_string()
    };
    // Of bytes of 8 any two are a field.
    let plain = said(bytes(1, vec![8; length as usize - 2]));
    assert!(plain.contains("another program has changed the file since it was opened; open it again"), "{plain}");
    let inside = vec![8; (length - span.start) as usize];
    let deep = said((0..span.start / 2).fold(inside, |inside, _| bytes(2, inside)));
    assert!(deep.contains("another program has changed the file since it was opened"), "{deep}");
    assert!(said(vec![0; length as usize]).contains("0 is not the tag of a field"));
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
    // A link is replaced, not its file; a name may be as long as names can be.
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
    let path = folder.file("a.caffemodel", &layer("a", "Scale", &[blob(&[1], &[1.0])]));
    let (model, new) = (Model::open(&path).unwrap(), folder.0.join("new.caffemodel"));
    let count = 700 << 20;
    let mut edit = Edit::of(&model);
    let values = || Values::new(Element::F32, count as u64, io::repeat(0).take(8));
    let error = edit.reshape(0, 0, &[count]).replace(At::data(0, 0), values()).write_to(&new).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("bytes, and Caffe reads at most 2147483647; allow large files"), "{error}");
    // Writing begins, and ends where these values end.
    edit.reshape(0, 0, &[count]).replace(At::data(0, 0), values()).allow_large();
    assert_eq!(edit.write_to(&new).unwrap_err().kind(), ErrorKind::Io);
    let most = Values::new(Element::F32, u64::MAX / 2, io::empty());
    let error = edit.reshape(0, 0, &[i64::MAX]).replace(At::data(0, 0), most).write_to(&new).unwrap_err();
    assert!(error.to_string().contains("more values than a file can hold"), "{error}");
    assert_eq!(folder.names(), ["a.caffemodel"]);
}
