//! With the library's defaults a Caffe makes the driver calls that it made with the original, and those listed here with
//! their reasons. A new call fails this test.

use std::collections::BTreeMap;

use crate::support::pools::*;
use crate::support::*;

/// The sizes of a net's blobs: labels, biases, weights, feature maps.
const SIZES: [usize; 6] = [4, 5000, 300_000, MIB + 4, 3 * MIB, 32 * MIB];
const BLOBS: usize = SIZES.len();
/// An iteration makes the data and the diff of each blob on the device, and changes the data this often on both sides.
const BLOCKS: usize = 2 * BLOBS;
const TURNS: usize = 4;
const COPIES: usize = 2 * TURNS * BLOBS;

/// An eighth of this, the default budget, keeps every block of an iteration.
const MEMORY: (&str, &str) = ("SIMCUDA_MEMORY", "2G");

/// An entry point, how often a settled iteration calls it in CPU mode and in GPU mode, and the reason. The original would also
/// allocate and free each block, which the pools save.
type Called = (&'static str, [usize; 2], &'static str);

#[rustfmt::skip]
const CALLED: [Called; 25] = [
    // Calls of the original.
    ("cuInit",                   [0; 2],                       "once"),
    ("cuDriverGetVersion",       [0; 2],                       "once"),
    ("cuDeviceGetCount",         [0; 2],                       "once"),
    ("cuMemAlloc_v2",            [0; 2],                       "cudaMalloc: until there are idle blocks"),
    ("cuMemHostAlloc",           [0; 2],                       "cudaMallocHost: until there are idle blocks"),
    ("cuMemcpy",                 [COPIES; 2],                  "cudaMemcpy"),
    ("cuMemcpyAsync",            [BLOBS; 2],                   "cudaMemcpyAsync, of a push, and of nothing else"),
    ("cuMemsetD8_v2",            [BLOBS; 2],                   "cudaMemset: of a diff"),
    // The original's runtime finds its context by itself.
    ("cuCtxGetCurrent",          [0; 2],                       "context look-up: where the thread's context has changed"),
    ("cuCtxGetDevice",           [0; 2],                       "context look-up: where the thread's context has changed"),
    ("cuStreamGetCtx",           [BLOBS; 2],                   "context look-up: of a push's stream"),
    ("cuCtxGetId",               [60, 66],                     "context look-up: one of each operation"),
    ("cuDeviceGet",              [0; 2],                       "context look-up: once where none is current"),
    ("cuDevicePrimaryCtxRetain", [0; 2],                       "context look-up: once where none is current"),
    ("cuCtxPushCurrent_v2",      [0; 2],                       "context look-up: where none is current"),
    ("cuCtxPopCurrent_v2",       [0; 2],                       "context look-up: where none is current"),
    // Calls that the library adds.
    ("cuPointerGetAttributes",   [BLOCKS, BLOCKS + BLOBS],     "whether a block that is handed out still is the library's"),
    ("cuCtxSynchronize",         [1, 1],                       "before blocks are handed out again"),
    ("cuStreamIsCapturing",      [BLOBS + 1; 2],               "a capture: of a push's stream, and before the synchronise"),
    ("cuThreadExchangeStreamCaptureMode", [2 * (BLOBS + 1); 2],
                                                               "a capture: around each wait for a push, and the synchronise; around a fresh block"),
    ("cuMemGetInfo_v2",          [0; 2],                       "the budget: with a fresh block"),
    ("cuEventCreate",            [BLOBS; 2],                   "a push: for its event"),
    ("cuEventRecord",            [BLOBS; 2],                   "a push: behind its copy"),
    ("cuEventSynchronize",       [BLOBS; 2],                   "a push: before its data is used"),
    ("cuEventDestroy_v2",        [BLOBS; 2],                   "a push: after its event"),
];

fn count<'c>(calls: &'c [Call], counts: &mut BTreeMap<&'c str, usize>) {
    names(calls).into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
}

/// Does what an iteration of Caffe does with its blobs, all made anew as after a reshape: a prefetching stream brings data from
/// the host, device and host change it, and the diff is made on the device. Returns the library's calls.
fn iteration(gpu: &Gpu, stream: &Stream) -> Vec<Call> {
    let (mut blobs, mut calls) = gpu.watch(|| {
        let mut blobs = SIZES.map(Object::new);
        for (number, blob) in blobs.iter_mut().enumerate() {
            let data = blob.mutable_cpu_data().unwrap();
            unsafe { data.write_bytes(number as u8 + 1, SIZES[number]) };
            assert_eq!(blob.push(stream.handle()), SYNCEDMEM_SUCCESS, "{}", last_error());
        }
        blobs
    });
    stream.synchronize();
    let ((), rest) = gpu.watch(|| {
        for (number, blob) in blobs.iter_mut().enumerate() {
            blob.gpu_data().unwrap();
            for _ in 0..TURNS {
                blob.mutable_gpu_data().unwrap();
                assert!(all_are(blob.cpu_data().unwrap(), SIZES[number], number as u8 + 1), "{number}");
                blob.mutable_cpu_data().unwrap();
                blob.gpu_data().unwrap();
            }
            Object::new(SIZES[number]).mutable_gpu_data().unwrap();
        }
        drop(blobs);
    });
    calls.extend(rest);
    calls
}

#[test]
fn by_default_a_caffe_makes_the_originals_driver_calls_and_those_that_are_listed() {
    alone_with_pools(&[MEMORY], |gpu| {
        let stream = gpu.stream();
        let (_, own) = gpu.watch(|| gpu.current());
        let own_thread = own[0].field("thread").unwrap();
        // On this thread the runtime has not made a context current yet.
        let mut calls = iteration(gpu, &stream);
        for (place, mode) in [1, 2].into_iter().enumerate() {
            assert_eq!(syncedmem_set_mode(mode), SYNCEDMEM_SUCCESS);
            gpu.within(0, || {
                (0..3).for_each(|_| calls.extend(iteration(gpu, &stream)));
                let settled = iteration(gpu, &stream);
                let mut counts = BTreeMap::new();
                count(&settled, &mut counts);
                let expected = CALLED.into_iter().map(|(name, counts, _)| (name, counts[place]));
                let expected: BTreeMap<_, _> = expected.filter(|&(_, count)| count > 0).collect();
                assert_eq!(counts, expected, "a settled iteration in mode {mode}");
                calls.extend(settled);
            });
        }
        assert!(calls.iter().all(|call| call.status == 0), "a call failed: {calls:?}");
        let foreign = calls.iter().find(|call| call.field("thread") != Some(own_thread));
        assert_eq!(foreign, None, "a thread that is not the program's calls the driver");
        let mut counts = BTreeMap::new();
        count(&calls, &mut counts);
        let known: BTreeMap<_, _> = CALLED.into_iter().map(|(name, _, why)| (name, why)).collect();
        assert_eq!(counts.keys().collect::<Vec<_>>(), known.keys().collect::<Vec<_>>(), "{counts:?}");
    });
}
