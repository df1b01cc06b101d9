//! Arrays of models as files of other formats.

use crate::running::{Running, small, up_to};
use crate::support::*;
use serde_json::{Value, json};

/// The header of a safetensors file, and the bytes of its values.
pub fn arrays(folder: &Folder, name: &str) -> (Value, Vec<u8>) {
    let mut bytes = std::fs::read(folder.0.join(name)).unwrap();
    let values = bytes.split_off(8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize);
    assert_eq!(bytes.len() % 8, 0);
    (serde_json::from_slice(&bytes[8..]).unwrap(), values)
}

#[test]
fn export_writes_safetensors_with_the_bytes_of_the_model() {
    let folder = Folder::new("safetensors");
    let file = folder.named("small.caffemodel", &small());
    let (status, text, error) = folder.model(&["export", &file, "--to", "safetensors", "--net-shapes"]);
    assert_eq!((status, &*text, &*error), (0, "small.safetensors\n", ""));
    let (header, all) = arrays(&folder, "small.safetensors");
    assert_eq!(
        header,
        json!({
            "conv1.2": {"dtype": "F64", "shape": [], "data_offsets": [0, 8]},
            "conv1.0": {"dtype": "F32", "shape": [2, 1], "data_offsets": [8, 16]},
            "fc.0": {"dtype": "F32", "shape": [2, 2], "data_offsets": [16, 32]},
            "conv1.1": {"dtype": "F16", "shape": [2], "data_offsets": [32, 36]},
        })
    );
    let values = [f64_bytes(&[1e-9]), f32_bytes(&[0.5, 8.0, 1.0, -2.5, 0.25, 4.0]), vec![0, 0x3c, 0, 0xc0]].concat();
    assert_eq!(all, values);
}

#[test]
fn arrays_whose_names_no_archive_may_have_are_not_exported_to_one() {
    let folder = Folder::new("npz");
    for (name, shown) in [
        ("../../out", "../../out"),
        ("/etc/out", "/etc/out"),
        ("..\\..\\out", "..\\..\\out"),
        ("C:\\out", "C:\\out"),
        ("c:out", "c:out"),
        ("\\\\server\\out", "\\\\server\\out"),
    ] {
        let names = folder.named("out.caffemodel", &layer(name, "Scale", &[blob(&[1], &[1.0])]));
        let (status, _, error) = folder.model(&["export", &names, "--to", "npz"]);
        assert_eq!(status, 1, "{shown}");
        assert!(error.contains(&format!("cannot be called {shown}.0; export to safetensors instead")), "{error}");
        assert_eq!(folder.names(), ["out.caffemodel"], "{shown}");
    }
    // These are files here.
    let names = ["a/b", "..c", "conv:1", "con"].map(|name| layer(name, "Scale", &[blob(&[1], &[1.0])]));
    let names = folder.named("in.caffemodel", &names.concat());
    assert_eq!(folder.model(&["export", &names, "--to", "npz"]).0, 0);
    let twice = layer("a", "Scale", &[blob(&[1], &[1.0])]);
    let twice = folder.named("twice.caffemodel", &[twice.clone(), twice].concat());
    for format in ["npz", "safetensors"] {
        let (status, _, error) = folder.model(&["export", &twice, "--to", format]);
        assert!(status == 1 && error.contains("two arrays would be called a.0"), "{format}: {error}");
    }
    let long = folder.named("long.caffemodel", &layer(&"a".repeat(70_000), "Scale", &[blob(&[1], &[1.0])]));
    let (status, _, error) = folder.model(&["export", &long, "--to", "npz"]);
    assert!(status == 1 && error.contains("too long for an archive; export to safetensors instead"), "{error}");
}

#[test]
fn a_full_disk_is_one_sentence_whenever_an_archive_meets_it() {
    let folder = Folder::new("full");
    // 2 KiB of values are written when the archive ends.
    folder.named("little.caffemodel", &layer("a", "Scale", &[blob(&[512], &[1.0; 512])]));
    let (status, error) = up_to(1, &folder, "export little.caffemodel --to npz");
    assert_eq!((status, error.lines().count()), (1, 1), "{error}");
    assert!(error.contains("little.npz cannot be written: the process may make no longer file (ulimit -f)"), "{error}");
}

#[test]
fn an_export_that_fails_leaves_what_was_there() {
    let folder = Folder::new("fails");
    let file = folder.named("big.caffemodel", &layer("a", "Scale", &[blob(&[100_000], &vec![1.0; 100_000])]));
    folder.named("big.npz", b"as before");
    let (status, error) = up_to(64, &folder, "export big.caffemodel --to npz");
    assert_eq!(status, 1);
    assert!(error.contains("big.npz cannot be written: the process may make no longer file (ulimit -f)"), "{error}");
    assert_eq!(std::fs::read(folder.0.join("big.npz")).unwrap(), b"as before");
    assert_eq!(folder.names(), ["big.caffemodel", "big.npz"]);
    for (arguments, sentence) in [
        (["-o", "big.caffemodel"], "is the model itself"),
        (["-o", "no/folder.npz"], "cannot be written: No such file"),
    ] {
        let (status, _, error) = folder.model(&[&["export", &file, "--to", "npz"], &arguments[..]].concat());
        assert!(status == 1 && error.contains(sentence), "{error}");
    }
}
