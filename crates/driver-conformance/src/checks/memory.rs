//! Blocks of device memory, page-locked ones, and host memory that is registered.

use super::*;

const BYTES: usize = 100_000;

pub(crate) const CHECKS: &[Check] = &[
    check("no bytes are not allocated", "cuMemAlloc", |_| reply(|it| cuMemAlloc_v2(it, 0)).is(INVALID_VALUE)),
    check(
        "a block is aligned to 256 bytes",
        "Programming Guide, Performance Guidelines, Device Memory Accesses",
        |_| {
            let blocks = [1, 3, 100, 4096, 5000].map(DeviceBlock::new);
            blocks.iter().for_each(|block| equal("the remainder", 0, block.0 % 256));
        },
    ),
    check("running out of memory leaves the context usable", "cuMemAlloc", |_| {
        let (mut free, mut total) = (0, 0);
        cuMemGetInfo_v2(&mut free, &mut total).ok();
        ensure(0 < free && free <= total, "free memory, at most the total", (free, total));
        reply(|address| cuMemAlloc_v2(address, total.saturating_mul(4))).is(OUT_OF_MEMORY);
        DeviceBlock::new(4096).free().ok();
        cuCtxSynchronize().ok();
    }),
    check("a block is freed once", "cuMemFree", |_| {
        let address = DeviceBlock::new(4096).release();
        cuMemFree_v2(address).ok();
        cuMemFree_v2(address).is(INVALID_VALUE);
    }),
    check("only the start of a device block is freed", "cuMemFree", |_| {
        let (block, host, pinned) = (DeviceBlock::new(4096), HostBlock::pageable(4096), HostBlock::pinned(4096));
        for address in [block.0 + 1024, host.address(), pinned.address()] {
            cuMemFree_v2(address).is(INVALID_VALUE);
        }
        block.free().ok();
        pinned.free().ok();
    }),
    check("a block is freed in its context from another stack, and on another thread", "cuCtxPushCurrent", |context| {
        let (block, second, pinned) = (DeviceBlock::new(4096), DeviceBlock::new(4096), HostBlock::pinned(4096));
        let created = Created::new();
        cuCtxPushCurrent_v2(context).ok();
        let freed = block.free();
        pop();
        freed.ok();
        drop(created);
        elsewhere(context, || {
            second.free().ok();
            pinned.free().ok();
        });
    }),
    // Other processes may use the device: try a few times.
    check("free memory goes with a block and comes back", "cuMemGetInfo", |_| {
        const LARGE: usize = 48 << 20;
        let free = || {
            let mut free = 0;
            cuMemGetInfo_v2(&mut free, &mut 0).ok();
            free
        };
        let seen = || {
            let (before, block) = (free(), DeviceBlock::new(LARGE));
            let within = free();
            block.free().ok();
            before >= within + LARGE && free() >= within + LARGE
        };
        ensure((0..5).any(|_| seen()), "fewer bytes, and then as many more", "others");
    }),
    check("page locked memory is freed once, and nothing else as such", "cuMemFreeHost", |_| {
        let (pinned, plain, block) = (HostBlock::pinned(BYTES), HostBlock::pageable(BYTES), DeviceBlock::new(BYTES));
        for address in [pinned.address() + 4096, plain.address(), block.0] {
            cuMemFreeHost(address).is(INVALID_VALUE);
        }
        let address = pinned.address();
        pinned.free().ok();
        cuMemFreeHost(address).is(INVALID_VALUE);
    }),
    check("portable memory is page locked to another context", "cuMemHostAlloc", |_| {
        let pinned = HostBlock::pinned(BYTES);
        let _created = Created::new();
        there_and_back(&pinned, &DeviceBlock::new(BYTES));
    }),
    check("memory is registered once", "Data types, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", |_| {
        HostBlock::registered(BYTES).register().is(HOST_MEMORY_ALREADY_REGISTERED);
    }),
    check("memory that is not registered is not unregistered", "cuMemHostUnregister", |_| {
        let host = HostBlock::pageable(BYTES);
        cuMemHostUnregister(host.address()).is_one_of(&[HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE]);
    }),
    check("registered memory is not freed as page locked", "cuMemFreeHost", |_| {
        let host = HostBlock::registered(BYTES);
        cuMemFreeHost(host.address()).is(INVALID_VALUE);
        cuMemHostUnregister(host.address()).ok();
    }),
];
