//! Caffe2's saved weights, read into a workspace.

use std::ffi::CString;

use crate::handles::*;
use crate::wire::{bytes, dims, float_values, int_values, operator};

fn load(workspace: &Workspace, operators: &[Vec<u8>]) -> Answer {
    let folder = Folder::new();
    let path = folder.path("init_net.pb");
    std::fs::write(&path, [bytes(1, b"weights"), operators.concat()].concat()).unwrap();
    load_path(workspace, path.to_str().unwrap())
}

fn load_path(workspace: &Workspace, path: &str) -> Answer {
    let path = CString::new(path).unwrap();
    done(unsafe { syncedmem_workspace_load_init_net(workspace.0, path.as_ptr()) })
}

#[test]
fn weights_become_the_tensors_of_blobs_of_their_names() {
    let workspace = Workspace::new();
    let old = workspace.create("fc_b").unwrap().mutable_tensor(HOST).unwrap().0;
    old.resize(&[9]).unwrap();
    load(
        &workspace,
        &[
            operator("fc_w", "GivenTensorFill", &[dims(&[2, 3]), float_values(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.5])]),
            operator("fc_b", "GivenTensorInt64Fill", &[dims(&[2]), int_values(&[7, 9])]),
            operator("data", "ConstantFill", &[dims(&[1])]),
            operator("none", "GivenTensorFill", &[dims(&[0, 3]), float_values(&[])]),
        ],
    )
    .unwrap();
    assert_eq!(workspace.names(true), ["data", "fc_b", "fc_w", "none"]);
    let tensor = |name: &str| workspace.get(name).unwrap().tensor().unwrap();
    let weights = unsafe { tensor("fc_w").data::<[f32; 6]>(&float()).unwrap().read() };
    assert_eq!((tensor("fc_w").dims(), weights), (vec![2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.5]));
    let bias = unsafe { tensor("fc_b").data::<[i64; 2]>(&meta(SYNCEDMEM_INT64)).unwrap().read() };
    assert_eq!((tensor("fc_b").dims(), bias), (vec![2], [7, 9]));
    assert_eq!((tensor("none").dims(), tensor("none").is_type(&float())), (vec![0, 3], true));
    // A reference to the earlier tensor keeps that tensor.
    assert_eq!(old.dims(), [9]);
}

#[test]
fn a_file_that_is_refused_changes_no_value() {
    let workspace = Workspace::new();
    let kept = workspace.create("w").unwrap().mutable_tensor(HOST).unwrap().0;
    let good = || operator("w", "GivenTensorFill", &[dims(&[1]), float_values(&[1.0])]);
    let files = [
        (operator("r", "XavierFill", &[dims(&[1])]), SYNCEDMEM_ERROR_UNSUPPORTED, "XavierFill"),
        (operator("s", "GivenTensorStringFill", &[dims(&[0])]), SYNCEDMEM_ERROR_UNSUPPORTED, "texts"),
        (operator("m", "GivenTensorFill", &[dims(&[2]), float_values(&[1.0])]), SYNCEDMEM_ERROR_FORMAT, "m"),
        (operator("q", "Int8GivenIntTensorFill", &[dims(&[0])]), SYNCEDMEM_ERROR_UNSUPPORTED, "q is quantized"),
        (vec![2 << 3 | 2, 100], SYNCEDMEM_ERROR_FORMAT, "init_net.pb"),
    ];
    for (bad, status, word) in files {
        assert_eq!(load(&workspace, &[good(), bad]), Err(status), "{}", last_error());
        assert!(last_error().contains(word), "{}", last_error());
        assert_eq!(workspace.get("w").unwrap().tensor().unwrap().0, kept.0);
    }
    assert_eq!(load_path(&workspace, "/nowhere/init_net.pb"), Err(SYNCEDMEM_ERROR_FILE));
}
