//! Every driver call of every operation, from every state, fails in turn, with statuses known and unknown: the error
//! names the call and the status, the object is as it was, the same operation succeeds afterwards, nothing leaks.

use crate::support::pools::{self, ALL, trim};
use crate::support::states::*;
use crate::support::*;

const BYTES: usize = 600;
const OUT_OF_MEMORY: i32 = 2;
/// Statuses of the call itself, of an earlier kernel, and unknown ones.
const STATUSES: [i32; 6] = [1, OUT_OF_MEMORY, 700, 719, 999, 4242];

/// How many device blocks and page-locked ones are left, without idle ones.
fn blocks(gpu: &Gpu) -> (usize, usize) {
    let account = gpu.account();
    (account.device_blocks, account.pinned_blocks)
}

/// Blocks that could not be given back are offered again when others are; and when page-locked memory is given back, the driver
/// is asked for some again after it had none.
fn flush(gpu: &Gpu) {
    let mut block = std::ptr::null_mut();
    gpu.within(0, || assert_eq!(gpu.cuMemHostAlloc(&mut block, 100, 0), 0));
    assert_eq!(unsafe { CaffeFreeHost(block, true) }, SYNCEDMEM_SUCCESS);
    for _ in 0..4 {
        let mut object = Object::new(100);
        assert!(object.cpu_data().is_ok() && object.gpu_data().is_ok(), "{}", last_error());
        drop(object);
        trim(ALL);
    }
}

/// What is left behind by a kernel, as the CUDA Driver API's list of errors says.
const LEFT_BEHIND: [i32; 12] = [214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719];

fn status_for(status: i32) -> syncedmem_status_t {
    if LEFT_BEHIND.contains(&status) { SYNCEDMEM_ERROR_PENDING } else { SYNCEDMEM_ERROR_DRIVER }
}

/// Ends a fault, which must have been met.
fn disarm(gpu: &Gpu, fault: &Fault, what: &str) {
    gpu.disarm(fault);
    assert!(gpu.has_failed(fault.function, fault.status), "{what}: it was not met: {:?}", gpu.log());
}

/// What an operation that met the fault returned must fit it.
fn judge(fault: &Fault, status: syncedmem_status_t, what: &str) {
    let error = last_error();
    assert_eq!(status, status_for(fault.status), "{what}: {error}");
    if fault.is_unknown_block() {
        assert!(error.contains("the device was reset"), "{what}: {error}");
        return;
    }
    let named = error.contains(fault.function) && error.contains(&format!("({})", fault.status));
    assert!(named, "{what}: the error does not name the call and the status: {error}");
    assert_eq!(error.contains("found pending"), status == SYNCEDMEM_ERROR_PENDING, "{error}");
}

fn every_fault_of(gpu: &Gpu, state: State, operation: Operation, pins: bool) -> usize {
    let (stream, lent) = (gpu.stream(), Lent::new(gpu, BYTES));
    let with = lent.with(&stream);
    let made = || {
        let object = state.object(gpu, &stream, BYTES);
        // No copy is in flight, so what the library says of one after the fault is true.
        stream.synchronize();
        object
    };
    let mut object = made();
    let (reference, calls) = gpu.watch(|| object.run(operation, &with));
    let head = object.head();
    drop(object);
    flush(gpu);
    let before = blocks(gpu);
    let mut events = gpu.account().events;
    let was_flying = matches!(state, State::Pushing | State::Pulling);
    let gives_back = matches!(operation, Operation::ReleaseCpu | Operation::ReleaseGpu) || is_set(operation);
    let believes = gives_back || was_flying;
    for fault in faults(&calls, &STATUSES).filter(|fault| !(believes && fault.is_unknown_block())) {
        let what = &format!("{state:?} {operation:?}, pinned {pins}: {fault}");
        let mut object = made();
        let earlier = (object.host_address(), object.device_address());
        gpu.control().simcuda_clear_log();
        gpu.arm(&fault);
        let outcome = object.run(operation, &with);
        disarm(gpu, &fault, what);
        let gone = was_flying && outcome == Err(SYNCEDMEM_ERROR_PENDING);
        match outcome {
            Err(SYNCEDMEM_ERROR_INVALID_STATE) if reference.is_err() => {}
            Err(status) => {
                judge(&fault, status, what);
                // A push that failed leaves the data where it was.
                let heads = [state.head(), if state == State::Pushing { 1 } else { state.head() }];
                assert!(heads.contains(&object.head()), "{what}: head {}", object.head());
                assert_eq!((object.host_address(), object.device_address()), earlier, "{what}");
                let again = object.run(operation, &with);
                // A copy that came to nothing is not in flight any more, and its side not current.
                let without_the_copy = gone && again == Err(SYNCEDMEM_ERROR_INVALID_STATE);
                let agrees = without_the_copy || again.is_ok() == (gone || reference.is_ok());
                assert!(agrees, "{what}: afterwards {again:?} {}", last_error());
            }
            // The library has found a way around it.
            Ok(_) => assert!(reference.is_ok(), "{what}"),
        }
        // A pull that gets no event is waited for at once.
        let settled = matches!(operation, Operation::Wait | Operation::IsReady | Operation::Pull);
        assert!(object.head() == head || settled || gone, "{what}: head {} instead of {head}", object.head());
        if !matches!(operation, Operation::OverwriteCpuData | Operation::OverwriteGpuData) {
            stream.synchronize();
            let contents = if is_set(operation) { pattern(9, BYTES) } else { state.contents(BYTES) };
            assert_bytes(&object.host_bytes(BYTES), &contents, &format_args!("{what}"));
        }
        drop(object);
        flush(gpu);
        assert_eq!(blocks(gpu), before, "{what}: left over");
        events += usize::from(fault.function == "cuEventDestroy_v2");
        assert!(gpu.account().events <= events, "{what}: an event is left over");
    }
    calls.len() * STATUSES.len()
}

#[test]
fn every_driver_call_of_every_operation_from_every_state_fails_in_turn() {
    let gpu = simulated_gpu();
    for pins in [false, true] {
        let _pinning = pins.then(Pinning::always);
        let count: usize = STATES
            .iter()
            .flat_map(|&state| OPERATIONS.map(|operation| (state, operation)))
            .map(|(state, operation)| every_fault_of(&gpu, state, operation, pins))
            .sum();
        println!("{count} faults, pinned {pins}");
        assert!(count > 1000, "only {count} faults");
    }
}

// The default budget depends on the free memory.
#[test(in_silence, ("SYNCEDMEM_POOL_BUDGET", ""), pools::POOLS)]
fn an_allocation_succeeds_where_the_driver_does_not_say_how_much_memory_is_free() {
    let gpu = simulated_gpu();
    for status in STATUSES {
        gpu.fail("cuMemGetInfo_v2", 1, status);
        let mut object = Object::new(BYTES);
        let (address, calls) = gpu.watch(|| object.gpu_data());
        assert!(address.is_ok(), "{status}: {}", last_error());
        assert!(calls.iter().any(|call| call.function == "cuMemGetInfo_v2" && call.status == status), "{calls:?}");
        drop(object);
        pools::trim(pools::DEVICE);
    }
}

#[test(in_silence)]
fn a_copy_that_gets_no_event_does_not_start() {
    let gpu = simulated_gpu();
    let stream = gpu.stream();
    let states = [State::AtCpu, State::AtCpuOverDevice, State::AtGpu, State::AtGpuOverHost];
    let mut objects = states.map(|state| (state, state.object(&gpu, &stream, BYTES)));
    let start = |state: State, object: &mut Object| match state.head() {
        1 => object.push(stream.handle()),
        _ => object.pull(stream.handle()),
    };
    for (state, object) in &mut objects {
        for status in STATUSES {
            gpu.fail("cuEventCreate", 1, status);
            gpu.control().simcuda_clear_log();
            assert_eq!(start(*state, object), status_for(status), "{state:?} {}", last_error());
            assert!(last_error().contains("cuEventCreate") && last_error().contains(&format!("({status})")));
            assert_eq!((object.head(), gpu.copies()), (state.head(), [0, 0]), "{state:?} {status}");
            assert_eq!(object.is_ready(), Ok(true));
        }
    }
    gpu.control().simcuda_clear_faults();
    for (state, object) in &mut objects {
        assert_eq!(start(*state, object), SYNCEDMEM_SUCCESS, "{}", last_error());
        assert_eq!(object.wait(), SYNCEDMEM_SUCCESS);
        assert_bytes(&object.host_bytes(BYTES), &state.contents(BYTES), &format_args!("{state:?}"));
    }
}

#[test]
fn every_driver_call_at_the_end_of_an_object_fails_in_turn_and_is_reported_once() {
    let errors = in_a_process_with_a_driver(&[], || {
        let gpu = simulated_gpu();
        // Each of them gives its blocks back to the driver.
        pools::set_pools(false);
        let _pinning = Pinning::always();
        let stream = gpu.stream();
        let mut count = 0;
        for state in STATES {
            let object = state.object(&gpu, &stream, BYTES);
            stream.synchronize();
            let ((), calls) = gpu.watch(|| drop(object));
            flush(&gpu);
            let before = blocks(&gpu);
            for fault in faults(&calls, &STATUSES).filter(|fault| !fault.is_unknown_block()) {
                let what = format!("the end of {state:?}: {fault}");
                let object = state.object(&gpu, &stream, BYTES);
                stream.synchronize();
                gpu.control().simcuda_clear_log();
                gpu.arm(&fault);
                drop(object);
                disarm(&gpu, &fault, &what);
                flush(&gpu);
                assert_eq!(blocks(&gpu), before, "{what}");
                count += 1;
            }
        }
        println!("{count} faults");
        assert!(count > 100, "only {count} faults");
    });
    let lines: Vec<_> = errors.lines().collect();
    assert!(lines.len() <= 1 && lines.iter().all(|line| line.contains("could not be given back")), "{errors}");
}

#[test]
fn every_status_that_a_kernel_leaves_behind_is_found_pending_and_no_other() {
    let gpu = simulated_gpu();
    let mut object = Object::holding(&pattern(1, BYTES));
    object.gpu_data().unwrap();
    for status in (1..1000).chain([4242, 100_000, i32::MAX, -1]) {
        // Other tests have the statuses of the process's end and of the context's.
        if [4, 201, 709].contains(&status) {
            continue;
        }
        object.mutable_cpu_data().unwrap();
        gpu.fail("cuMemcpy", 1, status);
        let outcome = object.gpu_data();
        assert_eq!(outcome, Err(status_for(status)), "{status}: {}", last_error());
        assert!(last_error().contains("cuMemcpy") && last_error().contains(&format!("({status})")));
        assert_eq!(object.head(), 1);
    }
    assert_bytes(&object.host_bytes(BYTES), &pattern(1, BYTES), &"");
}

#[test]
fn once_the_driver_says_that_it_has_ended_it_is_left_alone() {
    let functions = ["cuMemcpy", "cuMemFree_v2", "cuCtxGetCurrent", "cuEventSynchronize"];
    let errors = each_alone(
        &functions,
        |_| vec![simulated_file()],
        |function| {
            let gpu = simulated_gpu();
            pools::set_pools(false);
            let _pinning = Pinning::always();
            let stream = gpu.stream();
            let objects: Vec<_> = STATES.iter().map(|state| state.object(&gpu, &stream, BYTES)).collect();
            stream.synchronize();
            gpu.fail_times(function, 1, 4, 0);
            let mut has_ended = false;
            for mut object in objects {
                let ((), calls) = gpu.watch(|| {
                    let _ = object.mutable_cpu_data();
                    // Data that only the host has stays there.
                    assert!(object.cpu_data().is_ok() || object.head() == 2);
                    drop(object);
                });
                // The first call meets it; no later call asks the driver.
                assert!(!has_ended || calls.is_empty(), "{calls:?}");
                has_ended |= calls.iter().any(|call| call.status == 4);
            }
            assert!(has_ended, "{function} was not called");
            let mut fresh = Object::new(BYTES);
            let (data, calls) = gpu.watch(|| fresh.gpu_data());
            assert_eq!((data, names(&calls)), (Err(SYNCEDMEM_ERROR_NO_GPU), Vec::new()));
            assert!(last_error().contains("exiting"), "{}", last_error());
            assert!(fresh.cpu_data().is_ok());
            drop(fresh);
            // The device memory is left to the system, so the account is not empty.
            drop(stream);
            std::mem::forget(gpu);
        },
    );
    assert_eq!(errors.concat(), "");
}

/// The driver answers so to every wait.
fn fail_waits(gpu: &Gpu) {
    for wait in ["cuEventSynchronize", "cuCtxSynchronize", "cuStreamSynchronize"] {
        gpu.fail_times(wait, 1, 4242, 100);
    }
}

#[test]
fn a_block_whose_stream_cannot_be_waited_for_is_freed_only_once_it_can() {
    let gpu = simulated_gpu();
    pools::set_pools(false);
    let stream = gpu.stream();
    for function in ["cuCtxPushCurrent_v2", "cuEventSynchronize"] {
        let mut object = Object::new(BYTES);
        let block = object.mutable_gpu_data().unwrap().addr();
        gpu.control().simcuda_hold_streams();
        gpu.within(0, || assert_eq!(gpu.cuMemsetD8Async(block as u64, 7, BYTES, stream.handle()), 0));
        assert_eq!(unsafe { syncedmem_record_stream(object.mem(), stream.handle().cast()) }, SYNCEDMEM_SUCCESS);
        match function {
            "cuEventSynchronize" => fail_waits(&gpu),
            _ => gpu.fail(function, 1, 4242),
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(50));
                gpu.control().simcuda_release_streams();
            });
            drop(object);
        });
        gpu.control().simcuda_clear_faults();
        stream.synchronize();
        flush(&gpu);
        assert_eq!((gpu.alive().device_blocks, gpu.violations().0), (0, 0), "{function}: {}", gpu.violations().1);
    }
}

#[test]
fn the_memory_of_a_copy_that_cannot_be_waited_for_is_left_to_the_system() {
    let errors = in_a_process_with_a_driver(&[], || {
        let gpu = simulated_gpu();
        pools::set_pools(false);
        let _pinning = Pinning::always();
        let stream = gpu.stream();
        for state in [State::AtCpu, State::AtGpu] {
            let mut object = state.object(&gpu, &stream, BYTES);
            gpu.control().simcuda_hold_streams();
            let start = if state == State::AtCpu { object.push(stream.handle()) } else { object.pull(stream.handle()) };
            assert_eq!(start, SYNCEDMEM_SUCCESS);
            fail_waits(&gpu);
            drop(object);
            gpu.control().simcuda_clear_faults();
            gpu.control().simcuda_release_streams();
            stream.synchronize();
            assert_eq!(gpu.violations(), (0, String::new()), "{state:?}");
        }
        drop(stream);
        // Two objects' blocks are left.
        std::mem::forget(gpu);
    });
    assert!(inside() || errors.lines().count() == 1 && errors.contains("left to the system"), "{errors}");
}
