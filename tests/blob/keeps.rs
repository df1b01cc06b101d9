//! The rules of Caffe's Blob that are kept: each of BVLC's `blob.hpp` and `blob.cpp`, without a device. Those that need one are
//! in `device_keeps`.

use crate::support::blob::*;
use crate::support::*;

fn a_default_constructed_blob_has_no_axes_no_elements_and_no_memory() {
    let blob = Blob::unshaped(SYNCEDMEM_FLOAT32).unwrap();
    assert_eq!((blob.axes(), blob.count(), blob.text().as_str()), (0, 0, "(0)"));
    assert_eq!([blob.capacity(DATA), blob.capacity(DIFF)], [0, 0]);
    assert_eq!(blob.memory(DATA), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!(blob.legacy(0), Ok(1), "a missing axis reads as 1");
    assert_eq!(blob.count_axes(0, 0), Ok(1), "the product of no dimensions");
}

fn reshape_is_lazy_on_both_sides() {
    let blob = Blob::new(&[2, 3, 4, 5]);
    assert_eq!((blob.axes(), blob.count()), (4, 120));
    for array in [DATA, DIFF] {
        assert_eq!(blob.head(array), SYNCEDMEM_UNINITIALIZED);
        assert_eq!(blob.capacity(array), 480);
    }
}

fn an_untouched_array_reads_as_zeros() {
    assert_eq!(Blob::new(&[2, 3]).read::<f32>(DIFF), [0.0; 6]);
}

fn a_blob_has_at_most_32_axes() {
    let mut blob = Blob::new(&[1; 32]);
    assert_eq!((blob.axes(), blob.count()), (32, 1));
    assert_eq!(blob.reshape(&[1; 33]), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert!(last_error().contains("33 axes"), "{}", last_error());
}

fn the_count_is_at_most_the_largest_int() {
    let mut blob = Blob::new(&[2]);
    let largest = i64::from(i32::MAX);
    assert_eq!(blob.reshape(&[largest]), Ok(()));
    assert_eq!(blob.count(), largest);
    assert_eq!(blob.reshape(&[1 << 16, 1 << 15]), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert!(last_error().contains("axis 1"), "{}", last_error());
}

fn an_empty_shape_counts_one() {
    let blob = Blob::new(&[]);
    assert_eq!((blob.axes(), blob.count(), blob.text().as_str()), (0, 1, "(1)"));
    assert_eq!(blob.read::<f32>(DATA), [0.0]);
}

fn dimensions_of_0_are_allowed() {
    let blob = Blob::new(&[0, 5]);
    assert_eq!((blob.axes(), blob.count(), blob.text().as_str()), (2, 0, "0 5 (0)"));
    assert_eq!(blob.read::<f32>(DATA), []);
    assert_eq!(blob.dim(1), Ok(5));
}

fn behind_a_dimension_of_0_any_others_are_allowed() {
    assert_eq!(Blob::new(&[0, 1 << 20, 1 << 20]).count(), 0);
    let mut blob = Blob::new(&[1]);
    assert_eq!(
        blob.reshape(&[1 << 20, 1 << 20, 0]),
        Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT),
        "the order counts, as in Caffe"
    );
}

fn a_negative_dimension_is_refused() {
    let mut blob = Blob::new(&[3]);
    assert_eq!(blob.reshape(&[2, -1]), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert!(last_error().contains("axis 1 is -1"), "{}", last_error());
}

fn reshape_within_the_capacity_keeps_contents_and_memory() {
    let mut blob = Blob::new(&[6]);
    blob.write(DATA, &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let memory = blob.memory(DATA);
    blob.reshape(&[2, 2]).unwrap();
    assert_eq!(blob.read::<f32>(DATA), [1.0, 2.0, 3.0, 4.0]);
    blob.reshape(&[3, 2]).unwrap();
    assert_eq!(blob.read::<f32>(DATA), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!((blob.memory(DATA), blob.capacity(DATA)), (memory, 24));
}

fn reshape_beyond_the_capacity_replaces_the_memory_and_loses_the_contents() {
    let mut blob = Blob::new(&[2]);
    blob.write(DATA, &[1f32, 2.0]);
    blob.reshape(&[3]).unwrap();
    assert_eq!(blob.head(DATA), SYNCEDMEM_UNINITIALIZED);
    assert_eq!(blob.read::<f32>(DATA), [0.0; 3]);
    assert_eq!([blob.capacity(DATA), blob.capacity(DIFF)], [12, 12]);
}

fn negative_axes_count_from_the_end() {
    let blob = Blob::new(&[2, 3, 4]);
    assert_eq!([-3, -2, -1, 0, 1, 2].map(|axis| blob.dim(axis)), [2, 3, 4, 2, 3, 4].map(Ok));
    for axis in [3, -4, i64::MIN, i64::MAX] {
        assert_eq!(blob.dim(axis), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "axis {axis}");
    }
}

fn num_channels_height_and_width_read_1_for_missing_axes() {
    let blob = Blob::new(&[7, 8]);
    assert_eq!([0, 1, 2, 3].map(|axis| blob.legacy(axis)), [7, 8, 1, 1].map(Ok));
    assert_eq!([-4, -3, -2, -1].map(|axis| blob.legacy(axis)), [1, 1, 7, 8].map(Ok));
    assert_eq!(blob.legacy(4), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert_eq!(blob.legacy(-5), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
}

fn num_channels_height_and_width_refuse_more_than_four_axes() {
    let blob = Blob::new(&[1, 1, 1, 1, 1]);
    assert_eq!(blob.legacy(0), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert!(last_error().contains("has 5"), "{}", last_error());
}

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

fn an_offset_goes_by_the_last_axis_first() {
    let blob = Blob::new(&[2, 3, 4, 5]);
    assert_eq!(blob.offset(&[1, 2, 3, 4]), Ok(119));
    assert_eq!(blob.legacy_offset([1, 2, 3, 4]), Ok(119));
    assert_eq!(blob.offset(&[1]), Ok(60), "indices that are left out are 0");
    assert_eq!(blob.offset(&[]), Ok(0));
    for indices in [&[2][..], &[0, -1], &[0, 3], &[0; 5]] {
        assert_eq!(blob.offset(indices), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "{indices:?}");
    }
}

fn a_legacy_offset_may_be_one_past_the_end() {
    assert_eq!(Blob::new(&[2, 3]).legacy_offset([2, 0, 0, 0]), Ok(6));
}

fn a_shape_string_has_the_dimensions_and_the_count() {
    assert_eq!(Blob::new(&[2, 3]).text(), "2 3 (6)");
    let longest = i64::from(i32::MAX);
    let mut dims = [longest; 32];
    dims[0] = 0;
    assert_eq!(
        Blob::new(&dims).text(),
        format!("0 {}(0)", format!("{longest} ").repeat(31)),
        "the longest shape has room"
    );
}

fn shape_equals_compares_dimensions() {
    let blob = Blob::new(&[2, 3]);
    for (dims, equal) in [(&[2, 3][..], true), (&[3, 2], false), (&[2, 3, 1], false), (&[2], false), (&[], false)] {
        assert_eq!(blob.equals(dims, false), Ok(equal), "{dims:?}");
    }
}

fn shape_equals_compares_legacy_dimensions_from_the_end() {
    let weights = Blob::new(&[2, 3]);
    assert_eq!(weights.equals(&[1, 1, 2, 3], true), Ok(true));
    assert_eq!(weights.equals(&[2, 3, 1, 1], true), Ok(false));
    assert_eq!(Blob::new(&[5]).equals(&[1, 1, 1, 5], true), Ok(true));
    assert_eq!(Blob::new(&[1, 1, 1, 1, 5]).equals(&[1, 1, 1, 5], true), Ok(false), "five axes are no legacy shape");
    assert_eq!(weights.equals(&[2, 3], true), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "a legacy shape has four");
}

fn share_makes_two_blobs_see_one_memory() {
    let (mut own, mut other) = (Blob::new(&[2, 3]), Blob::new(&[6]));
    own.share(DATA, &other).unwrap();
    other.write(DATA, &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(own.read::<f32>(DATA), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(own.read::<f32>(DIFF), [0.0; 6], "the diff is its own");
    drop(other);
    assert_eq!(own.read::<f32>(DATA)[5], 6.0, "the memory stays with its last blob");
    assert_eq!(own.shape(), [2, 3]);
}

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

fn release_of_null_does_nothing_and_hold_needs_a_shape() {
    assert_eq!(release(std::ptr::null_mut()), Ok(()));
    assert_eq!(release(std::ptr::without_provenance_mut(4)), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert_eq!(Blob::unshaped(SYNCEDMEM_FLOAT32).unwrap().hold(DATA), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!(Blob::new(&[2]).hold(2), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
}

fn share_refuses_another_count() {
    let (mut own, other) = (Blob::new(&[2]), Blob::new(&[3]));
    assert_eq!(own.share(DATA, &other), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert!(last_error().contains("has 2 elements and the other 3"), "{}", last_error());
}

fn a_blob_may_share_with_itself_and_copy_from_itself() {
    let mut blob = Blob::new(&[2]);
    blob.write(DATA, &[1f32, 2.0]);
    let itself = Blob(blob.0);
    assert_eq!(blob.share(DATA, &itself), Ok(()));
    assert_eq!(blob.copy_from(DATA, &itself, false), Ok(()));
    std::mem::forget(itself);
    assert_eq!(blob.read::<f32>(DATA), [1.0, 2.0]);
}

fn a_reshape_beyond_the_capacity_ends_sharing() {
    let (mut own, mut other) = (Blob::new(&[2]), Blob::new(&[2]));
    own.share(DATA, &other).unwrap();
    other.write(DATA, &[1f32, 2.0]);
    own.reshape(&[3]).unwrap();
    assert_eq!(other.read::<f32>(DATA), [1.0, 2.0]);
    assert_ne!(own.memory(DATA), other.memory(DATA));
}

fn copy_from_takes_the_contents_of_one_array() {
    let (mut own, mut source) = (Blob::new(&[2]), Blob::new(&[2]));
    source.write(DATA, &[1f32, 2.0]);
    source.write(DIFF, &[3f32, 4.0]);
    own.copy_from(DATA, &source, false).unwrap();
    assert_eq!((own.read::<f32>(DATA), own.head(DIFF)), (vec![1.0, 2.0], SYNCEDMEM_UNINITIALIZED));
    own.copy_from(DIFF, &source, false).unwrap();
    assert_eq!(own.read::<f32>(DIFF), [3.0, 4.0]);
}

fn copy_from_reshapes_where_it_is_asked_to() {
    let (mut own, mut source) = (Blob::new(&[3]), Blob::new(&[2, 1]));
    source.write(DATA, &[1f32, 2.0]);
    assert_eq!(own.copy_from(DATA, &source, false), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    own.write(DATA, &[7f32, 8.0, 9.0]);
    own.copy_from(DATA, &source, true).unwrap();
    assert_eq!((own.shape(), own.read::<f32>(DATA)), (vec![2, 1], vec![1.0, 2.0]));
    own.reshape(&[3]).unwrap();
    assert_eq!(own.read::<f32>(DATA), [1.0, 2.0, 9.0], "elements beyond the count stay");
}

fn copy_from_an_untouched_source_gives_zeros() {
    let (mut own, source) = (Blob::new(&[2]), Blob::new(&[2]));
    own.write(DATA, &[1f32, 2.0]);
    own.copy_from(DATA, &source, false).unwrap();
    assert_eq!((own.read::<f32>(DATA), source.head(DATA)), (vec![0.0; 2], SYNCEDMEM_UNINITIALIZED));
    let mut untouched = Blob::new(&[2]);
    untouched.copy_from(DATA, &source, false).unwrap();
    assert_eq!(untouched.head(DATA), SYNCEDMEM_UNINITIALIZED, "nothing is allocated for zeros");
}

fn update_subtracts_the_diff_from_the_data() {
    let mut blob = Blob::new(&[3]);
    blob.write(DATA, &[1f32, 2.0, 3.0]);
    blob.write(DIFF, &[0.5f32, -1.0, 0.0]);
    blob.update().unwrap();
    assert_eq!(blob.read::<f32>(DATA), [0.5, 3.0, 3.0]);
}

fn update_of_untouched_data_fails() {
    let mut blob = Blob::new(&[3]);
    blob.write(DIFF, &[1f32; 3]);
    assert_eq!(blob.update(), Err(SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!(Blob::unshaped(SYNCEDMEM_FLOAT32).unwrap().update(), Err(SYNCEDMEM_ERROR_INVALID_STATE));
}

fn math_of_untouched_arrays_gives_0_or_does_nothing() {
    let mut blob = Blob::new(&[3]);
    assert_eq!((blob.asum(DATA), blob.sumsq(DIFF), blob.scale(DATA, 2.0)), (Ok(0.0), Ok(0.0), Ok(())));
    assert_eq!(blob.head(DATA), SYNCEDMEM_UNINITIALIZED);
    let mut blob = Blob::unshaped(SYNCEDMEM_FLOAT64).unwrap();
    assert_eq!((blob.asum(DATA), blob.sumsq(DIFF), blob.scale(DATA, 2.0)), (Ok(0.0), Ok(0.0), Ok(())));
}

fn asum_sumsq_and_scale_of_the_data_and_of_the_diff() {
    let mut blob = Blob::of(SYNCEDMEM_FLOAT64, &[3]);
    for array in [DATA, DIFF] {
        blob.write(array, &[1f64, -2.0, 3.0]);
        assert_eq!((blob.asum(array), blob.sumsq(array)), (Ok(6.0), Ok(14.0)));
        blob.scale(array, -0.5).unwrap();
        assert_eq!(blob.read::<f64>(array), [-0.5, 1.0, -1.5]);
    }
}

fn blobs_of_integers_have_no_math() {
    for element in [SYNCEDMEM_INT32, SYNCEDMEM_UINT32] {
        let mut blob = Blob::of(element, &[2]);
        blob.write(DATA, &[1u32, 2]);
        assert_eq!(blob.read::<u32>(DATA), [1, 2]);
        assert_eq!(blob.asum(DATA), Err(SYNCEDMEM_ERROR_UNSUPPORTED));
        assert_eq!(blob.sumsq(DATA), Err(SYNCEDMEM_ERROR_UNSUPPORTED));
        assert_eq!(blob.scale(DATA, 2.0), Err(SYNCEDMEM_ERROR_UNSUPPORTED));
        assert_eq!(blob.update(), Err(SYNCEDMEM_ERROR_UNSUPPORTED));
    }
}

fn other_types_are_refused() {
    assert!(matches!(Blob::unshaped(SYNCEDMEM_FLOAT16), Err(SYNCEDMEM_ERROR_UNSUPPORTED)));
    let (mut floats, doubles) = (Blob::new(&[2]), Blob::of(SYNCEDMEM_FLOAT64, &[2]));
    assert_eq!(floats.share(DATA, &doubles), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert_eq!(floats.copy_from(DATA, &doubles, true), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
}

fn a_handle_that_is_null_or_of_a_destroyed_blob_is_refused() {
    let null = Blob(std::ptr::null_mut());
    assert_eq!(null.dim(0), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    let ended = Blob(Blob::new(&[1]).0);
    assert_eq!(ended.dim(0), Err(SYNCEDMEM_ERROR_INVALID_HANDLE));
    assert!(last_error().contains("not lead to a live blob"), "{}", last_error());
    std::mem::forget(ended);
}

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

fn more_numbers_than_memory_holds_are_refused() {
    let blob = Blob::new(&[2]);
    for length in [usize::MAX, 1 << 62, 1 << 60] {
        let status = unsafe { syncedmem_blob_reshape(blob.0, length, [2i64].as_ptr()) };
        assert_eq!(status, SYNCEDMEM_ERROR_INVALID_ARGUMENT);
        assert!(last_error().contains("more than memory holds"), "{}", last_error());
    }
    assert_eq!(blob.count(), 2);
}

crate::support::harness::tests![
    a_handle_of_a_blob_is_no_object,
    more_numbers_than_memory_holds_are_refused,
    a_default_constructed_blob_has_no_axes_no_elements_and_no_memory,
    reshape_is_lazy_on_both_sides,
    an_untouched_array_reads_as_zeros,
    a_blob_has_at_most_32_axes,
    the_count_is_at_most_the_largest_int,
    an_empty_shape_counts_one,
    dimensions_of_0_are_allowed,
    behind_a_dimension_of_0_any_others_are_allowed,
    a_negative_dimension_is_refused,
    reshape_within_the_capacity_keeps_contents_and_memory,
    reshape_beyond_the_capacity_replaces_the_memory_and_loses_the_contents,
    negative_axes_count_from_the_end,
    num_channels_height_and_width_read_1_for_missing_axes,
    num_channels_height_and_width_refuse_more_than_four_axes,
    a_count_of_axes_is_the_product_from_one_to_another,
    an_offset_goes_by_the_last_axis_first,
    a_legacy_offset_may_be_one_past_the_end,
    a_shape_string_has_the_dimensions_and_the_count,
    shape_equals_compares_dimensions,
    shape_equals_compares_legacy_dimensions_from_the_end,
    share_makes_two_blobs_see_one_memory,
    memory_that_is_held_outlives_a_reshape_and_the_blob,
    release_of_null_does_nothing_and_hold_needs_a_shape,
    share_refuses_another_count,
    a_blob_may_share_with_itself_and_copy_from_itself,
    a_reshape_beyond_the_capacity_ends_sharing,
    copy_from_takes_the_contents_of_one_array,
    copy_from_reshapes_where_it_is_asked_to,
    copy_from_an_untouched_source_gives_zeros,
    update_subtracts_the_diff_from_the_data,
    update_of_untouched_data_fails,
    math_of_untouched_arrays_gives_0_or_does_nothing,
    asum_sumsq_and_scale_of_the_data_and_of_the_diff,
    blobs_of_integers_have_no_math,
    other_types_are_refused,
    a_handle_that_is_null_or_of_a_destroyed_blob_is_refused,
];
