//! Several devices. With one, all of it is skipped.

use super::{Check, Session, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, copy_peer};
use crate::driver::calls;
use crate::driver::numbers::pointer;
use crate::driver::status::{
    INVALID_VALUE, PEER_ACCESS_ALREADY_ENABLED, PEER_ACCESS_NOT_ENABLED, PEER_ACCESS_UNSUPPORTED,
};
use crate::driver::table::Handle;
use crate::verdict::{Must, Outcome, Verdict, differ, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(
        Context,
        whether_peers_reach_each_other_is_a_yes_or_no,
        "Driver API, Peer Context Memory Access, cuDeviceCanAccessPeer"
    ),
    check!(Context, devices_have_primary_contexts_of_their_own, "Driver API, Primary Context Management, introduction"),
    check!(Context, blocks_of_two_devices_have_different_addresses, "Driver API, Unified Addressing, Overview"),
    check!(Context, a_block_knows_its_device, "Driver API, Unified Addressing, cuPointerGetAttribute: DEVICE_ORDINAL"),
    check!(Context, a_block_of_another_device_can_be_copied_by_its_address, "Driver API, Unified Addressing, Overview"),
    check!(Context, a_block_can_be_copied_between_contexts, "Driver API, Memory Management, cuMemcpyPeer"),
    check!(
        Context,
        pinned_memory_serves_every_device,
        "Driver API, Memory Management, cuMemHostAlloc: unified addressing"
    ),
    check!(
        Context,
        peer_access_is_enabled_once,
        "Driver API, Peer Context Memory Access, cuCtxEnablePeerAccess, cuCtxDisablePeerAccess"
    ),
    check!(
        Context,
        peer_access_that_is_not_enabled_is_not_disabled,
        "Driver API, Peer Context Memory Access, cuCtxDisablePeerAccess"
    ),
    check!(
        Context,
        peer_access_is_enabled_without_flags,
        "Driver API, Peer Context Memory Access, cuCtxEnablePeerAccess"
    ),
];

const BYTES: usize = 70_001;

/// A second device, with its primary context.
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

fn whether_peers_reach_each_other_is_a_yes_or_no(session: &Session) -> Outcome {
    let second = Second::new(session)?;
    let can = calls::can_access_peer(session.device, second.device).must()?;
    ensure(can == 0 || can == 1, "0 or 1", can.to_string())
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

fn a_block_can_be_copied_between_contexts(session: &Session) -> Outcome {
    let second = Second::new(session)?;
    let (mine, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
    let other = second.within(|| DeviceBlock::new(BYTES))?;
    host.fill_pattern(2);
    let copied = (|| {
        copy(mine.at(0), host.at(0), BYTES).must()?;
        copy_peer((other.at(0), second.context), (mine.at(0), session.context), BYTES).must()?;
        calls::synchronize().must()?;
        host.fill(0);
        second.within(|| copy(host.at(0), other.at(0), BYTES).must())
    })();
    second.free(other)?;
    copied?;
    host.has_pattern("what came back", 2)
}

fn pinned_memory_serves_every_device(session: &Session) -> Outcome {
    let second = Second::new(session)?;
    let pinned = HostBlock::pinned(BYTES, 0)?;
    pinned.fill_pattern(3);
    second.within(|| {
        equal("its address", pinned.address(), calls::pinned_device_pointer(pinned.address(), 0).must()?)?;
        let other = DeviceBlock::new(BYTES)?;
        copy(other.at(0), pinned.at(0), BYTES).must()?;
        pinned.fill(0);
        copy(pinned.at(0), other.at(0), BYTES).must()
    })?;
    pinned.has_pattern("what came back", 3)
}

fn peer_access_is_enabled_once(session: &Session) -> Outcome {
    let second = Second::new(session)?;
    if calls::can_access_peer(session.device, second.device).must()? == 0 {
        return calls::enable_peer_access(second.context, 0)?.is(PEER_ACCESS_UNSUPPORTED);
    }
    calls::enable_peer_access(second.context, 0).must()?;
    let again = calls::enable_peer_access(second.context, 0);
    calls::disable_peer_access(second.context).must()?;
    again?.is(PEER_ACCESS_ALREADY_ENABLED)
}

/// Of two devices that do not reach each other, nothing is enabled either.
fn peer_access_that_is_not_enabled_is_not_disabled(session: &Session) -> Outcome {
    calls::disable_peer_access(Second::new(session)?.context)?.is(PEER_ACCESS_NOT_ENABLED)
}

fn peer_access_is_enabled_without_flags(session: &Session) -> Outcome {
    let second = Second::new(session)?;
    // Where there is no access at all, either reason may come first.
    calls::enable_peer_access(second.context, 1 << 20)?.is_one_of(&[INVALID_VALUE, PEER_ACCESS_UNSUPPORTED])
}
