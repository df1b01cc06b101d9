//! The rules of BVLC's `blob.hpp` and `blob.cpp` that are kept. `device_sequences` tests reshaping, sharing, setting and copying, and
//! `src/blob/math.rs` the results of the math.

use crate::support::blob::*;
use crate::support::*;

#[test]
fn a_default_constructed_blob_has_no_axes_no_elements_and_no_memory() {
    let blob = Blob::unshaped(SYNCEDMEM_FLOAT32).unwrap();
    assert_eq!((blob.axes(), blob.count(), blob.text().as_str()), (0, 0, "(0)"));
    assert_eq!([blob.capacity(DATA), blob.capacity(DIFF)], [0, 0]);
    assert_eq!(blob.memory(DATA), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!(blob.legacy(0), Ok(1), "a missing axis reads as 1");
    assert_eq!(blob.count_axes(0, 0), Ok(1), "the product of no dimensions");
}

#[test]
fn a_shape_gives_the_axes_the_count_and_the_text() {
    let largest = i64::from(i32::MAX);
    let longest: Vec<_> = std::iter::once(0).chain([largest; 31]).collect();
    let cases: [(&str, &[i64], i64, &str); 7] = [
        ("any", &[2, 3], 6, "2 3 (6)"),
        ("an empty shape counts one", &[], 1, "(1)"),
        ("dimensions of 0 are allowed", &[0, 5], 0, "0 5 (0)"),
        ("after a dimension of 0 any others are", &[0, 1 << 20, 1 << 20], 0, "0 1048576 1048576 (0)"),
        ("32 axes", &[1; 32], 1, &format!("{}(1)", "1 ".repeat(32))),
        ("the count is at most the largest int", &[largest], largest, "2147483647 (2147483647)"),
        ("the longest text has room", &longest, 0, &format!("0 {}(0)", "2147483647 ".repeat(31))),
    ];
    for (what, dims, count, text) in cases {
        let blob = Blob::new(dims);
        assert_eq!((&*blob.shape(), blob.count(), &*blob.text()), (dims, count, text), "{what}");
    }
    assert_eq!(Blob::new(&[]).read::<f32>(DATA), [0.0]);
}

#[test]
fn a_shape_that_is_refused_is_named_by_its_axis() {
    let mut blob = Blob::new(&[3]);
    // The last case depends on the order of the dimensions, as in Caffe.
    let cases: [(&[i64], &str); 4] = [
        (&[1; 33], "33 axes"),
        (&[1 << 16, 1 << 15], "axis 1"),
        (&[2, -1], "axis 1 is -1"),
        (&[1 << 20, 1 << 20, 0], "axis 1"),
    ];
    for (dims, words) in cases {
        assert_eq!(blob.reshape(dims), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "{dims:?}");
        assert!(last_error().contains(words), "{dims:?}: {}", last_error());
    }
}

#[test]
fn negative_axes_count_from_the_end() {
    let blob = Blob::new(&[2, 3, 4]);
    assert_eq!([-3, -2, -1, 0, 1, 2].map(|axis| blob.dim(axis)), [2, 3, 4, 2, 3, 4].map(Ok));
    for axis in [3, -4, i64::MIN, i64::MAX] {
        assert_eq!(blob.dim(axis), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "axis {axis}");
    }
}

#[test]
fn num_channels_height_and_width_read_1_for_missing_axes_and_refuse_more_than_four() {
    let blob = Blob::new(&[7, 8]);
    assert_eq!([0, 1, 2, 3].map(|axis| blob.legacy(axis)), [7, 8, 1, 1].map(Ok));
    assert_eq!([-4, -3, -2, -1].map(|axis| blob.legacy(axis)), [1, 1, 7, 8].map(Ok));
    assert_eq!([4, -5].map(|axis| blob.legacy(axis)), [Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT); 2]);
    assert_refused(Blob::new(&[1, 1, 1, 1, 1]).legacy(0), SYNCEDMEM_ERROR_INVALID_ARGUMENT, "has 5");
}

#[test]
fn a_count_of_axes_is_the_product_from_one_to_another() {
    let blob = Blob::new(&[2, 3, 4]);
    assert_eq!(
        [(0, 3), (1, 3), (1, 2), (2, 2)].map(|(start, end)| blob.count_axes(start, end)),
        [24, 12, 3, 1].map(Ok)
    );
    for (start, end) in [(-1, 2), (0, 4), (2, 1), (i64::MIN, i64::MAX)] {
        assert_eq!(blob.count_axes(start, end), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "{start} to {end}");
    }
}

#[test]
fn an_offset_goes_by_the_last_axis_first_and_a_legacy_one_may_be_one_past_the_end() {
    let blob = Blob::new(&[2, 3, 4, 5]);
    assert_eq!(blob.offset(&[1, 2, 3, 4]), Ok(119));
    assert_eq!([[1, 2, 3, 4], [2, 0, 0, 0]].map(|indices| blob.legacy_offset(indices)), [Ok(119), Ok(120)]);
    assert_eq!(blob.offset(&[1]), Ok(60), "indices that are left out are 0");
    assert_eq!(blob.offset(&[]), Ok(0));
    for indices in [&[2][..], &[0, -1], &[0, 3], &[0; 5]] {
        assert_eq!(blob.offset(indices), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "{indices:?}");
    }
}

#[test]
fn shape_equals_compares_legacy_dimensions_from_the_end() {
    let weights = Blob::new(&[2, 3]);
    assert_eq!(weights.equals(&[1, 1, 2, 3], true), Ok(true));
    assert_eq!(weights.equals(&[2, 3, 1, 1], true), Ok(false));
    assert_eq!(Blob::new(&[5]).equals(&[1, 1, 1, 5], true), Ok(true));
    assert_eq!(Blob::new(&[1, 1, 1, 1, 5]).equals(&[1, 1, 1, 5], true), Ok(false), "five axes are no legacy shape");
    assert_eq!(weights.equals(&[2, 3], true), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "a legacy shape has four");
}

#[test]
fn memory_that_is_held_outlives_a_reshape_and_the_blob() {
    let mut blob = Blob::new(&[2]);
    blob.write(DATA, &[1f32, 2.0]);
    let (held, again) = (blob.hold(DATA).unwrap(), blob.hold(DATA).unwrap());
    assert_eq!((held, again), (blob.memory(DATA).unwrap(), held));
    blob.reshape(&[3]).unwrap();
    assert_ne!(blob.memory(DATA), Ok(held));
    release(again).unwrap();
    drop(blob);
    let mut data = std::ptr::null();
    assert_eq!(unsafe { syncedmem_cpu_data(held, &mut data) }, SYNCEDMEM_SUCCESS);
    assert_eq!(unsafe { data.cast::<[f32; 2]>().read() }, [1.0, 2.0]);
    release(held).unwrap();
    assert_eq!(release(held), Err(SYNCEDMEM_ERROR_INVALID_HANDLE), "it has ended");
}

#[test]
fn release_of_null_does_nothing_and_hold_needs_a_shape() {
    assert_eq!(release(std::ptr::null_mut()), Ok(()));
    assert_eq!(Blob::unshaped(SYNCEDMEM_FLOAT32).unwrap().hold(DATA), Err(SYNCEDMEM_ERROR_INVALID_STATE));
}

#[test]
fn a_blob_may_share_with_itself_and_copy_from_itself() {
    let mut blob = Blob::new(&[2]);
    blob.write(DATA, &[1f32, 2.0]);
    let itself = Blob(blob.0);
    assert_eq!(blob.share(DATA, &itself), Ok(()));
    assert_eq!(blob.copy_from(DATA, &itself, false), Ok(()));
    std::mem::forget(itself);
    assert_eq!(blob.read::<f32>(DATA), [1.0, 2.0]);
}

#[test]
fn update_of_untouched_data_fails() {
    let mut blob = Blob::new(&[3]);
    blob.write(DIFF, &[1f32; 3]);
    assert_eq!(blob.update(), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!(Blob::unshaped(SYNCEDMEM_FLOAT32).unwrap().update(), Err(SYNCEDMEM_ERROR_INVALID_STATE));
}

#[test]
fn math_of_untouched_arrays_gives_0_or_does_nothing() {
    let mut blob = Blob::new(&[3]);
    assert_eq!((blob.asum(DATA), blob.sumsq(DIFF), blob.scale(DATA, 2.0)), (Ok(0.0), Ok(0.0), Ok(())));
    assert_eq!(blob.head(DATA), SYNCEDMEM_UNINITIALIZED);
    let mut blob = Blob::unshaped(SYNCEDMEM_FLOAT64).unwrap();
    assert_eq!((blob.asum(DATA), blob.sumsq(DIFF), blob.scale(DATA, 2.0)), (Ok(0.0), Ok(0.0), Ok(())));
}

#[test]
fn blobs_of_integers_have_no_math() {
    for element in [SYNCEDMEM_INT32, SYNCEDMEM_UINT32] {
        let mut blob = Blob::of(element, &[2]);
        blob.write(DATA, &[1u32, 2]);
        assert_eq!(blob.read::<u32>(DATA), [1, 2]);
        assert_eq!([blob.asum(DATA), blob.sumsq(DATA)], [Err(SYNCEDMEM_ERROR_UNSUPPORTED); 2]);
        assert_eq!([blob.scale(DATA, 2.0), blob.update()], [Err(SYNCEDMEM_ERROR_UNSUPPORTED); 2]);
    }
}

#[test]
fn other_types_are_refused() {
    assert!(matches!(Blob::unshaped(SYNCEDMEM_FLOAT16), Err(SYNCEDMEM_ERROR_UNSUPPORTED)));
    let (mut floats, doubles) = (Blob::new(&[2]), Blob::of(SYNCEDMEM_FLOAT64, &[2]));
    assert_eq!(floats.share(DATA, &doubles), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert_eq!(floats.copy_from(DATA, &doubles, true), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
}

#[test]
fn a_handle_that_is_null_or_of_a_destroyed_blob_is_refused() {
    let null = Blob(std::ptr::null_mut());
    assert_eq!(null.dim(0), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    let ended = Blob(Blob::new(&[1]).0);
    assert_refused(ended.dim(0), SYNCEDMEM_ERROR_INVALID_HANDLE, "not lead to a live blob");
    std::mem::forget(ended);
}

#[test]
fn a_handle_of_a_blob_is_no_object() {
    let mut blob = Blob::new(&[2]);
    let object = blob.0.cast();
    let (mut address, mut size) = (std::ptr::null(), 7);
    assert_eq!(unsafe { syncedmem_cpu_data(object, &mut address) }, SYNCEDMEM_ERROR_INVALID_HANDLE);
    assert_eq!(unsafe { syncedmem_size(object, &mut size) }, SYNCEDMEM_ERROR_INVALID_HANDLE);
    assert_eq!(unsafe { syncedmem_destroy(object) }, SYNCEDMEM_ERROR_INVALID_HANDLE);
    assert_eq!((address.is_null(), size, blob.count()), (true, 7, 2));
    assert_eq!(blob.reshape(&[3]), Ok(()));
}

#[test]
fn more_numbers_than_memory_holds_are_refused() {
    let blob = Blob::new(&[2]);
    for length in [usize::MAX, 1 << 62, 1 << 60] {
        let status = unsafe { syncedmem_blob_reshape(blob.0, length, [2i64].as_ptr()) };
        assert_refused(status, SYNCEDMEM_ERROR_INVALID_ARGUMENT, "more than memory holds");
    }
    assert_eq!(blob.count(), 2);
}
