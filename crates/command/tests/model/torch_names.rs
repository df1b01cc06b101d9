//! Arrays under PyTorch's names, exported and taken back.

use crate::import::safetensors;
use crate::running::Running;
use crate::support::*;
use serde_json::Value;

#[test]
fn export_names_arrays_as_pytorch_does_and_import_takes_them_back() {
    let folder = Folder::new("torch");
    let norm = [blob(&[2], &[3.0, -6.0]), blob(&[2], &[12.0, 1.5]), blob(&[1], &[3.0])];
    let legacy_fc = [legacy(&[1, 1, 2, 2]), bytes(5, f32_bytes(&[1.0, -2.5, 0.25, 4.0]))].concat();
    let net = [
        layer("conv", "Convolution", &[blob(&[2, 1], &[0.5, 8.0]), blob(&[2], &[1.0, 2.0])]),
        layer("bn", "BatchNorm", &norm),
        layer("scale", "Scale", &[blob(&[2], &[1.0, 2.0]), blob(&[2], &[3.0, 4.0])]),
        layer("shift", "Bias", &[blob(&[2], &[5.0, 6.0])]),
        layer("fc", "InnerProduct", &[legacy_fc]),
        layer("lstm", "LSTM", &[blob(&[1], &[7.0])]),
        layer("five", "BatchNorm", &vec![blob(&[1], &[8.0]); 5]),
        layer("fresh", "BatchNorm", &vec![blob(&[1], &[0.0]); 3]),
    ];
    let file = folder.named("net.caffemodel", &net.concat());
    let (status, _, error) = folder.model(&["export", &file, "--to", "safetensors", "--names", "torch"]);
    let lines: Vec<_> = error.lines().map(|line| line.strip_prefix("syncedmem: net.caffemodel: ").unwrap()).collect();
    assert_eq!((status, lines.len()), (0, 3), "{error}");
    assert!(lines[0].starts_with("lstm (LSTM) has blobs that are no parameters of a module of PyTorch"), "{error}");
    assert!(lines[1].starts_with("five (BatchNorm) has blobs that are no parameters"), "{error}");
    assert!(lines[2].starts_with("fresh (BatchNorm) has the factor 0, for which BVLC's Caffe"), "{error}");
    let (_, text, _) = folder.model(&["inspect", "net.safetensors", "--ranges", "--json"]);
    let all: Value = serde_json::from_str(&text).unwrap();
    let shown = |array: &Value| format!("{} {} {} {}", array["name"], array["shape"], array["min"], array["max"]);
    let mut arrays: Vec<_> = all["arrays"].as_array().unwrap().iter().map(shown).collect();
    arrays.retain(|array| !array.contains("five.") || array.contains("five.0"));
    arrays.sort_unstable();
    assert_eq!(
        arrays,
        [
            r#""bn.running_mean" [2] -2.0 1.0"#,
            r#""bn.running_var" [2] 0.5 4.0"#,
            r#""conv.bias" [2] 1.0 2.0"#,
            r#""conv.weight" [2,1] 0.5 8.0"#,
            r#""fc.weight" [2,2] -2.5 4.0"#,
            r#""five.0" [1] 8.0 8.0"#,
            r#""fresh.running_mean" [1] 0.0 0.0"#,
            r#""fresh.running_var" [1] 0.0 0.0"#,
            r#""lstm.0" [1] 7.0 7.0"#,
            r#""scale.bias" [2] 3.0 4.0"#,
            r#""scale.weight" [2] 1.0 2.0"#,
            r#""shift.bias" [2] 5.0 6.0"#,
        ]
    );
    let import = ["import", "net.safetensors", "--from", "safetensors", "--like", &file, "-o", "again.caffemodel"];
    let (status, text, error) = folder.model(&import);
    assert_eq!((status, &*error), (0, ""));
    // The factors are 1 now.
    assert_eq!(text, "again.caffemodel: 2 of 16 arrays differ from net.caffemodel\n");
    let model = caffemodel::Model::open(folder.0.join("again.caffemodel")).unwrap();
    let of_norm = [0, 1, 2].map(|number| stored(&model, caffemodel::At::data(1, number)).1);
    assert_eq!(of_norm, [f32_bytes(&[1.0, -2.0]), f32_bytes(&[4.0, 0.5]), f32_bytes(&[1.0])]);
    assert_eq!(model.layers()[4].blobs()[0].shape(), [1, 1, 2, 2]);
}

#[test]
fn import_takes_means_only_with_variances_and_without_a_factor() {
    let folder = Folder::new("averages");
    let norm = layer("bn", "BatchNorm", &vec![blob(&[1], &[4.0]); 3]);
    folder.named("net.caffemodel", &norm);
    let file = safetensors(&[
        ("bn.running_mean", "F32", &[1], vec![0; 4]),
        ("bn.num_batches_tracked", "I64", &[], vec![0; 8]),
        ("bn.2", "F32", &[1], vec![0; 4]),
    ]);
    folder.named("half.safetensors", &file);
    let arguments = ["--from", "safetensors", "--like", "net.caffemodel", "-o", "new.caffemodel", "--partial"];
    let (status, _, error) = folder.model(&[&["import", "half.safetensors"], &arguments[..]].concat());
    assert_eq!((status, error.lines().count()), (1, 2), "{error}");
    assert!(error.contains("has no array bn.running_var, which net.caffemodel has"), "{error}");
    assert!(error.contains("has an array bn.2, which net.caffemodel has not"), "{error}");
}

/// A layer of today's net, with fields beside its blobs.
fn layer_with(name: &str, kind: &str, fields: &[u8], blobs: &[Vec<u8>]) -> Vec<u8> {
    let blobs: Vec<_> = blobs.iter().flat_map(|blob| bytes(7, blob)).collect();
    bytes(100, [&bytes(1, name), &bytes(2, kind), fields, &blobs].concat())
}

/// Name, shape and bytes.
type Exported = (String, Vec<u64>, Vec<u8>);

/// The arrays of an export under PyTorch's names, by name, and what was said.
fn exported(folder: &Folder, net: &[u8]) -> (Vec<Exported>, String) {
    folder.named("net.caffemodel", net);
    let (status, _, error) =
        folder.model(&["export", "net.caffemodel", "--to", "safetensors", "--names", "torch", "-o", "net.safetensors"]);
    assert_eq!(status, 0, "{error}");
    let file = std::fs::read(folder.0.join("net.safetensors")).unwrap();
    let (header, values) = file[8..].split_at(u64::from_le_bytes(file[..8].try_into().unwrap()) as usize);
    let header: Value = serde_json::from_slice(header).unwrap();
    let numbers = |list: &Value| list.as_array().unwrap().iter().map(|dim| dim.as_u64().unwrap()).collect::<Vec<_>>();
    let array = |(name, entry): (&String, &Value)| {
        let place = numbers(&entry["data_offsets"]);
        (name.clone(), numbers(&entry["shape"]), values[place[0] as usize..place[1] as usize].to_vec())
    };
    let mut arrays: Vec<_> = header.as_object().unwrap().iter().map(array).collect();
    arrays.sort();
    (arrays, error)
}

/// Imports what `exported` wrote; returns the sentence and the new file.
fn imported(folder: &Folder) -> (String, Vec<u8>) {
    let import = ["import", "net.safetensors", "--from", "safetensors", "--like", "net.caffemodel", "-o", "again"];
    let (status, text, error) = folder.model(&import);
    assert_eq!((status, &*error), (0, ""));
    (text, std::fs::read(folder.0.join("again")).unwrap())
}

#[test]
fn weights_that_caffe_stores_transposed_are_transposed_for_pytorch_and_back() {
    let folder = Folder::new("transposed");
    let transposed = |field| bytes(field, [number(1, 2), number(6, 1)].concat());
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let with_diff = [blob(&[3, 2], &values), bytes(6, f32_bytes(&values))].concat();
    let old = [legacy(&[1, 1, 3, 2]), bytes(5, f32_bytes(&values))].concat();
    let v1 = bytes(2, [bytes(4, "old"), number(5, 14), transposed(17), bytes(6, old)].concat());
    let halves = [number(10, 2), bytes(12, [1, 1, 2, 2, 3, 3, 4, 4]), shape(&[2, 2])].concat();
    let plain = bytes(117, [number(1, 2), number(6, 0)].concat());
    let net = [
        layer_with("fc", "InnerProduct", &transposed(117), &[with_diff, blob(&[2], &[7.0, 8.0])]),
        layer_with("half", "InnerProduct", &transposed(117), &[halves]),
        layer_with("plain", "InnerProduct", &plain, &[blob(&[3, 2], &values)]),
        // Caffe cannot load this one.
        layer_with("odd", "InnerProduct", &transposed(117), &[blob(&[1, 3, 2], &values)]),
    ];
    let swapped = f32_bytes(&[1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    let (arrays, error) = exported(&folder, &[net.concat(), v1].concat());
    let expected = |name: &str, shape: &[u64], values: &[u8]| (name.to_string(), shape.to_vec(), values.to_vec());
    assert_eq!(
        arrays,
        [
            expected("fc.bias", &[2], &f32_bytes(&[7.0, 8.0])),
            expected("fc.weight", &[2, 3], &swapped),
            expected("half.weight", &[2, 2], &[1, 1, 3, 3, 2, 2, 4, 4]),
            expected("odd.0", &[1, 3, 2], &f32_bytes(&values)),
            expected("old.weight", &[2, 3], &swapped),
            expected("plain.weight", &[3, 2], &f32_bytes(&values)),
        ]
    );
    assert!(
        error.contains("odd (InnerProduct) has blobs that are no parameters") && error.lines().count() == 1,
        "{error}"
    );
    let (text, again) = imported(&folder);
    assert_eq!(text, "again: 0 of 6 arrays differ from net.caffemodel\n");
    assert_eq!(again, std::fs::read(folder.0.join("net.caffemodel")).unwrap());
    let stale = safetensors(&[("fc.weight", "F32", &[3, 2], vec![0; 24])]);
    folder.named("net.safetensors", &stale);
    let import =
        ["import", "net.safetensors", "--from", "safetensors", "--like", "net.caffemodel", "-o", "x", "--partial"];
    let (status, _, error) = folder.model(&import);
    assert!(
        status == 1 && error.contains("fc.weight has the shape 3x2, and the model's is 2x3; reshape it"),
        "{error}"
    );
}

#[test]
fn large_weights_are_transposed_part_by_part() {
    let folder = Folder::in_memory("bands");
    let (rows, columns) = (1 << 12, 1100);
    let values: Vec<f32> = (0..rows * columns).map(|value| value as f32).collect();
    let param = bytes(117, number(6, 1));
    let (arrays, _) = exported(&folder, &layer_with("fc", "InnerProduct", &param, &[blob(&[rows, columns], &values)]));
    let (_, shape, exported) = &arrays[0];
    let swapped =
        (0..columns).flat_map(|column| (0..rows).map(move |row| ((row * columns + column) as f32).to_le_bytes()));
    assert_eq!(*shape, [columns as u64, rows as u64]);
    assert!(exported.iter().copied().eq(swapped.flatten()), "16 MiB are read at once");
    assert_eq!(imported(&folder).0, "again: 0 of 1 arrays differ from net.caffemodel\n");
}

#[test]
fn parameters_of_layers_decide_what_a_blob_is_to_pytorch() {
    let folder = Folder::new("parameters");
    let bottoms = [bytes(3, "x"), bytes(3, "gates")].concat();
    let shared = bytes(131, number(2, 1));
    let net = [
        layer_with("pr", "PReLU", &shared, &[blob(&[], &[0.25])]),
        layer_with("prs", "PReLU", &[], &[blob(&[2], &[0.25, 0.5])]),
        layer_with("gated", "Scale", &bottoms, &[blob(&[2], &[1.0, 2.0])]),
        layer_with("scale", "Scale", &bytes(3, "x"), &[blob(&[2], &[3.0, 4.0]), blob(&[2], &[5.0, 6.0])]),
        layer_with("words", "Embed", &[], &[blob(&[2, 1], &[7.0, 8.0]), blob(&[1], &[9.0])]),
        layer_with("up", "Deconvolution", &bytes(106, number(5, 2)), &[blob(&[4, 1, 1, 1], &[1.0; 4])]),
    ];
    let (arrays, error) = exported(&folder, &net.concat());
    assert_eq!(error, "");
    let found: Vec<_> = arrays.iter().map(|(name, shape, _)| (name.as_str(), shape.as_slice())).collect();
    assert_eq!(
        found,
        [
            ("gated.bias", &[2][..]),
            ("pr.weight", &[1]),
            ("prs.weight", &[2]),
            ("scale.bias", &[2]),
            ("scale.weight", &[2]),
            ("up.weight", &[4, 1, 1, 1]),
            ("words.bias", &[1]),
            ("words.weight", &[2, 1]),
        ]
    );
    assert_eq!(imported(&folder).1, net.concat());
}

#[test]
fn averages_of_nvidias_caffe_are_kept_and_its_scale_and_bias_have_names() {
    let folder = Folder::new("nvidia");
    let (mean, var) = (blob(&[2], &[1.0, 2.0]), blob(&[2], &[3.0, 4.0]));
    let old = |values: &[f32]| blob(&[1, 2, 1, 1], values);
    let net = [
        layer("zero", "BatchNorm", &[mean.clone(), var.clone(), blob(&[1], &[0.0])]),
        layer("five", "BatchNorm", &[mean, var, blob(&[1], &[2.0]), blob(&[2], &[5.0, 6.0]), blob(&[2], &[7.0, 8.0])]),
        layer(
            "digits",
            "BatchNorm",
            &[old(&[5.0, 6.0]), old(&[7.0, 8.0]), old(&[1.0, 2.0]), old(&[3.0, 4.0]), blob(&[1], &[0.0])],
        ),
    ];
    let (arrays, error) = exported(&folder, &net.concat());
    let expected = |name: &str, values: [f32; 2]| (name.to_string(), vec![2], f32_bytes(&values));
    assert_eq!(
        arrays,
        [
            expected("digits.bias", [7.0, 8.0]),
            expected("digits.running_mean", [1.0, 2.0]),
            expected("digits.running_var", [3.0, 4.0]),
            expected("digits.weight", [5.0, 6.0]),
            expected("five.bias", [7.0, 8.0]),
            expected("five.running_mean", [0.5, 1.0]),
            expected("five.running_var", [1.5, 2.0]),
            expected("five.weight", [5.0, 6.0]),
            expected("zero.running_mean", [1.0, 2.0]),
            expected("zero.running_var", [3.0, 4.0]),
        ]
    );
    assert!(error.contains("zero (BatchNorm) has the factor 0") && error.lines().count() == 1, "{error}");
    let (_, again) = imported(&folder);
    let model = caffemodel::Model::from_bytes(again, "again", Some(caffemodel::Kind::Net)).unwrap();
    let values = |layer: usize| {
        let blobs = 0..model.layers()[layer].blobs().len();
        blobs.map(|blob| floats_at(&model, caffemodel::At::data(layer, blob))).collect::<Vec<_>>()
    };
    assert_eq!(values(0), [vec![1.0, 2.0], vec![3.0, 4.0], vec![1.0]], "any Caffe reads the factor 1 so");
    assert_eq!(values(1), [vec![0.5, 1.0], vec![1.5, 2.0], vec![1.0], vec![5.0, 6.0], vec![7.0, 8.0]]);
    assert_eq!(values(2), [vec![5.0, 6.0], vec![7.0, 8.0], vec![1.0, 2.0], vec![3.0, 4.0], vec![0.0]]);
}
