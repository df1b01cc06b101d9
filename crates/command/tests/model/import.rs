//! Models with values from safetensors and npz files.

use std::process::Command;

use crate::running::{Running, said, small, up_to};
use crate::support::*;
use caffemodel::{At, Element, Model};
use serde_json::{Value, json};

/// A safetensors file of arrays: name, type, shape, bytes.
pub fn safetensors(arrays: &[(&str, &str, &[u64], Vec<u8>)]) -> Vec<u8> {
    let mut begin = 0;
    let entries = arrays.iter().map(|(name, dtype, shape, values)| {
        let end = begin + values.len();
        let entry = json!({"dtype": dtype, "shape": shape, "data_offsets": [begin, end]});
        begin = end;
        (name.to_string(), entry)
    });
    let header = Value::Object(entries.collect()).to_string();
    let values = arrays.iter().flat_map(|(.., values)| values.clone()).collect();
    [(header.len() as u64).to_le_bytes().to_vec(), header.into_bytes(), values].concat()
}

/// The arrays of `small`, with other values.
fn others() -> Vec<(&'static str, &'static str, &'static [u64], Vec<u8>)> {
    vec![
        ("conv1.0", "F32", &[2, 1], f32_bytes(&[0.5, 9.0])),
        ("conv1.1", "F16", &[2], vec![0, 0x3c, 0, 0xc0]),
        ("conv1.2", "F64", &[], f64_bytes(&[3.5])),
        ("fc.0", "F32", &[2, 2], f32_bytes(&[1.0, -2.5, 0.25, 4.0])),
    ]
}

fn import<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [
        &["import", "new.safetensors", "--from", "safetensors", "--like", "small.caffemodel", "-o", "out.caffemodel"],
        more,
    ]
    .concat()
}

#[test]
fn a_file_that_was_exported_gives_the_same_bytes_again() {
    let folder = Folder::new("again");
    let blob =
        [legacy(&[1, 1, 1, 2]), fixed32(5, 1.0), fixed32(5, -0.0), bytes(6, f32_bytes(&[f32::NAN, 2.0]))].concat();
    let old = [
        layer_v1("fc", 14, std::slice::from_ref(&blob)),
        bytes(99, "unknown"),
        layer_v0("conv", "conv", std::slice::from_ref(&blob)),
    ]
    .concat();
    let files = [
        ("small.caffemodel", small()),
        ("old.caffemodel", old),
        ("a.solverstate", [number(1, 30), bytes(2, "net"), bytes(3, &blob).repeat(2)].concat()),
        ("mean.binaryproto", blob.clone()),
    ];
    for (name, file) in files {
        folder.named(name, &file);
        for format in ["safetensors", "npz"] {
            for more in [&["--net-shapes"][..], &["--diffs"]] {
                let export = [&["export", name, "--to", format, "-o", "exported"], more].concat();
                assert_eq!(folder.model(&export).0, 0);
                let (status, text, error) =
                    folder.model(&["import", "exported", "--from", format, "--like", name, "-o", "again"]);
                assert_eq!((status, &*error), (0, ""), "{name} as {format}");
                assert!(text.starts_with("again: 0 of "), "{text}");
                assert_eq!(std::fs::read(folder.0.join("again")).unwrap(), file, "{name} as {format}");
            }
        }
    }
}

#[test]
fn values_that_differ_are_replaced_and_no_others() {
    let folder = Folder::new("replaced");
    folder.named("small.caffemodel", &small());
    folder.named("new.safetensors", &safetensors(&others()));
    let said = folder.model(&import(&[]));
    assert_eq!(said, (0, "out.caffemodel: 2 of 4 arrays differ from small.caffemodel\n".into(), String::new()));
    let mut expected = small();
    let mut put = |old: Vec<u8>, new: Vec<u8>| {
        let at = expected.windows(old.len()).position(|window| window == old).unwrap();
        expected[at..at + new.len()].copy_from_slice(&new);
    };
    put(f32_bytes(&[0.5, 8.0]), f32_bytes(&[0.5, 9.0]));
    put(f64_bytes(&[1e-9]), f64_bytes(&[3.5]));
    assert_eq!(std::fs::read(folder.0.join("out.caffemodel")).unwrap(), expected);
}

#[test]
fn halves_and_bfloat16_become_floats_and_doubles_as_they_are() {
    let folder = Folder::new("wider");
    folder.named("small.caffemodel", &small());
    let mut arrays = others();
    // 1.5 and -0.25; 1.5 and 2^-126; 3.0.
    arrays[0] = ("conv1.0", "F16", &[2, 1], vec![0x00, 0x3e, 0x00, 0xb4]);
    arrays[3] = ("fc.0", "BF16", &[2, 2], vec![0xc0, 0x3f, 0x80, 0x00, 0, 0, 0, 0x80]);
    arrays[2] = ("conv1.2", "BF16", &[], vec![0x40, 0x40]);
    folder.named("new.safetensors", &safetensors(&arrays));
    assert_eq!(folder.model(&import(&[])).0, 0);
    let model = Model::open(folder.0.join("out.caffemodel")).unwrap();
    assert_eq!(stored(&model, At::data(1, 0)), (Element::F32, f32_bytes(&[1.5, -0.25])));
    assert_eq!(stored(&model, At::data(1, 2)), (Element::F64, f64_bytes(&[3.0])));
    assert_eq!(stored(&model, At::data(2, 0)), (Element::F32, f32_bytes(&[1.5, f32::MIN_POSITIVE, 0.0, -0.0])));
    assert_eq!(model.layers()[2].blobs()[0].shape(), [1, 1, 2, 2], "the legacy dimensions stay");
}

#[test]
fn every_array_that_is_missing_too_many_or_of_another_shape_or_type_is_named() {
    let folder = Folder::new("wrong");
    folder.named("small.caffemodel", &small());
    let arrays = [
        ("conv1.0", "F32", &[1, 2][..], f32_bytes(&[0.5, 9.0])),
        ("conv1.1", "F32", &[2], f32_bytes(&[0.5, 9.0])),
        ("conv1.2", "I64", &[], vec![0; 8]),
        ("fc.1", "F8_E4M3", &[1], vec![0]),
    ];
    folder.named("new.safetensors", &safetensors(&arrays));
    let (status, text, error) = folder.model(&import(&[]));
    assert_eq!((status, &*text), (1, ""));
    let lines: Vec<_> = error.lines().map(|line| line.strip_prefix("syncedmem: new.safetensors: ").unwrap()).collect();
    assert_eq!(
        lines,
        [
            "conv1.0 has the shape 1x2, and the model's is 2x1; reshape it",
            "conv1.1 is float32, and the model's is float16; convert it to float16",
            "conv1.2 is int64, and the model's is float64; convert it to float64",
            "has no array fc.0, which small.caffemodel has; add it, or keep the old values with --partial",
            "has an array fc.1, which small.caffemodel has not; take it out, or name it as `syncedmem model export` does",
        ]
    );
    assert_eq!(folder.names(), ["new.safetensors", "small.caffemodel"]);
}

#[test]
fn a_net_of_caffe2_is_not_written_even_without_a_change() {
    let folder = Folder::new("init");
    let fill = operator("w", "GivenTensorFill", &[dims(&[1]), float_values(&[1.0])]);
    folder.named("init_net.pb", &fill);
    assert_eq!(folder.model(&["export", "init_net.pb", "--to", "npz"]).0, 0);
    let import = ["import", "init_net.npz", "--from", "npz", "--like", "init_net.pb", "-o", "new.pb"];
    let (status, text, error) = folder.model(&import);
    assert_eq!((status, &*text), (1, ""));
    assert!(
        error.starts_with("syncedmem: init_net.pb: is a net of Caffe2, whose values are not changed here"),
        "{error}"
    );
    assert_eq!(folder.names(), ["init_net.npz", "init_net.pb"]);
}

#[test]
fn some_arrays_are_enough_if_it_is_asked_for() {
    let folder = Folder::new("partial");
    folder.named("small.caffemodel", &small());
    folder.named("new.safetensors", &safetensors(&others()[..1]));
    assert_eq!(folder.model(&import(&[])).0, 1);
    let (status, text, _) = folder.model(&import(&["--partial"]));
    assert_eq!((status, &*text), (0, "out.caffemodel: 1 of 1 arrays differ from small.caffemodel\n"));
    let model = Model::open(folder.0.join("out.caffemodel")).unwrap();
    assert_eq!(floats_at(&model, At::data(1, 0)), [0.5, 9.0]);
    assert_eq!(floats_at(&model, At::data(2, 0)), [1.0, -2.5, 0.25, 4.0]);
}

/// Writes an archive with Python: deflated, with what `damage` does to it.
fn python_npz(folder: &Folder, damage: &str) {
    let script = format!(
        "import struct, zipfile\n\
         def npy(descr, shape, data):\n\
         \x20   about = str({{'descr': descr, 'fortran_order': False, 'shape': shape}}).encode().ljust(117) + b'\\n'\n\
         \x20   return b'\\x93NUMPY\\x01\\x00' + struct.pack('<H', len(about)) + about + data\n\
         with zipfile.ZipFile('new.npz', 'w', zipfile.ZIP_DEFLATED) as archive:\n\
         \x20   archive.writestr('a.0.npy', npy('<f4', (50000,), struct.pack('<50000f', *range(50000))))\n\
         data = bytearray(open('new.npz', 'rb').read())\n\
         {damage}\n\
         open('new.npz', 'wb').write(data)\n"
    );
    let (status, _, error) = said(Command::new("python3").args(["-c", &script]).current_dir(&folder.0));
    assert_eq!((status, &*error), (0, ""));
}

#[test]
fn a_compressed_npz_is_read_and_a_damaged_one_leaves_the_old_model() {
    let folder = Folder::new("deflated");
    let values: Vec<f32> = (0..50_000u16).map(f32::from).collect();
    let old = layer("a", "Scale", &[blob(&[50_000], &[7.0; 50_000])]);
    let import = ["import", "new.npz", "--from", "npz", "--like", "a.caffemodel", "-o", "a.caffemodel"];
    for (damage, sentence) in [
        ("data[data.index(b'PK\\x01\\x02') + 16] ^= 1", "a.0 cannot be read: its checksum is wrong"),
        ("data[20000] ^= 255", "a.0 cannot be read: "),
        ("del data[-30:]", "is no archive that can be read"),
        ("data[:] = data[:4].ljust(100)", "is no archive that can be read"),
    ] {
        folder.named("a.caffemodel", &old);
        python_npz(&folder, damage);
        let (status, _, error) = folder.model(&import);
        assert!(status == 1 && error.contains(sentence), "{damage}: {error}");
        assert!(std::fs::read(folder.0.join("a.caffemodel")).unwrap() == old, "{damage}");
        assert_eq!(folder.names(), ["a.caffemodel", "new.npz"]);
    }
    python_npz(&folder, "");
    assert_eq!(folder.model(&import).0, 0);
    assert!(std::fs::read(folder.0.join("a.caffemodel")).unwrap() == layer("a", "Scale", &[blob(&[50_000], &values)]));
}

#[test]
fn what_is_no_file_of_the_format_is_refused() {
    let folder = Folder::new("formats");
    folder.named("small.caffemodel", &small());
    let too_far = b"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    let overflow = b"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905],\"data_offsets\":[0,4]}}\0\0\0\0";
    for (header, rest, sentence) in [
        (0, &b""[..], "has a header that cannot be read"),
        (1 << 40, b"", "announces a header of 1099511627776 bytes"),
        (2, b"[]", "has a header that cannot be read"),
        (too_far.len() as u64, too_far, "has an entry a that lies outside of the file"),
        (overflow.len() as u64 - 4, overflow, "has an entry a whose bytes do not fit its shape"),
    ] {
        folder.named("new.safetensors", &[&header.to_le_bytes(), rest].concat());
        let (status, _, error) = folder.model(&import(&[]));
        assert!(status == 1 && error.contains(sentence), "{sentence}: {error}");
    }
    let (_, _, error) = folder.model(&["import", ".", "--from", "npz", "--like", "small.caffemodel", "-o", "x"]);
    assert!(error.contains(".: is a folder, a pipe or a device; name a regular file"), "{error}");
    let (_, _, error) = folder.model(&["import", "none", "--from", "npz", "--like", "small.caffemodel", "-o", "x"]);
    assert!(error.contains("none: cannot be opened: No such file"), "{error}");
    assert_eq!(folder.names(), ["new.safetensors", "small.caffemodel"]);
}

#[test]
fn an_import_that_fails_leaves_what_was_there() {
    let folder = Folder::new("full");
    folder.named("big.caffemodel", &layer("a", "Scale", &[blob(&[100_000], &vec![1.0; 100_000])]));
    folder.named("new.safetensors", &safetensors(&[("a.0", "F32", &[100_000], vec![0; 400_000])]));
    folder.named("out.caffemodel", b"as before");
    let import = "import new.safetensors --from safetensors --like big.caffemodel -o";
    // A disk that is full after so many KiB; the file has 391.
    for kibibytes in [0, 1, 64, 256, 390] {
        let (status, error) = up_to(kibibytes, &folder, &format!("{import} out.caffemodel"));
        assert_eq!(status, 1, "{error}");
        assert!(
            error.contains("out.caffemodel: cannot be written (File too large (os error 27)); raise the limit of a file's length (ulimit -f)"),
            "{error}"
        );
    }
    for (output, sentence) in [("new.safetensors", "is the file with the values"), ("no/folder", "cannot be written")] {
        let (status, _, error) = folder.model(&[&import.split(' ').collect::<Vec<_>>()[..], &[output]].concat());
        assert!(status == 1 && error.contains(sentence), "{error}");
    }
    assert_eq!(std::fs::read(folder.0.join("out.caffemodel")).unwrap(), b"as before");
    assert_eq!(folder.names(), ["big.caffemodel", "new.safetensors", "out.caffemodel"]);
}
