//! Rules of blobs and workspaces, and faults of Caffe2's that are not repeated.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;

use crate::handles::*;
use crate::objects::*;

const REFUSED: syncedmem_status_t = SYNCEDMEM_ERROR_INVALID_ARGUMENT;

#[test]
fn each_visible_name_is_listed_once() {
    let parent = Workspace::new();
    let child = Workspace::over(&parent);
    ["b", "a"].iter().for_each(|name| drop(parent.create(name)));
    ["c", "a"].iter().for_each(|name| drop(child.create_local(name)));
    assert!(child.names(true) == ["a", "c"] && child.names(false) == ["a", "b", "c"]);
    // Only the local one is removed.
    assert!(child.remove("a") && !child.remove("a") && child.has("a"));
    child.create_local("a").unwrap();
    let (other, _far) = (Workspace::new(), Workspace::new());
    other.create("far").unwrap();
    child.map("near", &other, "far", false).unwrap();
    assert!(child.names(true).len() == 2 && child.names(false) == ["a", "b", "c", "near"]);
}

#[test]
fn a_mapping_needs_a_blob_there_and_a_name_that_is_free_here() {
    let (from, to) = (Workspace::new(), Workspace::new());
    ["a", "b"].iter().for_each(|name| drop(from.create(name)));
    to.create("here").unwrap();
    assert_eq!(to.map("x", &from, "none", true), Err(REFUSED));
    assert_eq!(to.map("here", &from, "a", false), Err(REFUSED));
    assert_eq!(to.map("x", &to, "here", false), Err(REFUSED));
    assert!(!to.has("x"));
    to.map("x", &from, "a", false).unwrap();
    to.map("here", &from, "b", true).unwrap();
    assert_eq!(to.get("x").unwrap().0, from.get("a").unwrap().0);
    assert_ne!(to.get("here").unwrap().0, from.get("b").unwrap().0);
    // The same mapping again is no error; another target is.
    assert_eq!(to.map("x", &from, "a", false), Ok(()));
    assert_eq!(to.map("x", &from, "b", true), Err(REFUSED));
}

#[test]
fn a_circle_of_mappings_leads_to_no_blob() {
    let (one, other) = (Workspace::new(), Workspace::new());
    one.create("a").unwrap();
    other.map("b", &one, "a", false).unwrap();
    other.create("c").unwrap();
    one.map("d", &other, "c", false).unwrap();
    // The local blobs at the ends go, and mappings take their names.
    assert!(one.rename("a", "kept").is_ok());
    one.map("a", &other, "c", false).unwrap();
    assert!(other.remove("c"));
    assert!(!one.has("a") && !other.has("b"));
    assert_eq!(other.map("c", &one, "a", false), Err(REFUSED));
    other.create("c").unwrap();
    other.map("e", &one, "a", false).unwrap();
    assert!(one.has("a") && other.has("e"));
}

#[test]
fn a_workspace_holds_its_parent_and_a_long_chain_of_them_ends_in_a_loop() {
    let mut last = Workspace::new();
    let blob = last.create("a").unwrap();
    for _ in 0..500 {
        // From here on only the child has a reference to the parent.
        last = Workspace::over(&last);
    }
    assert_eq!(last.get("a").unwrap().0, blob.0);
    for _ in 0..200_000 {
        last = Workspace::over(&last);
    }
    drop(last);
}

#[test]
fn a_tensor_is_found_through_its_type_as_the_address_of_a_handle() {
    let (blob, tensor) = (Blob::new(), Tensor::of(&[2]));
    blob.set_tensor(&tensor).unwrap();
    let at = blob.get::<*mut syncedmem_tensor_t>(&tensor_meta(HOST)).unwrap();
    assert_eq!(unsafe { at.read() }, tensor.0);
    assert!(!blob.is_type(&tensor_meta(DEVICE)));
    // A new tensor of the other side replaces it, and the old one lives on by its other reference.
    let (other, is_new) = blob.mutable_tensor(DEVICE).unwrap();
    assert!(is_new && other.info().side == DEVICE);
    assert_eq!(tensor.dims(), [2]);
    blob.get_mutable::<i32>(&meta(SYNCEDMEM_INT32)).unwrap();
    assert_eq!(blob.tensor().map(drop), Err(REFUSED));
    assert!(last_error().contains("int32"));
    // The functions of its type make it, like any value.
    let (at, is_new) = blob.get_mutable::<*mut syncedmem_tensor_t>(&tensor_meta(HOST)).unwrap();
    assert!(is_new && unsafe { at.read() } == blob.tensor().unwrap().0);
}

#[test]
fn the_bytes_of_all_blobs_count_shared_memory_once() {
    let workspace = Workspace::new();
    let tensors = ["a", "b", "c", "d"].map(|name| workspace.create(name).unwrap().mutable_tensor(HOST).unwrap().0);
    for tensor in &tensors[..3] {
        tensor.resize(&[10]).unwrap();
    }
    tensors[1].mutable::<u8>(&float()).unwrap();
    tensors[2].share_data(&tensors[1]).unwrap();
    tensors[0].mutable::<u8>(&meta(SYNCEDMEM_FLOAT64)).unwrap();
    workspace.create("value").unwrap().get_mutable::<i32>(&meta(SYNCEDMEM_INT32)).unwrap();
    let sizes: Vec<_> = workspace.blobs(true).into_iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(sizes, [80, 40, 0, 0, 0]);
    tensors[1].free_memory();
    let sizes: Vec<_> = workspace.blobs(false).into_iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(sizes, [80, 0, 40, 0, 0]);
}

#[test]
fn objects_in_blobs_are_constructed_once_and_destructed_once() {
    let (blob, other) = (Blob::new(), Blob::new());
    let (value, _) = blob.get_mutable::<[u8; 4]>(&object()).unwrap();
    assert_eq!((unsafe { value.read() }, ALIVE.get(), value.addr() % 64), (BORN, 1, 0));
    assert_eq!((Blob::new().get::<u8>(&object()), last_error().contains("no type")), (Err(REFUSED), true));
    other.swap(&blob);
    other.swap(&other);
    assert_eq!((other.get(&object()), blob.get_raw()), (Ok(value), null_mut()));
    other.get_mutable::<f32>(&float()).unwrap();
    assert_eq!(ALIVE.get(), 0);
}

#[test]
fn callbacks_may_use_the_workspace_that_they_are_called_from() {
    thread_local!(static WORKSPACE: Cell<*mut syncedmem_workspace_t> = const { Cell::new(null_mut()) });
    unsafe extern "C-unwind" fn remove_another(_value: *mut c_void, name: *mut c_void) {
        let mut removed = false;
        let status = unsafe { syncedmem_workspace_remove_blob(WORKSPACE.get(), name.cast(), &mut removed) };
        assert!(status == SYNCEDMEM_SUCCESS && removed);
    }
    let (workspace, mut value) = (Workspace::new(), 1u8);
    WORKSPACE.set(workspace.0);
    workspace.create("b").unwrap();
    let name = c"b".as_ptr().cast_mut().cast();
    workspace.create("a").unwrap().reset(&mut value, &float(), Some(remove_another), name);
    assert!(workspace.remove("a") && workspace.names(true).is_empty());
}

#[test]
fn null_is_refused_where_it_says_nothing() {
    let (blob, mut value) = (Blob::new(), 1u8);
    let reset = |value: *mut u8, meta: *const TypeMeta| unsafe {
        syncedmem_typed_blob_reset(blob.0, value.cast(), meta, None, null_mut())
    };
    assert_eq!(reset(&mut value, &TypeMeta::NONE), REFUSED);
    assert_eq!(reset(null_mut(), std::ptr::null()), SYNCEDMEM_SUCCESS);
    assert_eq!(blob.get_mutable::<u8>(&TypeMeta::NONE), Err(REFUSED));
    let workspace = Workspace::new();
    // The result is optional.
    assert_eq!(unsafe { syncedmem_workspace_remove_blob(workspace.0, c"a".as_ptr(), null_mut()) }, SYNCEDMEM_SUCCESS);
}

#[test]
fn a_tensor_that_was_released_is_not_looked_at_any_more() {
    let workspace = Workspace::new();
    let blob = workspace.create("blob").unwrap();
    let (tensor, _) = blob.mutable_tensor(HOST).unwrap();
    tensor.resize(&[6]).unwrap();
    tensor.mutable::<u8>(&float()).unwrap();
    assert_eq!(workspace.blobs(true), [("blob".to_string(), 24)]);
    let value = blob.release();
    assert_eq!(workspace.blobs(true), [("blob".to_string(), 0)]);
    // Ends the value as the header describes.
    let destruct = tensor_meta(HOST).destruct.unwrap();
    unsafe { destruct(value, 1) };
    unsafe { libc::free(value) };
    assert_eq!(workspace.blobs(true), [("blob".to_string(), 0)]);
}
