//! Blocks of device memory.

use super::{Check, Created, Session, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, copy_to_host, set8};
use crate::driver::calls;
use crate::driver::numbers::{self, device, pointer};
use crate::driver::status::{INVALID_VALUE, OUT_OF_MEMORY, SUCCESS};
use crate::verdict::{Must, Outcome, Verdict, differ, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(no_bytes_are_not_allocated, "cuMemAlloc"),
    check!(a_block_is_aligned_to_256_bytes, "Programming Guide, Performance Guidelines, Device Memory Accesses"),
    check!(blocks_do_not_overlap, "cuMemAlloc"),
    check!(a_block_keeps_its_bytes_while_others_come_and_go, "cuMemAlloc"),
    check!(more_memory_than_there_is_is_refused, "cuMemAlloc"),
    check!(running_out_of_memory_leaves_the_context_usable, "cuMemAlloc"),
    check!(a_block_is_freed_once, "cuMemFree"),
    check!(a_free_of_a_pointer_inside_a_block_is_refused, "cuMemFree"),
    check!(a_free_of_a_host_address_is_refused, "cuMemFree"),
    check!(a_free_of_a_pinned_block_as_device_memory_is_refused, "cuMemFree"),
    check!(a_free_of_null_harms_nothing, "cuMemFree: open, so any status"),
    check!(a_block_of_the_primary_context_is_freed_in_it_from_another_stack, "cuCtxPushCurrent"),
    check!(there_is_no_more_free_memory_than_memory, "cuMemGetInfo"),
    check!(free_memory_goes_with_a_block_and_comes_back, "cuMemGetInfo"),
    check!(managed_memory_is_the_hosts_too, "cuMemAllocManaged"),
];

fn no_bytes_are_not_allocated(_: &Session) -> Outcome {
    calls::memory_alloc(0)?.0.is(INVALID_VALUE)
}

fn a_block_is_aligned_to_256_bytes(_: &Session) -> Outcome {
    let blocks: Vec<_> = [1, 3, 100, 4096, 5000].into_iter().map(DeviceBlock::new).collect::<Result<_, _>>()?;
    blocks.iter().try_for_each(|block| equal("the remainder", 0, block.address() % 256))
}

fn blocks_do_not_overlap(_: &Session) -> Outcome {
    const BYTES: usize = 1000;
    let blocks: Vec<_> = (0..16).map(|_| DeviceBlock::new(BYTES)).collect::<Result<_, _>>()?;
    let mut starts: Vec<_> = blocks.iter().map(DeviceBlock::address).collect();
    starts.sort_unstable();
    let apart = starts.windows(2).all(|pair| pair[1] - pair[0] >= BYTES as u64);
    ensure(apart, "blocks that lie apart", format!("{starts:#x?}"))
}

fn a_block_keeps_its_bytes_while_others_come_and_go(_: &Session) -> Outcome {
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
}

fn too_many_bytes() -> Result<usize, Verdict> {
    let (_, total) = calls::memory_info().must()?;
    Ok(total.saturating_mul(4))
}

fn more_memory_than_there_is_is_refused(_: &Session) -> Outcome {
    calls::memory_alloc(too_many_bytes()?)?.0.is(OUT_OF_MEMORY)
}

fn running_out_of_memory_leaves_the_context_usable(_: &Session) -> Outcome {
    calls::memory_alloc(too_many_bytes()?)?.0.fails()?;
    DeviceBlock::new(4096)?.free()?.ok()?;
    calls::synchronize()?.ok()
}

fn a_block_is_freed_once(_: &Session) -> Outcome {
    let address = DeviceBlock::new(4096)?.release();
    calls::memory_free(address)?.ok()?;
    calls::memory_free(address)?.is(INVALID_VALUE)
}

fn a_free_of_a_pointer_inside_a_block_is_refused(_: &Session) -> Outcome {
    let block = DeviceBlock::new(4096)?;
    calls::memory_free(block.address() + 1024)?.is(INVALID_VALUE)?;
    block.free()?.ok()
}

fn a_free_of_a_host_address_is_refused(_: &Session) -> Outcome {
    let host = HostBlock::pageable(4096);
    calls::memory_free(host.address())?.is(INVALID_VALUE)
}

fn a_free_of_a_pinned_block_as_device_memory_is_refused(_: &Session) -> Outcome {
    let pinned = HostBlock::pinned(4096, 0)?;
    calls::memory_free(pinned.address())?.is(INVALID_VALUE)?;
    pinned.free()?.ok()
}

fn a_free_of_null_harms_nothing(_: &Session) -> Outcome {
    calls::memory_free(0)?.is_one_of(&[SUCCESS, INVALID_VALUE])?;
    DeviceBlock::new(4096)?.free()?.ok()
}

fn a_block_of_the_primary_context_is_freed_in_it_from_another_stack(session: &Session) -> Outcome {
    let block = DeviceBlock::new(4096)?;
    let _created = Created::new(session)?;
    calls::push(session.context).must()?;
    let freed = block.free();
    calls::pop().must()?;
    freed?.ok()
}

fn there_is_no_more_free_memory_than_memory(_: &Session) -> Outcome {
    let (free, total) = calls::memory_info().must()?;
    ensure(0 < free && free <= total, "free memory, at most the total", format!("{free} of {total}"))
}

/// Other processes may use the device: try a few times.
fn free_memory_goes_with_a_block_and_comes_back(_: &Session) -> Outcome {
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
}

fn managed_memory_is_the_hosts_too(session: &Session) -> Outcome {
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
}
