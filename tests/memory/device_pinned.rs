//! Page-locked host blocks: made in GPU mode, told by the flag, given back to the driver whatever the mode is by then.

use crate::support::driver::loaded;
use crate::support::states::*;
use crate::support::*;

const BYTES: usize = 3000;
const AUTO: i32 = 0;
const CPU: i32 = 1;
const GPU: i32 = 2;
const ALWAYS: i32 = 1;
const NEVER: i32 = 2;

/// Sets mode and pinning, for the length of a scope.
struct Policy;

fn policy(mode: i32, pinning: i32) -> Policy {
    assert_eq!((syncedmem_set_mode(mode), syncedmem_set_pinning(pinning)), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
    Policy
}

impl Drop for Policy {
    fn drop(&mut self) {
        syncedmem_set_mode(AUTO);
        syncedmem_set_pinning(AUTO);
    }
}

#[test]
fn in_gpu_mode_host_blocks_are_pinned_unless_told_otherwise() {
    let gpu = gpu();
    let cases = [
        ((GPU, AUTO), true),
        ((CPU, AUTO), false),
        ((AUTO, AUTO), false),
        ((CPU, ALWAYS), true),
        ((AUTO, ALWAYS), true),
        ((GPU, NEVER), false),
    ];
    for bytes in [1, BYTES, 100_000, 4 << 20] {
        for ((mode, pinning), pinned) in cases {
            let _policy = policy(mode, pinning);
            let before = gpu.is_simulated().then(|| gpu.account());
            let mut object = Object::new(bytes);
            let data = object.cpu_data().unwrap();
            assert!(all_zero(data, bytes));
            assert_eq!(object.is_pinned(), pinned, "mode {mode}, pinning {pinning}, {bytes} bytes");
            assert_eq!(object.flags()[..2], [1, u8::from(pinned)]);
            if let Some(before) = before {
                let now = gpu.account();
                assert_eq!(now.pinned_blocks - before.pinned_blocks, usize::from(pinned));
                assert!(now.pinned_bytes - before.pinned_bytes >= if pinned { bytes } else { 0 });
                drop(object);
                assert_eq!(gpu.account().pinned_blocks, before.pinned_blocks);
            }
        }
    }
}

#[test(alone_with_driver)]
fn small_objects_are_pinned_from_the_call_on_that_says_so() {
    let _gpu = gpu();
    let pinned = || {
        [1, BYTES, 60_000].map(|bytes| {
            let mut object = Object::touched(Storage::cpu_data, bytes);
            object.is_pinned()
        })
    };
    // The first object settles what the shortest path of the next ones need not look at.
    assert_eq!((pinned(), pinned()), ([false; 3], [false; 3]));
    let _policy = policy(AUTO, ALWAYS);
    assert_eq!(pinned(), [true; 3]);
}

#[test(alone_with_driver)]
fn a_callback_gives_the_mode_for_every_block() {
    extern "C-unwind" fn mode(user: *mut std::ffi::c_void) -> i32 {
        unsafe { user.cast::<i32>().read() }
    }
    // In a process of its own, because a registered callback stays for ever.
    let _gpu = gpu();
    let answer = &raw mut *Box::leak(Box::new(0));
    assert_eq!(unsafe { syncedmem_set_mode_callback(Some(mode), answer.cast()) }, SYNCEDMEM_SUCCESS);
    // Anything but 0 and 1 counts as CPU mode.
    for (number, pinned) in [(1, true), (0, false), (2, false), (-1, false)] {
        unsafe { answer.write(number) };
        assert_eq!(pins(), pinned, "{number}");
        // A setting wins over the callback.
        let _policy = policy(CPU, AUTO);
        assert!(!pins(), "{number}");
    }
}

/// Whether a host block that is made now is pinned.
fn pins() -> bool {
    let mut object = Object::touched(Storage::cpu_data, BYTES);
    object.is_pinned()
}

#[test]
fn mode_and_pinning_may_be_told_by_the_environment() {
    let cases = [("gpu", "", true), ("cpu", "", false), ("gpu", "never", false), ("", "always", true), ("", "", false)];
    let environment = |&(mode, pin, _): &(&'static str, &'static str, bool)| {
        vec![("SYNCEDMEM_MODE", mode), ("SYNCEDMEM_PIN", pin), simulated_file()]
    };
    each_alone(&cases, environment, |&(mode, pin, pinned)| {
        let _gpu = gpu();
        assert_eq!(pins(), pinned, "{mode}/{pin}");
    });
}

#[test]
fn pinned_memory_is_portable_and_never_write_combined() {
    let gpu = gpu();
    const PORTABLE: u32 = 1;
    const WRITE_COMBINED: u32 = 4;
    let _policy = policy(GPU, AUTO);
    for bytes in [1, BYTES, 4 << 20] {
        let mut object = Object::new(bytes);
        let block = object.overwrite_cpu_data().unwrap();
        let (mut caffes, mut pinned) = (std::ptr::null_mut(), false);
        assert_eq!(unsafe { CaffeMallocHost(&mut caffes, bytes, &mut pinned) }, SYNCEDMEM_SUCCESS);
        for block in [block.cast(), caffes] {
            let mut flags = 0;
            gpu.within(0, || assert_eq!(gpu.cuMemHostGetFlags(&mut flags, block), 0));
            assert_eq!(flags & (PORTABLE | WRITE_COMBINED), PORTABLE, "{bytes} bytes");
        }
        assert_eq!(unsafe { CaffeFreeHost(caffes, pinned) }, SYNCEDMEM_SUCCESS);
    }
}

#[test]
fn a_block_is_freed_as_it_was_made_whatever_the_mode_is_by_then() {
    let _gpu = gpu();
    for (first, second) in [((GPU, AUTO), (CPU, NEVER)), ((CPU, NEVER), (GPU, ALWAYS))] {
        let mut objects: Vec<_> = [1, BYTES, 100_000, 4 << 20].into_iter().map(Object::new).collect();
        let earlier = policy(first.0, first.1);
        objects.iter_mut().for_each(|object| object.fill_host(&[1]));
        drop(earlier);
        let _later = policy(second.0, second.1);
        let mut borrowed = vec![0; 4 << 20];
        for (number, mut object) in objects.into_iter().enumerate() {
            assert_eq!(object.is_pinned(), first.0 == GPU);
            match number {
                // The object's block goes by its end, by a borrowed one, by a release.
                0 => {}
                1 => assert_eq!(object.set_cpu_data(borrowed.as_mut_ptr()), SYNCEDMEM_SUCCESS),
                _ => {
                    object.gpu_data().unwrap();
                    assert_eq!(object.release_cpu(), SYNCEDMEM_SUCCESS);
                }
            }
            if number == 1 {
                assert!(!object.is_pinned() && !object.owns_cpu());
            }
        }
    }
    // The end of `gpu` finds blocks that were not freed.
}

#[test]
fn where_memory_cannot_be_pinned_it_is_pageable_and_that_is_said_once() {
    let errors = in_a_process_with_a_driver(&[("SYNCEDMEM_PIN", "always")], || {
        let gpu = loaded().is_some().then(simulated_gpu);
        let before = last_error();
        for status in [2, 1, 801, 4242] {
            gpu.iter().for_each(|gpu| gpu.fail_times("cuMemHostAlloc", 1, status, 0));
            for bytes in [1, BYTES, 4 << 20] {
                let mut object = Object::new(bytes);
                assert!(all_zero(object.cpu_data().unwrap(), bytes), "{}", last_error());
                assert!(!object.is_pinned() && object.owns_cpu());
                let (mut block, mut pinned) = (std::ptr::null_mut(), true);
                assert_eq!(unsafe { CaffeMallocHost(&mut block, bytes, &mut pinned) }, SYNCEDMEM_SUCCESS);
                assert!(!pinned);
                assert_eq!(unsafe { CaffeFreeHost(block, pinned) }, SYNCEDMEM_SUCCESS);
            }
        }
        assert_eq!(last_error(), before, "it is no error");
    });
    if !inside() {
        let said: Vec<_> = errors.lines().filter(|line| line.contains("not page-locked")).collect();
        assert_eq!((said.len(), errors.lines().count()), (1, 1), "{errors}");
        let why = if loaded().is_some() { "cuMemHostAlloc" } else { "no GPU" };
        assert!(said[0].contains(why), "{errors}");
    }
}

#[test(in_silence)]
fn a_forked_child_frees_nothing_of_its_parents() {
    let gpu = gpu();
    let _policy = policy(GPU, AUTO);
    let stream = gpu.stream();
    let mut objects: Vec<_> = STATES.iter().map(|state| state.object(&gpu, &stream, BYTES)).collect();
    in_a_child(|| in_child(std::mem::take(&mut objects)));
    for (object, state) in objects.iter_mut().zip(STATES) {
        assert_bytes(&object.host_bytes(BYTES), &state.contents(BYTES), &format_args!("{state:?}, in the parent"));
    }
}

/// In a forked child: what the host has stays readable, what needs the device is refused, nothing is freed.
fn in_child(objects: Vec<Object>) {
    const REFUSED: Outcome = Err(SYNCEDMEM_ERROR_NO_GPU);
    for (mut object, state) in objects.into_iter().zip(STATES) {
        // Even where the parent's pointer is at hand.
        assert_eq!([object.gpu_data(), object.mutable_gpu_data()], [REFUSED; 2], "{state}");
        if state.head() & 1 == 1 {
            assert_bytes(&object.host_bytes(BYTES), &state.contents(BYTES), &state);
            // Written too: it is the child's own copy.
            assert!(object.mutable_cpu_data().is_ok(), "{state}");
        } else if state.head() == 2 {
            assert_eq!(object.cpu_data(), REFUSED, "{state}");
            assert!(last_error().contains("fork"), "{state}: {}", last_error());
        }
    }
    let mut fresh = Object::new(BYTES);
    assert_eq!((fresh.gpu_data(), fresh.cpu_data().is_ok(), fresh.is_pinned()), (REFUSED, true, false));
}
