//! How an allocation can be known again. The documentation does not decide these: each check reports.

use super::primary_context::Retained;
use super::{Check, Session, check, detached};
use crate::driver::blocks::{DeviceBlock, HostBlock};
use crate::driver::calls;
use crate::driver::numbers::{HOST_PORTABLE, device, pointer};
use crate::driver::status::{self, SUCCESS};
use crate::driver::table::Handle;
use crate::verdict::{Must, Outcome, Reply, Verdict};

/// They reset the device, so no context is there yet.
pub(crate) const RESETS: &[Check] = &[
    check("what is current after a reset while it is retained", "cuDevicePrimaryCtxReset", |session| {
        let retained = Retained::new(session)?;
        let context = retained.context;
        calls::push(context).must()?;
        let before = calls::context_id(0).must()?;
        calls::primary_reset(session.device).must()?;
        let handle = |now: Handle| match now {
            0 => "none".to_string(),
            now if now == context => "the same handle".into(),
            _ => "another handle".into(),
        };
        let id = |now: u64| String::from(if now == before { "the same" } else { "another" });
        let current = outcome(calls::current(), handle)?;
        let own = outcome(calls::context_id(0), id)?;
        let by_handle = outcome(calls::context_id(context), id)?;
        let synchronize = status::named(calls::synchronize()?.status);
        let active = outcome(calls::primary_state(session.device), |(_, active)| active.to_string())?;
        let again = outcome(calls::primary_retain(session.device), handle)?;
        let id_again = outcome(calls::context_id(context), id)?;
        // After a reset a driver may count anew.
        let _ = calls::primary_release(session.device)?;
        found(format!(
            "current: {current}; id of what is current: {own}; of the handle: {by_handle}; cuCtxSynchronize: {synchronize}; \
         active: {active}; retained again: {again}, id {id_again}"
        ))
    }),
    check("what is known of memory after a reset while it is retained", "cuDevicePrimaryCtxReset", |session| {
        let retained = Retained::new(session)?;
        calls::push(retained.context).must()?;
        let registered = HostBlock::registered(BYTES)?;
        let (device, pinned) = (DeviceBlock::new(BYTES)?.release(), HostBlock::pinned(BYTES, HOST_PORTABLE)?);
        let addresses = [("device", device), ("pinned", pinned.address()), ("registered", registered.address())];
        // The reset takes it.
        std::mem::forget(pinned);
        let mut before = Vec::new();
        for (_, address) in addresses {
            before.push(known(address)?);
        }
        calls::primary_reset(session.device).must()?;
        let mut text = Vec::new();
        for ((name, address), before) in addresses.iter().zip(&before) {
            let with = known(*address)?;
            calls::set_current(0).must()?;
            let without = known(*address)?;
            let _ = calls::set_current(retained.context)?;
            text.push(format!("{name}: {}; with nothing current: {}", with.since(before), without.since(before)));
        }
        let unregister = status::named(calls::unregister(registered.address())?.status);
        found(format!("{}; cuMemHostUnregister: {unregister}", text.join("; ")))
    }),
];

pub(crate) const CHECKS: &[Check] = &[
    check("what number pinned and registered memory has", "cuPointerGetAttribute: BUFFER_ID", |session| {
        let blocks = [
            ("pinned", HostBlock::pinned(BYTES, 0)),
            ("pinned for all", HostBlock::pinned(BYTES, HOST_PORTABLE)),
            ("registered", HostBlock::registered(BYTES)),
        ];
        let mut text = Vec::new();
        for (name, block) in blocks {
            let block = match block {
                Err(Verdict::Skipped(why)) => {
                    text.push(format!("{name}: {why}"));
                    continue;
                }
                block => block?,
            };
            let known = known(block.address())?;
            let context = if known.context == session.context { "its context" } else { "no such context" };
            text.push(format!("{name}: {}, {}, {context}", known.number(), alone(block.address())?));
        }
        found(text.join("; "))
    }),
    check(
        "what number memory has that is registered again at the same address",
        "cuPointerGetAttribute: BUFFER_ID",
        |_| {
            let host = HostBlock::registered(BYTES)?;
            let before = known(host.address());
            calls::unregister(host.address()).must()?;
            let between = known(host.address());
            host.register()?.ok()?;
            let after = known(host.address());
            let (before, between, after) = (before?, between?, after?);
            found(format!(
                "{}; unregistered: {}; again: {}",
                before.number(),
                between.since(&before),
                after.since(&before)
            ))
        },
    ),
    check("what is known of freed pinned blocks", "cuPointerGetAttributes", |session| {
        let mut text = Vec::new();
        for bytes in [BYTES, 4 << 20] {
            let block = HostBlock::pinned(bytes, HOST_PORTABLE)?;
            let (address, before) = (block.address(), known(block.address())?);
            block.free()?.ok()?;
            text.push(format!("{bytes} bytes: {}", afterwards(session, &before, address)?));
        }
        found(text.join("; "))
    }),
    // Small blocks share a larger one of the driver's.
    check("what is known of freed small device blocks", "cuPointerGetAttributes", |session| {
        let _neighbour = DeviceBlock::new(256)?;
        let mut text = Vec::new();
        for bytes in [256, BYTES, 1 << 20] {
            let block = DeviceBlock::new(bytes)?;
            let (address, before) = (block.address(), known(block.address())?);
            block.free()?.ok()?;
            text.push(format!("{bytes} bytes: {}", afterwards(session, &before, address)?));
        }
        found(text.join("; "))
    }),
    check("what is known of memory without a current context", "cuPointerGetAttributes", |session| {
        let (block, pinned) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, HOST_PORTABLE)?);
        let (registered, plain) = (HostBlock::registered(BYTES)?, HostBlock::pageable(BYTES));
        let addresses = [
            ("device", block.address()),
            ("pinned", pinned.address()),
            ("registered", registered.address()),
            ("pageable", plain.address()),
        ];
        let mut text = Vec::new();
        for (name, address) in addresses {
            let before = known(address)?;
            text.push(format!("{name}: {}", detached(session, || known(address))?.since(&before)));
        }
        found(text.join("; "))
    }),
    check(
        "whether memory is registered as the attribute says",
        "cuDeviceGetAttribute: HOST_REGISTER_SUPPORTED",
        |session| {
            let says = calls::device_attribute(session.device, device::HOST_REGISTER_SUPPORTED).must()?;
            let host = HostBlock::pageable(BYTES);
            let reply = host.register()?;
            if reply.status == SUCCESS {
                calls::unregister(host.address()).must()?;
            }
            found(format!("the attribute is {says}, and cuMemHostRegister returns {}", status::named(reply.status)))
        },
    ),
];

const BYTES: usize = 5000;

#[derive(Clone, Copy)]
struct Known {
    reply: Reply,
    kind: u64,
    id: u64,
    context: Handle,
}

fn known(address: u64) -> Result<Known, Verdict> {
    let wanted = [pointer::MEMORY_TYPE, pointer::BUFFER_ID, pointer::CONTEXT];
    let (reply, [kind, id, context]) = calls::pointer_attributes(wanted, address)?;
    // The type has 32 bits.
    Ok(Known { reply, kind: kind & 0xffff_ffff, id, context: context as Handle })
}

impl Known {
    fn number(&self) -> String {
        match (self.reply.status, self.kind, self.id) {
            (SUCCESS, 0, _) => "unknown".into(),
            (SUCCESS, _, 0) => "known without a number".into(),
            (SUCCESS, ..) => "known by a number".into(),
            (status, ..) => status::named(status),
        }
    }

    /// As `number`, beside an earlier answer about the address.
    fn since(&self, before: &Known) -> String {
        let context = match self.context {
            _ if self.reply.status != SUCCESS || self.kind == 0 => "",
            context if context == before.context => ", in the same context",
            0 => ", in no context",
            _ => ", in another context",
        };
        let number = match self.id {
            id if self.reply.status != SUCCESS || self.kind == 0 || id == 0 => self.number(),
            id if id == before.id => "known by the same number".into(),
            _ => "known by another number".into(),
        };
        format!("{number}{context}")
    }
}

/// As the call for one attribute returns it.
fn alone(address: u64) -> Result<String, Verdict> {
    let (reply, id) = calls::pointer_attribute(pointer::BUFFER_ID, address)?;
    Ok(match (reply.status, id) {
        (SUCCESS, 0) => "0 alone".into(),
        (SUCCESS, _) => "a number alone".into(),
        (status, _) => format!("{} alone", status::named(status)),
    })
}

fn found(text: String) -> Outcome {
    Err(Verdict::Found(text))
}

/// After the block's end, with and without a current context.
fn afterwards(session: &Session, before: &Known, address: u64) -> Result<String, Verdict> {
    let with = known(address)?;
    let without = detached(session, || known(address))?;
    Ok(format!("{}; with nothing current: {}", with.since(before), without.since(before)))
}

/// The status, or the value after success.
fn outcome<T>(answer: Result<(Reply, T), Verdict>, value: impl FnOnce(T) -> String) -> Result<String, Verdict> {
    let (reply, got) = answer?;
    Ok(if reply.status == SUCCESS { value(got) } else { status::named(reply.status) })
}
