//! Tensors of DLPack's on the host: what they say, how long they keep their object, and what is lent by them.

use std::ffi::c_void;

use crate::support::tensor::*;
use crate::support::*;

const BYTES: usize = 96;

fn head(mem: *mut syncedmem_t) -> syncedmem_head_t {
    ask(SYNCEDMEM_SYNCED, |head| unsafe { syncedmem_head(mem, head) }).unwrap()
}

#[test]
fn a_tensor_describes_the_objects_own_memory_in_cs_order() {
    let mem = owned(BYTES);
    let tensor = export(*mem, FLOATS).unwrap();
    let described = tensor.tensor();
    assert_eq!(described.data.cast_const(), cpu_data(*mem));
    assert_eq!((described.device, described.byte_offset), ((1, 0), 0));
    assert_eq!((described.code, described.bits, described.lanes), (2, 32, 1));
    assert_eq!((tensor.shape(), tensor.strides()), (vec![2, 3, 4], vec![12, 4, 1]));
    assert_eq!(tensor.managed().version, (1, 0));
}

#[test]
fn a_tensor_for_reading_is_marked_read_only_and_one_for_writing_is_not() {
    let mem = owned(BYTES);
    for (access, flags) in [(READ, 1), (WRITE, 0), (OVERWRITE, 0)] {
        assert_eq!(export(*mem, Ask { access, ..FLOATS }).unwrap().managed().flags, flags, "access {access}");
    }
}

#[test]
fn a_tensor_without_a_version_is_writable_or_refused() {
    let mem = owned(BYTES);
    let tensor = export(*mem, Ask { access: WRITE, versioned: false, ..FLOATS }).unwrap();
    assert_eq!(tensor.legacy().tensor.data.cast_const(), cpu_data(*mem));
    assert_eq!((tensor.shape(), tensor.strides()), (vec![2, 3, 4], vec![12, 4, 1]));
    drop(tensor);
    let refused = export(*mem, Ask { versioned: false, ..FLOATS }).err();
    assert_eq!(refused, Some(SYNCEDMEM_ERROR_INVALID_ARGUMENT));
    assert!(last_error().contains("cannot say that it is read-only"), "{}", last_error());
    assert_eq!(exports(*mem), (0, 0));
}

#[test]
fn an_export_for_writing_moves_the_head_and_one_that_is_refused_does_not() {
    let mem = owned(BYTES);
    assert!(export(*mem, Ask { access: WRITE, shape: &[25], ..FLOATS }).is_err());
    assert_eq!(head(*mem), SYNCEDMEM_UNINITIALIZED);
    drop(export(*mem, Ask { access: WRITE, ..FLOATS }).unwrap());
    assert_eq!(head(*mem), SYNCEDMEM_HEAD_AT_CPU);
}

#[test]
fn shapes_of_every_kind_fit_or_are_refused_with_what_to_do() {
    let mem = owned(BYTES);
    let fits: [(&[i64], &[i64]); 6] = [
        (&[], &[]),
        (&[24], &[1]),
        (&[0], &[1]),
        (&[3, 0, i64::MAX / 4], &[i64::MAX / 4, i64::MAX / 4, 1]),
        (&[1, 1, 24, 1], &[24, 24, 1, 1]),
        (&[1; 64], &[1; 64]),
    ];
    for (shape, strides) in fits {
        let tensor = export(*mem, Ask { shape, ..FLOATS }).unwrap_or_else(|_| panic!("{shape:?}: {}", last_error()));
        assert_eq!((tensor.shape(), tensor.strides()), (shape.to_vec(), strides.to_vec()));
    }
    let refused: [&[i64]; 6] = [&[25], &[-1], &[5, -5], &[1 << 32, 1 << 32], &[i64::MAX, 0, 2], &[1; 65]];
    for shape in refused {
        assert_eq!(export(*mem, Ask { shape, ..FLOATS }).err(), Some(SYNCEDMEM_ERROR_INVALID_ARGUMENT), "{shape:?}");
        assert!(last_error().contains("pass"), "{}", last_error());
    }
}

#[test]
fn types_are_those_of_dlpack_that_take_whole_bytes() {
    let mem = owned(BYTES);
    let known: Vec<(u8, u8)> = (0..=255u8)
        .flat_map(|code| (0..=255u8).map(move |bits| (code, bits)))
        .filter(|&(code, bits)| export(*mem, Ask { code, bits, shape: &[1], ..FLOATS }).is_ok())
        .collect();
    let whole = [(0, 8), (0, 16), (0, 32), (0, 64), (1, 8), (1, 16), (1, 32), (1, 64), (2, 16), (2, 32), (2, 64)];
    let others = [(2, 128), (4, 16), (5, 32), (5, 64), (5, 128)];
    let bytes = (6..=14).map(|code| (code, 8));
    assert_eq!(known, whole.into_iter().chain(others).chain(bytes).collect::<Vec<_>>());
}

#[test]
fn a_second_destroy_while_tensors_are_in_use_is_refused() {
    let mem = created(BYTES);
    let tensor = export(mem, FLOATS).unwrap();
    assert_eq!(destroy(mem), SYNCEDMEM_SUCCESS);
    assert_eq!(destroy(mem), SYNCEDMEM_ERROR_INVALID_HANDLE);
    assert_eq!(export(mem, FLOATS).err(), Some(SYNCEDMEM_ERROR_INVALID_HANDLE));
    drop(tensor);
}

#[test]
fn what_would_take_a_tensors_memory_away_is_refused_and_nothing_changes() {
    let mut object = Object::new(BYTES);
    let mut other = [0u8; BYTES];
    let tensor = export(object.mem(), Ask { access: WRITE, ..FLOATS }).unwrap();
    unsafe { tensor.data::<f32>().write(42.0) };
    let words = [0, 8, 16, 24].map(|at| object.word(at));
    let mut foreign = Theirs::of(other.as_mut_ptr(), BYTES);
    let refused =
        [object.destruct(), object.set_cpu_data(other.as_mut_ptr()), object.release_cpu(), foreign.lend(object.mem())];
    assert_eq!(refused, [SYNCEDMEM_ERROR_EXPORTED; 4]);
    assert!(last_error().contains("(1 of the host's, 0 of the device's)"), "{}", last_error());
    assert_eq!([0, 8, 16, 24].map(|at| object.word(at)), words);
    assert_eq!((unsafe { tensor.data::<f32>().read() }, foreign.deleted()), (42.0, 0));
    drop(tensor);
    assert_eq!(object.set_cpu_data(other.as_mut_ptr()), SYNCEDMEM_SUCCESS);
    drop(object);
    assert_eq!(foreign.deleted(), 0, "it stayed its owner's");
}

#[test]
fn a_lent_tensor_is_the_objects_memory_and_is_deleted_once_when_it_is_let_go() {
    for legacy in [false, true] {
        let mut memory = [7u8; BYTES];
        let mut foreign = Theirs::of(memory.as_mut_ptr(), BYTES);
        let mem = created(BYTES);
        let status = if legacy { foreign.lend_legacy(mem) } else { foreign.lend(mem) };
        assert_eq!(status, SYNCEDMEM_SUCCESS, "{}", last_error());
        assert_eq!((cpu_data(mem), head(mem)), (memory.as_ptr().cast(), SYNCEDMEM_HEAD_AT_CPU));
        assert_eq!(foreign.deleted(), 0);
        assert_eq!(destroy(mem), SYNCEDMEM_SUCCESS);
        assert_eq!(foreign.deleted(), 1);
    }
}

#[test]
fn a_lent_tensor_is_deleted_when_another_takes_its_place() {
    let (mut first, mut second, mut plain) = ([1u8; BYTES], [2u8; BYTES], [3u8; BYTES]);
    let mut one = Theirs::of(first.as_mut_ptr(), BYTES);
    let mut two = Theirs::of(second.as_mut_ptr(), BYTES);
    let mut object = Object::new(BYTES);
    assert_eq!(one.lend(object.mem()), SYNCEDMEM_SUCCESS);
    assert_eq!(two.lend(object.mem()), SYNCEDMEM_SUCCESS);
    assert_eq!((one.deleted(), two.deleted()), (1, 0));
    assert_eq!(object.set_cpu_data(plain.as_mut_ptr()), SYNCEDMEM_SUCCESS);
    assert_eq!((one.deleted(), two.deleted()), (1, 1));
}

#[test]
fn what_cannot_be_lent_stays_the_callers() {
    let mut memory = [7u8; BYTES];
    let data = memory.as_mut_ptr();
    let with = |change: fn(&mut DLManagedTensorVersioned)| {
        let mut foreign = Theirs::of(data, BYTES);
        change(&mut foreign.managed);
        foreign
    };
    // The last byte that has an address is the tensor's last but one.
    let last_but_one = with(|managed| managed.tensor.byte_offset = (1 << 56) - managed.tensor.data as u64 - 95);
    let cases = [
        ("read-only", with(|managed| managed.flags = 1)),
        ("major version 1", with(|managed| managed.version = (2, 0))),
        ("neither on the CPU nor", with(|managed| managed.tensor.device = (4, 0))),
        ("is NULL", with(|managed| managed.tensor.data = std::ptr::null_mut())),
        ("is NULL", with(|managed| (managed.tensor.data, managed.tensor.byte_offset) = (std::ptr::null_mut(), 4096))),
        ("makes no sense", with(|managed| managed.tensor.shape = std::ptr::null_mut())),
        ("makes no sense", with(|managed| managed.tensor.ndim = -1)),
        ("makes no sense", Theirs::of(data, BYTES).shaped(&[-96], &[])),
        ("makes no sense", Theirs::of(data, BYTES).shaped(&[1 << 62, 4], &[])),
        ("not those of the object", Theirs::of(data, BYTES - 1)),
        ("not contiguous", Theirs::of(data, BYTES).shaped(&[48, 2], &[1, 48])),
        ("not contiguous", Theirs::of(data, BYTES).shaped(&[96], &[2])),
        ("beyond the address space", with(|managed| managed.tensor.byte_offset = 1 << 62)),
        ("beyond the address space", with(|managed| managed.tensor.byte_offset = u64::MAX)),
        ("beyond the address space", last_but_one),
    ];
    for (words, mut foreign) in cases {
        let mem = owned(BYTES);
        assert_eq!(foreign.lend(*mem), SYNCEDMEM_ERROR_INVALID_ARGUMENT, "{words}");
        assert!(last_error().contains(words), "{words}: {}", last_error());
        assert_eq!((head(*mem), foreign.deleted()), (SYNCEDMEM_UNINITIALIZED, 0), "{words}");
    }
}

#[test]
fn every_way_to_say_contiguous_is_understood() {
    let mut memory = [7u8; BYTES];
    let ways: [(&[i64], &[i64]); 4] =
        [(&[96], &[]), (&[2, 48], &[48, 1]), (&[1, 96], &[12345, 1]), (&[96, 1], &[1, -3])];
    for (shape, strides) in ways {
        let mut foreign = Theirs::of(memory.as_mut_ptr(), BYTES).shaped(shape, strides);
        let mem = owned(BYTES);
        assert_eq!(foreign.lend(*mem), SYNCEDMEM_SUCCESS, "{shape:?} {strides:?}: {}", last_error());
    }
}

#[test]
fn a_tensors_offset_and_wider_elements_are_honoured() {
    let mut memory = [7u8; BYTES + 8];
    let mut foreign = Theirs::of(memory.as_mut_ptr(), BYTES).shaped(&[12], &[1]);
    (foreign.managed.tensor.bits, foreign.managed.tensor.lanes, foreign.managed.tensor.byte_offset) = (32, 2, 8);
    let mem = owned(BYTES);
    assert_eq!(foreign.lend(*mem), SYNCEDMEM_SUCCESS, "{}", last_error());
    assert_eq!(cpu_data(*mem), memory[8..].as_ptr().cast());
}

#[test]
fn unknown_numbers_and_addresses_that_nothing_can_have_are_refused() {
    let mem = owned(BYTES);
    let mut tensor = std::ptr::null_mut();
    let out: *mut *mut c_void = &mut tensor;
    let shape = [24i64];
    let ask = |side, access, ndim, shape, out| unsafe {
        syncedmem_to_dlpack(*mem, side, access, 2, 32, ndim, shape, true, out)
    };
    let refused = [
        ask(2, READ, 1, shape.as_ptr(), out),
        ask(-1, READ, 1, shape.as_ptr(), out),
        ask(HOST, 3, 1, shape.as_ptr(), out),
        ask(HOST, READ, -1, shape.as_ptr(), out),
        unsafe { syncedmem_set_dlpack(*mem, std::ptr::without_provenance_mut(12), true) },
    ];
    assert_eq!(refused, [SYNCEDMEM_ERROR_INVALID_ARGUMENT; 5]);
    assert!(tensor.is_null());
}
