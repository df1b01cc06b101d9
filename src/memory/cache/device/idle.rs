//! The driver's idle blocks, by side, and the figures that bound them.
#![expect(unsafe_code, reason = "addresses are sent between threads")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;

use crate::cuda::MOST_DEVICES;
use crate::cuda::driver::Driver;
use crate::memory::cache::bins::{Idle, Store, Turn};
use crate::memory::cache::budget::{self, Peak};
use crate::memory::driver::source::Allocation;
use crate::platform::sync::{ForkLock, ForkStep, Lock, locked_static};
use crate::settings;

#[derive(Clone, Copy, Debug)]
pub struct IdleBlock {
    pub address: NonNull<c_void>,
    pub allocation: Allocation,
    /// Sequence number of the free; `None` once the context was synchronised after it.
    pub waits: Option<u64>,
}

// SAFETY: an idle block belongs to the process, not to a thread.
unsafe impl Send for IdleBlock {}

pub enum Readiness {
    Ready,
    /// Work uses the block, or the driver did not answer.
    Busy,
    /// A reset of the device has ended the block.
    Gone,
}

impl IdleBlock {
    /// Whether a free waits for no context but that of `allocation`.
    pub fn waits_at_most_for(&self, allocation: &Allocation) -> bool {
        self.allocation.context == allocation.context || self.is_clear()
    }

    /// Whether a free waits for nothing. Does not call the driver.
    pub fn is_clear(&self) -> bool {
        self.waits.is_none() && self.allocation.behind.is_empty()
    }

    /// Assumes that the block does not wait for its context.
    pub fn readiness(&mut self, driver: &Driver) -> Readiness {
        match self.allocation.is_alive(driver, self.address) {
            Ok(false) => Readiness::Gone,
            // Only now: events end with their context.
            Ok(true) if matches!(self.allocation.behind.is_complete(driver), Ok(true)) => Readiness::Ready,
            _ => Readiness::Busy,
        }
    }
}

pub struct IdleBlocks {
    side: Side,
    bins: Lock<Store<IdleBlock>>,
    /// Page-locked memory is counted in the first place, then each device; the last place counts all further devices.
    figures: [Figures; MOST_DEVICES],
}

struct Figures {
    idle: AtomicU64,
    in_use: AtomicU64,
    peak: Peak,
    /// Bytes that were free or idle when the driver was asked last.
    available: AtomicU64,
    total: AtomicU64,
}

impl Figures {
    const fn new() -> Figures {
        Figures {
            idle: AtomicU64::new(0),
            in_use: AtomicU64::new(0),
            peak: Peak::new(),
            available: AtomicU64::new(0),
            total: AtomicU64::new(0),
        }
    }
}

locked_static! {
    static SIDES: [IdleBlocks; 2] =
        [IdleBlocks::new(Side::Host, Lock::new(Store::new())), IdleBlocks::new(Side::Device, Lock::new(Store::new()))];
}

impl ForkLock for IdleBlocks {
    fn at_fork(&self, step: ForkStep) {
        self.bins.at_fork(step);
    }
}

impl IdleBlocks {
    const fn new(side: Side, bins: Lock<Store<IdleBlock>>) -> IdleBlocks {
        IdleBlocks { side, bins, figures: [const { Figures::new() }; MOST_DEVICES] }
    }

    pub fn all() -> &'static [IdleBlocks; 2] {
        &SIDES
    }

    pub fn of(side: Side) -> &'static IdleBlocks {
        &SIDES[usize::from(side == Side::Device)]
    }

    pub fn of_kind(kind: Kind) -> Option<&'static IdleBlocks> {
        match kind {
            Kind::Pageable => None,
            Kind::Pinned => Some(IdleBlocks::of(Side::Host)),
            Kind::Device => Some(IdleBlocks::of(Side::Device)),
        }
    }

    pub fn keep(&self, idle: Idle<IdleBlock>) -> bool {
        let (device, bytes) = (idle.block.allocation.device, idle.bytes);
        self.bins.with(|bins| {
            let is_kept = bins.keep(idle);
            if is_kept {
                self.figures(device).idle.fetch_add(bytes as u64, Relaxed);
            }
            is_kept
        })
    }

    pub fn take(&self, bytes: usize, wanted: impl Fn(&IdleBlock) -> bool) -> Option<Idle<IdleBlock>> {
        self.bins.with(|bins| bins.take(bytes, Turn::First, wanted).inspect(|idle| self.count_out(idle)))
    }

    pub fn take_oldest(&self, wanted: impl Fn(&Idle<IdleBlock>) -> bool) -> Option<Idle<IdleBlock>> {
        self.bins.with(|bins| bins.take_oldest(wanted).inspect(|idle| self.count_out(idle)))
    }

    fn count_out(&self, idle: &Idle<IdleBlock>) {
        self.figures(idle.block.allocation.device).idle.fetch_sub(idle.bytes as u64, Relaxed);
    }

    pub fn has(&self, bytes: usize, wanted: impl Fn(&IdleBlock) -> bool) -> bool {
        self.bins.with(|bins| bins.has(bytes, wanted))
    }

    pub fn for_each(&self, change: impl FnMut(&mut IdleBlock)) {
        self.bins.with(|bins| bins.iter_mut().map(|idle| &mut idle.block).for_each(change));
    }

    pub fn is_empty(&self) -> bool {
        self.idle_in_all() == 0
    }

    pub fn idle(&self, device: c_int) -> u64 {
        self.figures(device).idle.load(Relaxed)
    }

    /// Counts a block that an object got.
    pub fn add_use(&self, allocation: &Allocation) {
        self.figures(allocation.device).in_use.fetch_add(allocation.room as u64, Relaxed);
    }

    /// Counts a block that an object gave back or lost.
    pub fn end_use(&self, allocation: &Allocation) {
        self.figures(allocation.device).in_use.fetch_sub(allocation.room as u64, Relaxed);
    }

    /// The most bytes that may lie idle on a device once `bytes` more are in use. Together they stay within the peak of use plus
    /// [`budget::SLACK`], or plus a twelfth of the peak if that is more: with less, each iteration allocates its small blocks anew.
    pub fn most_beside(&self, device: c_int, bytes: u64) -> u64 {
        let figures = self.figures(device);
        figures.peak.leaves(figures.in_use.load(Relaxed) + bytes) + figures.peak.part(12).saturating_sub(budget::SLACK)
    }

    pub fn idle_in_all(&self) -> u64 {
        self.figures.iter().map(|figures| figures.idle.load(Relaxed)).sum()
    }

    /// The places that have idle blocks.
    pub fn devices(&self) -> impl Iterator<Item = c_int> {
        let has_some = |(_, figures): &(usize, &Figures)| figures.idle.load(Relaxed) > 0;
        self.figures.iter().enumerate().filter(has_some).map(|(place, _)| place as c_int)
    }

    /// Whether two devices are counted together.
    pub fn are_one(&self, device: c_int, other: c_int) -> bool {
        self.place(device) == self.place(other)
    }

    pub fn budget(&self, device: c_int) -> u64 {
        match self.side {
            Side::Host => budget::host(Kind::Pinned),
            Side::Device => {
                let figures = self.figures(device);
                budget::device(figures.available.load(Relaxed), figures.total.load(Relaxed))
            }
        }
    }

    pub fn largest_budget(&self) -> u64 {
        (0..MOST_DEVICES).map(|place| self.budget(place as c_int)).max().unwrap_or(0)
    }

    /// Asks the driver about the current context's device, unless a setting is its budget.
    pub fn query_memory(&self, driver: &Driver, device: c_int) {
        if settings::POOL_BUDGET.get().is_some() {
            return;
        }
        if let Ok((free, total)) = driver.memory() {
            let figures = self.figures(device);
            figures.available.store(free + figures.idle.load(Relaxed), Relaxed);
            figures.total.store(total, Relaxed);
        }
    }

    fn figures(&self, device: c_int) -> &Figures {
        &self.figures[self.place(device)]
    }

    fn place(&self, device: c_int) -> usize {
        match self.side {
            Side::Host => 0,
            Side::Device => usize::try_from(device).map_or(0, |device| device.min(MOST_DEVICES - 1)),
        }
    }
}
