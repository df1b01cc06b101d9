//! Blocks of the driver's that were given back, kept whole for the next object that one of them fits.
//!
//! Work of the device's that the library cannot see may be using a block still. So it waits here until everything in its
//! context was waited for at some time since: one synchronise clears all that wait, and it is made only when nothing that
//! is clear fits. `SYNCEDMEM_REUSE=stream` takes an event on the legacy default stream for that instead.
//!
//! What lies idle is given back to the driver beyond the budget, by a trim, and when memory has run out: by the thread of the
//! program's that frees, trims or allocates. No thread of the library's own does it, whatever its age.
#![expect(unsafe_code, reason = "the driver's functions are called")]

pub(crate) mod idle;

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::bins::Idle;
use crate::cuda::context::{self, ContextGuard};
use crate::cuda::driver::Driver;
use crate::cuda::events::Event;
use crate::cuda::streams::{self, StreamEvents};
use crate::cuda::{capture, captures_graphs, driver_in_use, synchronize};
use crate::error::DriverFailure;
use crate::memory::driver::deferred;
use crate::memory::driver::record::Record;
use crate::observe::event::What;
use crate::observe::recorder::{self, NOTHING};
use crate::platform::clock::coarse_milliseconds;
use crate::settings;
use crate::state::head::Side;
use crate::state::kind::Kind;
use idle::{IdleBlock, IdleBlocks, NotReady};

/// How many blocks were put here: the number of the next.
static FREES: AtomicU64 = AtomicU64::new(0);

/// An idle block of the context that `guard` made current, for a request of `bytes`, and what is known of it.
pub fn take(driver: &Driver, guard: &ContextGuard<'_>, side: Side, bytes: usize) -> Option<(NonNull<c_void>, Record)> {
    let idle_blocks = IdleBlocks::of(side);
    if idle_blocks.is_empty() || !settings::pools() {
        return None;
    }
    let is_clear = |block: &IdleBlock| block.record.context == guard.context && block.waits.is_none();
    loop {
        let found = idle_blocks.take(bytes, is_clear);
        let Some(mut idle) = found else {
            if !clear(driver, guard, side, bytes) {
                return None;
            }
            continue;
        };
        let IdleBlock { address, record, .. } = idle.block;
        match idle.block.is_ready(driver) {
            Ok(true) => return Some((address, record)),
            Ok(false) | Err(NotReady::Unknown) => {
                put_back(driver, idle);
                return None;
            }
            // SAFETY: nobody holds it.
            Err(NotReady::Gone) => unsafe { deferred::give_back_or_leave(driver, address, &record) },
        }
    }
}

/// Waits for everything in the current context if a block that fits waits for that, and says whether it did.
fn clear(driver: &Driver, guard: &ContextGuard<'_>, side: Side, bytes: usize) -> bool {
    let waits = |block: &IdleBlock| block.record.context == guard.context && block.waits.is_some();
    IdleBlocks::of(side).has(bytes, waits) && synchronise(driver, guard).is_ok()
}

/// Waits for everything in the current context, and with it for what may be using idle blocks of both sides. What another
/// context's streams do with them is to be declared: see `streams`.
fn synchronise(driver: &Driver, guard: &ContextGuard<'_>) -> Result<(), DriverFailure> {
    // What is put down from now on is not covered. SeqCst: as in `keep`.
    let covered = FREES.load(Ordering::SeqCst);
    // No other context: a collective operation in it may be waiting for what this thread is about to launch.
    synchronize::context(driver)?;
    for idle_blocks in IdleBlocks::all() {
        idle_blocks.for_each(|block| {
            if block.record.context == guard.context && block.waits.is_some_and(|number| number < covered) {
                block.waits = None;
                block.record.pending_on_legacy = false;
            }
        });
    }
    Ok(())
}

/// Keeps a block that nobody holds any more, and whose user has declared what it is behind; `false`: it is not kept.
pub fn keep(driver: &Driver, address: NonNull<c_void>, record: Record, events: Option<StreamEvents>) -> bool {
    let mut events = events.unwrap_or_default();
    let idle_blocks = IdleBlocks::of(record.side);
    let budget = idle_blocks.budget(record.device);
    // In a process that captures graphs no context is waited for, so nothing would clear it.
    let is_cleared = settings::reuses_by_event() || !captures_graphs();
    let is_kept = settings::pools() && is_cleared && record.identity.is_certain() && record.bytes as u64 <= budget;
    // A free does not unregister memory: see `reduce`.
    if !is_kept && !record.is_registered() {
        if settings::pools() && is_cleared && record.identity.is_certain() {
            note_turned_away(&record);
        }
        // The events of a context that is gone are gone with it.
        if !events.is_empty() && record.is_alive(driver, address) == Ok(true) {
            events.wait(driver);
        }
        return false;
    }
    // Where there is no event, the context is waited for.
    let event = settings::reuses_by_event().then(|| event_behind(driver, address, &record).ok().flatten()).flatten();
    event.and_then(|event| events.and(event)).into_iter().for_each(|event| streams::wait(driver, event));
    let by_event = event.is_some();
    // SeqCst: a synchronise that counts this free begins after it.
    let number = FREES.fetch_add(1, Ordering::SeqCst);
    let waits = (!by_event).then_some(number);
    // An event on the legacy default stream is behind what it may still be writing.
    let mut record = record;
    record.pending_on_legacy &= !by_event;
    let idle = Idle::new(record.bytes, IdleBlock { address, record, waits, events });
    if !idle_blocks.keep(idle) {
        events.wait(driver);
        return false;
    }
    // Where pools are off since just now, who said so has given back what was here before. Page-locked blocks of other
    // contexts stay: the free of this one does not wait for what runs there.
    let is_near = |block: &IdleBlock| !block.record.is_registered() && block.waits_at_most_for(&record);
    reduce_device(driver, idle_blocks, record.device, is_near);
    true
}

/// An event behind what the legacy default stream of the block's context has now, unless the block is gone.
fn event_behind(driver: &Driver, address: NonNull<c_void>, record: &Record) -> Result<Option<Event>, DriverFailure> {
    if !record.is_alive(driver, address)? {
        return Ok(None);
    }
    let guard = ContextGuard::enter(driver, record.context)?;
    capture::spare_legacy_stream(driver)?;
    let event = Event::new(driver, &guard)?;
    // SAFETY: null is the legacy default stream.
    match unsafe { event.record(driver, std::ptr::null_mut()) } {
        Ok(()) => Ok(Some(event)),
        Err(failure) => {
            event.recycle(driver);
            Err(failure)
        }
    }
}

/// Puts a block back that was taken out and cannot be handed out.
fn put_back(driver: &Driver, idle: Idle<IdleBlock>) {
    let side = idle.block.record.side;
    if !IdleBlocks::of(side).keep(idle) {
        give_back(driver, idle.block);
    }
}

/// Gives a block back to the driver, after everything that may be using it.
fn give_back(driver: &Driver, mut block: IdleBlock) {
    let IdleBlock { address, record, .. } = block;
    if matches!(record.is_alive(driver, address), Ok(true)) {
        if let (true, Ok(guard)) = (block.waits.is_some(), ContextGuard::enter(driver, record.context)) {
            // What cannot be waited for leaves the driver to decide.
            let _ = synchronise(driver, &guard);
        }
        block.events.wait(driver);
    }
    // SAFETY: nobody holds it.
    unsafe { deferred::give_back_or_leave(driver, address, &record) };
}

/// Looks how much memory the device of the current context has left, which bounds what may lie idle.
pub fn look(driver: &Driver, device: c_int) {
    if settings::pools() {
        IdleBlocks::of(Side::Device).look(driver, device);
    }
}

/// Gives the oldest blocks of a device that are `wanted` back until no more than the budget is left.
fn reduce_device(driver: &Driver, idle_blocks: &IdleBlocks, device: c_int, wanted: impl Fn(&IdleBlock) -> bool) {
    let bytes = if settings::pools() { idle_blocks.budget(device) } else { 0 };
    let is_wanted =
        |idle: &Idle<IdleBlock>| idle_blocks.are_one(idle.block.record.device, device) && wanted(&idle.block);
    while idle_blocks.idle(device) > bytes {
        let Some(idle) = idle_blocks.take_oldest(is_wanted) else { return };
        if settings::pools() {
            note_turned_away(&idle.block.record);
        }
        give_back(driver, idle.block);
    }
}

/// Tells that the budget had no room for a block.
fn note_turned_away(record: &Record) {
    let kind = if record.side == Side::Device { Kind::Device } else { Kind::Pinned };
    recorder::record(NOTHING, || What::TurnedAway { kind, bytes: record.bytes as u64 });
}

/// Gives everything idle of one kind back, after what may be using it in whatever context, and says how many bytes that were.
pub fn give_back_all(kind: Kind) -> u64 {
    give_back_those(kind, |_| true)
}

/// Gives back what is idle of one kind, but for what may be in use on another device than the thread's current one.
pub fn give_back_near(kind: Kind) -> u64 {
    let here = driver_in_use().and_then(|driver| context::current_device(driver).ok());
    give_back_those(kind, |block| block.is_clear() || Some(block.record.device) == here)
}

fn give_back_those(kind: Kind, wanted: impl Fn(&IdleBlock) -> bool) -> u64 {
    let (Some(driver), Some(idle_blocks)) = (driver_in_use(), IdleBlocks::of_kind(kind)) else { return 0 };
    let mut bytes = 0;
    // What others put down meanwhile is not waited for.
    let now = coarse_milliseconds();
    while let Some(idle) = idle_blocks.take_oldest(|idle| idle.since <= now && wanted(&idle.block)) {
        bytes += idle.bytes as u64;
        give_back(driver, idle.block);
    }
    bytes
}

/// How many bytes of one kind lie idle.
pub fn idle(kind: Kind) -> u64 {
    IdleBlocks::of_kind(kind).map_or(0, IdleBlocks::idle_in_all)
}

/// How many bytes of a device lie idle.
pub fn idle_on(device: c_int) -> u64 {
    IdleBlocks::of(Side::Device).idle(device)
}

/// How many bytes of one kind may lie idle: of device memory, on the device where most may.
pub fn budget(kind: Kind) -> u64 {
    IdleBlocks::of_kind(kind).map_or(0, IdleBlocks::largest_budget)
}

/// Gives back what lies idle beyond the budget, after what may be using it in whatever context.
pub fn reduce(kind: Kind) {
    reduce_those(kind, |_| true);
}

/// Gives back what lies idle beyond the budget, but for what may be in use on another device than `here`.
pub fn reduce_near(kind: Kind, here: c_int) {
    reduce_those(kind, |block| block.is_clear() || block.record.device == here);
}

fn reduce_those(kind: Kind, wanted: impl Fn(&IdleBlock) -> bool) {
    let (Some(driver), Some(idle_blocks)) = (driver_in_use(), IdleBlocks::of_kind(kind)) else { return };
    for device in idle_blocks.devices() {
        reduce_device(driver, idle_blocks, device, &wanted);
    }
}
