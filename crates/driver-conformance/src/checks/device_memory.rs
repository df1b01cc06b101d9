//! Blocks of device memory.

use super::{Check, Created, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, copy_to_host, set8};
use crate::driver::calls;
use crate::driver::numbers::{self, device, pointer};
use crate::driver::status::{INVALID_VALUE, OUT_OF_MEMORY, SUCCESS};
use crate::verdict::{Must, Verdict, differ, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("no bytes are not allocated", "cuMemAlloc", |_| calls::memory_alloc(0)?.0.is(INVALID_VALUE)),
    check(
        "a block is aligned to 256 bytes",
        "Programming Guide, Performance Guidelines, Device Memory Accesses",
        |_| {
            let blocks: Vec<_> = [1, 3, 100, 4096, 5000].into_iter().map(DeviceBlock::new).collect::<Result<_, _>>()?;
            blocks.iter().try_for_each(|block| equal("the remainder", 0, block.address() % 256))
        },
    ),
    check("blocks do not overlap", "cuMemAlloc", |_| {
        const BYTES: usize = 1000;
        let blocks: Vec<_> = (0..16).map(|_| DeviceBlock::new(BYTES)).collect::<Result<_, _>>()?;
        let mut starts: Vec<_> = blocks.iter().map(DeviceBlock::address).collect();
        starts.sort_unstable();
        let apart = starts.windows(2).all(|pair| pair[1] - pair[0] >= BYTES as u64);
        ensure(apart, "blocks that lie apart", format!("{starts:#x?}"))
    }),
    check("a block keeps its bytes while others come and go", "cuMemAlloc", |_| {
        const BYTES: usize = 10_000;
        let (kept, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
        host.fill_pattern(5);
        copy(kept.at(0), host.at(0), BYTES).must()?;
        for round in 0..8 {
            let (one, two) = (DeviceBlock::new(BYTES)?, DeviceBlock::new(1 << 20)?);
            set8(one.at(0), round, BYTES).must()?;
            set8(two.at(0), round, 1 << 20).must()?;
        }
        host.fill(0);
        copy(host.at(0), kept.at(0), BYTES).must()?;
        host.has_pattern("the block", 5)
    }),
    check("more memory than there is is refused", "cuMemAlloc", |_| {
        calls::memory_alloc(too_many_bytes()?)?.0.is(OUT_OF_MEMORY)
    }),
    check("running out of memory leaves the context usable", "cuMemAlloc", |_| {
        calls::memory_alloc(too_many_bytes()?)?.0.fails()?;
        DeviceBlock::new(4096)?.free()?.ok()?;
        calls::synchronize()?.ok()
    }),
    check("a block is freed once", "cuMemFree", |_| {
        let address = DeviceBlock::new(4096)?.release();
        calls::memory_free(address)?.ok()?;
        calls::memory_free(address)?.is(INVALID_VALUE)
    }),
    check("a free of a pointer inside a block is refused", "cuMemFree", |_| {
        let block = DeviceBlock::new(4096)?;
        calls::memory_free(block.address() + 1024)?.is(INVALID_VALUE)?;
        block.free()?.ok()
    }),
    check("a free of a host address is refused", "cuMemFree", |_| {
        let host = HostBlock::pageable(4096);
        calls::memory_free(host.address())?.is(INVALID_VALUE)
    }),
    check("a free of a pinned block as device memory is refused", "cuMemFree", |_| {
        let pinned = HostBlock::pinned(4096, 0)?;
        calls::memory_free(pinned.address())?.is(INVALID_VALUE)?;
        pinned.free()?.ok()
    }),
    check("a free of null harms nothing", "cuMemFree: open, so any status", |_| {
        calls::memory_free(0)?.is_one_of(&[SUCCESS, INVALID_VALUE])?;
        DeviceBlock::new(4096)?.free()?.ok()
    }),
    check("a block of the primary context is freed in it from another stack", "cuCtxPushCurrent", |session| {
        let block = DeviceBlock::new(4096)?;
        let _created = Created::new(session)?;
        calls::push(session.context).must()?;
        let freed = block.free();
        calls::pop().must()?;
        freed?.ok()
    }),
    check("there is no more free memory than memory", "cuMemGetInfo", |_| {
        let (free, total) = calls::memory_info().must()?;
        ensure(0 < free && free <= total, "free memory, at most the total", format!("{free} of {total}"))
    }),
    // Other processes may use the device: try a few times.
    check("free memory goes with a block and comes back", "cuMemGetInfo", |_| {
        const BYTES: usize = 48 << 20;
        let mut seen = (0, 0, 0);
        for _ in 0..5 {
            let (before, _) = calls::memory_info().must()?;
            let block = DeviceBlock::new(BYTES)?;
            let (within, _) = calls::memory_info().must()?;
            block.free()?.ok()?;
            let (after, _) = calls::memory_info().must()?;
            seen = (before, within, after);
            if before >= within + BYTES && after >= within + BYTES {
                return Ok(());
            }
        }
        ensure(false, format!("{BYTES} bytes fewer, and then as many more"), format!("{seen:?}"))
    }),
    check("managed memory is the hosts too", "cuMemAllocManaged", |session| {
        if calls::device_attribute(session.device, device::MANAGED_MEMORY).must()? == 0 {
            return Err(Verdict::skipped("the device has no managed memory"));
        }
        let (managed, host) = (DeviceBlock::managed(4096, numbers::ATTACH_GLOBAL)?, HostBlock::pageable(4096));
        equal("IS_MANAGED", 1, calls::pointer_attribute(pointer::IS_MANAGED, managed.address()).must()?)?;
        let host_address = calls::pointer_attribute(pointer::HOST_POINTER, managed.address()).must()?;
        equal("the host's address", managed.address(), host_address)?;
        set8(managed.at(0), 0x5a, 4096).must()?;
        copy_to_host(host.at(0), managed.at(0), 4096).must()?;
        host.has("the managed block", 0x5a)?;
        let plain = DeviceBlock::new(4096)?;
        let of_plain = calls::pointer_attribute(pointer::IS_MANAGED, plain.address()).must()?;
        differ("IS_MANAGED of managed and of plain memory", 1, of_plain)
    }),
];

fn too_many_bytes() -> Result<usize, Verdict> {
    let (_, total) = calls::memory_info().must()?;
    Ok(total.saturating_mul(4))
}
