//! A device whose memory is taken but for a little, as other programs take it.

use std::fs::File;
use std::os::fd::AsRawFd;

use crate::support::driver::Address;
use crate::support::pools::*;
use crate::support::*;

/// Tests of other processes wait until it is dropped: they share a real device's memory, also that of their contexts.
fn turn() -> File {
    let program = File::open(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(unsafe { libc::flock(program.as_raw_fd(), libc::LOCK_EX) }, 0);
    program
}

/// All of device 0's memory but 32 to 96 MiB.
struct Taken<'g> {
    gpu: &'g Gpu,
    blocks: Vec<Address>,
}

impl Taken<'_> {
    fn of(gpu: &Gpu) -> Taken<'_> {
        const LEFT: usize = 32 * MIB;
        let (left, mut blocks) = (gpu.block(LEFT), Vec::new());
        let (mut bytes, mut total) = (0, 0);
        gpu.within(0, || {
            assert_eq!(gpu.cuMemGetInfo_v2(&mut bytes, &mut total), 0);
            while bytes >= LEFT {
                let mut address = 0;
                match gpu.cuMemAlloc_v2(&mut address, bytes) {
                    0 => blocks.push(address),
                    _ => bytes /= 2,
                }
            }
        });
        drop(left);
        Taken { gpu, blocks }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let free = |&address: &Address| assert_eq!(self.gpu.cuMemFree_v2(address), 0);
        self.gpu.within(0, || self.blocks.iter().for_each(free));
    }
}

#[test]
fn out_of_memory_is_a_status_and_the_object_goes_on_when_there_is_room() {
    let _turn = turn();
    let gpu = gpu();
    let taken = Taken::of(&gpu);
    let mut object = Object::holding(&pattern(1, 128 * MIB));
    for outcome in [object.gpu_data(), object.mutable_gpu_data(), object.overwrite_gpu_data()] {
        assert_refused(outcome, SYNCEDMEM_ERROR_OUT_OF_MEMORY, "device 0");
        assert_eq!((object.head(), object.device_address()), (1, 0));
    }
    drop(taken);
    let data = object.gpu_data().unwrap_or_else(|status| panic!("{status:?} {}", last_error()));
    assert_bytes(&gpu.read(data.addr(), 128 * MIB), &pattern(1, 128 * MIB), &"");
}

#[test(alone_with_driver, POOLS, ("SYNCEDMEM_POOL_BUDGET", "1G"))]
fn what_lies_idle_makes_room() {
    let _turn = turn();
    let gpu = &gpu();
    const BYTES: usize = 4 * MIB;
    let _taken = Taken::of(gpu);
    let mut objects = Vec::new();
    let refused = loop {
        let mut object = Object::new(BYTES);
        match object.overwrite_gpu_data() {
            Ok(_) => objects.push(object),
            Err(status) => break status,
        }
    };
    let count = objects.len();
    assert!(refused == SYNCEDMEM_ERROR_OUT_OF_MEMORY && (4..=24).contains(&count), "{refused:?} after {count}");
    drop(objects);
    assert_eq!(idle(DEVICE), count * BYTES);
    let mut large = Object::new(count / 2 * BYTES);
    assert!(large.gpu_data().is_ok(), "{}", last_error());
    assert!(idle(DEVICE) < count * BYTES);
}
