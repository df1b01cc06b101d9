//! Page-locked host memory of the driver's.

use super::{Check, Created, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy};
use crate::driver::calls;
use crate::driver::numbers::{HOST_DEVICEMAP, HOST_PORTABLE, HOST_WRITECOMBINED, pointer};
use crate::driver::status::{INVALID_VALUE, SUCCESS};
use crate::verdict::{Must, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("the host reads and writes it", "cuMemHostAlloc", |_| {
        let pinned = HostBlock::pinned(BYTES, 0)?;
        pinned.fill_pattern(1);
        pinned.has_pattern("the block", 1)?;
        pinned.free()?.ok()
    }),
    // The driver may add flags of its own.
    check("it remembers what it was asked for", "cuMemHostGetFlags", |_| {
        for asked in [0, HOST_PORTABLE, HOST_DEVICEMAP, HOST_PORTABLE | HOST_DEVICEMAP] {
            let pinned = HostBlock::pinned(BYTES, asked)?;
            let flags = calls::pinned_flags(pinned.address()).must()?;
            equal("the flags that were asked for", asked, flags & asked)?;
            equal("the flag for write-combined memory", 0, flags & HOST_WRITECOMBINED)?;
        }
        Ok(())
    }),
    check("an address inside tells the flags too", "cuMemHostGetFlags", |_| {
        let pinned = HostBlock::pinned(BYTES, HOST_PORTABLE)?;
        let flags = calls::pinned_flags(pinned.address() + 4097).must()?;
        equal("the flag that was asked for", HOST_PORTABLE, flags & HOST_PORTABLE)
    }),
    check("unknown flags are refused", "cuMemHostAlloc", |_| HostBlock::try_pinned(BYTES, 1 << 20)?.is(INVALID_VALUE)),
    check("nothing pinned harms nothing", "cuMemHostAlloc: open, so either status", |_| {
        HostBlock::try_pinned(0, 0)?.is_one_of(&[SUCCESS, INVALID_VALUE])?;
        calls::synchronize()?.ok()
    }),
    check("the device reaches it at the same address", "cuMemHostAlloc: unified addressing", |_| {
        for flags in [0, HOST_PORTABLE, HOST_DEVICEMAP] {
            let pinned = HostBlock::pinned(BYTES, flags)?;
            let device = calls::pointer_attribute(pointer::DEVICE_POINTER, pinned.address()).must()?;
            equal("the device's address", pinned.address(), device)?;
        }
        Ok(())
    }),
    check("pageable memory has no flags", "cuMemHostGetFlags", |_| {
        let plain = HostBlock::pageable(BYTES);
        calls::pinned_flags(plain.address())?.0.is(INVALID_VALUE)
    }),
    check("device memory has no host flags", "cuMemHostGetFlags", |_| {
        let block = DeviceBlock::new(BYTES)?;
        calls::pinned_flags(block.address())?.0.is(INVALID_VALUE)
    }),
    check("it is freed once", "cuMemFreeHost", |_| {
        let pinned = HostBlock::pinned(BYTES, 0)?;
        let address = pinned.address();
        pinned.free()?.ok()?;
        calls::pinned_free(address)?.is(INVALID_VALUE)
    }),
    check("an address inside it is not freed", "cuMemFreeHost", |_| {
        let pinned = HostBlock::pinned(BYTES, 0)?;
        calls::pinned_free(pinned.address() + 4096)?.is(INVALID_VALUE)?;
        pinned.free()?.ok()
    }),
    check("pageable memory is not freed as pinned", "cuMemFreeHost", |_| {
        let plain = HostBlock::pageable(BYTES);
        calls::pinned_free(plain.address())?.is(INVALID_VALUE)
    }),
    check("device memory is not freed as pinned", "cuMemFreeHost", |_| {
        let block = DeviceBlock::new(BYTES)?;
        calls::pinned_free(block.address())?.is(INVALID_VALUE)?;
        block.free()?.ok()
    }),
    check("freeing no pinned memory harms nothing", "cuMemFreeHost: open, so any status", |_| {
        calls::pinned_free(0)?.is_one_of(&[SUCCESS, INVALID_VALUE])?;
        HostBlock::pinned(BYTES, 0)?.free()?.ok()
    }),
    check("portable memory is pinned to another context", "cuMemHostAlloc", |session| {
        let pinned = HostBlock::pinned(BYTES, HOST_PORTABLE)?;
        pinned.fill_pattern(3);
        let _created = Created::new(session)?;
        let flags = calls::pinned_flags(pinned.address()).must()?;
        ensure(flags & HOST_PORTABLE != 0, "the flag for portable memory", format!("flags {flags:#x}"))?;
        let block = DeviceBlock::new(BYTES)?;
        copy(block.at(0), pinned.at(0), BYTES).must()?;
        pinned.fill(0);
        copy(pinned.at(0), block.at(0), BYTES).must()?;
        pinned.has_pattern("what came back", 3)
    }),
];

const BYTES: usize = 100_000;
