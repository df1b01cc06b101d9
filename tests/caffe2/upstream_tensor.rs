//! The upstream tests of tensors and of the CPU's context, by their names in Caffe2 v0.8.1, each for char, int and float.

use std::ptr::null_mut;

use crate::handles::*;

const DIMS: [i64; 3] = [2, 3, 5];

/// The types of the typed tests.
fn types() -> [TypeMeta; 3] {
    [meta(SYNCEDMEM_INT8), meta(SYNCEDMEM_INT32), meta(SYNCEDMEM_FLOAT32)]
}

/// Runs a test with each type.
fn typed(test: impl Fn(&TypeMeta)) {
    types().iter().for_each(test);
}

fn set_keep_on_shrink(most: i64) {
    assert_eq!(syncedmem_tensor_set_keep_on_shrink(true, most), SYNCEDMEM_SUCCESS);
}

fn cpu_context_test_alloc_alignment() {
    for bytes in 1..10 {
        let mut data = null_mut();
        assert_eq!(unsafe { syncedmem_cpu_new(bytes, &mut data) }, SYNCEDMEM_SUCCESS);
        assert_eq!(data.addr() % 64, 0, "{bytes}");
        unsafe { syncedmem_cpu_delete(data) };
    }
}

fn cpu_context_test_alloc_dealloc() {
    let mut data = null_mut();
    assert_eq!(unsafe { syncedmem_cpu_new(10 * size_of::<f32>(), &mut data) }, SYNCEDMEM_SUCCESS);
    assert!(all_zero(data.cast(), 40));
    let source: [f32; 10] = std::array::from_fn(|at| at as f32);
    unsafe { data.cast::<[f32; 10]>().write(source) };
    assert_eq!(unsafe { data.cast::<[f32; 10]>().read() }, source);
    unsafe { syncedmem_cpu_delete(data) };
}

fn tensor_initialized_empty() {
    typed(|meta| {
        let tensor = Tensor::new();
        assert_eq!(tensor.info().ndim, 0);
        tensor.resize(&DIMS).unwrap();
        assert_eq!([0, 1, 2].map(|axis| tensor.dim32(axis)), [Ok(2), Ok(3), Ok(5)]);
        assert_eq!((tensor.info().ndim, tensor.info().size), (3, 30));
        assert!(!tensor.mutable::<u8>(meta).unwrap().is_null());
        assert!(!tensor.data::<u8>(meta).unwrap().is_null());
    });
}

fn tensor_initialized_non_empty() {
    typed(|meta| {
        let tensor = Tensor::of(&DIMS);
        assert!(!tensor.mutable::<u8>(meta).unwrap().is_null());
        tensor.resize(&[7, 11, 13, 17]).unwrap();
        assert_eq!(tensor.dims(), [7, 11, 13, 17]);
        assert!(!tensor.mutable::<u8>(meta).unwrap().is_null());
        assert!(!tensor.data::<u8>(meta).unwrap().is_null());
    });
}

fn tensor_initialized_zero_dim() {
    typed(|meta| {
        let tensor = Tensor::of(&[2, 0, 5]);
        assert_eq!(tensor.dims(), [2, 0, 5]);
        assert_eq!(tensor.mutable::<u8>(meta), Ok(null_mut()));
        assert_eq!(tensor.data::<u8>(meta), Ok(std::ptr::null()));
    });
}

fn tensor_resize_zero_dim() {
    typed(|meta| {
        let tensor = Tensor::of(&DIMS);
        tensor.mutable::<u8>(meta).unwrap();
        tensor.resize(&[7, 0, 13]).unwrap();
        assert_eq!((tensor.info().size, tensor.dims()), (0, vec![7, 0, 13]));
        assert!(tensor.mutable::<u8>(meta).is_ok() && tensor.data::<u8>(meta).is_ok());
    });
}

fn tensor_initialized_scalar() {
    typed(|meta| {
        let tensor = Tensor::of(&[]);
        assert_eq!((tensor.info().ndim, tensor.info().size), (0, 1));
        assert!(!tensor.mutable::<u8>(meta).unwrap().is_null());
        assert!(!tensor.data::<u8>(meta).unwrap().is_null());
    });
}

/// Writes through one address and reads through the other.
fn is_shared(one: *mut u8, other: *const u8, bytes: usize) {
    for at in 0..bytes {
        unsafe { one.add(at).write(at as u8 + 1) };
        assert_eq!(unsafe { other.add(at).read() }, at as u8 + 1);
    }
}

fn tensor_share_data() {
    typed(|meta| {
        let (tensor, other) = (Tensor::of(&DIMS), Tensor::of(&DIMS));
        let data = tensor.mutable::<u8>(meta).unwrap();
        other.share_data(&tensor).unwrap();
        assert_eq!((tensor.data(meta), other.data(meta)), (Ok(data.cast_const()), Ok(data.cast_const())));
        is_shared(data, other.data(meta).unwrap(), tensor.info().nbytes);
    });
}

fn tensor_share_data_raw_pointer() {
    typed(|meta| {
        let tensor = Tensor::of(&DIMS);
        let mut buffer = [0u8; 120];
        tensor.share(buffer.as_mut_ptr(), meta, 0).unwrap();
        assert_eq!(tensor.mutable(meta), Ok(buffer.as_mut_ptr()));
        assert_eq!(tensor.data(meta), Ok(buffer.as_ptr()));
        is_shared(buffer.as_mut_ptr(), tensor.data(meta).unwrap(), tensor.info().nbytes);
    });
}

fn tensor_share_data_raw_pointer_with_meta() {
    typed(|meta| {
        let tensor = Tensor::of(&DIMS);
        let mut buffer = [0u8; 120];
        tensor.share(buffer.as_mut_ptr(), meta, 120).unwrap();
        assert!(tensor.is_type(meta));
        assert_eq!(tensor.info().capacity_nbytes, 120);
        assert_eq!(tensor.mutable(meta), Ok(buffer.as_mut_ptr()));
    });
}

fn cannot_share_data_when_shape_not_set() {
    typed(|meta| {
        let mut buffer = [0u8; 40];
        let tensor = Tensor::new();
        assert_eq!(tensor.share(buffer.as_mut_ptr(), meta, 0), Err(SYNCEDMEM_ERROR_INVALID_STATE));
        assert_eq!(tensor.share_data(&Tensor::new()), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    });
}

fn tensor_share_data_can_use_different_shapes() {
    typed(|meta| {
        let (tensor, other) = (Tensor::of(&DIMS), Tensor::of(&[30]));
        let data = tensor.mutable::<u8>(meta).unwrap();
        other.share_data(&tensor).unwrap();
        assert_eq!((other.dims(), other.data(meta)), (vec![30], Ok(data.cast_const())));
    });
}

fn no_longer_shares_after_resize() {
    typed(|meta| {
        let (tensor, other) = (Tensor::of(&DIMS), Tensor::of(&DIMS));
        let old = tensor.mutable::<u8>(meta).unwrap();
        other.share_data(&tensor).unwrap();
        tensor.resize(&[7, 3, 5]).unwrap();
        assert_eq!(other.data(meta), Ok(old.cast_const()));
        assert_ne!(tensor.mutable(meta), Ok(old));
    });
}

fn no_longer_shares_after_free_memory() {
    typed(|meta| {
        let (tensor, other) = (Tensor::of(&DIMS), Tensor::of(&DIMS));
        let old = tensor.mutable::<u8>(meta).unwrap();
        other.share_data(&tensor).unwrap();
        tensor.free_memory();
        assert_eq!(other.data(meta), Ok(old.cast_const()));
        assert_ne!(tensor.mutable(meta), Ok(old));
    });
}

fn keep_on_shrink_and_max_keep_on_shrink() {
    set_keep_on_shrink(i64::MAX);
    typed(|meta| {
        let tensor = Tensor::of(&DIMS);
        tensor.mutable::<u8>(meta).unwrap();
        tensor.resize(&[3, 4, 6]).unwrap();
        let larger = tensor.mutable::<u8>(meta);
        for dims in [[1, 2, 4], [3, 0, 6], [2, 3, 5]] {
            tensor.resize(&dims).unwrap();
            assert_eq!(tensor.mutable(meta), larger, "{dims:?}");
        }
        assert_eq!(tensor.info().capacity_nbytes, 72 * meta.itemsize);
    });
    typed(|meta| {
        set_keep_on_shrink(8 * 4 * meta.itemsize as i64);
        let tensor = Tensor::of(&[1, 8, 8]);
        let data = tensor.mutable::<u8>(meta);
        tensor.resize(&[1, 7, 8]).unwrap();
        assert_eq!(tensor.mutable(meta), data);
        tensor.resize(&[1, 1, 8]).unwrap();
        assert_eq!(tensor.info().capacity_nbytes, 0);
        assert!(!tensor.mutable::<u8>(meta).unwrap().is_null());
        assert_eq!(tensor.info().capacity_nbytes, 8 * meta.itemsize);
    });
    set_keep_on_shrink(i64::MAX);
}

fn cannot_access_raw_data_when_empty() {
    let tensor = Tensor::new();
    assert_eq!((tensor.info().ndim, tensor.raw_data()), (0, Err(SYNCEDMEM_ERROR_INVALID_STATE)));
}

fn cannot_access_data_when_empty() {
    typed(|meta| assert_eq!(Tensor::new().data::<u8>(meta), Err(SYNCEDMEM_ERROR_INVALID_STATE)));
}

fn tensor_change_type() {
    let tensor = Tensor::of(&DIMS);
    for meta in types() {
        assert!(!tensor.mutable::<u8>(&meta).unwrap().is_null());
        assert!(!tensor.data::<u8>(&meta).unwrap().is_null());
        assert!(tensor.is_type(&meta));
    }
    assert_eq!(tensor.data::<u8>(&types()[0]), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
}

fn tensor_64_bit_dimension() {
    let large = i64::from(i32::MAX) + 1;
    let tensor = Tensor::of(&[large]);
    assert_eq!((tensor.info().ndim, tensor.dim(0), tensor.info().size), (1, Ok(large), large));
    assert!(!tensor.mutable::<u8>(&meta(SYNCEDMEM_INT8)).unwrap().is_null());
    assert_eq!((tensor.info().nbytes, tensor.info().meta.itemsize), (large as usize, 1));
    tensor.resize(&[large, 100]).unwrap();
    assert_eq!((tensor.dims(), tensor.info().size), (vec![large, 100], large * 100));
}

fn cannot_cast_down_large_dims() {
    let large = i64::from(i32::MAX) + 1;
    let tensor = Tensor::of(&[large]);
    assert_eq!((tensor.dim(0), tensor.dim32(0)), (Ok(large), Err(SYNCEDMEM_ERROR_INVALID_STATE)));
}

crate::support::harness::tests![
    cpu_context_test_alloc_alignment,
    cpu_context_test_alloc_dealloc,
    tensor_initialized_empty,
    tensor_initialized_non_empty,
    tensor_initialized_zero_dim,
    tensor_resize_zero_dim,
    tensor_initialized_scalar,
    tensor_share_data,
    tensor_share_data_raw_pointer,
    tensor_share_data_raw_pointer_with_meta,
    cannot_share_data_when_shape_not_set,
    tensor_share_data_can_use_different_shapes,
    no_longer_shares_after_resize,
    no_longer_shares_after_free_memory,
    keep_on_shrink_and_max_keep_on_shrink,
    cannot_access_raw_data_when_empty,
    cannot_access_data_when_empty,
    tensor_change_type,
    tensor_64_bit_dimension,
    cannot_cast_down_large_dims,
];
