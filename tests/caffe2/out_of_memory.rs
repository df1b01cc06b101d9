//! Every allocation of every operation fails in turn, alone and with all that follow: each time the status says so, nothing that
//! can be seen has changed, and the same call succeeds afterwards.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::ptr::null_mut;

use crate::allocator;
use crate::handles::*;
use crate::objects::object;
use crate::wire::{dims, float_values, operator};

fn every_allocation<S, L: PartialEq + std::fmt::Debug>(
    at_least: usize,
    prepare: impl Fn() -> S,
    look: impl Fn(&S) -> L,
    operation: impl Fn(&S) -> Answer,
) {
    allocator::every_allocation(at_least, Ok(()), prepare, look, |world| operation(world));
}

/// Dimensions, type, memory and contents of a tensor.
fn seen(tensor: &Tensor) -> (Vec<i64>, bool, usize, Option<Vec<u8>>) {
    let info = tensor.info();
    let data = tensor.raw_data().ok().filter(|data| !data.is_null());
    let bytes = data.map(|data| unsafe { std::slice::from_raw_parts(data, info.capacity_nbytes) }.to_vec());
    (tensor.dims(), info.shares_data, info.capacity_nbytes, bytes)
}

fn filled(dims: &[i64], meta: &TypeMeta) -> Tensor {
    let tensor = Tensor::of(dims);
    let data = tensor.mutable::<u8>(meta).unwrap();
    (0..tensor.info().nbytes).for_each(|at| unsafe { data.add(at).write(at as u8) });
    tensor
}

#[test]
fn new_handles() {
    every_allocation(1, || (), |()| (), |()| Tensor::on(HOST).map(drop));
    let cpu = |(): &()| {
        let mut data = null_mut();
        let status = unsafe { syncedmem_cpu_new(100, &mut data) };
        unsafe { syncedmem_cpu_delete(data) };
        done(status)
    };
    every_allocation(2, || (), |()| (), cpu);
}

#[test]
fn dimensions_of_a_tensor() {
    every_allocation(1, Tensor::new, seen, |tensor| tensor.resize(&[2, 3, 4]));
    every_allocation(1, || Tensor::of(&[6]), seen, |tensor| tensor.reshape(&[1, 1, 1, 1, 1, 1, 2, 3]));
}

#[test]
fn memory_of_a_tensor() {
    for (meta, other) in [(meta(SYNCEDMEM_FLOAT64), float()), (object(), float())] {
        every_allocation(3, || Tensor::of(&[6]), seen, |tensor| tensor.mutable::<u8>(&meta).map(drop));
        every_allocation(3, || filled(&[6], &other), seen, |tensor| tensor.mutable::<u8>(&meta).map(drop));
        every_allocation(3, || filled(&[6], &meta), seen, |tensor| tensor.reserve(&[60]));
        let extend = |tensor: &Tensor| if tensor.info().size == 6 { tensor.extend(6, 50.0) } else { Ok(()) };
        every_allocation(3, || filled(&[6], &meta), seen, extend);
    }
}

#[test]
fn copies_and_shares_of_a_tensor() {
    let pair = || (filled(&[6], &float()), filled(&[2, 3, 2, 1, 1, 1], &meta(SYNCEDMEM_FLOAT64)));
    let look = |(one, other): &(Tensor, Tensor)| (seen(one), seen(other));
    every_allocation(4, pair, look, |(one, other)| one.copy_from(other));
    every_allocation(0, || (Tensor::of(&[12]), pair().1), look, |(one, other)| one.share_data(other));
    static MEMORY: [u64; 6] = [7; 6];
    unsafe extern "C-unwind" fn keep(_: *mut std::ffi::c_void, _: *mut std::ffi::c_void) {}
    let share =
        |tensor: &Tensor| tensor.share_external(MEMORY.as_ptr().cast_mut(), &float(), 48, Some(keep), null_mut());
    every_allocation(3, || filled(&[6], &float()), seen, share);
}

#[test]
fn values_of_a_blob() {
    let look = |blob: &Blob| (blob.get_raw(), blob.meta().id);
    let with_value = || {
        let blob = Blob::new();
        blob.get_mutable::<u8>(&float()).unwrap();
        blob
    };
    every_allocation(1, with_value, look, |blob| blob.get_mutable::<u8>(&object()).map(drop));
    every_allocation(2, with_value, look, |blob| blob.get_mutable::<u8>(&tensor_meta(HOST)).map(drop));
    every_allocation(2, with_value, look, |blob| blob.mutable_tensor(HOST).map(drop));
    let tensor = Tensor::new();
    every_allocation(1, with_value, look, |blob| blob.set_tensor(&tensor));
}

#[test]
fn names_of_a_workspace() {
    let two = || {
        let (one, other) = (Workspace::new(), Workspace::new());
        drop((one.create("a"), other.create("b")));
        (one, other)
    };
    let look = |(one, other): &(Workspace, Workspace)| (one.names(false), other.names(false));
    let name = CString::new("new").unwrap();
    let create = |(one, _): &(Workspace, Workspace)| {
        let mut blob = null_mut();
        let status = unsafe { syncedmem_workspace_create_blob(one.0, name.as_ptr(), &mut blob) };
        answer(status, blob).map(|blob| drop(Blob(blob)))
    };
    every_allocation(3, two, look, create);
    // The test allocates its own strings before, because those allocations must not fail.
    let (old, new) = (CString::new("a").unwrap(), CString::new("c").unwrap());
    let rename = |(one, _): &(Workspace, Workspace)| {
        done(unsafe { syncedmem_workspace_rename_blob(one.0, old.as_ptr(), new.as_ptr(), null_mut()) })
    };
    every_allocation(2, two, look, rename);
    let map = |(one, other): &(Workspace, Workspace)| {
        done(unsafe { syncedmem_workspace_add_blob_mapping(one.0, c"c".as_ptr(), other.0, c"b".as_ptr(), false) })
    };
    every_allocation(4, two, look, map);
    unsafe extern "C-unwind" fn ignore(
        _: *const std::ffi::c_char,
        _: *mut syncedmem_typed_blob_t,
        _: usize,
        _: *mut std::ffi::c_void,
    ) {
    }
    let list = |(one, _): &(Workspace, Workspace)| {
        done(unsafe { syncedmem_workspace_blobs(one.0, false, Some(ignore), null_mut()) })
    };
    every_allocation(3, two, look, list);
}

#[test]
fn weights_of_a_file() {
    let folder = Folder::new();
    let path = CString::new(folder.path("init_net.pb").into_os_string().into_vec()).unwrap();
    let float = |name| operator(name, "GivenTensorFill", &[dims(&[2]), float_values(&[1.0, 2.0])]);
    std::fs::write(folder.path("init_net.pb"), [float("a"), float("b")].concat()).unwrap();
    let load = |workspace: &Workspace| done(unsafe { syncedmem_workspace_load_init_net(workspace.0, path.as_ptr()) });
    // New blobs may be there, which are empty.
    let look = |workspace: &Workspace| workspace.get("a").map_or(std::ptr::null(), |blob| blob.get_raw());
    every_allocation(20, Workspace::new, look, load);
}
