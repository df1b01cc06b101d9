//! Copies in flight: which calls return at once, which wait, and that a caller's stream is used only during the call that
//! passes it. The simulated driver aborts on any use of a destroyed stream, and counts memory that is freed while a copy
//! still needs it.

use crate::support::states::*;
use crate::support::*;

const BYTES: usize = 10_000;
/// Microseconds on a real driver: longer than a call that does not wait.
const LAG: u32 = 5_000;

#[test]
fn the_end_of_an_object_waits_for_its_copy() {
    let gpu = simulated_gpu();
    let stream = gpu.stream();
    let _pinning = Pinning::always();
    gpu.set_lag(UNTIL_IT_IS_WAITED_FOR);
    for state in [State::Pushing, State::Pulling] {
        let object = state.object(&gpu, &stream, BYTES);
        assert!(!stream.is_idle());
        drop(object);
        assert!(stream.is_idle(), "{state:?}");
    }
}

#[test]
fn an_object_that_grows_waits_for_its_copy_and_gives_both_blocks_back() {
    let gpu = gpu();
    let stream = gpu.stream();
    let _pinning = Pinning::always();
    for state in STATES {
        stream.delay(LAG);
        let mut object = state.object(&gpu, &stream, BYTES);
        // Compat: yjxiong's `Resize`, which the C API does not have.
        let this: *const syncedmem::object::SyncedMemory = object.mem().cast();
        assert_eq!(unsafe { (*this).resize(2 * BYTES) }, Ok(()));
        assert_eq!(object.head(), 0, "{state}");
        if gpu.is_simulated() {
            assert!(stream.is_idle(), "{state}");
            let account = gpu.account();
            assert_eq!((account.device_blocks, account.pinned_blocks), (0, 0), "{state}");
        }
        object.gpu_data().unwrap();
        assert_bytes(&object.host_bytes(2 * BYTES), &vec![0; 2 * BYTES], &state);
    }
}

#[test]
fn a_stream_may_be_destroyed_as_soon_as_the_push_has_returned() {
    use Operation::*;
    let gpu = gpu();
    let lent = Lent::new(&gpu, BYTES);
    let other = gpu.stream();
    for pins in [false, true] {
        let _pinning = pins.then(Pinning::always);
        for state in [State::Pushing, State::Pulling] {
            for operation in [None, Some(Wait), Some(IsReady), Some(MutableCpuData), Some(ReleaseCpu), Some(SetGpuData)]
            {
                let stream = gpu.stream();
                stream.delay(LAG / 5);
                let mut object = state.object(&gpu, &stream, BYTES);
                stream.destroy();
                if let Some(operation) = operation {
                    let outcome = object.run(operation, &lent.with(&other));
                    assert!(outcome.is_ok(), "{state:?} {operation:?} {}", last_error());
                }
                if operation == Some(Wait) {
                    assert_bytes(&object.host_bytes(BYTES), &state.contents(BYTES), &state);
                }
            }
        }
    }
}

#[test]
fn what_was_pushed_is_what_the_host_held_at_the_push() {
    let gpu = gpu();
    let stream = gpu.stream();
    for pins in [false, true] {
        let _pinning = pins.then(Pinning::always);
        let mut object = Object::new(BYTES);
        for seed in 1..10 {
            object.fill_host(&pattern(seed, BYTES));
            stream.delay(LAG / 5);
            assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
            let device = object.device_address();
            // This call waits, so that the host side may be written.
            let host = object.overwrite_cpu_data().unwrap();
            assert_bytes(&gpu.read(device, BYTES), &pattern(seed, BYTES), &format_args!("pinned: {pins}"));
            unsafe { host.write_bytes(0xFF, BYTES) };
        }
    }
}

#[test]
fn a_block_is_not_freed_while_its_first_fill_is_still_on_its_way() {
    let gpu = simulated_gpu();
    let stream = gpu.stream();
    for operation in [None, Some(Operation::ReleaseGpu), Some(Operation::SetGpuData)] {
        let lent = Lent::new(&gpu, BYTES);
        gpu.set_lag(UNTIL_IT_IS_WAITED_FOR);
        let mut object = Object::touched(Storage::mutable_gpu_data, BYTES);
        if operation == Some(Operation::ReleaseGpu) {
            object.overwrite_cpu_data().unwrap();
        }
        if let Some(operation) = operation {
            object.run(operation, &lent.with(&stream)).unwrap();
        }
        drop(object);
        // The end of `gpu` finds a fill of freed memory.
    }
}

#[test]
fn one_object_after_another_at_the_same_address_knows_nothing_of_its_predecessors_copies() {
    let gpu = gpu();
    let stream = gpu.stream();
    let _pinning = Pinning::always();
    let mut storage = Storage::new();
    for round in 0..50 {
        stream.delay(200);
        assert_eq!(storage.construct(BYTES), SYNCEDMEM_SUCCESS);
        assert_eq!((storage.is_ready(), storage.head()), (Ok(true), 0), "round {round}");
        storage.fill_host(&pattern(round, BYTES));
        assert_eq!(storage.push(stream.handle()), SYNCEDMEM_SUCCESS);
        assert_eq!(storage.destruct(), SYNCEDMEM_SUCCESS);
    }
}

#[test]
fn an_object_made_where_another_vanished_with_a_copy_in_flight_is_its_own() {
    let gpu = gpu();
    let stream = gpu.stream();
    match gpu.is_simulated() {
        true => gpu.control().simcuda_hold_streams(),
        false => stream.delay(LAG),
    }
    let mut storage = Storage::new();
    storage.construct(BYTES);
    let block = gpu.block(BYTES);
    let host = pattern(3, BYTES);
    assert_eq!(storage.set_gpu_data(block.pointer()), SYNCEDMEM_SUCCESS);
    assert_eq!(storage.set_cpu_data(host.as_ptr().cast_mut()), SYNCEDMEM_SUCCESS);
    assert_eq!(storage.push(stream.handle()), SYNCEDMEM_SUCCESS);
    // An inlined original destroys the object without the library, and makes a new one.
    storage.0[..32].fill(0);
    storage.put(16, &100usize.to_le_bytes());
    // An access that waited for the earlier object's copy would never end.
    assert!(all_zero(storage.cpu_data().unwrap(), 100));
    assert_eq!((storage.is_ready(), storage.head()), (Ok(true), 1));
    gpu.calm();
    stream.synchronize();
    assert_eq!(storage.destruct(), SYNCEDMEM_SUCCESS);
}

#[test]
fn a_copy_on_a_callers_stream_comes_after_the_librarys_own_zeros() {
    let gpu = gpu();
    let stream = gpu.stream();
    let _pinning = Pinning::always();
    // A fill that the legacy stream gets meanwhile is late, like one after a kernel of another library.
    let late = |work: &mut dyn FnMut() -> usize| {
        gpu.set_lag(UNTIL_IT_IS_WAITED_FOR);
        let address = work();
        gpu.set_lag(0);
        address
    };
    let mut pulled = Object::new(BYTES);
    late(&mut || pulled.mutable_gpu_data().unwrap().addr());
    assert_eq!(pulled.pull(stream.handle()), SYNCEDMEM_SUCCESS);
    assert_bytes(&pulled.host_bytes(BYTES), &[0; BYTES], &"pulled");
    let mut pushed = Object::new(BYTES);
    let address = late(&mut || pushed.gpu_data().unwrap().addr());
    let data = pushed.overwrite_cpu_data().unwrap();
    unsafe { data.copy_from_nonoverlapping(pattern(9, BYTES).as_ptr(), BYTES) };
    assert_eq!(pushed.push(stream.handle()), SYNCEDMEM_SUCCESS);
    assert_eq!(pushed.wait(), SYNCEDMEM_SUCCESS);
    assert_bytes(&gpu.read(address, BYTES), &pattern(9, BYTES), &"pushed");
}
