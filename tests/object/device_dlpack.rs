//! Tensors of DLPack's on the device: where they are, how long they keep their object, and what streams wait for.

use std::cell::RefCell;
use std::rc::Rc;

use crate::support::tensor::*;
use crate::support::*;

const BYTES: usize = 9600;
const FLOATS_THERE: Ask<'static> =
    Ask { side: DEVICE, access: READ, code: 2, bits: 32, shape: &[20, 30, 4], versioned: true };

/// An object of `syncedmem_create` whose host side holds a pattern.
fn at_cpu(bytes: usize) -> *mut syncedmem_t {
    let mem = created(bytes);
    let data = ask(std::ptr::null_mut(), |data| unsafe { syncedmem_mutable_cpu_data(mem, data) }).unwrap();
    unsafe { data.cast::<u8>().copy_from(pattern(1, bytes).as_ptr(), bytes) };
    mem
}

#[test]
fn a_tensor_on_the_device_names_it_and_holds_what_the_host_held() {
    let gpu = gpu();
    for device in 0..gpu.devices() {
        let mem = Owned(at_cpu(BYTES));
        let tensor = gpu.within(device, || export(*mem, FLOATS_THERE)).unwrap();
        let described = tensor.tensor();
        assert_eq!((described.device, described.data.cast_const()), ((2, device), gpu_data(*mem)));
        assert_eq!((tensor.shape(), tensor.strides()), (vec![20, 30, 4], vec![120, 4, 1]));
        assert_eq!(tensor.managed().flags, 1);
        assert_bytes(&gpu.read(described.data as usize, BYTES), &pattern(1, BYTES), &device);
    }
}

#[test]
fn an_export_whose_access_fails_leaves_no_trace() {
    let gpu = simulated_gpu();
    let mem = owned(BYTES);
    gpu.fail_times("cuMemAlloc_v2", 1, 2, 9);
    assert_eq!(export(*mem, FLOATS_THERE).err(), Some(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    gpu.calm();
    assert_eq!(exports(*mem), (0, 0));
    drop(export(*mem, FLOATS_THERE).unwrap());
}

#[test]
fn a_non_blocking_stream_that_the_caller_names_waits_for_the_librarys_fill() {
    let gpu = gpu();
    let stream = gpu.stream();
    if gpu.is_simulated() {
        gpu.control().simcuda_hold_streams();
    }
    let mem = owned(BYTES);
    // The fill is held on the legacy default stream; the stream's own work is behind it.
    let there = gpu.within(0, || gpu_data(*mem));
    gpu.observe(
        || assert_eq!(unsafe { syncedmem_stream_wait(*mem, stream.handle().cast()) }, SYNCEDMEM_SUCCESS),
        |calls| assert!(calls.iter().any(|call| call.function == "cuStreamWaitEvent"), "{calls:?}"),
    );
    // To page-locked memory, since a copy to any other would be waited for.
    let copy = gpu.pinned(BYTES);
    unsafe { copy.pointer().write_bytes(FILL, BYTES) };
    let to = copy.pointer() as u64;
    gpu.within(0, || assert_eq!(gpu.cuMemcpyAsync(to, there as u64, BYTES, stream.handle()), 0));
    gpu.calm();
    stream.synchronize();
    assert!(all_zero(copy.pointer(), BYTES), "the fill came first");
}

#[test]
fn for_the_default_stream_there_is_nothing_to_wait_for() {
    let gpu = simulated_gpu();
    let mem = Owned(at_cpu(BYTES));
    gpu.within(0, || gpu_data(*mem));
    for stream in [std::ptr::null_mut(), std::ptr::without_provenance_mut(1)] {
        let ((), calls) = gpu.watch(|| {
            assert_eq!(unsafe { syncedmem_stream_wait(*mem, stream) }, SYNCEDMEM_SUCCESS);
        });
        assert_eq!(names(&calls), Vec::<&str>::new());
    }
}

#[test]
fn a_wait_that_the_driver_refuses_leaves_no_event() {
    let gpu = simulated_gpu();
    let stream = gpu.stream();
    let mem = Owned(at_cpu(BYTES));
    gpu.within(0, || gpu_data(*mem));
    for function in ["cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"] {
        let events = gpu.account().events;
        gpu.fail(function, 1, 400);
        let status = unsafe { syncedmem_stream_wait(*mem, stream.handle().cast()) };
        gpu.calm();
        // An event may be one that was kept: then none is made.
        if function != "cuEventCreate" {
            assert_eq!(status, SYNCEDMEM_ERROR_DRIVER, "{function}");
        }
        assert!(gpu.account().events <= events, "{function}");
    }
}

#[test(in_silence)]
fn after_a_reset_of_the_device_its_tensors_are_deleted_in_silence_and_free_no_other_block() {
    let gpu = gpu();
    let (mem, next) = (at_cpu(BYTES), at_cpu(BYTES));
    let tensor = export(mem, FLOATS_THERE).unwrap();
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    let has_its_address = gpu_data(next) == tensor.tensor().data.cast_const();
    assert!(has_its_address || !gpu.is_simulated(), "the test needs it");
    assert_eq!(destroy(mem), SYNCEDMEM_SUCCESS);
    drop(tensor);
    assert_bytes(&gpu.read(gpu_data(next) as usize, BYTES), &pattern(1, BYTES), &"");
    assert_eq!(destroy(next), SYNCEDMEM_SUCCESS);
}

#[test]
fn what_is_on_no_device_that_the_driver_knows_is_not_exported_and_its_head_stays() {
    let _gpu = gpu();
    let mut object = Object::new(BYTES);
    let nowhere = std::ptr::without_provenance_mut(0x10);
    assert_eq!(object.set_gpu_data(nowhere), SYNCEDMEM_SUCCESS);
    object.overwrite_cpu_data().unwrap();
    let refused = export(object.mem(), Ask { access: OVERWRITE, ..FLOATS_THERE }).err();
    assert_eq!((refused, object.head()), (Some(SYNCEDMEM_ERROR_INVALID_ARGUMENT), 1));
    assert!(last_error().contains("on which device"), "{}", last_error());
    assert_eq!(exports(object.mem()), (0, 0));
}

/// Tensors of memory on either side, by side.
fn theirs(memory: &mut [u8; BYTES], block: &Foreign<'_>) -> [Theirs; 2] {
    let mut theirs = [memory.as_mut_ptr(), block.pointer()].map(|data| Theirs::of(data, BYTES));
    theirs[1].managed.tensor.device = (2, 0);
    theirs
}

#[test]
fn a_tensor_is_in_the_way_of_its_own_side_alone() {
    let gpu = gpu();
    let (mut memory, block) = ([7; BYTES], gpu.block(BYTES));
    for side in [HOST, DEVICE] {
        let mut object = Object::new(BYTES);
        object.gpu_data().unwrap();
        let mem = object.mem();
        let tensor = export(mem, Ask { side, ..FLOATS_THERE }).unwrap();
        let mut theirs = theirs(&mut memory, &block);
        let (own, other) = (side as usize, 1 - side as usize);
        let release = [syncedmem_release_cpu, syncedmem_release_gpu];
        let refused = [unsafe { release[own](mem) }, theirs[own].lend(mem), object.destruct()];
        assert_eq!(refused, [SYNCEDMEM_ERROR_EXPORTED; 3]);
        assert_eq!(exports(mem), (other, own));
        assert_eq!([unsafe { release[other](mem) }, theirs[other].lend(mem)], [SYNCEDMEM_SUCCESS; 2]);
        drop(tensor);
        assert_eq!(theirs[own].lend(mem), SYNCEDMEM_SUCCESS);
        drop(object);
        assert_eq!(theirs.each_ref().map(Theirs::deleted), [1, 1]);
    }
}

#[test]
fn an_object_that_is_destroyed_ends_with_its_last_tensor_of_either_side() {
    let gpu = gpu();
    let (mut memory, block) = ([7; BYTES], gpu.block(BYTES));
    for sides in [[HOST, HOST], [HOST, DEVICE], [DEVICE, HOST], [DEVICE, DEVICE]] {
        let mem = created(BYTES);
        let mut theirs = theirs(&mut memory, &block);
        assert_eq!([1, 0].map(|side| theirs[side].lend(mem)), [SYNCEDMEM_SUCCESS; 2]);
        let [first, last] = sides.map(|side| export(mem, Ask { side, ..FLOATS_THERE }).unwrap());
        assert_eq!(destroy(mem), SYNCEDMEM_SUCCESS);
        drop(first);
        assert_eq!(theirs.each_ref().map(Theirs::deleted), [0, 0], "it is there for its tensor");
        drop(last);
        assert_eq!(theirs.each_ref().map(Theirs::deleted), [1, 1]);
    }
}

/// A tensor of `memory`. Its deleter copies the contents to `seen` and overwrites them.
fn lent(memory: *mut u8, seen: &Rc<RefCell<Vec<u8>>>) -> Calling {
    let seen = seen.clone();
    Calling::new(memory, BYTES, move || {
        let bytes = unsafe { std::slice::from_raw_parts_mut(memory, BYTES) };
        seen.replace(bytes.to_vec());
        bytes.fill(0xEE);
    })
}

#[test]
fn lent_memory_is_let_go_when_what_is_in_flight_has_come_from_it_or_to_it() {
    let gpu = gpu();
    let (stream, memory, other, seen) = (gpu.stream(), gpu.pinned(BYTES), gpu.pinned(BYTES), Rc::default());
    for push in [true, false] {
        let mut object = Object::new(BYTES);
        let mut tensor = lent(memory.pointer(), &seen);
        unsafe { memory.pointer().copy_from(pattern(5, BYTES).as_ptr(), BYTES) };
        assert_eq!(unsafe { syncedmem_set_dlpack(object.mem(), tensor.address(), true) }, SYNCEDMEM_SUCCESS);
        stream.delay(20_000);
        let there = if push {
            assert_eq!(object.push(stream.handle().cast()), SYNCEDMEM_SUCCESS);
            let there = object.device_address();
            assert_eq!(object.set_cpu_data(other.pointer()), SYNCEDMEM_SUCCESS);
            Some(there)
        } else {
            let there = object.overwrite_gpu_data().unwrap();
            gpu.write(there as usize, &pattern(6, BYTES));
            assert_eq!(object.pull(stream.handle().cast()), SYNCEDMEM_SUCCESS);
            assert_eq!((object.destruct(), object.construct(0)), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
            None
        };
        gpu.set_lag(0);
        assert_bytes(&seen.borrow(), &pattern(if push { 5 } else { 6 }, BYTES), &push);
        if let Some(there) = there {
            assert_bytes(&gpu.read(there, BYTES), &pattern(5, BYTES), &"pushed");
        }
    }
}

#[test(in_silence)]
fn a_reset_of_the_device_takes_nothing_that_was_lent() {
    let gpu = gpu();
    let (mut memory, mut object) = (vec![7u8; BYTES], Object::new(BYTES));
    let mut host = Theirs::of(memory.as_mut_ptr(), BYTES);
    let block = gpu.block(BYTES);
    let mut there = Theirs::of(block.pointer(), BYTES);
    // The reset takes it.
    std::mem::forget(block);
    there.managed.tensor.device = (2, 0);
    assert_eq!(there.lend(object.mem()), SYNCEDMEM_SUCCESS);
    assert_eq!(host.lend(object.mem()), SYNCEDMEM_SUCCESS);
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
    assert_eq!((host.deleted(), there.deleted()), (0, 0));
    assert_eq!(object.release_gpu(), SYNCEDMEM_SUCCESS);
    assert_eq!((object.destruct(), object.construct(0)), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
    assert_eq!((host.deleted(), there.deleted()), (1, 1));
    // The device goes on.
    let mem = Owned(at_cpu(BYTES));
    assert_bytes(&gpu.read(gpu_data(*mem) as usize, BYTES), &pattern(1, BYTES), &"");
}
