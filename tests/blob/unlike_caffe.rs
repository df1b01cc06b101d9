//! Faults of Caffe's Blob that are not repeated (`// Unlike Caffe:` in the source). `device_sequences` checks after every step that the
//! capacity is that of the memory, and that setting one array keeps the other. FromProto and ToProto are in the C++ header; this file
//! tests the calls that they make. `device_unlike_caffe` tests the faults that need a device.

use crate::support::blob::*;
use crate::support::*;

#[test]
fn a_dimension_beyond_an_int_is_refused() {
    let mut blob = Blob::new(&[1]);
    for dim in [1i64 << 32, (1 << 32) + 5, i64::MAX, i64::MIN, 1 << 31] {
        assert_eq!(blob.reshape(&[dim]), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "{dim}");
        assert_eq!(blob.reshape(&[0, dim]), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "{dim} after a 0");
    }
}

#[test]
fn a_count_of_axes_that_overflows_is_refused() {
    let blob = Blob::new(&[0, 1 << 16, 1 << 16, 1 << 30, 1 << 30]);
    assert_eq!((blob.count_axes(0, 5), blob.count_axes(1, 2)), (Ok(0), Ok(1 << 16)));
    for end in [3, 4, 5] {
        assert_eq!(blob.count_axes(1, end), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "1 to {end}");
    }
}

#[test]
fn a_legacy_offset_refuses_negative_indices() {
    let blob = Blob::new(&[2, 3, 4, 5]);
    for place in 0..4 {
        let mut indices = [0; 4];
        indices[place] = -1;
        assert_eq!(blob.legacy_offset(indices), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "{indices:?}");
        indices[place] = 7;
        assert_eq!(blob.legacy_offset(indices), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "{indices:?}");
    }
    let huge = Blob::new(&[0, i32::MAX.into(), i32::MAX.into(), i32::MAX.into()]);
    let past = [0, i32::MAX.into(), i32::MAX.into(), i32::MAX.into()];
    assert_eq!(huge.legacy_offset(past), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "it does not overflow either");
}

/// FromProto writes through mutable_cpu_data, which Caffe refuses for a blob that never had elements.
#[test]
fn a_blob_of_count_0_has_memory() {
    let mut blob = Blob::unshaped(SYNCEDMEM_FLOAT32).unwrap();
    blob.reshape(&[0, 3]).unwrap();
    blob.write::<f32>(DATA, &[]);
    assert_eq!((blob.read::<f32>(DATA), blob.head(DATA)), (vec![], SYNCEDMEM_HEAD_AT_CPU));
    assert_eq!((blob.asum(DATA), blob.update()), (Ok(0.0), Ok(())));
}

#[test]
fn a_misaligned_address_is_refused() {
    let (mut blob, mut lent) = (Blob::new(&[1]), [0u8; 16]);
    assert_eq!(blob.set_cpu(DATA, lent.as_mut_ptr().wrapping_add(1)), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert_eq!(blob.set_cpu(DATA, std::ptr::null_mut::<f32>()), Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert_eq!(blob.head(DATA), SYNCEDMEM_UNINITIALIZED);
}
