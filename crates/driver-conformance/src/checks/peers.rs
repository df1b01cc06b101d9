//! Several devices. With one, all of it is skipped.

use super::{Check, Session, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy};
use crate::driver::calls;
use crate::driver::numbers::pointer;
use crate::driver::table::Handle;
use crate::verdict::{Must, Outcome, Verdict, differ, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("devices have primary contexts of their own", "Primary Context Management, introduction", |session| {
        let second = Second::new(session)?;
        differ("the contexts", session.context, second.context)?;
        equal("the device", second.device, second.within(|| calls::current_device().must())?)
    }),
    check("blocks of two devices have different addresses", "Unified Addressing, Overview", |session| {
        let second = Second::new(session)?;
        let mine = DeviceBlock::new(BYTES)?;
        let other = second.within(|| DeviceBlock::new(BYTES))?;
        let apart = mine.address().abs_diff(other.address()) >= BYTES as u64;
        second.free(other)?;
        ensure(apart, "blocks that lie apart", "an overlap")
    }),
    check("a block knows its device", "cuPointerGetAttribute: DEVICE_ORDINAL", |session| {
        let second = Second::new(session)?;
        let other = second.within(|| DeviceBlock::new(BYTES))?;
        let ordinal = calls::pointer_attribute(pointer::DEVICE_ORDINAL, other.address()).must();
        second.free(other)?;
        equal("the ordinal", second.device as u64, ordinal? & 0xffff_ffff)
    }),
    check("a block of another device can be copied by its address", "Unified Addressing, Overview", |session| {
        let second = Second::new(session)?;
        let (mine, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
        let other = second.within(|| DeviceBlock::new(BYTES))?;
        host.fill_pattern(1);
        let copied = (|| {
            copy(mine.at(0), host.at(0), BYTES).must()?;
            copy(other.at(0), mine.at(0), BYTES).must()?;
            calls::synchronize().must()?;
            host.fill(0);
            copy(host.at(0), other.at(0), BYTES).must()
        })();
        second.free(other)?;
        copied?;
        host.has_pattern("what came back", 1)
    }),
    check("pinned memory serves every device", "cuMemHostAlloc: unified addressing", |session| {
        let second = Second::new(session)?;
        let pinned = HostBlock::pinned(BYTES, 0)?;
        pinned.fill_pattern(3);
        second.within(|| {
            let other = DeviceBlock::new(BYTES)?;
            copy(other.at(0), pinned.at(0), BYTES).must()?;
            pinned.fill(0);
            copy(pinned.at(0), other.at(0), BYTES).must()
        })?;
        pinned.has_pattern("what came back", 3)
    }),
];

const BYTES: usize = 70_001;

/// With its primary context.
struct Second {
    device: i32,
    context: Handle,
}

impl Second {
    fn new(session: &Session) -> Result<Self, Verdict> {
        if calls::device_count().must()? < 2 {
            return Err(Verdict::skipped("there is one device"));
        }
        let device = i32::from(session.device == 0);
        Ok(Second { device, context: calls::primary_retain(device).must()? })
    }

    fn within<T>(&self, work: impl FnOnce() -> Result<T, Verdict>) -> Result<T, Verdict> {
        calls::push(self.context).must()?;
        let result = work();
        calls::pop().must()?;
        result
    }

    fn free(&self, block: DeviceBlock) -> Outcome {
        self.within(|| block.free().must())
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        let _ = calls::primary_release(self.device);
    }
}
