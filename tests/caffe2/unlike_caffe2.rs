//! Faults of Caffe2 that are not repeated: each test fails if the fault is there.

use std::ptr::null_mut;

use crate::handles::*;
use crate::objects::*;

#[test]
fn a_copy_of_as_many_larger_items_gets_memory_for_them() {
    let (small, large) = (Tensor::of(&[6]), Tensor::of(&[2, 3]));
    small.mutable::<u8>(&float()).unwrap();
    let data = large.mutable::<f64>(&meta(SYNCEDMEM_FLOAT64)).unwrap();
    (0..6).for_each(|at| unsafe { data.add(at).write(at as f64) });
    small.copy_from(&large).unwrap();
    assert_eq!((small.info().capacity_nbytes, small.info().nbytes, small.dims()), (48, 48, vec![2, 3]));
    let copied = small.data::<f64>(&meta(SYNCEDMEM_FLOAT64)).unwrap();
    assert!((0..6).all(|at| unsafe { copied.add(at).read() } == at as f64));
}

#[test]
fn a_type_changed_while_there_are_no_items_hands_out_constructed_objects_later() {
    let tensor = Tensor::of(&[6]);
    tensor.mutable::<u8>(&float()).unwrap();
    tensor.resize(&[0]).unwrap();
    assert_eq!(tensor.mutable::<u8>(&object()), Ok(null_mut()));
    tensor.resize(&[6]).unwrap();
    assert_eq!(tensor.raw_data(), Err(SYNCEDMEM_ERROR_INVALID_STATE), "floats are no objects");
    let data = tensor.mutable::<[u8; 4]>(&object()).unwrap();
    assert!((0..6).all(|at| unsafe { data.add(at).read() } == BORN));
    // Objects that a shrink removes stay in the memory, and an extend finds them again.
    tensor.shrink(2).unwrap();
    tensor.extend(4, 0.0).unwrap();
    assert_eq!((tensor.mutable(&object()), ALIVE.get()), (Ok(data), 6));
    drop(tensor);
    assert_eq!(ALIVE.get(), 0);
}

#[test(alone, ("SYNCEDMEM_HOST_LIMIT", "64K"))]
fn reserve_and_extend_keep_the_items_where_memory_runs_out() {
    let tensor = Tensor::of(&[4, 1000]);
    let data = tensor.mutable::<u8>(&float()).unwrap();
    unsafe { data.write_bytes(7, 16000) };
    assert_eq!(tensor.reserve(&[100, 1000]), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert_eq!(tensor.extend(100, 0.0), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert_eq!((tensor.dims(), tensor.mutable(&float())), (vec![4, 1000], Ok(data)));
    assert!((0..16000).all(|at| unsafe { data.add(at).read() } == 7));
}

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
fn memory_that_is_reserved_has_room_for_the_items_too() {
    type Loses = (&'static str, fn(&Tensor));
    let loses: [Loses; 3] = [
        ("resize", |tensor| tensor.resize(&[1000]).unwrap()),
        ("free", |tensor| {
            tensor.extend(999, 0.0).unwrap();
            tensor.free_memory();
        }),
        ("free, extend", |tensor| {
            tensor.free_memory();
            tensor.extend(999, 0.0).unwrap();
        }),
    ];
    for (what, loses_memory) in loses {
        for room in [1, 999, 1000, 1001] {
            let tensor = Tensor::of(&[1]);
            tensor.mutable::<f64>(&meta(SYNCEDMEM_FLOAT64)).unwrap();
            loses_memory(&tensor);
            tensor.reserve(&[room]).unwrap();
            assert_eq!(tensor.info().capacity_nbytes, 8 * room.max(1000) as usize, "{what}");
            all_bytes_are_there(&tensor, what);
            tensor.extend(500, 10.0).unwrap();
            all_bytes_are_there(&tensor, what);
        }
    }
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
