//! Fills that are done later: those of a stream, and those of device memory on the default stream.

use super::{Check, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, copy_to_host_async, set8, set8_async, set32_async};
use crate::driver::gate::Gate;
use crate::driver::numbers::STREAM_NON_BLOCKING;
use crate::driver::queues::{Event, Stream};
use crate::driver::status::NOT_READY;
use crate::verdict::Must;

pub(crate) const CHECKS: &[Check] = &[
    check("a fill waits for its stream", "API synchronization behavior, Memset", |_| {
        let (stream, other) = (Stream::new(STREAM_NON_BLOCKING)?, Stream::new(STREAM_NON_BLOCKING)?);
        let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
        set8(block.at(0), 1, BYTES).must()?;
        Stream::null().synchronize()?.ok()?;
        let gate = Gate::close(&stream)?;
        gate.await_stream()?;
        set8_async(block.at(0), 2, BYTES, &stream).must()?;
        gate.linger();
        copy_to_host_async(host.at(0), block.at(0), BYTES, &other).must()?;
        other.synchronize()?.ok()?;
        gate.is_still_shut("queueing and another stream")?;
        host.has("the block, with the stream held", 1)?;
        gate.open();
        stream.synchronize()?.ok()?;
        copy(host.at(0), block.at(0), BYTES).must()?;
        host.has("the block, with the stream done", 2)
    }),
    check(
        "a fill and a copy of one stream keep their order",
        "Programming Guide, Asynchronous Concurrent Execution, Streams",
        |_| {
            let (stream, block, host) =
                (Stream::new(STREAM_NON_BLOCKING)?, DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
            for byte in 0..20 {
                set8_async(block.at(0), byte, BYTES, &stream).must()?;
                copy_to_host_async(host.at(0), block.at(0), BYTES, &stream).must()?;
            }
            stream.synchronize()?.ok()?;
            host.has("the host's block", 19)
        },
    ),
    check("words are filled in a stream too", "cuMemsetD32Async", |_| {
        let (stream, block, host) =
            (Stream::new(STREAM_NON_BLOCKING)?, DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
        set32_async(block.at(0), 0x1234_5678, BYTES / 4, &stream).must()?;
        copy_to_host_async(host.at(0), block.at(0), BYTES, &stream).must()?;
        stream.synchronize()?.ok()?;
        host.compare("the block", 0..BYTES, |at| 0x1234_5678u32.to_le_bytes()[at % 4])
    }),
    check(
        "a fill on the default stream does not wait for a held stream",
        "API synchronization behavior, Memset",
        |_| {
            let (stream, block, event) = (Stream::new(0)?, DeviceBlock::new(BYTES)?, Event::new(0)?);
            let gate = Gate::close(&stream)?;
            gate.await_stream()?;
            set8(block.at(0), 1, BYTES).must()?;
            gate.is_still_shut("the fill")?;
            event.record(&Stream::null())?.ok()?;
            gate.linger();
            event.query()?.is(NOT_READY)?;
            gate.open();
            event.synchronize()?.ok()
        },
    ),
    check(
        "a fill on the default stream comes after a blocking streams work",
        "Stream synchronization behavior, Legacy default stream",
        |_| {
            let (stream, block, host) = (Stream::new(0)?, DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
            let gate = Gate::close(&stream)?;
            set8_async(block.at(0), 1, BYTES, &stream).must()?;
            set8(block.at(0), 2, BYTES).must()?;
            gate.linger();
            gate.open();
            copy(host.at(0), block.at(0), BYTES).must()?;
            host.has("the block", 2)
        },
    ),
];

const BYTES: usize = 1 << 20;
