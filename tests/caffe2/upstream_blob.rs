//! The upstream tests of blobs, types and workspaces, by their names in Caffe2 v0.8.1 and its last commits.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::handles::*;

static FOO_ID: u8 = 1;
static BAR_ID: u8 = 2;

/// A caller's type of one byte.
fn foo() -> TypeMeta {
    TypeMeta { id: (&raw const FOO_ID).cast(), name: c"Foo".as_ptr(), itemsize: 1, ..TypeMeta::NONE }
}

fn bar() -> TypeMeta {
    TypeMeta { id: (&raw const BAR_ID).cast(), name: c"Bar".as_ptr(), ..foo() }
}

fn int() -> TypeMeta {
    meta(SYNCEDMEM_INT32)
}

unsafe extern "C-unwind" fn count(_value: *mut c_void, counter: *mut c_void) {
    unsafe { &*counter.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
}

fn counter(count: &AtomicUsize) -> *mut c_void {
    std::ptr::from_ref(count).cast_mut().cast()
}

fn blob_holds_a_value_of_the_last_type() {
    let blob = Blob::new();
    for (is, is_not) in [(int(), foo()), (foo(), int())] {
        blob.get_mutable::<u8>(&is).unwrap();
        assert!(blob.is_type(&is) && !blob.is_type(&is_not));
    }
}

fn blob_new_object_flag() {
    let blob = Blob::new();
    for meta in [int(), foo()] {
        let (value, is_new) = blob.get_mutable::<u8>(&meta).unwrap();
        assert!(is_new && all_zero(value, meta.itemsize));
        assert_eq!(blob.get_mutable(&meta), Ok((value, false)));
    }
}

fn blob_uninitialized() {
    assert_eq!(Blob::new().get::<u8>(&int()), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert!(last_error().contains("no type") && last_error().contains("int32"), "{}", last_error());
}

fn blob_wrong_type_and_casting_message() {
    let blob = Blob::new();
    blob.get_mutable::<u8>(&foo()).unwrap();
    assert!(!blob.get::<u8>(&foo()).unwrap().is_null());
    assert_eq!(blob.get::<u8>(&bar()), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert!(last_error().contains("Foo") && last_error().contains("Bar"), "{}", last_error());
}

fn blob_reset() {
    let (ends, mut value, blob) = (AtomicUsize::new(0), 7u8, Blob::new());
    blob.reset(&mut value, &foo(), Some(count), counter(&ends));
    assert_eq!((blob.get(&foo()), ends.load(Ordering::Relaxed)), (Ok(&raw mut value), 0));
    blob.empty();
    assert_eq!((blob.get_raw(), ends.load(Ordering::Relaxed)), (null_mut(), 1));
    assert!(blob.meta().is_none());
    blob.reset(&mut value, &foo(), Some(count), counter(&ends));
    drop(blob);
    assert_eq!(ends.load(Ordering::Relaxed), 2);
}

fn blob_move_is_a_swap_of_values() {
    let (ends, mut value) = (AtomicUsize::new(0), 7u8);
    let (one, other) = (Blob::new(), Blob::new());
    one.reset(&mut value, &foo(), Some(count), counter(&ends));
    one.swap(&other);
    assert!(one.get::<u8>(&foo()).is_err());
    assert_eq!(other.get(&foo()), Ok(&raw mut value));
    other.swap(&other);
    assert_eq!((other.get(&foo()), ends.load(Ordering::Relaxed)), (Ok(&raw mut value), 0));
}

fn blob_share_external_pointer_and_object() {
    let (mut value, blob) = (7u8, Blob::new());
    blob.reset(&mut value, &foo(), None, null_mut());
    assert_eq!((blob.get(&foo()), blob.is_type(&foo())), (Ok(&raw mut value), true));
    blob.empty();
    assert_eq!(value, 7);
}

fn type_meta_static_names_and_default() {
    assert!(TypeMeta::NONE.is_none() && TypeMeta::NONE != int());
    assert!(int() == int() && int() != float() && foo() != bar());
    assert_eq!((int().itemsize, float().itemsize, meta(SYNCEDMEM_BOOL).itemsize), (4, 4, 1));
    assert_eq!(unsafe { CStr::from_ptr(int().name) }, c"int32");
}

fn workspace_blob_access() {
    let workspace = Workspace::new();
    assert!(!workspace.has("none") && workspace.get("none").is_none() && workspace.get("new").is_none());
    let made = workspace.create("new").unwrap();
    assert_eq!((workspace.get("new").unwrap().0, workspace.has("new")), (made.0, true));
    assert!(!workspace.has("none") && workspace.get("none").is_none());
    made.get_mutable::<i32>(&int()).unwrap();
    assert!(made.is_type(&int()) && !made.is_type(&foo()));
    assert_eq!(workspace.create("new").unwrap().0, made.0);
    assert!(made.is_type(&int()));
    assert!(!workspace.remove("none") && workspace.has("new") && workspace.remove("new") && !workspace.has("new"));
}

fn workspace_sharing() {
    let parent = Workspace::new();
    assert!(!parent.has("a"));
    let made = parent.create("a").unwrap();
    let child = Workspace::over(&parent);
    assert_eq!((child.has("a"), child.get("a").unwrap().0), (true, made.0));
    assert!(!child.has("b") && child.get("b").is_none());
    child.create("b").unwrap();
    assert!(child.has("b") && !parent.has("b") && parent.get("b").is_none());
    parent.create("b").unwrap();
    assert_ne!(child.get("b").unwrap().0, parent.get("b").unwrap().0);
}

fn workspace_blob_mapping() {
    let parent = Workspace::new();
    assert!(!parent.has("a"));
    let a = parent.create("a").unwrap();
    let child = Workspace::new();
    child.map("b", &parent, "a", false).unwrap();
    assert!(!child.has("a") && child.get("a").is_none());
    assert_eq!((child.has("b"), child.get("b").unwrap().0), (true, a.0));
    assert!(!parent.has("b") && parent.get("b").is_none());
    // Names are looked up at each use.
    assert!(parent.remove("a") && !child.has("b") && child.names(false).is_empty());
}

crate::support::harness::tests![
    blob_holds_a_value_of_the_last_type,
    blob_new_object_flag,
    blob_uninitialized,
    blob_wrong_type_and_casting_message,
    blob_reset,
    blob_move_is_a_swap_of_values,
    blob_share_external_pointer_and_object,
    type_meta_static_names_and_default,
    workspace_blob_access,
    workspace_sharing,
    workspace_blob_mapping,
];
