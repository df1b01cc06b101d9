//! Fills that are done later: those of a stream, and those of device memory on the default stream.

use super::{Check, Session, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, copy_to_host_async, set8, set8_async, set32_async};
use crate::driver::gate::Gate;
use crate::driver::numbers::STREAM_NON_BLOCKING;
use crate::driver::queues::{Event, Stream};
use crate::driver::status::NOT_READY;
use crate::verdict::{Must, Outcome};

pub(crate) const CHECKS: &[Check] = &[
    check!(a_fill_waits_for_its_stream, "API synchronization behavior, Memset"),
    check!(
        a_fill_and_a_copy_of_one_stream_keep_their_order,
        "Programming Guide, Asynchronous Concurrent Execution, Streams"
    ),
    check!(words_are_filled_in_a_stream_too, "cuMemsetD32Async"),
    check!(a_fill_on_the_default_stream_does_not_wait_for_a_held_stream, "API synchronization behavior, Memset"),
    check!(
        a_fill_on_the_default_stream_comes_after_a_blocking_streams_work,
        "Stream synchronization behavior, Legacy default stream"
    ),
];

const BYTES: usize = 1 << 20;

fn a_fill_waits_for_its_stream(_: &Session) -> Outcome {
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
}

fn a_fill_and_a_copy_of_one_stream_keep_their_order(_: &Session) -> Outcome {
    let (stream, block, host) =
        (Stream::new(STREAM_NON_BLOCKING)?, DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
    for byte in 0..20 {
        set8_async(block.at(0), byte, BYTES, &stream).must()?;
        copy_to_host_async(host.at(0), block.at(0), BYTES, &stream).must()?;
    }
    stream.synchronize()?.ok()?;
    host.has("the host's block", 19)
}

fn words_are_filled_in_a_stream_too(_: &Session) -> Outcome {
    let (stream, block, host) =
        (Stream::new(STREAM_NON_BLOCKING)?, DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
    set32_async(block.at(0), 0x1234_5678, BYTES / 4, &stream).must()?;
    copy_to_host_async(host.at(0), block.at(0), BYTES, &stream).must()?;
    stream.synchronize()?.ok()?;
    host.compare("the block", 0..BYTES, |at| 0x1234_5678u32.to_le_bytes()[at % 4])
}

fn a_fill_on_the_default_stream_does_not_wait_for_a_held_stream(_: &Session) -> Outcome {
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
}

fn a_fill_on_the_default_stream_comes_after_a_blocking_streams_work(_: &Session) -> Outcome {
    let (stream, block, host) = (Stream::new(0)?, DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
    let gate = Gate::close(&stream)?;
    set8_async(block.at(0), 1, BYTES, &stream).must()?;
    set8(block.at(0), 2, BYTES).must()?;
    gate.linger();
    gate.open();
    copy(host.at(0), block.at(0), BYTES).must()?;
    host.has("the block", 2)
}
