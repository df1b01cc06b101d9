//! Several devices. With one, all of it is skipped.

use super::{Check, Session, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy};
use crate::driver::calls;
use crate::driver::numbers::pointer;
use crate::driver::table::Handle;
use crate::verdict::{Must, Outcome, Verdict, differ, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(devices_have_primary_contexts_of_their_own, "Primary Context Management, introduction"),
    check!(blocks_of_two_devices_have_different_addresses, "Unified Addressing, Overview"),
    check!(a_block_knows_its_device, "cuPointerGetAttribute: DEVICE_ORDINAL"),
    check!(a_block_of_another_device_can_be_copied_by_its_address, "Unified Addressing, Overview"),
    check!(pinned_memory_serves_every_device, "cuMemHostAlloc: unified addressing"),
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

fn devices_have_primary_contexts_of_their_own(session: &Session) -> Outcome {
    let second = Second::new(session)?;
    differ("the contexts", session.context, second.context)?;
    equal("the device", second.device, second.within(|| calls::current_device().must())?)
}

fn blocks_of_two_devices_have_different_addresses(session: &Session) -> Outcome {
    let second = Second::new(session)?;
    let mine = DeviceBlock::new(BYTES)?;
    let other = second.within(|| DeviceBlock::new(BYTES))?;
    let apart = mine.address().abs_diff(other.address()) >= BYTES as u64;
    second.free(other)?;
    ensure(apart, "blocks that lie apart", "an overlap")
}

fn a_block_knows_its_device(session: &Session) -> Outcome {
    let second = Second::new(session)?;
    let other = second.within(|| DeviceBlock::new(BYTES))?;
    let ordinal = calls::pointer_attribute(pointer::DEVICE_ORDINAL, other.address()).must();
    second.free(other)?;
    equal("the ordinal", second.device as u64, ordinal? & 0xffff_ffff)
}

fn a_block_of_another_device_can_be_copied_by_its_address(session: &Session) -> Outcome {
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
}

fn pinned_memory_serves_every_device(session: &Session) -> Outcome {
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
}
