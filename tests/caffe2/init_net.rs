//! Caffe2's saved weights, read into a workspace.

use std::ffi::CString;

use crate::handles::*;

/// A field of protobuf that holds bytes.
fn bytes(number: u8, contents: &[u8]) -> Vec<u8> {
    assert!(contents.len() < 128, "its length is one byte");
    [&[number << 3 | 2, contents.len() as u8], contents].concat()
}

fn argument(name: &str, values: &[u8]) -> Vec<u8> {
    bytes(5, &[bytes(1, name.as_bytes()), values.to_vec()].concat())
}

pub fn shape(dims: &[u8]) -> Vec<u8> {
    let ints: Vec<u8> = dims.iter().flat_map(|&dim| [6 << 3, dim]).collect();
    argument("shape", &ints)
}

pub fn floats(values: &[f32]) -> Vec<u8> {
    let all: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    argument("values", &bytes(5, &all))
}

/// An operator that fills a tensor.
pub fn operator(output: &str, of: &str, arguments: &[Vec<u8>]) -> Vec<u8> {
    bytes(2, &[bytes(2, output.as_bytes()), bytes(4, of.as_bytes()), arguments.concat()].concat())
}

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

fn weights_become_the_tensors_of_blobs_of_their_names() {
    let workspace = Workspace::new();
    let old = workspace.create("fc_b").unwrap().mutable_tensor(HOST).unwrap().0;
    old.resize(&[9]).unwrap();
    let ints = argument("values", &[6 << 3, 7, 6 << 3, 9]);
    load(
        &workspace,
        &[
            operator("fc_w", "GivenTensorFill", &[shape(&[2, 3]), floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.5])]),
            operator("fc_b", "GivenTensorInt64Fill", &[shape(&[2]), ints]),
            operator("data", "ConstantFill", &[shape(&[1])]),
            operator("none", "GivenTensorFill", &[shape(&[0, 3]), floats(&[])]),
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
    // A holder of the earlier tensor keeps that tensor.
    assert_eq!(old.dims(), [9]);
}

fn a_file_that_is_refused_changes_no_value() {
    let workspace = Workspace::new();
    let kept = workspace.create("w").unwrap().mutable_tensor(HOST).unwrap().0;
    let good = || operator("w", "GivenTensorFill", &[shape(&[1]), floats(&[1.0])]);
    let files = [
        (operator("r", "XavierFill", &[shape(&[1])]), SYNCEDMEM_ERROR_UNSUPPORTED, "XavierFill"),
        (operator("s", "GivenTensorStringFill", &[shape(&[0])]), SYNCEDMEM_ERROR_UNSUPPORTED, "texts"),
        (operator("m", "GivenTensorFill", &[shape(&[2]), floats(&[1.0])]), SYNCEDMEM_ERROR_FORMAT, "m"),
        (vec![2 << 3 | 2, 100], SYNCEDMEM_ERROR_FORMAT, "init_net.pb"),
    ];
    for (bad, status, word) in files {
        assert_eq!(load(&workspace, &[good(), bad]), Err(status), "{}", last_error());
        assert!(last_error().contains(word), "{}", last_error());
        assert_eq!(workspace.get("w").unwrap().tensor().unwrap().0, kept.0);
    }
    assert_eq!(load_path(&workspace, "/nowhere/init_net.pb"), Err(SYNCEDMEM_ERROR_FILE));
}

crate::support::harness::tests![
    weights_become_the_tensors_of_blobs_of_their_names,
    a_file_that_is_refused_changes_no_value,
];
