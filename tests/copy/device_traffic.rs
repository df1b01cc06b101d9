//! What reaches the driver, call by call: as few copies as there can be, and nothing where nothing is to be done.

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

fn the_first_device_read_of_host_data_makes_exactly_one_host_to_device_copy_of_4096_bytes() {
    let gpu = gpu();
    let mut object = Object::new(BYTES);
    object.fill_host(&pattern(3, BYTES));
    let look = |calls: &[Call]| {
        assert_eq!(gpu.control().simcuda_copies(c"HtoD".as_ptr(), BYTES), 1, "{calls:?}");
        assert_eq!(gpu.control().simcuda_copies(std::ptr::null(), usize::MAX), 1, "{calls:?}");
        assert_eq!(count(calls, "cuMemAlloc_v2"), 1, "{calls:?}");
    };
    let data = gpu.observe(|| object.gpu_data().unwrap(), look);
    assert_bytes(&gpu.read(data.addr(), BYTES), &pattern(3, BYTES), &"");
}

fn the_first_host_read_of_device_data_makes_exactly_one_device_to_host_copy_of_4096_bytes() {
    let gpu = gpu();
    let mut object = Object::new(BYTES);
    gpu.write(object.mutable_gpu_data().unwrap().addr(), &pattern(4, BYTES));
    let look = |calls: &[Call]| {
        assert_eq!(gpu.control().simcuda_copies(c"DtoH".as_ptr(), BYTES), 1, "{calls:?}");
        assert_eq!(gpu.control().simcuda_copies(std::ptr::null(), usize::MAX), 1, "{calls:?}");
    };
    gpu.observe(|| object.cpu_data().unwrap(), look);
    assert_bytes(&object.host_bytes(BYTES), &pattern(4, BYTES), &"");
}

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

fn where_nothing_is_to_be_done_no_call_is_made() {
    use Operation::*;
    let gpu = simulated_gpu();
    let (stream, lent) = (gpu.stream(), Lent::new(&gpu, BYTES));
    let at_cpu = &[CpuData, MutableCpuData, OverwriteCpuData, ReleaseCpu, Pull, Wait, IsReady, SetCpuData][..];
    let at_gpu = &[GpuData, MutableGpuData, OverwriteGpuData, ReleaseGpu, Push, Wait, IsReady][..];
    let synced = [CpuData, MutableCpuData, OverwriteCpuData, GpuData, MutableGpuData, OverwriteGpuData];
    let synced = [&synced[..], &[Push, Pull, Wait, IsReady, ReleaseCpu, SetCpuData]].concat();
    let untouched =
        [CpuData, MutableCpuData, OverwriteCpuData, ReleaseCpu, ReleaseGpu, Push, Pull, Wait, IsReady, SetCpuData];
    let quiet = [
        (State::Untouched, &untouched[..]),
        (State::AtCpu, at_cpu),
        (State::AtCpu, &[ReleaseGpu]),
        (State::AtCpuOverDevice, at_cpu),
        (State::AtGpu, at_gpu),
        (State::AtGpu, &[ReleaseCpu, OverwriteCpuData, SetCpuData]),
        (State::AtGpuOverHost, at_gpu),
        (State::AtGpuOverHost, &[ReleaseCpu, OverwriteCpuData, SetCpuData]),
        (State::Synced, &synced),
        // In flight, and held: none of these may wait.
        (State::Pushing, &[CpuData, GpuData, MutableGpuData, Push, Pull]),
    ];
    for (state, operations) in quiet {
        for &operation in operations {
            gpu.control().simcuda_hold_streams();
            let mut object = state.object(&gpu, &stream, BYTES);
            let (_, calls) = gpu.watch(|| object.run(operation, &lent.with(&stream)));
            assert_eq!(calls, [], "{state:?} {operation:?}");
            gpu.control().simcuda_release_streams();
        }
    }
}

fn during_a_pull_the_device_is_read_without_a_call_and_a_second_pull_makes_none() {
    let gpu = simulated_gpu();
    let stream = gpu.stream();
    let _pinning = Pinning::always();
    gpu.control().simcuda_hold_streams();
    let mut object = State::Pulling.object(&gpu, &stream, BYTES);
    let (_, calls) = gpu.watch(|| {
        object.gpu_data().unwrap();
        assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS);
    });
    assert_eq!(calls, []);
    assert_eq!(object.head(), 2, "until the copy is known to have landed");
    gpu.control().simcuda_release_streams();
}

fn a_pull_that_cpu_data_completes_copies_once() {
    let gpu = gpu();
    let stream = gpu.stream();
    let _pinning = Pinning::always();
    for lag in [0, 2000] {
        let mut object = Object::new(BYTES);
        gpu.write(object.mutable_gpu_data().unwrap().addr(), &pattern(5, BYTES));
        stream.delay(lag);
        let work = || {
            assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS);
            assert_bytes(&object.host_bytes(BYTES), &pattern(5, BYTES), &"");
            assert_eq!(object.cpu_data(), object.cpu_data());
        };
        gpu.observe(work, |calls| assert_eq!(copies(calls, "DtoH"), 1, "{calls:?}"));
        assert_eq!(object.head(), 3);
    }
}

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
    let mut object = Object::new(0);
    object.mutable_cpu_data().unwrap();
    assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
    assert_eq!((object.head(), object.wait(), object.device_address()), (3, SYNCEDMEM_SUCCESS, 0));
    object.mutable_gpu_data().unwrap();
    assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS);
    assert!(!object.cpu_data().unwrap().is_null());
    assert_eq!(object.release_gpu(), SYNCEDMEM_SUCCESS);
}

fn a_block_is_kept_from_one_turn_to_the_next() {
    let gpu = gpu();
    let mut object = Object::new(BYTES);
    object.mutable_cpu_data().unwrap();
    object.mutable_gpu_data().unwrap();
    let before = (object.host_address(), object.device_address());
    let work = || {
        for _ in 0..10 {
            object.mutable_cpu_data().unwrap();
            object.mutable_gpu_data().unwrap();
        }
    };
    gpu.observe(work, |calls| {
        assert_eq!((copies(calls, "HtoD"), copies(calls, "DtoH")), (10, 10));
        assert_eq!(calls.iter().find(|call| call.function.contains("Alloc") || call.function.contains("Free")), None);
    });
    assert_eq!((object.host_address(), object.device_address()), before);
}

fn an_object_that_never_touched_the_device_never_touches_the_driver() {
    in_a_process_with_a_driver(&[], || {
        let gpu = simulated_gpu();
        let (_, calls) = gpu.watch(|| {
            let mut object = Object::new(BYTES);
            object.fill_host(&pattern(1, BYTES));
            assert_eq!(object.wait(), SYNCEDMEM_SUCCESS);
            assert_eq!((object.device_ordinal(), object.is_pinned(), object.owns_gpu()), (-1, false, false));
        });
        assert_eq!(calls, []);
    });
}

crate::support::harness::tests![
    the_first_device_read_of_host_data_makes_exactly_one_host_to_device_copy_of_4096_bytes,
    the_first_host_read_of_device_data_makes_exactly_one_device_to_host_copy_of_4096_bytes,
    a_new_device_side_is_zeroed_without_a_copy,
    an_overwritten_device_side_is_neither_zeroed_nor_copied,
    where_nothing_is_to_be_done_no_call_is_made,
    during_a_pull_the_device_is_read_without_a_call_and_a_second_pull_makes_none,
    a_pull_that_cpu_data_completes_copies_once,
    is_ready_makes_at_most_one_query_and_none_once_it_said_yes,
    a_push_makes_one_copy_and_records_one_event_behind_it_on_the_same_stream,
    an_object_of_no_bytes_allocates_nothing_and_has_no_device_address,
    a_block_is_kept_from_one_turn_to_the_next,
    an_object_that_never_touched_the_device_never_touches_the_driver,
];
