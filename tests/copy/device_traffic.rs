//! The driver calls of each operation: as few copies as possible. `tests/object/device_sequences.rs` checks that an operation
//! with nothing to do makes no call.

use crate::support::pools::{POOLS, filled};
use crate::support::states::*;
use crate::support::*;

const BYTES: usize = 4096;

/// The calls of one entry point.
fn count(calls: &[Call], function: &str) -> usize {
    calls.iter().filter(|call| call.function == function).count()
}

fn copies(calls: &[Call], kind: &str) -> usize {
    calls.iter().filter(|call| call.field("kind") == Some(kind)).count()
}

#[test]
fn a_new_device_side_is_zeroed_without_a_copy() {
    let gpu = gpu();
    for bytes in [1, 3, 4, 17, 4096, 1 << 20] {
        let mut object = Object::new(bytes);
        let look = |calls: &[Call]| {
            assert_eq!(copies(calls, "HtoD") + copies(calls, "DtoD"), 0, "{calls:?}");
            assert_eq!(count(calls, "cuMemAlloc_v2"), 1, "{calls:?}");
        };
        let data = gpu.observe(|| object.gpu_data().unwrap(), look);
        gpu.within(0, || assert_eq!(gpu.cuCtxSynchronize(), 0));
        assert_bytes(&gpu.read(data.addr(), bytes), &vec![0; bytes], &"");
    }
}

#[test]
fn an_overwritten_device_side_is_neither_zeroed_nor_copied() {
    let gpu = simulated_gpu();
    let stream = gpu.stream();
    for state in [State::Untouched, State::AtCpu, State::AtCpuOverDevice, State::Synced, State::AtGpu] {
        let mut object = state.object(&gpu, &stream, BYTES);
        let (_, calls) = gpu.watch(|| object.overwrite_gpu_data().unwrap());
        let allocates = matches!(state, State::Untouched | State::AtCpu);
        assert_eq!(count(&calls, "cuMemAlloc_v2"), usize::from(allocates), "{state:?} {calls:?}");
        let touching = |call: &&Call| call.function.starts_with("cuMemset") || call.function.starts_with("cuMemcpy");
        assert_eq!(calls.iter().find(touching), None, "{state:?}");
        assert_eq!(object.head(), 2);
    }
}

#[test]
fn is_ready_makes_at_most_one_query_and_none_once_it_said_yes() {
    let gpu = simulated_gpu();
    let stream = gpu.stream();
    let _pinning = Pinning::always();
    for state in [State::Pushing, State::Pulling] {
        gpu.control().simcuda_hold_streams();
        let mut object = state.object(&gpu, &stream, BYTES);
        let (ready, calls) = gpu.watch(|| object.is_ready());
        assert_eq!((ready, queries(&calls)), (Ok(false), 1), "{state:?} {calls:?}");
        assert_eq!(object.head(), state.head());
        gpu.control().simcuda_release_streams();
        stream.synchronize();
        let (ready, calls) = gpu.watch(|| object.is_ready());
        assert_eq!((ready, queries(&calls)), (Ok(true), 1), "{state:?} {calls:?}");
        assert_eq!(object.head(), 3);
        let (ready, calls) = gpu.watch(|| object.is_ready());
        assert_eq!((ready, &calls[..]), (Ok(true), &[][..]), "{state:?}");
    }
}

fn queries(calls: &[Call]) -> usize {
    calls.iter().filter(|call| call.function.ends_with("Query")).count()
}

#[test]
fn a_push_makes_one_copy_and_records_one_event_behind_it_on_the_same_stream() {
    let gpu = simulated_gpu();
    let stream = gpu.stream();
    let mut object = State::AtCpuOverDevice.object(&gpu, &stream, BYTES);
    let (status, calls) = gpu.watch(|| object.push(stream.handle()));
    assert_eq!(status, SYNCEDMEM_SUCCESS);
    assert_eq!(copies(&calls, "HtoD"), 1, "{calls:?}");
    let named = format!("{:p}", stream.handle());
    let on_stream: Vec<_> = calls.iter().filter(|call| call.field("stream") == Some(&named)).collect();
    let at = |what: &str| on_stream.iter().position(|call| call.function.starts_with(what));
    let (copy, record) = (at("cuMemcpy").unwrap(), at("cuEventRecord").unwrap());
    assert!(copy < record, "{calls:?}");
    assert_eq!(count(&calls, "cuEventRecord"), 1, "{calls:?}");
    assert_eq!(calls.iter().filter(|call| call.function.ends_with("Synchronize")).count(), 0, "{calls:?}");
}

#[test]
fn an_object_of_no_bytes_allocates_nothing_and_has_no_device_address() {
    let gpu = gpu();
    let stream = gpu.stream();
    for operation in [Operation::GpuData, Operation::MutableGpuData, Operation::OverwriteGpuData] {
        for touched in [false, true] {
            let mut object = Object::new(0);
            if touched {
                assert!(!object.mutable_cpu_data().unwrap().is_null());
            }
            let with = With { host: std::ptr::null_mut(), device: std::ptr::null_mut(), stream: stream.handle() };
            let look =
                |calls: &[Call]| assert!(!calls.iter().any(|call| call.function.starts_with("cuMem")), "{calls:?}");
            let data = gpu.observe(|| object.run(operation, &with), look);
            assert_eq!(data, Ok(std::ptr::null_mut()), "{operation:?}");
            let head = if operation == Operation::GpuData && touched { 3 } else { 2 };
            assert_eq!(object.head(), head, "{operation:?}");
            assert!(!object.cpu_data().unwrap().is_null());
            assert_eq!(object.head(), 3);
        }
    }
    let mut object = Object::touched(Storage::mutable_cpu_data, 0);
    assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
    assert_eq!((object.head(), object.wait(), object.device_address()), (3, SYNCEDMEM_SUCCESS, 0));
    object.mutable_gpu_data().unwrap();
    assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS);
    assert!(!object.cpu_data().unwrap().is_null());
    assert_eq!(object.release_gpu(), SYNCEDMEM_SUCCESS);
}

/// A driver takes such an address for a host address, and ends the process.
#[test]
fn device_memory_that_was_lent_and_is_freed_is_not_copied() {
    let gpu = gpu();
    let block = gpu.block(BYTES);
    let mut object = Object::new(BYTES);
    assert_eq!(object.set_gpu_data(block.pointer()), SYNCEDMEM_SUCCESS);
    drop(block);
    assert_refused(object.cpu_data(), SYNCEDMEM_ERROR_DRIVER, "the caller freed its memory");
    let stream = gpu.stream();
    assert_refused(object.pull(stream.handle()), SYNCEDMEM_ERROR_DRIVER, "the caller freed its memory");
    assert_eq!(object.head(), 2);
    object.overwrite_cpu_data().unwrap();
    assert_refused(object.gpu_data(), SYNCEDMEM_ERROR_DRIVER, "the caller freed its memory");
    assert_refused(object.push(stream.handle()), SYNCEDMEM_ERROR_DRIVER, "the caller freed its memory");
    assert_eq!(object.head(), 1);
}

#[test(alone_with_driver, POOLS)]
fn a_copy_does_not_query_the_device() {
    let gpu = &simulated_gpu();
    let ((), calls) = gpu.watch(|| {
        let mut object = filled(5000, 1);
        object.mutable_gpu_data().unwrap();
        object.cpu_data().unwrap();
    });
    assert!(!names(&calls).contains(&"cuDeviceGetAttribute"), "{calls:?}");
}
