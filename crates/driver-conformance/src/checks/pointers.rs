//! The driver's answers about addresses.

use super::*;

const BYTES: usize = 100_000;

pub(crate) const CHECKS: &[Check] = &[
    check("memory is of its sides type", "cuPointerGetAttribute: MEMORY_TYPE", |_| {
        let (block, pinned, registered) =
            (DeviceBlock::new(BYTES), HostBlock::pinned(BYTES), HostBlock::registered(BYTES));
        let kind = |address| ask(MEMORY_TYPE, address) & 0xffff_ffff;
        equal("the type of a block", TYPE_DEVICE, kind(block.0));
        equal("the type inside a block", TYPE_DEVICE, kind(block.0 + 77_777));
        equal("the type of page-locked memory", TYPE_HOST, kind(pinned.address()));
        equal("the type of registered memory", TYPE_HOST, kind(registered.address()));
    }),
    check("memory knows its context and device", "cuPointerGetAttribute: CONTEXT, DEVICE_ORDINAL", |context| {
        let (block, pinned) = (DeviceBlock::new(BYTES), HostBlock::pinned(BYTES));
        for address in [block.0, pinned.address()] {
            equal("the context", context, ask(CONTEXT, address) as Handle);
            equal("the ordinal", 0, ask(DEVICE_ORDINAL, address) & 0xffff_ffff);
        }
        let created = Created::new();
        let other = DeviceBlock::new(BYTES);
        cuCtxPushCurrent_v2(context).ok();
        let of_other = reply(|it| cuPointerGetAttribute(it, CONTEXT, other.0)).status;
        let found = ask(CONTEXT, other.0) as Handle;
        pop();
        equal("the reply and the context of a block in a created one", (SUCCESS, created.0), (of_other, found));
    }),
    check("an address inside a block knows its range", "cuPointerGetAttribute: RANGE_START_ADDR, RANGE_SIZE", |_| {
        let block = DeviceBlock::new(BYTES);
        equal("the start", block.0, ask(RANGE_START_ADDR, block.0 + 1234));
        let bytes = ask(RANGE_SIZE, block.0 + 1234);
        ensure(bytes >= BYTES as u64, "the block's bytes or more", bytes);
    }),
    check("every block has its own id, and keeps it", "cuPointerGetAttribute: BUFFER_ID", |_| {
        let (one, pinned) = (DeviceBlock::new(BYTES), HostBlock::pinned(BYTES));
        let before = ask(BUFFER_ID, one.0);
        let two = DeviceBlock::new(BYTES);
        differ("the ids of two blocks", before, ask(BUFFER_ID, two.0));
        differ("the ids of a device and a page-locked block", before, ask(BUFFER_ID, pinned.address()));
        equal("the id", before, ask(BUFFER_ID, one.0));
        equal("the id inside", before, ask(BUFFER_ID, one.0 + 4096));
    }),
    // The driver chooses addresses: a block of the same size usually gets the one that was freed last.
    check("a block at the same address has another id", "cuPointerGetAttribute: BUFFER_ID", |_| {
        for _ in 0..16 {
            let first = DeviceBlock::new(BYTES);
            let (address, before) = (first.0, ask(BUFFER_ID, first.0));
            first.free().ok();
            let second = DeviceBlock::new(BYTES);
            if second.0 == address {
                return differ("the ids", before, ask(BUFFER_ID, address));
            }
        }
        skip("no address was used twice");
    }),
    check("what is no memory of the drivers is unknown", "cuPointerGetAttribute: CONTEXT, MEMORY_TYPE", |context| {
        // Large, so that no other block takes its place.
        let (plain, host) = (HostBlock::pageable(BYTES), HostBlock::registered(BYTES));
        let (freed, block) = (DeviceBlock::new(16 << 20), DeviceBlock::new(BYTES));
        let address = freed.0;
        freed.free().ok();
        cuMemHostUnregister(host.address()).ok();
        for attribute in [CONTEXT, MEMORY_TYPE] {
            for address in [plain.address(), host.address(), address] {
                reply(|it| cuPointerGetAttribute(it, attribute, address)).is(INVALID_VALUE);
            }
        }
        detached(context, || reply(|it| cuPointerGetAttribute(it, CONTEXT, plain.address()))).is(INVALID_VALUE);
        reply(|it| cuPointerGetAttribute(it, 100_000, block.0)).is(INVALID_VALUE);
    }),
    check("several attributes come at once", "cuPointerGetAttributes", |context| {
        let (block, plain) = (DeviceBlock::new(BYTES), HostBlock::pageable(BYTES));
        let values = [TYPE_DEVICE, ask(BUFFER_ID, block.0), context as u64];
        equal("the values", (SUCCESS, values), identities::known(block.0).answer());
        equal("the status and the context of an unknown address", (SUCCESS, 0), {
            let (status, [.., context]) = identities::known(plain.address()).answer();
            (status, context)
        });
    }),
    check("a block is known without a current context", "cuPointerGetAttribute: CONTEXT, BUFFER_ID", |context| {
        let block = DeviceBlock::new(BYTES);
        let asked = || (ask(CONTEXT, block.0), ask(DEVICE_ORDINAL, block.0), ask(BUFFER_ID, block.0));
        equal("the context, the ordinal and the id", asked(), detached(context, asked));
    }),
];

/// Types and ordinals have 32 bits in `cuda.h`.
pub(super) fn ask(attribute: i32, address: Address) -> u64 {
    value(|it| cuPointerGetAttribute(it, attribute, address))
}
