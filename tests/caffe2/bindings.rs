//! Functions for bindings: attachments, the number of a shape's changes, memory by DLPack, and the deleter of a released value.

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

use crate::handles::*;
use crate::objects::*;
use crate::support::tensor::Theirs;
use crate::support::*;

fn attach_with(tensor: &Tensor, pointer: usize, deleter: syncedmem_deleter_t, context: *mut c_void) -> usize {
    let pointer = without_provenance_mut(pointer);
    let attach = |attached: &mut _| unsafe { syncedmem_tensor_attach(tensor.0, pointer, deleter, context, attached) };
    ask(null_mut(), attach).unwrap().addr()
}

fn attach(tensor: &Tensor, pointer: usize, lent: &Lent) -> usize {
    attach_with(tensor, pointer, lent.deleter(), lent.context())
}

#[test]
fn the_first_attachment_stays_and_comes_back_with_the_last_holder() {
    let lent = Lent::default();
    let tensor = Tensor::of(&[3]);
    assert_eq!(attach(&tensor, 0, &lent), 0);
    assert_eq!(attach(&tensor, 0x40, &lent), 0x40);
    assert_eq!(attach(&tensor, 0x80, &lent), 0x40);
    let other = tensor.clone();
    drop(tensor);
    assert_eq!((attach(&other, 0, &lent), lent.returned()), (0x40, vec![]));
    drop(other);
    assert_eq!(lent.returned(), [0x40]);
}

#[test]
fn threads_that_attach_at_once_agree() {
    let tensor = Tensor::new();
    let attached = at_once(4, |thread| attach_with(&tensor, thread + 1, None, null_mut()));
    assert!(attached[0] != 0 && attached.iter().all(|each| *each == attached[0]));
}

#[test]
fn a_blob_has_an_attachment_too() {
    let lent = Lent::default();
    let blob = Blob::new();
    let (pointer, deleter, context) = (without_provenance_mut(0x40), lent.deleter(), lent.context());
    let attach = |attached: &mut _| unsafe { syncedmem_typed_blob_attach(blob.0, pointer, deleter, context, attached) };
    assert_eq!(ask(null_mut(), attach), Ok(pointer));
    drop(blob);
    assert_eq!(lent.returned(), [0x40]);
}

#[test]
fn the_number_of_a_shape_differs_after_every_change_also_after_an_exchange() {
    let (tensor, other) = (Tensor::of(&[4, 2]), Tensor::of(&[9]));
    let mut before = vec![tensor.info().changes];
    let mut differs = |what: &str| {
        let now = tensor.info().changes;
        assert!(!before.contains(&now), "{what}");
        before.push(now);
    };
    tensor.mutable::<f32>(&float()).unwrap();
    tensor.resize(&[8]).unwrap();
    differs("resize");
    tensor.shrink(5).unwrap();
    differs("shrink");
    tensor.extend(2, 0.0).unwrap();
    differs("extend");
    unsafe { syncedmem_tensor_swap(tensor.0, other.0) };
    differs("swap");
}

fn share(tensor: &Tensor, theirs: &mut Theirs) -> syncedmem_status_t {
    let dlpack = std::ptr::from_mut(&mut *theirs.managed).cast();
    unsafe { syncedmem_tensor_share_dlpack(tensor.0, &float(), dlpack, true) }
}

#[test]
fn memory_of_dlpack_comes_back_with_the_last_tensor_that_shares_it() {
    let mut memory = [1.0_f32, 2.0, 3.0, 4.0];
    let mut theirs = Theirs::of(memory.as_mut_ptr().cast(), 16);
    let (tensor, other) = (Tensor::of(&[2, 2]), Tensor::of(&[4]));
    assert_eq!(share(&tensor, &mut theirs), SYNCEDMEM_SUCCESS);
    assert_eq!((tensor.info().shares_data, tensor.info().capacity_nbytes), (true, 16));
    other.share_data(&tensor).unwrap();
    assert_eq!(other.data::<f32>(&float()), Ok(memory.as_ptr()));
    drop(tensor);
    assert_eq!(theirs.deleted(), 0);
    drop(other);
    assert_eq!(theirs.deleted(), 1);
}

#[test]
fn memory_of_dlpack_that_does_not_fit_stays_its_makers() {
    let mut memory = [0.0_f32; 4];
    let mut theirs = Theirs::of(memory.as_mut_ptr().cast(), 16);
    assert_eq!(share(&Tensor::of(&[5]), &mut theirs), SYNCEDMEM_ERROR_INVALID_ARGUMENT, "of 20 bytes");
    assert_eq!(share(&Tensor::new(), &mut theirs), SYNCEDMEM_ERROR_INVALID_STATE, "without a shape");
    theirs.managed.tensor.device = (2, 0);
    assert_eq!(share(&Tensor::of(&[4]), &mut theirs), SYNCEDMEM_ERROR_INVALID_ARGUMENT, "on the device");
    assert_eq!(theirs.deleted(), 0);
}

#[test]
fn a_released_value_has_its_deleter_and_what_that_gets() {
    let lent = Lent::default();
    let blob = Blob::new();
    let mut value = 5_u32;
    let (pointer, context): (*mut c_void, _) = ((&raw mut value).cast(), lent.context());
    blob.reset(&mut value, &meta(SYNCEDMEM_UINT32), lent.deleter(), context);
    let release = |(value, deleter, gets): &mut (_, *mut c_void, _)| unsafe {
        syncedmem_typed_blob_release(blob.0, value, deleter, gets)
    };
    let released =
        || ask((null_mut(), null_mut(), null_mut()), release).map(|(value, by, gets)| (value, by.addr(), gets));
    let address = lent.deleter().map_or(0, |deleter| deleter as usize);
    assert_eq!(released(), Ok((pointer, address, context)));
    assert_eq!(released(), Ok((pointer, 0, null_mut())), "it is the caller's already");
    drop(blob);
    assert_eq!(lent.returned(), Vec::<usize>::new());
}

#[test(alone)]
fn a_tensor_that_was_taken_out_of_an_item_or_a_value_leaves_null_there() {
    let take = |item: *mut *mut syncedmem_tensor_t| drop(Tensor(unsafe { item.replace(null_mut()) }));
    let (tensor, blob) = (Tensor::of(&[2]), Blob::new());
    let items = tensor.mutable::<*mut syncedmem_tensor_t>(&tensor_meta(HOST)).unwrap();
    take(items);
    assert_eq!(Tensor::new().copy_from(&tensor), Err(SYNCEDMEM_ERROR_INVALID_STATE), "there is nothing to copy");
    let (value, _) = blob.get_mutable::<*mut syncedmem_tensor_t>(&tensor_meta(HOST)).unwrap();
    take(value);
    assert_eq!(blob.tensor().map(drop), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!(blob.mutable_tensor(HOST).map(drop), Err(SYNCEDMEM_ERROR_INVALID_STATE));
}
