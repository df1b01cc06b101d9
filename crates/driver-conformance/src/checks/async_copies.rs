//! Copies that a stream makes later.

use super::{Check, check};
use crate::driver::blocks::{
    DeviceBlock, HostBlock, copy, copy_async, copy_in_device_async, copy_to_device_async, copy_to_host_async, set8,
};
use crate::driver::gate::Gate;
use crate::driver::numbers::STREAM_NON_BLOCKING;
use crate::driver::queues::Stream;
use crate::verdict::{Must, Outcome, Verdict};

pub(crate) const CHECKS: &[Check] = &[
    check("a copy to pinned memory waits for its stream", "API synchronization behavior, Memcpy, Asynchronous", |_| {
        to_the_host_later(&HostBlock::pinned(BYTES, 0)?)
    }),
    check("a copy from pinned memory does not wait", "API synchronization behavior, Memcpy, Asynchronous", |_| {
        let (here, host) = (Setting::new(1)?, HostBlock::pinned(BYTES, 0)?);
        host.fill_pattern(2);
        let gate = Gate::close(&here.stream)?;
        gate.await_stream()?;
        copy_to_device_async(here.block.at(0), host.at(0), BYTES, &here.stream).must()?;
        gate.is_still_shut("queueing the copy")?;
        gate.open();
        here.stream.synchronize()?.ok()?;
        host.fill(0);
        copy(host.at(0), here.block.at(0), BYTES).must()?;
        host.has_pattern("the block", 2)
    }),
    // Another stream sees the block as it was.
    check(
        "a copy from pinned memory waits for its stream",
        "API synchronization behavior, Memcpy, Asynchronous",
        |_| {
            let (here, other) = (Setting::new(1)?, Stream::new(STREAM_NON_BLOCKING)?);
            let (host, seen) = (HostBlock::pinned(BYTES, 0)?, HostBlock::pinned(BYTES, 0)?);
            host.fill(2);
            let gate = Gate::close(&here.stream)?;
            gate.await_stream()?;
            copy_to_device_async(here.block.at(0), host.at(0), BYTES, &here.stream).must()?;
            gate.linger();
            copy_to_host_async(seen.at(0), here.block.at(0), BYTES, &other).must()?;
            other.synchronize()?.ok()?;
            gate.is_still_shut("another stream")?;
            seen.has("the block, with the stream held", 1)
        },
    ),
    check("a copy in the device waits for its stream", "API synchronization behavior, Memcpy, Asynchronous", |_| {
        let (here, other) = (Setting::new(1)?, Stream::new(STREAM_NON_BLOCKING)?);
        let (second, seen) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
        set8(second.at(0), 2, BYTES).must()?;
        Stream::null().synchronize()?.ok()?;
        let gate = Gate::close(&here.stream)?;
        gate.await_stream()?;
        copy_in_device_async(second.at(0), here.block.at(0), BYTES, &here.stream).must()?;
        gate.linger();
        copy_to_host_async(seen.at(0), second.at(0), BYTES, &other).must()?;
        other.synchronize()?.ok()?;
        gate.is_still_shut("queueing and another stream")?;
        seen.has("the second block, with the stream held", 2)?;
        gate.open();
        here.stream.synchronize()?.ok()?;
        copy(seen.at(0), second.at(0), BYTES).must()?;
        seen.has("the second block, with the stream done", 1)
    }),
    check("addresses alone tell an asynchronous copy", "cuMemcpyAsync", |_| {
        let (here, host) = (Setting::new(1)?, HostBlock::pinned(BYTES, 0)?);
        let second = DeviceBlock::new(BYTES)?;
        host.fill_pattern(3);
        copy_async(here.block.at(0), host.at(0), BYTES, &here.stream).must()?;
        copy_async(second.at(0), here.block.at(0), BYTES, &here.stream).must()?;
        here.stream.synchronize()?.ok()?;
        host.fill(0);
        copy_async(host.at(0), second.at(0), BYTES, &here.stream).must()?;
        here.stream.synchronize()?.ok()?;
        host.has_pattern("what came back", 3)
    }),
    check(
        "pageable memory may be changed after an asynchronous copy",
        "API synchronization behavior, Memcpy, Asynchronous: staging",
        |_| from_pageable_memory(BYTES),
    ),
    check(
        "small pageable memory may be changed after an asynchronous copy",
        "API synchronization behavior, Memcpy, Asynchronous: staging",
        |_| from_pageable_memory(1000),
    ),
    check(
        "a copy to pageable memory is there once its stream is done",
        "API synchronization behavior, Memcpy, Asynchronous",
        |_| {
            let (here, host) = (Setting::new(0x71)?, HostBlock::pageable(BYTES));
            copy_to_host_async(host.at(0), here.block.at(0), BYTES, &here.stream).must()?;
            here.stream.synchronize()?.ok()?;
            host.has("the host's block", 0x71)
        },
    ),
    check("registered memory counts as pinned", "cuMemHostRegister", |_| {
        to_the_host_later(&HostBlock::registered(BYTES)?)
    }),
    check("a copy of nothing changes nothing in a stream either", "cuMemcpyAsync: open, so either status", |_| {
        use crate::driver::status::{INVALID_VALUE, SUCCESS};
        let (here, host) = (Setting::new(1)?, HostBlock::pinned(BYTES, 0)?);
        host.fill(6);
        copy_async(host.at(3), here.block.at(5), 0, &here.stream)?.is_one_of(&[SUCCESS, INVALID_VALUE])?;
        here.stream.synchronize()?.ok()?;
        host.has("the host's block", 6)
    }),
];

const BYTES: usize = 1 << 20;

struct Setting {
    stream: Stream,
    block: DeviceBlock,
}

impl Setting {
    /// The block holds one byte everywhere.
    fn new(byte: u8) -> Result<Self, Verdict> {
        let (stream, block) = (Stream::new(STREAM_NON_BLOCKING)?, DeviceBlock::new(BYTES)?);
        set8(block.at(0), byte, BYTES).must()?;
        Stream::null().synchronize()?.ok()?;
        Ok(Setting { stream, block })
    }
}

fn to_the_host_later(host: &HostBlock) -> Outcome {
    let here = Setting::new(0x61)?;
    host.fill(0x62);
    let gate = Gate::close(&here.stream)?;
    gate.await_stream()?;
    copy_to_host_async(host.at(0), here.block.at(0), BYTES, &here.stream).must()?;
    gate.is_still_shut("queueing the copy")?;
    gate.linger();
    host.has("the host's block, with the stream held", 0x62)?;
    gate.open();
    here.stream.synchronize()?.ok()?;
    host.has("the host's block, with the stream done", 0x61)
}

fn from_pageable_memory(bytes: usize) -> Outcome {
    let (here, host) = (Setting::new(1)?, HostBlock::pageable(bytes));
    host.fill_pattern(4);
    let gate = Gate::close(&here.stream)?;
    gate.open_during(|| {
        copy_to_device_async(here.block.at(0), host.at(0), bytes, &here.stream).must()?;
        host.fill(0);
        here.stream.synchronize()?.ok()
    })?;
    copy(host.at(0), here.block.at(0), bytes).must()?;
    host.has_pattern("the block", 4)
}
