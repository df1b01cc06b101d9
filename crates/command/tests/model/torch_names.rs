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
    assert_eq!(folder.model(&["export", &file, "--to", "safetensors", "--names", "torch"]).0, 0);
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
