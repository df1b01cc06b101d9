//! A damaged file is refused with the offset of the damage. `oracle/checks.py` compares files that protobuf accepts with protobuf.

mod support;

use caffemodel::{At, ErrorKind, Kind, Model};
use support::*;

#[test]
fn values_with_a_tag_each_and_in_several_pieces_are_one_array() {
    let message = [
        fixed32(5, 1.0),
        fixed32(5, 2.0),
        bytes(5, f32_bytes(&[3.0, 4.0])),
        number(99, 1),
        bytes(5, f32_bytes(&[5.0])),
        fixed32(5, 6.0),
        shape(&[6]),
    ]
    .concat();
    let model = net_of(message);
    assert_eq!(floats(&model), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    for first in 0..6 {
        for length in 0..=6 - first {
            let mut part = vec![0.0; length];
            model.read_f32(At::data(0, 0), first as u64, &mut part).unwrap();
            assert!(
                part.iter().zip(first + 1..).all(|(value, expected)| *value == expected as f32),
                "{first} {length}"
            );
        }
    }
}

#[test]
fn many_values_are_converted_through_the_buffer() {
    let doubles: Vec<f64> = (0..10_000u16).map(|value| f64::from(value) + 0.1).collect();
    let as_floats: Vec<f32> = doubles.iter().map(|value| *value as f32).collect();
    assert_eq!(floats(&net_of([bytes(8, f64_bytes(&doubles)), shape(&[10_000])].concat())), as_floats);
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused_or_has_less_in_it() {
    let begin = [bytes(1, "n"), layer("a", "Scale", &[blob(&[2], &[1.0, 2.0])])].concat();
    let file = [&begin[..], &layer_v1("b", 14, &[])].concat();
    for length in 1..file.len() {
        let cut = Model::from_bytes(file[..length].to_vec(), "net", Some(Kind::Net));
        // A file that is cut between two fields is sound.
        if length == 3 || length == begin.len() {
            assert!(cut.unwrap().layers().len() < 2);
            continue;
        }
        let error = cut.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Format, "{length}: {error}");
        assert!(error.to_string().contains("the file ends "), "{length}: {error}");
    }
}

#[test]
fn damage_is_refused_with_the_layer_the_blob_and_the_place() {
    let good = layer("conv1", "Convolution", &[blob(&[1], &[1.0])]);
    let cut_float = layer("ip", "InnerProduct", &[blob(&[1], &[1.0]), bytes(5, [0; 7])]);
    let at = good.len() + cut_float.len() - 7;
    assert_eq!(
        refused([good, cut_float].concat()),
        format!(
            "net: layer 1 \"ip\", blob 1: a list of 7 bytes cannot hold values of 4 bytes, at byte {at}; the file is damaged or is \
             no Caffe file: fetch or copy it again"
        )
    );
    let beyond =
        refused([bytes(100, [bytes(1, "a"), vec![0x3a, 9, 0]].concat()), bytes(1, "and more behind")].concat());
    assert!(
        beyond.contains("layer 0 \"a\", blob 0: a value of 9 bytes has 1 bytes left in its message, at byte"),
        "{beyond}"
    );
    let says = |file: &[u8], what: &str| {
        let sentence = refused(file.to_vec());
        assert!(sentence.contains(what), "{sentence}");
    };
    says(&[0x0e, 0x00], "14 is not the tag of a field, at byte 0");
    says(&[0x00, 0x00], "0 is not the tag of a field");
    says(&[0x88, 0x80, 0x80, 0x80, 0x80, 0x01], "is not the tag of a field");
    says(&[&[0x18][..], &[0xff; 10], &[0x01]].concat(), "longer than ten bytes, at byte 1;");
    says(&[0x0c], "group 1 ends, and has not begun");
    says(&[0x0b], "group 1 has no end");
    says(&[0x0b, 0x14], "group 2 ends inside of group 1");
    says(&[0x0b; 200], "groups lie more than 100 deep");
    says(&[&[0x0b; 100][..], &[0x0c; 100]].concat()[1..], "group 1 ends, and has not begun");
    says(
        &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        "18446744073709551615 bytes are announced",
    );
}

#[test]
fn counts_that_are_not_those_of_the_shape_are_refused_when_the_blob_is_read() {
    assert_eq!(
        unreadable(blob(&[2, 3], &[1.0; 5])),
        "net: layer 0 \"conv1\", blob 0: its data has 5 values, and its shape 2x3 needs 6, at byte 25; the file is damaged or was \
         written by a faulty program: fetch it again, or save it anew"
    );
    let model = net_of(blob(&[2, 3], &[1.0; 5]));
    assert_eq!(model.layers()[0].blobs()[0].data().count(), 5, "the layer is listed all the same");
    let mut none = [0.0; 5];
    assert_eq!(model.read_f32(At::data(0, 0), 0, &mut none).unwrap_err().kind(), ErrorKind::Format);
    let says = |blob: Vec<u8>, what: &str| assert!(unreadable(blob.clone()).contains(what), "{}", unreadable(blob));
    says(blob(&[], &[]), "its data has 0 values, and its shape () needs 1");
    says(blob(&[4, -1], &[]), "dimension 1 of its shape is -1");
    says([legacy(&[1, -2, 1, 1]), bytes(5, f32_bytes(&[1.0]))].concat(), "dimension 1 of its shape is -2");
    says(blob(&[i64::MAX, 3], &[1.0]), "more values than 64 bits can count");
    says(blob(&[1 << 33, 1 << 33], &[1.0]), "more values than 64 bits can count");
    says(blob(&[1; 33], &[1.0]), "33 axes, and at most 32 are allowed");
    says([blob(&[2], &[1.0; 2]), bytes(6, f32_bytes(&[1.0]))].concat(), "its diff has 1 values");
    assert_eq!(floats(&net_of(blob(&[0, 1 << 62, 1 << 62], &[]))), [], "no values, whatever the other dimensions");
    assert_eq!(floats(&net_of(blob(&[1; 32], &[4.0]))), [4.0]);
    assert_eq!(floats(&net_of(blob(&[], &[4.0]))), [4.0], "an empty shape is one value");
}

#[test]
fn what_a_caller_asks_for_wrongly_is_an_argument_error_with_the_bounds() {
    let model = net_of(blob(&[2], &[1.0, 2.0]));
    let says = |error: caffemodel::Error, what: &str| {
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains(what), "{error}");
    };
    says(model.array(At::data(1, 0)).unwrap_err(), "net: has no layer 1: it has 1");
    says(model.array(At::data(0, 1)).unwrap_err(), "layer 0 \"conv1\": has no blob 1: it has 1");
    says(model.array(At::diff(0, 0)).unwrap_err(), "blob 0: has no diff");
    says(
        model.read_f32(At::data(0, 0), 0, &mut [0.0; 3]).unwrap_err(),
        "3 values from number 0 on were asked for, and it has 2",
    );
    says(model.read_f64(At::data(0, 0), u64::MAX, &mut [0.0]).unwrap_err(), "from number 18446744073709551615 on");
    says(
        model.read_bytes(At::data(0, 0), 0, &mut [0; 3]).unwrap_err(),
        "3 bytes is no whole number of values of 4 bytes",
    );
    model.read_f32(At::data(0, 0), 2, &mut []).unwrap();
}

#[test]
fn a_file_that_describes_more_than_it_can_hold_is_refused() {
    // Every other value of an array is a separate run.
    let apart = [fixed32(5, 1.0), number(99, 0)].concat().repeat(50_000);
    for file in [bytes(2, "").repeat(100_000), layer("a", "", &[apart])] {
        assert!(refused(file).contains("describes more layers, blobs and names than it can hold"));
    }
    let structure = layer("a layer's name", "Convolution", &[]).repeat(8_000);
    assert_eq!(net(structure).layers().len(), 8_000, "a large net without values is none");
}

#[test]
fn files_of_other_formats_are_named() {
    for (file, what) in [
        (&b""[..], "is empty"),
        (b"\x89HDF\r\n\x1a\n", "is an HDF5 file; read it with h5py"),
        (b"version https://git-lfs.github.com/spec/v1\n", "run git lfs pull"),
        (b"<!DOCTYPE html>", "is an HTML or XML page, not a model"),
        (b"\n\n\n\n\n\n\n<!DOCTYPE html>\n<html lang=\"en\">", "is an HTML or XML page, not a model"),
        (b"\xef\xbb\xbf\r\n<HTML><head>", "download the raw file"),
        (b"\n\n<?xml version=\"1.0\"?><Error>", "is an HTML or XML page"),
        (b"name: \"LeNet\"\nlayer {", "is text; name the .caffemodel"),
        (b"\n  # A net.\n  name: \"LeNet\"\n  layer {", "is text; name the .caffemodel"),
        (b"\x1f\x8b\x08", "gunzip"),
        (b"PK\x03\x04", "zip archive"),
    ] {
        let error = Model::from_bytes(file.to_vec(), "m", None).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
    // The byte of the length is a tab.
    let net = Model::from_bytes(bytes(1, "<unknown>"), "m", None);
    assert_eq!(net.unwrap().name(), "<unknown>");
    let unknown = Model::from_bytes(number(77, 1), "m", None).unwrap_err();
    assert!(unknown.to_string().contains("has no field of a net"), "{unknown}");
}

#[test]
fn names_of_any_bytes_stay_different_and_those_of_utf8_stay_as_they_are() {
    let named = |name: &[u8]| {
        let model = net(bytes(100, [bytes(1, name), bytes(2, "ReLU")].concat()));
        model.layers()[0].name().to_string()
    };
    for kept in ["conv1/3x3", "\u{5377}\u{79ef}", "100%", "100% of a", "%", "%a", "%g0", "a\\xbe"] {
        assert_eq!(named(kept.as_bytes()), kept);
    }
    for (name, shown) in [
        (&b"\xbe\xed\xbb\xfd"[..], "%BE%ED%BB%FD"),
        (b"%BE", "%25BE"),
        (b"%%be%4", "%%25be%4"),
        (b"%25", "%2525"),
        (b"%\xbe", "%%BE"),
        (b"%b\xbe1", "%b%BE1"),
        (b"a\0b", "a%00b"),
        (b"a\xe5\x8d", "a%E5%8D"),
    ] {
        assert_eq!((named(name), percent_decoded(shown)), (shown.to_string(), name.to_vec()));
    }
    let model = net([bytes(1, [0xff]), layer_v1("a", 18, &[])].concat());
    assert_eq!(model.name(), "%FF", "a net's name is one too");
}

/// Decodes percent-encoding (RFC 3986).
fn percent_decoded(text: &str) -> Vec<u8> {
    let (mut decoded, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, others @ ..] = rest {
        let hex = others.get(..2).filter(|hex| *first == b'%' && hex.iter().all(u8::is_ascii_hexdigit));
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        decoded.push(byte.unwrap_or(*first));
        rest = &others[if byte.is_some() { 2 } else { 0 }..];
    }
    decoded
}
