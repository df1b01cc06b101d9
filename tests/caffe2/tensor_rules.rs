//! Rules of tensors.

use crate::handles::*;
use crate::objects::*;
use crate::support::tensor::{Ask, FLOATS, export};

const REFUSED: syncedmem_status_t = SYNCEDMEM_ERROR_INVALID_ARGUMENT;

fn alone_of_type(dims: &[i64], meta: &TypeMeta) -> (Tensor, *mut u8) {
    let tensor = Tensor::of(dims);
    let data = tensor.mutable(meta).unwrap();
    (tensor, data)
}

#[test]
fn products_of_dimensions_leave_out_what_their_names_say() {
    let tensor = Tensor::of(&[2, 3, 5, 7]);
    let from = |axis| ask(0, |size| unsafe { syncedmem_tensor_size_from_dim(tensor.0, axis, size) }).ok();
    let to = |axis| ask(0, |size| unsafe { syncedmem_tensor_size_to_dim(tensor.0, axis, size) }).ok();
    let between =
        |one, other| ask(0, |size| unsafe { syncedmem_tensor_size_between_dim(tensor.0, one, other, size) }).ok();
    assert_eq!([0, 1, 3].map(from), [Some(210), Some(105), Some(7)]);
    // Compat: the product is 1 for an axis after the last one; elsewhere the number of axes is refused.
    assert_eq!([4, 9, -1].map(from), [Some(1), Some(1), None]);
    assert_eq!([0, 1, 3, 4, -1].map(to), [Some(1), Some(2), Some(30), None, None]);
    assert_eq!([between(0, 3), between(3, 0), between(1, 2), between(2, 2)], [Some(15), Some(15), Some(1), Some(1)]);
    assert_eq!([between(0, 4), between(-1, 2)], [None, None]);
}

#[test]
fn a_canonical_axis_counts_from_the_end_where_it_is_negative() {
    let tensor = Tensor::of(&[2, 3, 5]);
    let canonical = |axis| ask(0, |at| unsafe { syncedmem_tensor_canonical_axis_index(tensor.0, axis, at) }).ok();
    assert_eq!([0, 2, -1, -3].map(canonical), [Some(0), Some(2), Some(2), Some(0)]);
    assert_eq!([3, -4, i32::MIN, i32::MAX].map(canonical), [None; 4]);
}

#[test]
fn a_dimension_of_the_largest_int_fits_into_32_bits_and_a_larger_one_does_not() {
    let largest = i64::from(i32::MAX);
    let tensor = Tensor::of(&[largest, largest + 1]);
    assert_eq!(
        [0, 1, -1].map(|axis| tensor.dim32(axis)),
        [Ok(i32::MAX), Err(SYNCEDMEM_ERROR_INVALID_STATE), Err(REFUSED)]
    );
    assert_eq!([0, 1, 2].map(|axis| tensor.dim(axis)), [Ok(largest), Ok(largest + 1), Err(REFUSED)]);
}

#[test]
fn negative_dimensions_and_those_that_overflow_are_refused_and_change_nothing() {
    let (tensor, data) = alone_of_type(&[2, 3], &float());
    let wrong: [&[i64]; 6] = [&[-1], &[2, -3], &[-2, -3], &[i64::MAX, 2], &[i64::MAX, 2, 0], &[i64::MAX / 2]];
    for dims in wrong {
        assert_eq!([tensor.resize(dims), tensor.reserve(dims), tensor.reshape(dims)], [Err(REFUSED); 3], "{dims:?}");
    }
    for more in [-1, i64::MIN, i64::MAX, i64::MAX - 2, i64::MAX / 12] {
        assert_eq!(tensor.extend(more, 40.0), Err(REFUSED), "{more}");
    }
    assert_eq!([-1, 3, i64::MAX].map(|outer| tensor.shrink(outer)), [Err(REFUSED); 3]);
    assert_eq!([f64::NAN, -50.0].map(|growth| tensor.extend(0, growth)), [Ok(()); 2]);
    assert_eq!((tensor.dims(), tensor.mutable(&float())), (vec![2, 3], Ok(data)));
    assert_eq!(unsafe { syncedmem_tensor_resize(tensor.0, 65, [1i64; 65].as_ptr()) }, REFUSED);
    assert_eq!(tensor.resize(&[1; 64]), Ok(()));
    assert_eq!(tensor.dims(), [1; 64]);
}

#[test]
fn a_scalar_has_no_first_dimension() {
    let tensor = Tensor::of(&[]);
    assert_eq!([tensor.extend(1, 0.0), tensor.shrink(0)], [Err(SYNCEDMEM_ERROR_INVALID_STATE); 2]);
}

#[test]
fn a_tensor_may_be_resized_by_its_own_dimensions() {
    let tensor = Tensor::of(&[2, 3, 5]);
    let info = tensor.info();
    assert_eq!(unsafe { syncedmem_tensor_resize(tensor.0, 2, info.dims.add(1)) }, SYNCEDMEM_SUCCESS);
    assert_eq!(tensor.dims(), [3, 5]);
    tensor.resize_like(&tensor).unwrap();
    assert_eq!(tensor.dims(), [3, 5]);
    let other = Tensor::new();
    other.resize_like(&tensor).unwrap();
    assert_eq!(other.dims(), [3, 5]);
    // Compat: a tensor without a shape has no dimensions.
    other.resize_like(&Tensor::new()).unwrap();
    assert_eq!((other.dims(), other.info().size), (vec![], 1));
}

#[test]
fn swap_exchanges_all_but_the_handles() {
    let (one, data) = alone_of_type(&[2], &float());
    let other = Tensor::of(&[3, 4]);
    one.swap(&other).unwrap();
    assert_eq!((one.dims(), other.dims()), (vec![3, 4], vec![2]));
    assert_eq!((one.raw_data(), other.data(&float())), (Err(SYNCEDMEM_ERROR_INVALID_STATE), Ok(data.cast_const())));
    assert_eq!(one.swap(&one), Ok(()));
    assert_eq!(one.swap(&Tensor::on(DEVICE).unwrap()), Err(REFUSED));
}

#[test]
fn a_line_about_a_tensor_has_its_type_dimensions_and_memory() {
    let tensor = Tensor::new();
    assert_eq!(tensor.debug_string(), "tensor of no type, 0 bytes each, without a shape");
    tensor.resize(&[2, 3]).unwrap();
    tensor.mutable::<u8>(&float()).unwrap();
    assert_eq!(tensor.debug_string(), "tensor of float32, 4 bytes each, (2, 3), 24 of 24 bytes in use.");
    tensor.resize(&[]).unwrap();
    assert_eq!(tensor.debug_string(), "tensor of float32, 4 bytes each, a scalar, 4 of 24 bytes in use.");
}

#[test]
fn the_lent_memory_has_a_name_and_makes_tensors_that_outlive_the_tensor() {
    let (tensor, data) = alone_of_type(&[2, 3], &float());
    let mem = tensor.memory().unwrap();
    assert_eq!(unsafe { syncedmem_set_name(mem, c"weights".as_ptr()) }, SYNCEDMEM_SUCCESS);
    let exported = export(mem, Ask { shape: &[2, 3], ..FLOATS }).unwrap();
    unsafe { data.write(42) };
    drop(tensor);
    assert_eq!((exported.data(), unsafe { data.read() }), (data, 42));
    drop(exported);
    assert_eq!(Tensor::of(&[1]).memory(), Err(SYNCEDMEM_ERROR_INVALID_STATE));
}

#[test]
fn shared_memory_of_the_caller_comes_back_once_after_the_last_use() {
    let (lent, mut memory) = (Lent::default(), [1u8; 24]);
    let (one, other) = (Tensor::of(&[6]), Tensor::of(&[6]));
    let share = |bytes| one.share_external(memory.as_mut_ptr(), &float(), bytes, lent.deleter(), lent.context());
    assert_eq!([23, 24].map(share), [Err(REFUSED), Ok(())]);
    assert!(one.info().shares_data);
    other.share_data(&one).unwrap();
    let exported = export(other.memory().unwrap(), Ask { shape: &[6], ..FLOATS }).unwrap();
    one.free_memory();
    assert!(!one.info().shares_data && other.info().shares_data);
    other.resize(&[7]).unwrap();
    // The tensor of DLPack still uses the memory.
    assert_eq!((other.info().capacity_nbytes, lent.returned()), (0, vec![]));
    drop(exported);
    assert_eq!(lent.returned(), [memory.as_ptr().addr()]);
    assert_eq!(one.share::<u8>(std::ptr::null_mut(), &float(), 0), Err(REFUSED));
    let without_shape = Tensor::new().share(memory.as_mut_ptr(), &float(), 0);
    assert_eq!(without_shape, Err(SYNCEDMEM_ERROR_INVALID_STATE));
}

/// Does what the Free operators of Caffe2's `release_blobs_when_used` do, except that a later read is an error.
#[test]
fn a_tensor_whose_memory_is_discarded_keeps_its_type_and_shape_and_begins_with_zeros_at_the_next_write() {
    let (tensor, data) = alone_of_type(&[2, 500], &float());
    unsafe { data.write_bytes(7, 4000) };
    assert_eq!(unsafe { syncedmem_discard(tensor.memory().unwrap()) }, SYNCEDMEM_SUCCESS);
    assert_eq!(tensor.data::<u8>(&float()), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!(tensor.dims(), [2, 500]);
    let again = tensor.mutable::<u8>(&float()).unwrap();
    assert!((0..4000).all(|at| unsafe { again.add(at).read() } == 0));
}

#[test]
fn another_side_or_type_is_refused() {
    assert!(Tensor::on(2).is_err() && Tensor::on(-1).is_err());
    let tensor = Tensor::of(&[1]);
    assert_eq!(tensor.mutable_raw(), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!(tensor.mutable::<u8>(&TypeMeta { itemsize: 0, ..float() }), Err(REFUSED));
    tensor.mutable::<u8>(&float()).unwrap();
    assert_eq!(tensor.data::<u8>(&object()), Err(REFUSED), "of another type");
    let mut element = 0;
    assert_eq!(unsafe { syncedmem_typemeta_element(&meta(SYNCEDMEM_BOOL), &mut element) }, SYNCEDMEM_SUCCESS);
    assert_eq!(element, SYNCEDMEM_BOOL as i32);
    assert_eq!(unsafe { syncedmem_typemeta_element(&object(), &mut element) }, SYNCEDMEM_ERROR_UNSUPPORTED);
}
