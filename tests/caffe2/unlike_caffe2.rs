//! Faults of Caffe2 that are not repeated: each test fails if the fault is there.

use crate::handles::*;
use crate::objects::*;

/// Writes all bytes that the tensor reports, and compares them with a copy's.
fn all_bytes_are_there(tensor: &Tensor, what: &str) {
    let info = tensor.info();
    assert!(info.capacity_nbytes >= info.nbytes, "{what}: {} bytes of {}", info.capacity_nbytes, info.nbytes);
    let data = tensor.mutable_raw().unwrap();
    unsafe { data.write_bytes(7, info.nbytes) };
    let copy = Tensor::new();
    copy.copy_from(tensor).unwrap();
    let copied = unsafe { std::slice::from_raw_parts(copy.raw_data().unwrap(), info.nbytes) };
    assert!(copied.iter().all(|&byte| byte == 7), "{what}");
}

#[test]
fn a_type_of_another_size_is_another_type_in_spite_of_its_id() {
    let tensor = Tensor::of(&[6]);
    let small = tensor.mutable::<u8>(&float()).unwrap();
    let large = TypeMeta { itemsize: 4096, ..float() };
    assert_eq!(tensor.data::<u8>(&large), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert!(tensor.mutable::<u8>(&large) != Ok(small) && tensor.is_type(&large) && !tensor.is_type(&float()));
    all_bytes_are_there(&tensor, "the larger type");
}

#[test]
fn a_constructor_that_fails_leaves_the_tensor_and_the_blob_as_they_were() {
    let tensor = Tensor::of(&[3]);
    let data = tensor.mutable::<u8>(&float()).unwrap();
    REFUSES.set(true);
    assert_refused(tensor.mutable::<u8>(&object()), SYNCEDMEM_ERROR_INVALID_STATE, "construct of Object");
    assert_eq!(tensor.data(&float()), Ok(data.cast_const()));
    let blob = Blob::new();
    let (value, _) = blob.get_mutable::<u8>(&float()).unwrap();
    REFUSES.set(true);
    assert_eq!(blob.get_mutable::<u8>(&object()), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!((blob.get(&float()), ALIVE.get()), (Ok(value), 0));
}

#[test]
fn a_copy_that_fails_leaves_dimensions_and_type_and_every_object_is_ended() {
    let (tensor, source) = (Tensor::of(&[3]), Tensor::of(&[4]));
    let data = tensor.mutable::<u8>(&float()).unwrap();
    source.mutable::<u8>(&object()).unwrap();
    REFUSES.set(true);
    assert_eq!(tensor.copy_from(&source), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!((tensor.data(&float()), tensor.dims()), (Ok(data.cast_const()), vec![3]));
    REFUSES.set(true);
    assert_eq!(source.reserve(&[9]), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!((source.info().capacity_nbytes, ALIVE.get()), (16, 4));
    let no_copy = TypeMeta { copy: None, ..object() };
    let unique = Tensor::of(&[4]);
    unique.mutable::<u8>(&no_copy).unwrap();
    assert_eq!(tensor.copy_from(&unique), Err(SYNCEDMEM_ERROR_UNSUPPORTED));
    drop((tensor, source, unique));
    assert_eq!(ALIVE.get(), 0);
}

#[test]
fn objects_stay_where_they_are_and_their_memory_is_not_lent() {
    let tensor = Tensor::of(&[3]);
    tensor.mutable::<u8>(&object()).unwrap();
    assert_eq!(tensor.memory(), Err(SYNCEDMEM_ERROR_UNSUPPORTED));
}
