//! Contexts and devices: the calling thread's context stays as it was, and a block is made and freed in its own context.

use std::collections::HashMap;
use std::ffi::c_void;

use crate::support::driver::{Address, Handle};
use crate::support::states::*;
use crate::support::*;

const BYTES: usize = 1000;

/// A context of device 0 that the test makes.
struct Created<'g>(&'g Gpu, Handle);

impl<'g> Created<'g> {
    fn new(gpu: &'g Gpu) -> Created<'g> {
        Created(gpu, gpu.new_context())
    }
}

impl Drop for Created<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.0.cuCtxDestroy_v2(self.1), 0);
        }
    }
}

/// The context that a block belongs to, and its device.
fn home(gpu: &Gpu, address: usize) -> (usize, i32) {
    const CONTEXT: i32 = 1;
    const DEVICE_ORDINAL: i32 = 9;
    let (mut context, mut device) = (0usize, -1);
    let at = address as Address;
    assert_eq!(gpu.cuPointerGetAttribute((&raw mut context).cast::<c_void>(), CONTEXT, at), 0);
    assert_eq!(gpu.cuPointerGetAttribute((&raw mut device).cast::<c_void>(), DEVICE_ORDINAL, at), 0);
    (context, device)
}

/// Does `work` with no context current, with device 0's primary one, with another one of device 0, and with the next device's.
fn in_every_context(gpu: &Gpu, created: &Created<'_>, mut work: impl FnMut(&str)) {
    let situations = [
        ("none", std::ptr::null_mut()),
        ("primary", gpu.primary(0)),
        ("created", created.1),
        ("other device", gpu.primary(gpu.devices() - 1)),
    ];
    for (name, context) in situations {
        assert_eq!(gpu.cuCtxSetCurrent(context), 0);
        work(name);
        assert_eq!(gpu.current(), context, "{name}");
        assert_eq!(gpu.cuCtxSetCurrent(std::ptr::null_mut()), 0);
    }
}

#[test]
fn every_operation_from_every_state_leaves_the_current_context_as_it_found_it() {
    let gpu = gpu();
    let (stream, lent, created) = (gpu.stream(), Lent::new(&gpu, BYTES), Created::new(&gpu));
    for pins in [false, true] {
        let _pinning = pins.then(Pinning::always);
        for state in STATES {
            for operation in OPERATIONS {
                // Nothing was current, so the block is in device 0's primary context, like the stream.
                in_every_context(&gpu, &created, |name| {
                    let before = gpu.current();
                    gpu.cuCtxSetCurrent(std::ptr::null_mut());
                    let mut object = state.object(&gpu, &stream, BYTES);
                    assert!(gpu.current().is_null(), "{state:?}");
                    gpu.cuCtxSetCurrent(before);
                    let outcome = object.run(operation, &lent.with(&stream));
                    assert_eq!(gpu.current(), before, "{state:?} {operation:?} {name}");
                    let refused = outcome.is_err_and(|status| status != SYNCEDMEM_ERROR_INVALID_STATE);
                    assert!(!refused, "{state:?} {operation:?} {name}: {outcome:?} {}", last_error());
                    drop(object);
                    assert_eq!(gpu.current(), before, "{state:?} {operation:?} {name}, at the end");
                });
            }
        }
    }
}

#[test]
fn an_operation_pushes_nothing_that_it_does_not_pop() {
    let gpu = gpu();
    let stream = gpu.stream();
    // Two contexts are stacked: below the current one there must be the other, and below that nothing.
    let (below, top) = (gpu.primary(0), gpu.primary(gpu.devices() - 1));
    gpu.cuCtxSetCurrent(std::ptr::null_mut());
    assert_eq!(gpu.cuCtxPushCurrent_v2(below), 0);
    assert_eq!(gpu.cuCtxPushCurrent_v2(top), 0);
    for state in STATES {
        let mut object = state.object(&gpu, &stream, BYTES);
        object.gpu_data().unwrap();
        object.cpu_data().unwrap();
    }
    let mut popped = std::ptr::null_mut();
    assert_eq!((gpu.cuCtxPopCurrent_v2(&mut popped), popped), (0, top));
    assert_eq!((gpu.cuCtxPopCurrent_v2(&mut popped), popped), (0, below));
}

#[test]
fn a_new_block_belongs_to_the_current_context_or_else_to_device_0() {
    let gpu = gpu();
    let (created, last) = (Created::new(&gpu), gpu.devices() - 1);
    let cases = [
        (std::ptr::null_mut(), gpu.primary(0), 0),
        (gpu.primary(0), gpu.primary(0), 0),
        (created.1, created.1, 0),
        (gpu.primary(last), gpu.primary(last), last),
    ];
    for (current, context, device) in cases {
        gpu.cuCtxSetCurrent(current);
        let mut object = Object::new(BYTES);
        let data = object.mutable_gpu_data().unwrap();
        gpu.cuCtxSetCurrent(std::ptr::null_mut());
        assert_eq!(home(&gpu, data.addr()), (context.addr(), device));
        assert_eq!(object.device_ordinal(), device);
    }
}

#[test]
fn a_block_keeps_its_device_whichever_is_current_later() {
    let gpu = gpu();
    let last = gpu.devices() - 1;
    let mut object = Object::new(BYTES);
    let first = gpu.within(last, || object.mutable_gpu_data().unwrap().addr());
    in_every_context(&gpu, &Created::new(&gpu), |name| {
        for seed in 1..4 {
            object.fill_host(&pattern(seed, BYTES));
            assert_eq!(object.mutable_gpu_data().unwrap().addr(), first, "{name}");
            assert_bytes(&gpu.read(first, BYTES), &pattern(seed, BYTES), &format_args!("{name}"));
            gpu.write(first, &pattern(seed + 10, BYTES));
            assert_bytes(&object.host_bytes(BYTES), &pattern(seed + 10, BYTES), &format_args!("{name}"));
        }
        assert_eq!(object.device_ordinal(), last, "{name}");
    });
}

#[test]
fn blocks_are_freed_from_any_thread_with_any_context_current() {
    let gpu = gpu();
    let stream = gpu.stream();
    for state in STATES {
        in_every_context(&gpu, &Created::new(&gpu), |_| {
            let before = gpu.current();
            gpu.cuCtxSetCurrent(std::ptr::null_mut());
            let (here, elsewhere) = (state.object(&gpu, &stream, BYTES), state.object(&gpu, &stream, BYTES));
            gpu.cuCtxSetCurrent(before);
            drop(here);
            // This thread never had a context.
            std::thread::scope(|threads| threads.spawn(|| drop(elsewhere)).join().unwrap());
        });
    }
}

#[test]
fn a_callers_stream_may_belong_to_another_context_than_the_current_one() {
    let gpu = gpu();
    let created = Created::new(&gpu);
    let stream = gpu.stream_of(created.1);
    for current in [std::ptr::null_mut(), gpu.primary(0), gpu.primary(gpu.devices() - 1)] {
        gpu.cuCtxSetCurrent(current);
        let mut object = Object::holding(&pattern(1, BYTES));
        assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS, "{}", last_error());
        assert_eq!(object.wait(), SYNCEDMEM_SUCCESS);
        assert_bytes(&gpu.read(object.device_address(), BYTES), &pattern(1, BYTES), &"");
        gpu.write(object.mutable_gpu_data().unwrap().addr(), &pattern(2, BYTES));
        assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS, "{}", last_error());
        assert_bytes(&object.host_bytes(BYTES), &pattern(2, BYTES), &"");
        assert_eq!(gpu.current(), current);
    }
    gpu.cuCtxSetCurrent(std::ptr::null_mut());
}

/// Makes, copies and frees blocks of two devices on this thread, in whose stack of contexts `below` lies. Returns the calls.
/// Checks the current context, and no outcome, because a call may fail.
fn use_two_devices(gpu: &Gpu, stream: &Stream, below: Handle, fault: Option<Fault>, what: &str) -> Vec<Call> {
    let devices = [gpu.primary(0), gpu.primary(1)];
    assert_eq!((gpu.cuCtxPushCurrent_v2(below), gpu.cuCtxPushCurrent_v2(devices[0])), (0, 0));
    gpu.control().simcuda_clear_log();
    fault.iter().for_each(|fault| gpu.arm(fault));
    let mut objects = devices.map(|device| {
        assert_eq!(gpu.cuCtxSetCurrent(device), 0);
        let mut object = Object::holding(&pattern(1, BYTES));
        let _ = object.gpu_data();
        object
    });
    for device in devices {
        assert_eq!(gpu.cuCtxSetCurrent(device), 0);
        for object in &mut objects {
            let _ = (object.mutable_cpu_data(), object.push(stream.handle()), object.mutable_gpu_data());
            let _ = (object.pull(stream.handle()), object.wait());
            assert_eq!(gpu.current(), device, "{what}: another context is current");
        }
    }
    for object in objects {
        drop(object);
        assert_eq!(gpu.current(), devices[1], "{what}: another context is current");
    }
    let calls = gpu.log();
    gpu.control().simcuda_clear_faults();
    for context in [devices[1], below] {
        assert_eq!((gpu.current(), gpu.cuCtxPopCurrent_v2(&mut std::ptr::null_mut())), (context, 0), "{what}");
    }
    assert!(gpu.current().is_null(), "{what}");
    calls
}

/// `homes` holds the contexts of the blocks that earlier calls have made.
fn frees_were_made_in_the_context_of_their_blocks(calls: &[Call], homes: &mut HashMap<String, String>, what: &str) {
    for call in calls.iter().filter(|call| call.status == 0) {
        let field = |name| call.field(name).unwrap_or_default().to_string();
        match call.function.as_str() {
            "cuMemAlloc_v2" => _ = homes.insert(field("ptr"), field("ctx")),
            "cuMemFree_v2" => assert_eq!(homes.remove(&field("ptr")), Some(field("ctx")), "{what}: {call:?}"),
            _ => {}
        }
    }
}

#[test]
fn a_push_or_pop_that_fails_leaves_neither_the_thread_nor_a_free_in_another_devices_context() {
    let gpu = simulated_gpu().with_devices(2);
    pools::set_pools(false);
    let (stream, below) = (gpu.stream(), Created::new(&gpu));
    let mut homes = HashMap::new();
    let calls = use_two_devices(&gpu, &stream, below.1, None, "without a fault");
    let moves: Vec<_> = calls.into_iter().filter(|call| call.function.ends_with("Current_v2")).collect();
    for fault in faults(&moves, &[1, 700, 4242]) {
        let what = fault.to_string();
        let calls = use_two_devices(&gpu, &stream, below.1, Some(fault), &what);
        assert!(calls.iter().any(|call| call.status == fault.status), "{what}: it was not met");
        frees_were_made_in_the_context_of_their_blocks(&calls, &mut homes, &what);
    }
    assert!(moves.len() > 30, "only {} pushes and pops", moves.len());
}
