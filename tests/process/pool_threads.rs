//! Many threads at the pools at once, while others empty them and change what they may keep: no thread gets what another
//! uses, and the account is right at the end.

use crate::support::pools::*;
use crate::support::*;

const THREADS: usize = 4;
/// Of malloc, and so few of the pools that all threads want the same blocks.
const SIZES: [usize; 7] = [100, 3000, 50_000, 51_000, 400_000, 2 * MIB, 2 * MIB + 5000];

/// What one thread does: holds a few objects that are its own, ends them and makes others.
fn churn(thread: usize, rounds: usize, one: impl Fn(usize, u8) -> Object, check: impl Fn(&mut Object, usize, u8)) {
    let mut held: Vec<(Object, usize, u8)> = Vec::new();
    for round in 0..rounds {
        let (bytes, mark) = (SIZES[(round * 7 + thread) % SIZES.len()], (thread * 50 + round % 50) as u8 + 1);
        held.push((one(bytes, mark), bytes, mark));
        if held.len() > 3 {
            let (mut object, bytes, mark) = held.swap_remove(round % 3);
            check(&mut object, bytes, mark);
        }
    }
    held.iter_mut().for_each(|(object, bytes, mark)| check(object, *bytes, *mark));
}

/// Lets `churners` work while `disturb` is called again and again.
fn under(disturb: impl Fn(usize) + Sync, churner: impl Fn(usize) + Sync) {
    assert!(beside(1, |_, number| disturb(number), || drop(at_once(THREADS, churner))) > 0);
}

/// Everything that may be asked of the pools, in turn.
fn disturb(number: usize) {
    match number % 8 {
        0 => trim(ALL),
        1 => trim(number as i32 / 8 % 3),
        2 => set_budget(0),
        3 => set_budget(MIB),
        4 => set_pools(number % 16 < 8),
        5 => set_age([0.0, 0.001, 10.0][number / 8 % 3]),
        6 => set_budget(64 * MIB),
        _ => assert!(idle(ALL) < 1 << 30),
    }
}

fn pageable_blocks_under_load_are_whole_and_first_read_as_zeros() {
    let one = |bytes, mark: u8| {
        if mark % 2 == 0 {
            return filled(bytes, mark);
        }
        let mut object = Object::new(bytes);
        let data = object.mutable_cpu_data().unwrap();
        assert!(all_zero(data, bytes));
        unsafe { data.write_bytes(mark, bytes) };
        object
    };
    let check = |object: &mut Object, bytes, mark| {
        assert!(all_are(object.cpu_data().unwrap(), bytes, mark), "{bytes} bytes of {mark}");
    };
    under(disturb, |thread| churn(thread, 1500, one, check));
    trim(ALL);
    assert_eq!(idle(ALL), 0);
}

/// Objects with page-locked and device blocks, both with the same contents.
fn on_both_sides(gpu: &Gpu, lag: u32) {
    let _pinning = Pinning::always();
    gpu.set_lag(lag);
    let both = |bytes, mark| {
        let mut object = filled(bytes, mark);
        assert!(object.gpu_data().is_ok(), "{}", last_error());
        object
    };
    let check = |object: &mut Object, bytes, mark| {
        assert!(all_are(object.mutable_cpu_data().unwrap(), bytes, mark), "{bytes} bytes of {mark} on the host");
        assert!(object.gpu_data().is_ok(), "{}", last_error());
        assert!(object.mutable_gpu_data().is_ok(), "{}", last_error());
        assert!(all_are(object.cpu_data().unwrap(), bytes, mark), "{bytes} bytes of {mark} on the device");
    };
    under(disturb, |thread| churn(thread, 150, both, check));
    gpu.set_lag(0);
    // The library's thread frees soon the blocks that it has taken out.
    until(|| {
        trim(ALL);
        let account = gpu.account();
        account.device_blocks + account.pinned_blocks + account.registered_blocks + idle(ALL) == 0
    });
}

fn device_and_page_locked_blocks_under_load() {
    on_both_sides(&simulated_gpu(), 0);
}

fn device_and_page_locked_blocks_under_load_while_streams_lag() {
    on_both_sides(&simulated_gpu(), 50);
}

crate::support::harness::tests![
    alone(&[]): pageable_blocks_under_load_are_whole_and_first_read_as_zeros;
    alone_with_driver(&[POOLS]):
    device_and_page_locked_blocks_under_load,
    device_and_page_locked_blocks_under_load_while_streams_lag,
];
