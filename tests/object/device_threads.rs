//! Many threads and both sides: one of many readers allocates and copies, and copies in flight end on any thread.

use crate::support::states::*;
use crate::support::*;

const THREADS: usize = 8;
const BYTES: usize = 5000;

/// Reads both sides of `object` on all threads at once; the addresses that the host and the device readers got.
fn read_at_once(object: &mut Object, is_device: fn(usize) -> bool) -> [Vec<usize>; 2] {
    let shared = Shared(object.mem());
    let read = at_once(THREADS, |thread| (is_device(thread), { shared }.read(is_device(thread)).unwrap().addr()));
    [false, true].map(|device| read.iter().filter(|(of, _)| *of == device).map(|(_, address)| *address).collect())
}

#[test]
fn many_readers_of_both_sides_from_cold_make_one_block_each_and_at_most_one_copy() {
    let gpu = gpu();
    // Every round allocates: nothing comes from the round before.
    pools::set_pools(false);
    for round in 0..100 {
        let mut object = Object::new(BYTES);
        let look = |calls: &[Call]| {
            let allocations = calls.iter().filter(|call| call.function == "cuMemAlloc_v2").count();
            // The first thread fills a side with zeros; the other side is one copy of it.
            assert_eq!((allocations, gpu.copies().iter().sum::<usize>()), (1, 1), "round {round}: {calls:?}");
        };
        let addresses = gpu.observe(|| read_at_once(&mut object, |thread| thread % 2 == 1), look);
        for (address, side) in addresses.iter().zip([object.host_address(), object.device_address()]) {
            assert!(address.iter().all(|&address| address == side), "round {round}");
        }
        assert_eq!(object.head(), 3);
        assert!(all_zero(object.cpu_data().unwrap(), BYTES));
        assert_bytes(&gpu.read(object.device_address(), BYTES), &vec![0; BYTES], &"");
    }
}

#[test]
fn many_readers_of_the_other_side_make_exactly_one_copy() {
    let gpu = gpu();
    let stream = gpu.stream();
    for state in [State::AtCpu, State::AtGpu, State::AtCpuOverDevice, State::AtGpuOverHost, State::Pulling] {
        for _ in 0..30 {
            let mut object = state.object(&gpu, &stream, BYTES);
            let copies = if state == State::Pulling { 0 } else { 1 };
            gpu.observe(
                || read_at_once(&mut object, |thread| thread % 2 == 1),
                |calls| assert_eq!(gpu.copies().iter().sum::<usize>(), copies, "{state:?} {calls:?}"),
            );
            assert_eq!(object.head(), 3, "{state:?}");
            assert_bytes(&object.host_bytes(BYTES), &state.contents(BYTES), &format_args!("{state:?}"));
            assert_bytes(&gpu.read(object.device_address(), BYTES), &state.contents(BYTES), &format_args!("{state:?}"));
        }
    }
}

#[test]
fn many_readers_that_complete_one_pull_all_see_its_data() {
    let gpu = gpu();
    let stream = gpu.stream();
    let _pinning = Pinning::always();
    for _ in 0..30 {
        stream.delay(300);
        let mut object = State::Pulling.object(&gpu, &stream, BYTES);
        let shared = Shared(object.mem());
        at_once(THREADS, |thread| {
            let data = { shared }.read(thread % 4 == 3).unwrap();
            if thread % 4 != 3 {
                let data = unsafe { std::slice::from_raw_parts(data, BYTES) };
                assert_eq!(data, State::Pulling.contents(BYTES));
            }
        });
        assert_eq!(object.head(), 3);
    }
}

#[test]
fn a_reader_that_waits_for_another_threads_copy_makes_none_itself() {
    let gpu = simulated_gpu();
    let stream = gpu.stream();
    let mut object = State::AtCpu.object(&gpu, &stream, 1 << 20);
    let shared = Shared(object.mem());
    let read = |device: usize| gpu.within(device as i32, || { shared }.read(true).map(|data| data.addr()));
    let (read, calls) = gpu.watch(|| at_once(2, read));
    assert!(read[0].is_ok() && read[0] == read[1], "{read:?}");
    assert_eq!(gpu.copies(), [1, 0], "{calls:?}");
}
