//! How an allocation can be known again. The documentation does not decide these: each check reports.

use super::contexts::Retained;
use super::*;

const BYTES: usize = 5000;

/// They reset the device, so no context is there yet.
pub(crate) const RESETS: &[Check] = &[
    check("what is current after a reset while it is retained", "cuDevicePrimaryCtxReset", |_| {
        let context = Retained::new();
        cuCtxPushCurrent_v2(context.0).ok();
        let id = |context: Handle| {
            let mut id = 0;
            (cuCtxGetId(context, &mut id).status, id)
        };
        let before = id(0);
        let compare = |now: (Status, u64)| match now {
            (SUCCESS, _) if now == before => "the same".into(),
            (SUCCESS, _) => "another".into(),
            (status, _) => named(status),
        };
        let handle = |status: Status, now: Handle| match (status, now) {
            (SUCCESS, 0) => "none".into(),
            (SUCCESS, now) if now == context.0 => "the same handle".into(),
            (SUCCESS, _) => "another handle".into(),
            (status, _) => named(status),
        };
        cuDevicePrimaryCtxReset_v2(DEVICE).ok();
        let (mut now, mut again) = (0, 0);
        let current = handle(cuCtxGetCurrent(&mut now).status, now);
        let (own, by_handle) = (compare(id(0)), compare(id(context.0)));
        let synchronize = named(cuCtxSynchronize().status);
        let retained = handle(cuDevicePrimaryCtxRetain(&mut again, DEVICE).status, again);
        let id_again = compare(id(context.0));
        // After a reset a driver may count anew.
        let _ = cuDevicePrimaryCtxRelease_v2(DEVICE);
        found(format!(
            "current: {current}; id of what is current: {own}; of the handle: {by_handle}; cuCtxSynchronize: \
             {synchronize}; retained again: {retained}, id {id_again}"
        ));
    }),
    check("what is known of memory after a reset while it is retained", "cuDevicePrimaryCtxReset", |_| {
        let context = Retained::new();
        cuCtxPushCurrent_v2(context.0).ok();
        let (device, pinned) = (DeviceBlock::new(BYTES).release(), HostBlock::pinned(BYTES));
        let blocks = [("device", device), ("pinned", pinned.address())];
        // The reset takes it.
        std::mem::forget(pinned);
        let before = blocks.map(|(name, address)| (name, address, known(address)));
        cuDevicePrimaryCtxReset_v2(DEVICE).ok();
        let text = before.map(|(name, address, before)| format!("{name}: {}", afterwards(context.0, &before, address)));
        found(text.join("; "));
    }),
];

pub(crate) const CHECKS: &[Check] = &[
    check("what number page locked memory has", "cuPointerGetAttribute: BUFFER_ID", |context| {
        let block = HostBlock::pinned(BYTES);
        let (known, mut id) = (known(block.address()), 0);
        let own = if known.context == context { "its context" } else { "no such context" };
        // The call for one attribute returns the same.
        let alone = match (cuPointerGetAttribute(&mut id, BUFFER_ID, block.address()).status, id) {
            (SUCCESS, 0) => "0".into(),
            (SUCCESS, _) => "a number".into(),
            (status, _) => named(status),
        };
        found(format!("{}, {alone} alone, {own}", known.number()));
    }),
    // Small blocks share a larger one of the driver's.
    check("what is known of freed blocks", "cuPointerGetAttributes", |context| {
        let _neighbour = DeviceBlock::new(256);
        let mut text = Vec::new();
        for bytes in [256, BYTES, 1 << 20] {
            let block = DeviceBlock::new(bytes);
            let (address, before) = (block.0, known(block.0));
            block.free().ok();
            text.push(format!("{bytes} bytes: {}", afterwards(context, &before, address)));
        }
        for bytes in [BYTES, 4 << 20] {
            let block = HostBlock::pinned(bytes);
            let (address, before) = (block.address(), known(block.address()));
            block.free().ok();
            text.push(format!("{bytes} pinned bytes: {}", afterwards(context, &before, address)));
        }
        found(text.join("; "));
    }),
    check("what is known of memory without a current context", "cuPointerGetAttributes", |context| {
        let (block, pinned, plain) = (DeviceBlock::new(BYTES), HostBlock::pinned(BYTES), HostBlock::pageable(BYTES));
        let blocks = [("device", block.0), ("pinned", pinned.address()), ("pageable", plain.address())];
        let text = blocks.map(|(name, address)| {
            let before = known(address);
            format!("{name}: {}", detached(context, || known(address)).since(&before))
        });
        found(text.join("; "));
    }),
];

/// The driver's answer about an address.
pub(super) struct Known {
    status: Status,
    kind: u64,
    id: u64,
    context: Handle,
}

pub(super) fn known(address: Address) -> Known {
    // Each starts as 99. The type has 32 bits.
    let (mut kind, mut id, mut context) = (99, 99, 99);
    let mut places: [*mut u64; 3] = [&mut kind, &mut id, &mut context];
    let status = cuPointerGetAttributes(3, &[MEMORY_TYPE, BUFFER_ID, CONTEXT], &mut places, address).status;
    Known { status, kind: kind & 0xffff_ffff, id, context: context as Handle }
}

impl Known {
    pub(super) fn answer(&self) -> (Status, [u64; 3]) {
        (self.status, [self.kind, self.id, self.context as u64])
    }

    fn number(&self) -> String {
        match (self.status, self.kind, self.id) {
            (SUCCESS, 0, _) => "unknown".into(),
            (SUCCESS, _, 0) => "known without a number".into(),
            (SUCCESS, ..) => "known by a number".into(),
            (status, ..) => named(status),
        }
    }

    /// Like `number`, compared with an earlier answer for the address.
    fn since(&self, before: &Known) -> String {
        let is_known = self.status == SUCCESS && self.kind != 0;
        let context = match self.context {
            _ if !is_known => "",
            context if context == before.context => ", in the same context",
            0 => ", in no context",
            _ => ", in another context",
        };
        let number = match self.id {
            id if !is_known || id == 0 => self.number(),
            id if id == before.id => "known by the same number".into(),
            _ => "known by another number".into(),
        };
        format!("{number}{context}")
    }
}

/// After the block's end, with and without a current context.
fn afterwards(context: Handle, before: &Known, address: Address) -> String {
    let with = known(address).since(before);
    let _ = cuCtxSetCurrent(0);
    let without = known(address).since(before);
    let _ = cuCtxSetCurrent(context);
    format!("{with}; with nothing current: {without}")
}
