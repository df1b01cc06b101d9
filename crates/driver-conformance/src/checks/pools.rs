//! Allocation in the order of a stream. Drivers before CUDA 11.2, and some devices, do not have it.

use super::{Check, Session, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy_to_host_async, set8_async};
use crate::driver::calls;
use crate::driver::numbers::{MEMORY_TYPE_DEVICE, POOL_RELEASE_THRESHOLD, STREAM_NON_BLOCKING, device, pointer};
use crate::driver::queues::Stream;
use crate::driver::table::Handle;
use crate::verdict::{Must, Verdict, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("a block of a stream is used and freed in it", "cuMemAllocAsync, cuMemFreeAsync", |session| {
        pool(session)?;
        let (stream, host) = (Stream::new(STREAM_NON_BLOCKING)?, HostBlock::pinned(BYTES, 0)?);
        let block = DeviceBlock::on_stream(BYTES, &stream)?;
        set8_async(block.at(0), 0x3c, BYTES, &stream).must()?;
        copy_to_host_async(host.at(0), block.at(0), BYTES, &stream).must()?;
        block.free_on(&stream)?.ok()?;
        stream.synchronize()?.ok()?;
        host.has("the block", 0x3c)
    }),
    check("a block of a stream may be freed as any other", "cuMemFree", |session| {
        pool(session)?;
        let stream = Stream::new(STREAM_NON_BLOCKING)?;
        let block = DeviceBlock::on_stream(BYTES, &stream)?;
        stream.synchronize()?.ok()?;
        block.free()?.ok()
    }),
    check("a block of a stream is device memory", "cuPointerGetAttribute: MEMORY_TYPE", |session| {
        pool(session)?;
        let stream = Stream::new(STREAM_NON_BLOCKING)?;
        let block = DeviceBlock::on_stream(BYTES, &stream)?;
        stream.synchronize()?.ok()?;
        let kind = calls::pointer_attribute(pointer::MEMORY_TYPE, block.address()).must()? & 0xffff_ffff;
        equal("the type", MEMORY_TYPE_DEVICE, kind)?;
        let ordinal = calls::pointer_attribute(pointer::DEVICE_ORDINAL, block.address()).must()? & 0xffff_ffff;
        equal("the ordinal", session.device as u64, ordinal)
    }),
    check("the default pool keeps nothing unless told", "cuMemPoolSetAttribute", |session| {
        let threshold = calls::pool_attribute(pool(session)?, POOL_RELEASE_THRESHOLD).must()?;
        equal("the release threshold", 0, threshold)
    }),
    check("a pool remembers what it is told to keep", "cuMemPoolSetAttribute", |session| {
        let pool = pool(session)?;
        let before = calls::pool_attribute(pool, POOL_RELEASE_THRESHOLD).must()?;
        calls::pool_set_attribute(pool, POOL_RELEASE_THRESHOLD, 12 << 20).must()?;
        let told = calls::pool_attribute(pool, POOL_RELEASE_THRESHOLD).must()?;
        calls::pool_set_attribute(pool, POOL_RELEASE_THRESHOLD, before).must()?;
        equal("the release threshold", 12 << 20, told)
    }),
    check("a pool can be trimmed", "cuMemPoolTrimTo", |session| {
        let pool = pool(session)?;
        let stream = Stream::new(STREAM_NON_BLOCKING)?;
        DeviceBlock::on_stream(BYTES, &stream)?.free_on(&stream)?.ok()?;
        stream.synchronize()?.ok()?;
        calls::pool_trim(pool, 0)?.ok()
    }),
];

const BYTES: usize = 1 << 20;

fn pool(session: &Session) -> Result<Handle, Verdict> {
    if calls::device_attribute(session.device, device::MEMORY_POOLS_SUPPORTED)?.1 != 1 {
        return Err(Verdict::skipped("the device has no memory pools"));
    }
    let pool = calls::default_pool(session.device).must()?;
    ensure(pool != 0, "a pool", "NULL")?;
    Ok(pool)
}
