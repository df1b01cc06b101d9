//! Copies and fills that are done later: those of a stream, and fills of device memory on the default stream.

use super::*;

const BYTES: usize = 1 << 20;
const COPIES: &str = "API synchronization behavior, Memcpy, Asynchronous";
const FILLS: &str = "API synchronization behavior, Memset";

pub(crate) const CHECKS: &[Check] = &[
    check("a copy to page locked memory waits for its stream", COPIES, |_| {
        to_the_host_later(&HostBlock::pinned(BYTES))
    }),
    check("registered memory counts as page locked", "cuMemHostRegister", |_| {
        to_the_host_later(&HostBlock::registered(BYTES));
    }),
    check("a copy from page locked memory does not keep the host waiting", COPIES, |_| {
        let host = HostBlock::pinned(BYTES);
        host.fill(2);
        is_done_later(|block, stream| cuMemcpyAsync(block.0, host.address(), BYTES, stream.0).ok());
    }),
    check("a copy in the device waits for its stream", COPIES, |_| {
        let second = DeviceBlock::new(BYTES);
        cuMemsetD8_v2(second.0, 2, BYTES).ok();
        DEFAULT.synchronize();
        is_done_later(|block, stream| cuMemcpyAsync(block.0, second.0, BYTES, stream.0).ok());
    }),
    check("a fill waits for its stream", FILLS, |_| {
        is_done_later(|block, stream| cuMemsetD8Async(block.0, 2, BYTES, stream.0).ok());
    }),
    check("pageable memory may be changed after an asynchronous copy", COPIES, |_| {
        for bytes in [BYTES, 1000] {
            let (stream, block, host) = (Stream::new(), filled(1), HostBlock::pageable(bytes));
            host.fill_pattern(4);
            Gate::close(&stream).open_during(|| {
                cuMemcpyAsync(block.0, host.address(), bytes, stream.0).ok();
                host.fill(0);
                stream.synchronize();
            });
            cuMemcpy(host.address(), block.0, bytes).ok();
            host.has_pattern("the block", 4);
        }
    }),
    check("a fill on the default stream does not wait for a held stream", FILLS, |_| {
        let (stream, block, event) = (Stream::blocking(), DeviceBlock::new(BYTES), Event::new());
        let gate = Gate::close(&stream);
        cuMemsetD8_v2(block.0, 1, BYTES).ok();
        gate.is_still_shut("the fill");
        event.record(&DEFAULT).ok();
        gate.linger();
        event.query().is(NOT_READY);
        gate.open();
        event.synchronize().ok();
    }),
    check(
        "a fill on the default stream comes after a blocking streams work",
        "Stream synchronization behavior, Legacy default stream",
        |_| {
            let (stream, block, host) = (Stream::blocking(), DeviceBlock::new(BYTES), HostBlock::pinned(BYTES));
            let gate = Gate::close(&stream);
            cuMemsetD8Async(block.0, 1, BYTES, stream.0).ok();
            cuMemsetD8_v2(block.0, 2, BYTES).ok();
            gate.linger();
            gate.open();
            cuMemcpy(host.address(), block.0, BYTES).ok();
            host.has("the block", 2);
        },
    ),
];

fn filled(byte: u8) -> DeviceBlock {
    let block = DeviceBlock::new(BYTES);
    cuMemsetD8_v2(block.0, byte, BYTES).ok();
    DEFAULT.synchronize();
    block
}

fn to_the_host_later(host: &HostBlock) {
    let (stream, block) = (Stream::new(), filled(0x61));
    host.fill(0x62);
    let gate = Gate::close(&stream);
    cuMemcpyAsync(host.address(), block.0, BYTES, stream.0).ok();
    gate.is_still_shut("queueing the copy");
    gate.linger();
    host.has("the host's block, with the stream held", 0x62);
    gate.open();
    stream.synchronize();
    host.has("the host's block, with the stream done", 0x61);
}

/// `work` writes twos into a block of ones, which another stream sees as it was as long as the stream is held.
fn is_done_later(work: impl FnOnce(&DeviceBlock, &Stream)) {
    let (stream, other, block, seen) = (Stream::new(), Stream::new(), filled(1), HostBlock::pinned(BYTES));
    let gate = Gate::close(&stream);
    work(&block, &stream);
    gate.linger();
    cuMemcpyAsync(seen.address(), block.0, BYTES, other.0).ok();
    other.synchronize();
    gate.is_still_shut("queueing and another stream");
    seen.has("the block, with the stream held", 1);
    gate.open();
    stream.synchronize();
    cuMemcpy(seen.address(), block.0, BYTES).ok();
    seen.has("the block, with the stream done", 2);
}
