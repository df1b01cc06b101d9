//! A context that its program has destroyed is never made current: a real driver does not refuse the dead handle, it follows
//! it. The simulated driver counts that as a broken rule, for which the end of each test looks.

use crate::support::driver::Handle;
use crate::support::pools::*;
use crate::support::*;

const BYTES: usize = 5000;

/// Does `before` with objects of a context, and `after` once that is destroyed; with and without pools, and with another
/// context current or none.
fn once_it_is_gone(gpu: &Gpu, before: impl Fn(&mut Object), after: impl Fn(Object)) {
    const CASES: [(bool, bool); 4] = [(true, true), (false, false), (true, false), (false, true)];
    // A real driver takes half a second for a context.
    for &(pools, is_current) in &CASES[..if gpu.is_simulated() { 4 } else { 2 }] {
        set_pools(pools);
        let context = gpu.new_context();
        let mut object = gpu.within_context(context, || {
            let _pinning = Pinning::always();
            let mut object = filled(BYTES, 1);
            object.mutable_gpu_data().unwrap();
            before(&mut object);
            assert_eq!(gpu.cuCtxSynchronize(), 0);
            object
        });
        assert_eq!(gpu.cuCtxDestroy_v2(context), 0);
        let broken = || if gpu.is_simulated() { gpu.violations() } else { Default::default() };
        let counted = broken().0;
        if is_current {
            gpu.within(0, || after(object));
        } else {
            after(object);
        }
        assert_eq!(broken().0, counted, "pools {pools}, another is current {is_current}: {}", broken().1);
        trim(ALL);
        assert_eq!(broken().0, counted, "the trim, pools {pools}, another is current {is_current}: {}", broken().1);
        object = Object::new(BYTES);
        gpu.within(0, || object.gpu_data().unwrap());
    }
}

fn record(object: &mut Object) -> syncedmem_status_t {
    unsafe { syncedmem_record_stream(object.mem(), std::ptr::null_mut()) }
}

#[test(in_silence, POOLS)]
fn an_object_whose_context_is_gone_ends_in_silence() {
    once_it_is_gone(&gpu(), |_| (), drop);
}

/// Work with an object of a context, and work after that is destroyed.
type Scene = (fn(&mut Object), fn(Object));

const SCENES: [Scene; 11] = [
    (|object| assert_eq!(record(object), SYNCEDMEM_SUCCESS), drop),
    // Idle blocks of that context are dropped.
    (
        |_| drop(filled(2 * BYTES, 1)),
        |object| {
            drop(object);
            let _pinning = Pinning::always();
            drop(filled(2 * BYTES, 1));
        },
    ),
    (push, drop),
    // The library says once that the copy is lost.
    (push, |mut object| {
        assert_eq!((object.wait(), object.wait()), (SYNCEDMEM_ERROR_DRIVER, SYNCEDMEM_SUCCESS), "{}", last_error());
    }),
    (
        |object| assert_eq!(object.pull(std::ptr::null_mut()), SYNCEDMEM_SUCCESS),
        |mut object| {
            _ = object.wait();
            assert_eq!(object.is_ready(), Ok(true), "{}", last_error());
            assert!(object.overwrite_cpu_data().is_ok(), "{}", last_error());
            // Another copy must not get an event that was destroyed with the context.
            let mut next = filled(BYTES, 2);
            assert_eq!(
                (next.push(std::ptr::null_mut()), next.wait()),
                (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS),
                "{}",
                last_error()
            );
        },
    ),
    // Operations on the object are refused, or done in another context.
    (|_| (), |mut object| _ = object.gpu_data()),
    (|_| (), |mut object| _ = object.cpu_data()),
    (|_| (), |mut object| _ = object.pull(std::ptr::null_mut())),
    (|_| (), |mut object| _ = unsafe { syncedmem_stream_wait(object.mem(), std::ptr::with_exposed_provenance_mut(2)) }),
    (|_| (), |mut object| _ = record(&mut object)),
    (|_| (), |mut object| _ = object.release_cpu()),
];

fn push(object: &mut Object) {
    object.mutable_cpu_data().unwrap();
    assert_eq!(object.push(std::ptr::null_mut()), SYNCEDMEM_SUCCESS);
}

#[test(alone_with_driver, POOLS)]
fn what_is_done_to_an_object_whose_context_is_gone_follows_nothing_into_it() {
    let gpu = &gpu();
    SCENES.into_iter().for_each(|(before, after)| once_it_is_gone(gpu, before, after));
}

#[test(alone_with_driver, POOLS)]
fn a_thread_whose_current_context_is_gone_is_left_as_it_is() {
    let gpu = &gpu();
    let mut object = gpu.within(0, || {
        let mut object = filled(BYTES, 1);
        object.gpu_data().unwrap();
        object
    });
    let context = gpu.new_context();
    gpu.within_context(context, || {
        std::thread::scope(|threads| {
            let context = context.expose_provenance();
            let destroy = move || gpu.cuCtxDestroy_v2(std::ptr::with_exposed_provenance_mut(context));
            assert_eq!(threads.spawn(destroy).join().unwrap(), 0);
        });
        object.mutable_cpu_data().unwrap();
        object.gpu_data().unwrap();
        object.mutable_gpu_data().unwrap();
        object.cpu_data().unwrap();
    });
}

/// A context that the test makes, and a stream of it.
fn stream_elsewhere(gpu: &Gpu) -> (Handle, Handle) {
    let (context, mut stream) = (gpu.new_context(), std::ptr::null_mut());
    gpu.within_context(context, || assert_eq!(gpu.cuStreamCreate(&mut stream, 1), 0));
    (stream, context)
}

#[test(alone_with_driver, POOLS)]
fn a_stream_of_another_context_may_go_with_it_once_it_was_passed() {
    let gpu = &gpu();
    let uses: [fn(&mut Object, Handle) -> syncedmem_status_t; 3] = [
        |object, stream| unsafe { syncedmem_record_stream(object.mem(), stream.cast()) },
        |object, stream| object.push(stream),
        |object, stream| {
            object.mutable_gpu_data().unwrap();
            object.pull(stream)
        },
    ];
    for (pools, pass) in uses.into_iter().flat_map(|pass| [(true, pass), (false, pass)]) {
        set_pools(pools);
        gpu.within(0, || {
            let _pinning = Pinning::always();
            let mut object = filled(BYTES, 1);
            object.gpu_data().unwrap();
            object.mutable_cpu_data().unwrap();
            let (stream, context) = stream_elsewhere(gpu);
            assert_eq!(pass(&mut object, stream), SYNCEDMEM_SUCCESS, "{}", last_error());
            gpu.within_context(context, || assert_eq!(gpu.cuCtxSynchronize(), 0));
            assert_eq!(gpu.cuCtxDestroy_v2(context), 0);
            assert_eq!(object.wait(), SYNCEDMEM_SUCCESS, "{}", last_error());
            assert!(all_are(object.cpu_data().unwrap(), BYTES, 1));
            drop(object);
            drop(filled(BYTES, 2));
            trim(ALL);
        });
    }
}
