//! Device and page-locked blocks that come back: what that costs, and that nobody gets one that is still in use.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

mod support;

use std::ffi::{c_int, c_void};

use support::gpu::*;
use support::object::*;
use support::pools::*;
use support::*;
use syncedmem::ffi::c::transfer::syncedmem_record_stream;

const STREAM: (&str, &str) = ("SYNCEDMEM_REUSE", "stream");
const SIZES: [usize; 4] = [100, 4096, 300_000, 3 * MIB];
/// Long enough to tell whoever does not wait.
const LAG: u32 = 5_000;

/// The sides of an object, each with the access that makes a block and fills nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Host,
    Device,
}

const SIDES: [Side; 2] = [Side::Host, Side::Device];

impl Side {
    /// An object with a block on this side, and nowhere else; page-locked if it is the host's.
    fn object(self, bytes: usize) -> Object {
        let mut object = Object::new(bytes);
        let _pinning = Pinning::always();
        match self {
            Side::Host => object.overwrite_cpu_data().unwrap(),
            Side::Device => object.overwrite_gpu_data().unwrap(),
        };
        assert_eq!(object.is_pinned(), self == Side::Host);
        object
    }

    fn address(self, object: &Object) -> usize {
        match self {
            Side::Host => object.host_address(),
            Side::Device => object.device_address(),
        }
    }

    /// Acquires a block and gives it back.
    fn pair(self, bytes: usize) -> usize {
        self.address(&self.object(bytes))
    }

    fn memory(self) -> i32 {
        if self == Side::Host { PINNED } else { DEVICE }
    }
}

/// How often functions were called whose names begin with one of `beginnings`.
fn count(calls: &[Call], beginnings: &[&str]) -> usize {
    let is_one = |call: &&Call| beginnings.iter().any(|beginning| call.function.starts_with(beginning));
    calls.iter().filter(is_one).count()
}

const MEMORY: [&str; 5] = ["cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuMemHostRegister", "cuMemHostUnregister"];
const WAITS: [&str; 3] = ["cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"];

#[test]
fn a_block_that_comes_back_costs_no_allocation_no_event_and_at_most_one_synchronise() {
    alone_with_pools(&[], |gpu| {
        for side in SIDES {
            for bytes in SIZES {
                let address = side.pair(bytes);
                for _ in 0..5 {
                    let (again, calls) = gpu.watch(|| side.pair(bytes));
                    assert_eq!(again, address, "{side:?} {bytes}");
                    assert_eq!(count(&calls, &MEMORY), 0, "{side:?} {bytes}: {calls:?}");
                    assert_eq!(count(&calls, &["cuEvent"]), 0, "{side:?} {bytes}: {calls:?}");
                    assert!(count(&calls, &WAITS) <= 1, "{side:?} {bytes}: {calls:?}");
                }
            }
        }
    });
}

#[test]
fn by_event_a_block_that_comes_back_costs_one_event_one_query_and_no_wait() {
    alone_with_pools(&[STREAM], |gpu| {
        for side in SIDES {
            for bytes in SIZES {
                let address = side.pair(bytes);
                for _ in 0..5 {
                    let (again, calls) = gpu.watch(|| side.pair(bytes));
                    assert_eq!(again, address, "{side:?} {bytes}");
                    assert_eq!(count(&calls, &MEMORY), 0, "{side:?} {bytes}: {calls:?}");
                    assert_eq!(count(&calls, &WAITS), 0, "{side:?} {bytes}: {calls:?}");
                    assert!(count(&calls, &["cuEventRecord"]) <= 1, "{side:?} {bytes}: {calls:?}");
                    assert!(count(&calls, &["cuEventQuery"]) <= 1, "{side:?} {bytes}: {calls:?}");
                    assert_eq!(count(&calls, &["cuEventCreate", "cuEventDestroy"]), 0, "{calls:?}");
                }
            }
        }
    });
}

#[test]
fn one_synchronise_clears_everything_that_waits() {
    alone_with_pools(&[], |gpu| {
        drop([(); 10].map(|()| Side::Device.object(5000)));
        let (objects, calls) = gpu.watch(|| [(); 10].map(|()| Side::Device.object(5000)));
        assert_eq!(count(&calls, &MEMORY), 0);
        assert_eq!(count(&calls, &WAITS), 1);
        drop(objects);
    });
}

#[test]
fn nothing_is_waited_for_where_nothing_fits() {
    alone_with_pools(&[], |gpu| {
        drop(Side::Device.object(5000));
        let (object, calls) = gpu.watch(|| Side::Device.object(50_000));
        assert_eq!((count(&calls, &WAITS), count(&calls, &["cuMemAlloc"])), (0, 1));
        drop(object);
    });
}

/// What a caller's own work on a block leaves there.
const LEFT: u8 = 0x5E;

/// Starts work on an object's block that ends later, as a kernel would: in a stream that nobody was told of, or in the
/// legacy default stream.
fn work_on(gpu: &Gpu, side: Side, object: &Object, bytes: usize, source: &Foreign, stream: *mut c_void) {
    let to = side.address(object) as u64;
    let status = gpu.within(0, || match side {
        Side::Device => gpu.cuMemsetD8Async(to, LEFT, bytes, stream),
        Side::Host => gpu.cuMemcpyAsync(to, source.address as u64, bytes, stream),
    });
    assert_eq!(status, 0);
}

/// The contents of an object's block on one side.
fn contents(gpu: &Gpu, side: Side, object: &mut Object, bytes: usize) -> Vec<u8> {
    match side {
        Side::Device => gpu.read(object.device_address(), bytes),
        Side::Host => object.host_bytes(bytes),
    }
}

fn write(gpu: &Gpu, side: Side, object: &mut Object, data: &[u8]) {
    match side {
        Side::Device => gpu.write(object.device_address(), data),
        Side::Host => object.fill_host(data),
    }
}

#[test]
fn a_block_that_an_unknown_stream_still_writes_is_handed_to_nobody() {
    alone_with_pools(&[], |gpu| {
        for side in SIDES {
            for bytes in SIZES {
                let (stream, source) = (gpu.stream(), gpu.block(bytes));
                let object = side.object(bytes);
                let address = side.address(&object);
                gpu.control().simcuda_set_lag(LAG);
                work_on(gpu, side, &object, bytes, &source, stream.handle());
                drop(object);
                let mut next = side.object(bytes);
                write(gpu, side, &mut next, &pattern(3, bytes));
                // Either it is another block, or that work was waited for.
                assert!(side.address(&next) != address || stream.is_idle(), "{side:?} {bytes}");
                stream.synchronize();
                assert_bytes(
                    &contents(gpu, side, &mut next, bytes),
                    &pattern(3, bytes),
                    &format_args!("{side:?} {bytes}"),
                );
                gpu.control().simcuda_set_lag(0);
                drop(next);
                trim(ALL);
            }
        }
    });
}

#[test]
fn a_page_locked_block_that_an_unknown_stream_still_reads_is_handed_to_nobody() {
    alone_with_pools(&[], |gpu| {
        const BYTES: usize = 100_000;
        let (stream, target) = (gpu.stream(), gpu.block(BYTES));
        let mut object = Side::Host.object(BYTES);
        object.fill_host(&pattern(1, BYTES));
        gpu.control().simcuda_set_lag(LAG);
        let from = object.host_address() as u64;
        assert_eq!(gpu.within(0, || gpu.cuMemcpyAsync(target.address as u64, from, BYTES, stream.handle())), 0);
        drop(object);
        let mut next = Side::Host.object(BYTES);
        next.fill_host(&pattern(2, BYTES));
        stream.synchronize();
        assert_bytes(&gpu.read(target.address, BYTES), &pattern(1, BYTES), &"");
    });
}

#[test]
fn a_block_that_an_unknown_stream_still_uses_is_not_given_back_to_the_driver_either() {
    // The simulated driver counts what is freed too early as a broken rule, which the end of each test looks for.
    alone_with_pools(&[], |gpu| {
        for side in SIDES {
            let ways: [&dyn Fn(); 3] = [&|| trim(ALL), &|| set_pools(false), &|| set_budget(side.memory(), 0)];
            for give_back in ways {
                let (stream, source) = (gpu.stream(), gpu.block(5000));
                let object = side.object(5000);
                gpu.control().simcuda_set_lag(LAG);
                work_on(gpu, side, &object, 5000, &source, stream.handle());
                drop(object);
                give_back();
                assert_eq!(idle(ALL), 0);
                stream.synchronize();
                gpu.control().simcuda_set_lag(0);
                set_pools(true);
                set_budget(side.memory(), 1 << 30);
            }
        }
    });
}

#[test]
fn by_event_what_the_legacy_stream_still_does_is_respected_without_a_wait() {
    alone_with_pools(&[STREAM], |gpu| {
        for side in SIDES {
            const BYTES: usize = 20_000;
            let source = gpu.block(BYTES);
            let object = side.object(BYTES);
            let address = side.address(&object);
            gpu.control().simcuda_set_lag(50_000);
            work_on(gpu, side, &object, BYTES, &source, std::ptr::null_mut());
            drop(object);
            let (other, calls) = gpu.watch(|| side.object(BYTES));
            assert_ne!(side.address(&other), address, "{side:?}");
            assert_eq!(count(&calls, &WAITS), 0, "{side:?}: {calls:?}");
            gpu.control().simcuda_set_lag(0);
            gpu.within(0, || assert_eq!(gpu.cuStreamSynchronize(std::ptr::null_mut()), 0));
            let next = side.object(BYTES);
            assert_eq!(side.address(&next), address, "{side:?}");
            drop((other, next));
            trim(ALL);
        }
    });
}

fn record(object: &mut Object, stream: *mut c_void) {
    let status = unsafe { syncedmem_record_stream(object.mem(), stream.cast()) };
    assert_eq!(status, SYNCEDMEM_SUCCESS, "{}", last_error());
}

#[test]
fn what_a_declared_stream_still_does_is_respected_without_a_wait() {
    alone_with_pools(&[STREAM], |gpu| {
        for side in SIDES {
            const BYTES: usize = 20_000;
            let (streams, source) = ([gpu.stream(), gpu.stream(), gpu.stream()], gpu.block(BYTES));
            let mut object = side.object(BYTES);
            let address = side.address(&object);
            gpu.control().simcuda_hold_streams();
            for stream in &streams {
                work_on(gpu, side, &object, BYTES, &source, stream.handle());
                record(&mut object, stream.handle());
            }
            // It is not used after the call that passed it.
            streams[0].destroy();
            drop(object);
            // Whoever waited here would wait for ever.
            let other = side.object(BYTES);
            assert_ne!(side.address(&other), address, "{side:?}");
            gpu.control().simcuda_release_streams();
            gpu.within(0, || assert_eq!(gpu.cuCtxSynchronize(), 0));
            let next = side.object(BYTES);
            assert_eq!(side.address(&next), address, "{side:?}");
            drop((other, next));
            trim(ALL);
        }
    });
}

#[test]
fn a_block_with_more_declared_streams_than_can_be_kept_is_not_handed_out_before_all_of_them_are_done() {
    alone_with_pools(&[STREAM], |gpu| {
        for side in SIDES {
            const BYTES: usize = 20_000;
            let (streams, source) = ([(); 9].map(|()| gpu.stream()), gpu.block(BYTES));
            let mut object = side.object(BYTES);
            gpu.control().simcuda_set_lag(LAG);
            for stream in &streams {
                work_on(gpu, side, &object, BYTES, &source, stream.handle());
                record(&mut object, stream.handle());
            }
            let address = side.address(&object);
            drop(object);
            let mut next = side.object(BYTES);
            write(gpu, side, &mut next, &pattern(3, BYTES));
            streams.iter().for_each(Stream::synchronize);
            assert_bytes(&contents(gpu, side, &mut next, BYTES), &pattern(3, BYTES), &format_args!("{side:?}"));
            gpu.control().simcuda_set_lag(0);
            let again = side.object(BYTES);
            assert!([side.address(&next), side.address(&again)].contains(&address), "{side:?}: it came back");
            drop((next, again));
            trim(ALL);
        }
    });
}

#[test]
fn a_declaration_is_of_one_object_and_ends_with_it() {
    alone_with_pools(&[STREAM], |gpu| {
        let stream = gpu.stream();
        let mut object = Side::Device.object(5000);
        record(&mut object, stream.handle());
        record(&mut object, std::ptr::null_mut());
        let address = object.device_address();
        drop(object);
        gpu.control().simcuda_hold_streams();
        let source = gpu.block(5000);
        gpu.within(0, || assert_eq!(gpu.cuMemsetD8Async(source.address as u64, 1, 5000, stream.handle()), 0));
        // What that stream does since is no longer of any interest.
        for _ in 0..3 {
            assert_eq!(Side::Device.pair(5000), address);
        }
        gpu.control().simcuda_release_streams();
        stream.synchronize();
    });
}

#[test]
fn declaring_a_stream_needs_an_object_and_nothing_else() {
    alone_with_pools(&[STREAM], |gpu| {
        let stream = gpu.stream();
        let status = unsafe { syncedmem_record_stream(std::ptr::null_mut(), stream.handle().cast()) };
        assert_eq!(status, SYNCEDMEM_ERROR_INVALID_ARGUMENT);
        record(&mut Object::new(100), stream.handle());
        let mut on_the_host = filled(100_000, 1);
        record(&mut on_the_host, stream.handle());
        let lent = gpu.block(100_000);
        assert_eq!(on_the_host.set_gpu_data(lent.pointer()), SYNCEDMEM_SUCCESS);
        record(&mut on_the_host, stream.handle());
    });
}

#[test]
fn what_is_freed_during_a_synchronise_is_not_cleared_by_it() {
    alone_with_pools(&[], |gpu| {
        let (stream, elsewhere) = (gpu.stream(), gpu.block(100));
        drop(Side::Device.object(5000));
        let late = Side::Device.object(50_000);
        gpu.control().simcuda_hold_streams();
        gpu.within(0, || assert_eq!(gpu.cuMemsetD8Async(elsewhere.address as u64, 1, 100, stream.handle()), 0));
        gpu.control().simcuda_clear_log();
        std::thread::scope(|threads| {
            threads.spawn(|| drop(Side::Device.object(5000)));
            until(|| gpu.calls_of(c"cuCtxSynchronize") == 1);
            drop(late);
            gpu.control().simcuda_release_streams();
        });
        let (object, calls) = gpu.watch(|| Side::Device.object(50_000));
        assert_eq!((count(&calls, &MEMORY), count(&calls, &["cuCtxSynchronize"])), (0, 1), "{calls:?}");
        drop(object);
    });
}

#[test]
fn a_wait_for_one_block_holds_up_nobody_else() {
    alone_with_pools(&[], |gpu| {
        let (stream, elsewhere) = (gpu.stream(), gpu.block(100));
        drop([Side::Device.object(5000), Side::Host.object(5000)]);
        gpu.control().simcuda_hold_streams();
        gpu.within(0, || assert_eq!(gpu.cuMemsetD8Async(elsewhere.address as u64, 1, 100, stream.handle()), 0));
        gpu.control().simcuda_clear_log();
        std::thread::scope(|threads| {
            let waits = threads.spawn(|| drop(Side::Device.object(5000)));
            until(|| gpu.calls_of(c"cuCtxSynchronize") == 1);
            // No lock is held meanwhile: others get, give back and ask.
            drop([Side::Device.object(70_000), Side::Host.object(70_000)]);
            give_back(MIB, 1);
            assert!(idle(ALL) > 0);
            assert!(!waits.is_finished());
            gpu.control().simcuda_release_streams();
        });
    });
}

#[test]
fn a_block_is_not_handed_out_on_another_device_or_in_another_context() {
    alone_with_pools(&[], |gpu| {
        let mut created = std::ptr::null_mut();
        assert_eq!(gpu.cuCtxCreate_v2(&mut created, 0, 0), 0);
        assert_eq!(gpu.cuCtxPopCurrent_v2(&mut std::ptr::null_mut()), 0);
        for side in SIDES {
            let two = gpu.within(0, || [side.object(5000), side.object(5000)]);
            let own = two.each_ref().map(|object| side.address(object));
            drop(two);
            // Of two that wait one is handed out, and the other does not wait any longer.
            gpu.within(0, || side.pair(5000));
            for context in [gpu.primary(1), created] {
                let object = gpu.within_context(context, || side.object(5000));
                assert!(!own.contains(&side.address(&object)), "{side:?}");
                drop(object);
            }
            assert!(own.contains(&gpu.within(0, || side.pair(5000))), "{side:?}: they are still there");
        }
        trim(ALL);
        assert_eq!(gpu.cuCtxDestroy_v2(created), 0);
    });
}

#[test]
fn what_a_reset_took_is_not_handed_out_and_its_address_is_not_freed() {
    alone_with_pools(&[], |gpu| {
        for side in SIDES {
            for reuse in ["synchronised", "stream"] {
                assert_eq!(
                    syncedmem::ffi::c::pools::syncedmem_set_reuse(c_int::from(reuse == "stream")),
                    SYNCEDMEM_SUCCESS
                );
                let address = side.pair(5000);
                assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(0), 0);
                let mut context = std::ptr::null_mut();
                assert_eq!(gpu.cuDevicePrimaryCtxRetain(&mut context, 0), 0);
                // Somebody else's block, most likely at the same address.
                let foreign = if side == Side::Host { gpu.pinned(5000) } else { gpu.block(5000) };
                let same = foreign.address == address;
                assert!(same || side == Side::Host, "the simulated driver gives addresses out again");
                let object = side.object(5000);
                assert_ne!(side.address(&object), foreign.address, "{side:?}");
                drop(object);
                let ((), calls) = gpu.watch(|| trim(ALL));
                assert_eq!(idle(ALL), 0);
                let freed =
                    |call: &Call| call.field("ptr").map(str::to_string) == Some(format!("{:#x}", foreign.address));
                assert!(!calls.iter().any(|call| call.function.starts_with("cuMemFree") && freed(call)), "{calls:?}");
            }
        }
    });
}

#[test]
fn what_went_with_its_context_is_not_handed_out() {
    alone_with_pools(&[], |gpu| {
        for side in SIDES {
            let mut created = std::ptr::null_mut();
            assert_eq!(gpu.cuCtxCreate_v2(&mut created, 0, 0), 0);
            side.pair(5000);
            assert_eq!(gpu.cuCtxDestroy_v2(created), 0);
            assert!(idle(side.memory()) > 0);
            let object = side.object(5000);
            drop(object);
            trim(ALL);
            assert_eq!(idle(ALL), 0);
        }
    });
}

#[test]
fn a_reused_block_reads_zeros_where_zeros_are_promised() {
    alone_with_pools(&[], |gpu| {
        for bytes in SIZES {
            for access in [Storage::gpu_data as fn(&mut Storage) -> _, Storage::mutable_gpu_data] {
                let object = Side::Device.object(bytes);
                gpu.write(object.device_address(), &vec![0xAB; bytes]);
                let address = object.device_address();
                drop(object);
                let mut next = Object::new(bytes);
                assert_eq!(access(&mut next).unwrap().addr(), address);
                assert_bytes(&gpu.read(address, bytes), &vec![0; bytes], &bytes);
                drop(next);
                let _pinning = Pinning::always();
                drop(filled(bytes, 0xAB));
                assert!(all_zero(Object::new(bytes).cpu_data().unwrap(), bytes), "{bytes}");
                trim(ALL);
            }
        }
    });
}

#[test]
fn what_is_written_in_full_is_not_filled_before() {
    alone_with_pools(&[], |gpu| {
        const BYTES: usize = 100_000;
        drop(Side::Device.object(BYTES));
        let mut object = filled(BYTES, 7);
        let (_, calls) = gpu.watch(|| object.gpu_data().unwrap());
        assert_eq!((count(&calls, &["cuMemset"]), gpu.copies()), (0, [1, 0]));
        drop(object);
        // A copy back that does not come about shows what it would have overwritten.
        drop(Side::Host.object(BYTES));
        let mut object = filled(BYTES, 0xAB);
        object.mutable_gpu_data().unwrap();
        assert_eq!(object.release_cpu(), SYNCEDMEM_SUCCESS);
        gpu.fail("cuMemcpy", 1, 1);
        assert_eq!(object.cpu_data(), Err(SYNCEDMEM_ERROR_DRIVER));
        let mut next = Object::new(BYTES);
        assert!(all_are(next.overwrite_cpu_data().unwrap(), BYTES, 0xAB));
    });
}

#[test]
fn copies_in_flight_end_before_their_blocks_come_back() {
    alone_with_pools(&[STREAM], |gpu| {
        const BYTES: usize = 100_000;
        let _pinning = Pinning::always();
        let stream = gpu.stream();
        gpu.control().simcuda_set_lag(1000);
        for round in 1..40 {
            let mut object = Object::new(BYTES);
            object.fill_host(&pattern(round, BYTES));
            assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
            drop(object);
            let mut next = Object::new(BYTES);
            next.fill_host(&pattern(round + 100, BYTES));
            assert_eq!(next.push(stream.handle()), SYNCEDMEM_SUCCESS);
            next.mutable_gpu_data().unwrap();
            assert_eq!(next.wait(), SYNCEDMEM_SUCCESS);
            assert_eq!(next.pull(stream.handle()), SYNCEDMEM_SUCCESS);
            assert_bytes(&next.host_bytes(BYTES), &pattern(round + 100, BYTES), &round);
        }
    });
}
