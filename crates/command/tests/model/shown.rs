//! What is shown of files that are written here, and what is made of them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use crate::exported::arrays;
use crate::running::{Running, said, small};
use crate::support::*;
use serde_json::{Value, json};

#[test]
fn inspect_lists_layers_types_shapes_bytes_and_ranges() {
    let folder = Folder::new("inspect");
    let file = folder.named("small.caffemodel", &small());
    let expected = "small.caffemodel: net \"small\", 3 layers, 4 blobs, 9 values, 143 B\n\n\
        layer  type          blob  shape    values   bytes\n\
        relu   ReLU\n\
        conv1  Convolution   0     2x1      float32      8\n\
        \u{20}                    1     2        float16      4\n\
        \u{20}                    2     ()       float64      8\n\
        fc     InnerProduct  0     1x1x2x2  float32     16\n";
    assert_eq!(folder.model(&["inspect", &file]), (0, expected.into(), String::new()));
    let (_, ranges, _) = folder.model(&["inspect", &file, "--ranges"]);
    assert!(ranges.contains("0     2x1      float32      8    0.500000    8.000000\n"), "{ranges}");
    assert!(ranges.contains("2     ()       float64      8  1.00000e-9  1.00000e-9\n"), "{ranges}");
}

#[test]
fn inspect_as_json_has_all_of_it_for_programs() {
    let folder = Folder::new("json");
    let file = folder.named("small.caffemodel", &small());
    let (status, text, _) = folder.model(&["inspect", &file, "--json", "--ranges"]);
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &all["kind"], &all["layers"][1]["type"]), (0, &json!("net"), &json!("Convolution")));
    assert_eq!(
        all["layers"][2]["blobs"][0],
        json!({"shape": [1, 1, 2, 2], "shape_in_net": [2, 2], "written_by": "BVLC", "data": {
            "type": "float32", "count": 4, "bytes": 16, "min": -2.5, "max": 4.0, "nan": 0, "infinite": 0}})
    );
    let state = [number(1, 30), bytes(2, "a.caffemodel"), bytes(3, blob(&[1], &[1.0])), number(4, 2)].concat();
    let file = folder.named("a.solverstate", &state);
    let (_, text, _) = folder.model(&["inspect", &file, "--json"]);
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(all["state"], json!({"iter": 30, "learned_net": "a.caffemodel", "current_step": 2}));
}

#[test]
fn inspect_shows_a_net_whose_blobs_cannot_be_read_and_refuses_what_is_no_model() {
    let folder = Folder::new("problems");
    let file = folder.named("a.caffemodel", &layer("conv\u{1b}[2J\nb: ok", "Convolution", &[blob(&[3], &[1.0])]));
    let (status, text, _) = folder.model(&["inspect", &file, "--ranges"]);
    assert_eq!(status, 0);
    assert!(text.contains("its data has 1 values, and its shape 3 needs 3"), "{text}");
    assert!(!text.contains('\u{1b}'), "names cannot steer the terminal");
    assert!(text.contains("\\nb: ok") && !text.contains("\nb: ok"), "nor pass for a line: {text}");
    let file = folder.named("net.prototxt", b"name: \"net\"\nlayer { name: \"a\" }\n");
    let (status, text, error) = folder.model(&["inspect", &file]);
    assert_eq!((status, &*text), (1, ""));
    assert!(error.starts_with("syncedmem: net.prototxt: is text; name the .caffemodel"), "{error}");
}

fn init_net() -> Vec<u8> {
    [
        bytes(1, "init"),
        operator("conv1_w", "GivenTensorFill", &[dims(&[2, 1]), float_values(&[0.5, 8.0])]),
        operator("ids", "GivenTensorInt64Fill", &[dims(&[2]), int_values(&[-1, 300])]),
        operator(
            "labels",
            "GivenTensorStringFill",
            &[dims(&[2]), argument("values", &[bytes(7, "cat"), bytes(7, "dog")])],
        ),
        operator("data", "ConstantFill", &[dims(&[1])]),
        operator("fresh", "XavierFill", &[dims(&[9])]),
    ]
    .concat()
}

#[test]
fn an_init_net_of_caffe2_is_shown_checked_and_exported() {
    let folder = Folder::new("init");
    let file = folder.named("init_net.pb", &init_net());
    let expected = "init_net.pb: Caffe2 net \"init\", 5 outputs, 3 blobs, 5 values, 260 B\n\n\
        layer    type                   blob  shape  values   bytes\n\
        conv1_w  GivenTensorFill        0     2x1    float32      8\n\
        ids      GivenTensorInt64Fill   0     2      int64       16\n\
        labels   GivenTensorStringFill  0     2      text         6\n\
        data     ConstantFill           0     1      float32      4\n\
        fresh    XavierFill\n";
    assert_eq!(folder.model(&["inspect", &file]), (0, expected.into(), String::new()));
    assert_eq!(folder.model(&["check", &file]), (0, "init_net.pb: ok, 3 blobs\n".into(), String::new()));
    let (status, text, error) = folder.model(&["export", &file, "--to", "safetensors"]);
    assert_eq!((status, &*text), (0, "init_net.safetensors\n"));
    let left_out = "syncedmem: init_net.pb: labels (GivenTensorStringFill) holds texts, and is left out: arrays of numbers are exported\n\
        syncedmem: init_net.pb: has no values of fresh (XavierFill), which are left out: run the net with Caffe2, and save them\n";
    assert_eq!(error, left_out);
    let (header, values) = arrays(&folder, "init_net.safetensors");
    assert_eq!(
        header,
        json!({
            "ids": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]},
            "conv1_w": {"dtype": "F32", "shape": [2, 1], "data_offsets": [16, 24]},
            "data": {"dtype": "F32", "shape": [1], "data_offsets": [24, 28]},
        })
    );
    let ids = [(-1i64).to_le_bytes(), 300i64.to_le_bytes()].concat();
    assert_eq!(values, [ids, f32_bytes(&[0.5, 8.0, 0.0])].concat());
}

#[test]
fn quantized_tensors_are_exported_with_scale_and_zero_point() {
    let folder = Folder::new("int8");
    let (scale, zero) = (argument("Y_scale", &[fixed32(2, 0.5)]), argument("Y_zero_point", &[number(3, 128)]));
    let values = argument("values", &[bytes(4, [7, 8])]);
    let weights = operator("w", "Int8GivenTensorFill", &[dims(&[2]), values, scale, zero]);
    folder.named("init_net.pb", &[bytes(1, "init"), weights].concat());
    let said = folder.model(&["export", "init_net.pb", "--to", "safetensors"]);
    assert_eq!(said, (0, "init_net.safetensors\n".into(), String::new()));
    let (header, values) = arrays(&folder, "init_net.safetensors");
    assert_eq!(
        header,
        json!({
            "w.scale": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
            "w.zero_point": {"dtype": "I32", "shape": [], "data_offsets": [4, 8]},
            "w": {"dtype": "U8", "shape": [2], "data_offsets": [8, 10]},
        })
    );
    assert_eq!(values, [f32_bytes(&[0.5]), 128i32.to_le_bytes().to_vec(), vec![7, 8]].concat());
}

#[test]
fn a_file_whose_tensors_have_no_values_is_not_called_a_description() {
    let folder = Folder::new("fills");
    let labels = operator("labels", "GivenTensorStringFill", &[dims(&[0])]);
    let operators = [labels, operator("fresh", "XavierFill", &[dims(&[9])]), operator("conv1", "Conv", &[])];
    folder.named("init_net.pb", &operators.concat());
    let (status, text, error) = folder.model(&["export", "init_net.pb", "--to", "npz"]);
    assert_eq!((status, &*text), (1, ""));
    let lines: Vec<_> = error.lines().map(|line| line.strip_prefix("syncedmem: init_net.pb: ").unwrap()).collect();
    assert!(lines[0].starts_with("labels (GivenTensorStringFill) holds texts"), "{error}");
    assert!(lines[1].starts_with("has no values of fresh (XavierFill), conv1 (Conv), which are left out"), "{error}");
    assert_eq!(
        lines[2..],
        ["has no arrays of numbers that can be read; run the net with Caffe2, and save its tensors"]
    );
}

#[test]
fn the_arrays_of_npz_and_safetensors_are_shown_as_those_of_models() {
    let folder = Folder::new("arrays");
    let file = folder.named("small.caffemodel", &small());
    for (format, bytes) in [("npz", "1.2 KiB"), ("safetensors", "292 B")] {
        assert_eq!(folder.model(&["export", &file, "--to", format]).0, 0);
        let name = format!("small.{format}");
        let (status, text, error) = folder.model(&["inspect", &name, "--ranges"]);
        assert_eq!((status, &*error), (0, ""));
        let mut lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.remove(0), format!("{name}: {format}, 4 arrays, 9 values, {bytes}"));
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "",
                "array    shape    values   bytes         min         max  not finite",
                "conv1.0  2x1      float32      8    0.500000    8.000000",
                "conv1.1  2        float16      4   -2.000000    1.000000",
                "conv1.2  ()       float64      8  1.00000e-9  1.00000e-9",
                "fc.0     1x1x2x2  float32     16   -2.500000    4.000000",
            ]
        );
        let (_, text, _) = folder.model(&["inspect", &name, "--json"]);
        let all: Value = serde_json::from_str(&text).unwrap();
        let first = json!({"name": "conv1.0", "shape": [2, 1], "type": "float32", "count": 2, "bytes": 8});
        assert!(all["kind"] == format && all["arrays"].as_array().unwrap().contains(&first), "{text}");
    }
    folder.named("cut.npz", b"PK\x03\x04");
    let (status, _, error) = folder.model(&["inspect", "cut.npz"]);
    assert!(status == 1 && error.starts_with("syncedmem: cut.npz: is no archive that can be read"), "{error}");
}

#[test]
fn a_long_header_takes_a_few_times_its_bytes_of_memory() {
    let folder = Folder::new("header");
    let entry = |number| format!("\"t{number}\":{{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}");
    let header = format!("{{{}}}", (0..100_000).map(entry).collect::<Vec<_>>().join(","));
    let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
    folder.named("long.safetensors", &file);
    // The command itself takes 30 MB of addresses.
    let most = (40_000_000 + 7 * file.len()) / 1024;
    for option in ["", "--json", "--ranges"] {
        let script = format!("ulimit -v {most}; exec \"$0\" model inspect long.safetensors {option} | tail -c 100");
        let mut bash = Command::new("bash");
        let (status, text, error) =
            said(bash.args(["-o", "pipefail", "-c", &script, env!("CARGO_BIN_EXE_syncedmem")]).current_dir(&folder.0));
        assert!(status == 0 && text.contains("t99999"), "{option}: {status}, {text}, {error}");
    }
}

#[test]
fn names_and_types_of_a_safetensors_file_are_read_with_care() {
    let folder = Folder::new("entries");
    let inspect = |header: &str| {
        folder.named("new.safetensors", &[&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat());
        folder.model(&["inspect", "new.safetensors"])
    };
    let entry = "{\"dtype\":\"F9\",\"shape\":[18446744073709551615],\"data_offsets\":[0,0]}";
    let (status, text, _) = inspect(&format!("{{\"a\":{entry},\"__metadata__\":{{\"b\":[[]]}},\"b\":{entry}}}"));
    assert!(status == 0 && text.contains("2 arrays, 18446744073709551615 values"), "{text}");
    for (header, sentence) in [
        (format!("{{\"a\":{entry},\"b\":{entry},\"a\":{entry}}}"), "has two entries a"),
        (format!("{{\"a\":{entry},\"b\":{{\"dtype\":\"F32\"}}}}"), "cannot be read (entry b: missing field `shape`"),
        (format!("{{\"a\":{entry}}} {{}}"), "cannot be read (trailing characters"),
    ] {
        let (status, _, error) = inspect(&header);
        assert!(status == 1 && error.contains(sentence), "{sentence}: {error}");
    }
}

#[test]
fn a_file_without_values_is_not_exported_and_the_one_to_give_is_named() {
    let folder = Folder::new("predict");
    let conv = operator("conv1", "Conv", &[argument("kernel", &[number(3, 5)])]);
    folder.named("predict_net.pb", &[bytes(1, "net"), conv].concat());
    folder.named("net.caffemodel", &layer("relu", "ReLU", &[]));
    for file in ["predict_net.pb", "net.caffemodel"] {
        let (status, text, error) = folder.model(&["export", file, "--to", "npz"]);
        assert_eq!((status, &*text), (1, ""));
        assert!(error.starts_with(&format!("syncedmem: {file}: has no arrays of numbers")), "{error}");
        assert!(error.contains("init_net.pb"), "{error}");
    }
    assert_eq!(folder.names(), ["net.caffemodel", "predict_net.pb"]);
}

#[test]
fn check_is_content_with_whole_files_and_says_what_is_wrong_with_others() {
    let folder = Folder::new("check");
    let good = folder.named("good.caffemodel", &small());
    assert_eq!(folder.model(&["check", &good]), (0, "good.caffemodel: ok, 4 blobs\n".into(), String::new()));
    let values = [1.0, f32::NAN, f32::INFINITY, f32::NAN];
    let bad = [layer("a", "Scale", &[blob(&[4], &values), blob(&[2], &[1.0])]), layer_v1("b", 14, &[])].concat();
    let bad = folder.named("bad.caffemodel", &bad);
    let cut = folder.named("cut.caffemodel", &small()[..120]);
    let (status, text, _) = folder.model(&["check", &good, &bad, &cut, "missing"]);
    assert_eq!(status, 1);
    for expected in [
        "good.caffemodel: ok, 4 blobs\n",
        "layer 0 \"a\", blob 0: its data has 2 NaN and 1 infinite among 4 values, the first is number 1;",
        "layer 0 \"a\", blob 1: its data has 1 values, and its shape 2 needs 2",
        "bad.caffemodel: has layers both as `layer` and as `layers`, which Caffe refuses",
        "cut.caffemodel: layer 2 \"fc\": the file ends ",
        "missing: cannot be opened",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let (status, text, _) = folder.model(&["check", "--json", &good, &cut]);
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &all[0]["ok"], &all[1]["ok"]), (1, &json!(true), &json!(false)));
    assert_eq!(folder.model(&["check"]).0, 2, "a file is needed");
}

#[test]
fn diff_says_which_layers_shapes_and_values_differ_and_how_far() {
    let folder = Folder::new("diff");
    let net = |layers: &[Vec<u8>]| layers.concat();
    let a = folder.named(
        "a.caffemodel",
        &net(&[
            layer("same", "Scale", &[blob(&[2], &[1.0, f32::NAN])]),
            layer("moved", "Scale", &[blob(&[4], &[1.0, 2.0, 3.0, f32::INFINITY])]),
            layer("shaped", "Scale", &[blob(&[2, 3], &[0.0; 6])]),
            layer("old", "ReLU", &[]),
        ]),
    );
    let b = folder.named(
        "b.caffemodel",
        &net(&[
            layer("new", "ReLU", &[]),
            layer("same", "Scale", &[blob(&[2], &[1.0, f32::NAN])]),
            layer("moved", "Bias", &[blob(&[4], &[1.0, 2.5, 2.0, 1.0])]),
            layer("shaped", "Scale", &[blob(&[3, 2], &[0.0; 6])]),
        ]),
    );
    let expected = "old: only in a.caffemodel\n\
        new: only in b.caffemodel\n\
        moved: type Scale -> Bias\n\
        shaped: shape of blob 0 2x3 -> 3x2\n\
        moved: blob 0: 3 of 4 values differ, largest 1.000000e0 (relative 3.3e-1), mean 5.000000e-1, 1 not comparable\n\
        the same: 1 blob, different: 1\n";
    assert_eq!(folder.model(&["diff", &a, &b]), (1, expected.into(), String::new()));
    let (status, text, _) = folder.model(&["diff", "--json", &a, &b]);
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &all["only_in_b"], &all["values"][0]["largest"]), (1, &json!(["new"]), &json!(1.0)));
    assert_eq!(folder.model(&["diff", &a, &a]).0, 0);
    assert_eq!(folder.model(&["diff", &a, "missing"]).0, 1);
}

#[test]
fn layers_whose_names_are_no_utf8_are_kept_apart_and_taken_back() {
    let folder = Folder::new("gbk");
    let named = |name: &[u8], value| {
        bytes(100, [bytes(1, name), bytes(2, "Convolution"), bytes(7, blob(&[1], &[value]))].concat())
    };
    let (a, b) = (named(b"\xbe\xed\xbb\xfd", 1.0), named(b"\xbc\xd7\xd2\xd2", 2.0));
    folder.named("1.caffemodel", &[&a[..], &b].concat());
    folder.named("2.caffemodel", &[&b[..], &a].concat());
    let same = (0, "the same: 2 blobs, different: 0\n".into(), String::new());
    assert_eq!(folder.model(&["diff", "1.caffemodel", "2.caffemodel"]), same);
    let (_, text, _) = folder.model(&["inspect", "1.caffemodel"]);
    assert!(
        text.contains("\n%BE%ED%BB%FD  Convolution  0") && text.contains("\n%BC%D7%D2%D2  Convolution  0"),
        "{text}"
    );
    for format in ["npz", "safetensors"] {
        assert_eq!(folder.model(&["export", "1.caffemodel", "--to", format, "-o", "new"]).0, 0);
        let import = ["import", "new", "--from", format, "--like", "2.caffemodel", "-o", "again"];
        assert_eq!(folder.model(&import), (0, "again: 0 of 2 arrays differ from 2.caffemodel\n".into(), String::new()));
    }
}

#[test]
fn diff_takes_legacy_dimensions_as_caffe_does_and_compares_solver_states() {
    let folder = Folder::new("legacy");
    let fc = [legacy(&[1, 1, 2, 1]), bytes(5, f32_bytes(&[1.0, 2.0]))].concat();
    let old = folder.named("old.caffemodel", &layer_v1("fc", 14, &[fc]));
    let new = folder.named("new.caffemodel", &layer("fc", "InnerProduct", &[blob(&[2, 1], &[1.0, 2.0])]));
    assert_eq!(folder.model(&["diff", &old, &new]), (0, "the same: 1 blob, different: 0\n".into(), String::new()));
    let state = |iter| [number(1, iter), bytes(2, "net"), bytes(3, blob(&[1], &[1.0]))].concat();
    let (one, two) = (folder.named("1.solverstate", &state(1)), folder.named("2.solverstate", &state(2)));
    let (status, text, _) = folder.model(&["diff", &one, &two]);
    assert_eq!(status, 1);
    assert!(text.starts_with("solver: state iteration 1, step 0, net net -> iteration 2, step 0, net net\n"), "{text}");
}

/// A model of so many bytes that takes no room on the disk: its values are a hole in the file.
fn large(path: &Path, bytes: u64) {
    let dims = shape(&[bytes as i64 / 8]);
    let head = [vec![8 << 3 | 2], varint(bytes)].concat();
    let layer_head = [vec![7 << 3 | 2], varint(head.len() as u64 + bytes + dims.len() as u64), head].concat();
    let begin = [vec![0xa2, 0x06], varint(layer_head.len() as u64 + bytes + dims.len() as u64), layer_head].concat();
    let file = File::create(path).unwrap();
    file.write_all_at(&begin, 0).unwrap();
    file.write_all_at(&dims, begin.len() as u64 + bytes).unwrap();
}

#[test]
fn a_signal_that_ends_a_command_removes_its_new_file_first() {
    let folder = Folder::new("signal");
    // Writing takes longer than the signal.
    large(&folder.0.join("large.caffemodel"), 64 << 30);
    folder.named("old.npz", b"old");
    let names = folder.names();
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncedmem"));
    command.args(["model", "export", "large.caffemodel", "--to", "npz", "-o", "old.npz"]).current_dir(&folder.0);
    let mut child = command.spawn().unwrap();
    while folder.names() == names {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its file was begun");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(15), "SIGTERM");
    assert_eq!(folder.names(), names);
    assert_eq!(std::fs::read(folder.0.join("old.npz")).unwrap(), b"old");
}
