//! Where idle blocks of the driver's lie, one shelf for each side, and the figures that bound them.
#![expect(unsafe_code, reason = "the driver is asked what is free")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::cuda::driver::Driver;
use crate::cuda::streams::StreamEvents;
use crate::memory::cache::bins::{Idle, Store, Turn};
use crate::memory::cache::budget;
use crate::memory::driver::record::Record;
use crate::platform::clock::coarse_milliseconds;
use crate::platform::sync::{ForkLock, Lock, locked_static};
use crate::settings;
use crate::state::head::Side;
use crate::state::kind::Kind;

/// More devices than any machine has; beyond that they are counted with the last.
const DEVICES: usize = 64;

/// An idle block.
#[derive(Clone, Copy, Debug)]
pub struct IdleBlock {
    pub address: NonNull<c_void>,
    /// What is known of it.
    pub record: Record,
    /// Which free it was, as long as its context was not waited for since.
    pub waits: Option<u64>,
    /// Events that must have come to pass.
    pub events: StreamEvents,
}

// SAFETY: a block that nobody holds belongs to the process, not to a thread.
unsafe impl Send for IdleBlock {}

/// What stands against handing a block out.
pub enum NotReady {
    /// It is gone: its device was reset.
    Gone,
    /// The driver did not say.
    Unknown,
}

impl IdleBlock {
    /// Whether nothing would have to be waited for to give it back but what runs in the context of `record`.
    pub fn waits_at_most_for(&self, record: &Record) -> bool {
        self.record.context == record.context || self.is_clear()
    }

    /// Whether nothing would have to be waited for to give it back, as far as that is known without asking.
    pub fn is_clear(&self) -> bool {
        self.waits.is_none() && self.events.is_empty() && !self.record.is_registered()
    }

    /// Whether it can be handed out, as far as it does not wait for its context.
    pub fn is_ready(&mut self, driver: &Driver) -> Result<bool, NotReady> {
        // Asked first: the events of a context that is gone are gone with it.
        match self.record.is_alive(driver, self.address) {
            Ok(true) => self.events.is_complete(driver).map_err(|_| NotReady::Unknown),
            Ok(false) => Err(NotReady::Gone),
            Err(_) => Err(NotReady::Unknown),
        }
    }
}

/// The idle blocks of one side.
pub struct IdleBlocks {
    side: Side,
    bins: Lock<Store<IdleBlock>>,
    /// By device; page-locked memory is the machine's, and counted with device 0.
    figures: [Figures; DEVICES],
}

/// Bytes of one device.
struct Figures {
    idle: AtomicU64,
    /// What would be free if nothing lay idle, and all there is, when that was last looked at.
    available: AtomicU64,
    total: AtomicU64,
    looked: AtomicU64,
}

impl Figures {
    const fn new() -> Figures {
        Figures {
            idle: AtomicU64::new(0),
            available: AtomicU64::new(0),
            total: AtomicU64::new(0),
            looked: AtomicU64::new(0),
        }
    }
}

locked_static! {
    static SIDES: [IdleBlocks; 2] =
        [IdleBlocks::new(Side::Host, Lock::new(Store::new())), IdleBlocks::new(Side::Device, Lock::new(Store::new()))];
}

impl ForkLock for IdleBlocks {
    fn lock_for_fork(&self) {
        self.bins.lock_for_fork();
    }

    fn unlock_after_fork(&self) {
        self.bins.unlock_after_fork();
    }
}

impl IdleBlocks {
    const fn new(side: Side, bins: Lock<Store<IdleBlock>>) -> IdleBlocks {
        IdleBlocks { side, bins, figures: [const { Figures::new() }; DEVICES] }
    }

    /// Both.
    pub fn all() -> &'static [IdleBlocks; 2] {
        &SIDES
    }

    /// The shelf of one side.
    pub fn of(side: Side) -> &'static IdleBlocks {
        &SIDES[usize::from(side == Side::Device)]
    }

    /// The shelf of a kind of memory, if it is the driver's.
    pub fn of_kind(kind: Kind) -> Option<&'static IdleBlocks> {
        match kind {
            Kind::Pageable => None,
            Kind::Pinned => Some(IdleBlocks::of(Side::Host)),
            Kind::Device => Some(IdleBlocks::of(Side::Device)),
        }
    }

    /// Keeps a block; `false` if there is no memory for that.
    pub fn keep(&self, idle: Idle<IdleBlock>) -> bool {
        let (device, bytes) = (idle.block.record.device, idle.bytes);
        self.bins.with(|bins| {
            let block = bins.keep(idle);
            if block {
                self.figures(device).idle.fetch_add(bytes as u64, Relaxed);
            }
            block
        })
    }

    /// Takes out the block that fits a request of `bytes` best, among those that are `wanted`, and was put here first.
    pub fn take(&self, bytes: usize, wanted: impl Fn(&IdleBlock) -> bool) -> Option<Idle<IdleBlock>> {
        self.bins.with(|bins| bins.take(bytes, Turn::First, wanted).inspect(|idle| self.count_out(idle)))
    }

    /// Takes out the block that has been here longest of those that are `wanted`.
    pub fn take_oldest(&self, wanted: impl Fn(&Idle<IdleBlock>) -> bool) -> Option<Idle<IdleBlock>> {
        self.bins.with(|bins| bins.take_oldest(wanted).inspect(|idle| self.count_out(idle)))
    }

    fn count_out(&self, idle: &Idle<IdleBlock>) {
        self.figures(idle.block.record.device).idle.fetch_sub(idle.bytes as u64, Relaxed);
    }

    /// Whether there is a block that fits a request of `bytes` and is `wanted`.
    pub fn has(&self, bytes: usize, wanted: impl Fn(&IdleBlock) -> bool) -> bool {
        self.bins.with(|bins| bins.has(bytes, wanted))
    }

    /// Changes what is known of each block.
    pub fn for_each(&self, change: impl FnMut(&mut IdleBlock)) {
        self.bins.with(|bins| bins.iter_mut().map(|idle| &mut idle.block).for_each(change));
    }

    /// Whether nothing lies here.
    pub fn is_empty(&self) -> bool {
        self.idle_in_all() == 0
    }

    /// How many bytes of a device lie idle.
    pub fn idle(&self, device: c_int) -> u64 {
        self.figures(device).idle.load(Relaxed)
    }

    /// How many bytes lie idle.
    pub fn idle_in_all(&self) -> u64 {
        self.figures.iter().map(|figures| figures.idle.load(Relaxed)).sum()
    }

    /// The devices of which blocks lie here.
    pub fn devices(&self) -> impl Iterator<Item = c_int> {
        let has_some = |(_, figures): &(usize, &Figures)| figures.idle.load(Relaxed) > 0;
        self.figures.iter().enumerate().filter(has_some).map(|(place, _)| place as c_int)
    }

    /// Whether the blocks of two devices are counted together.
    pub fn are_one(&self, device: c_int, other: c_int) -> bool {
        self.place(device) == self.place(other)
    }

    /// How many bytes of a device may lie idle.
    pub fn budget(&self, device: c_int) -> u64 {
        match self.side {
            Side::Host => budget::host(Kind::Pinned),
            Side::Device => {
                let figures = self.figures(device);
                budget::device(figures.available.load(Relaxed), figures.total.load(Relaxed))
            }
        }
    }

    /// How many bytes may lie idle where most may.
    pub fn largest_budget(&self) -> u64 {
        (0..DEVICES).map(|place| self.budget(place as c_int)).max().unwrap_or(0)
    }

    /// Looks how much memory the device of the current context has left, unless that is known from just before, or the
    /// budget does not depend on it.
    pub fn look(&self, driver: &Driver, device: c_int) {
        /// A look takes the driver some microseconds, and tells of what others do beside us.
        const MILLISECONDS: u64 = 100;
        let figures = self.figures(device);
        let (now, before) = (coarse_milliseconds(), figures.looked.load(Relaxed));
        if settings::DEVICE_POOL.get().is_some() || (before != 0 && now.saturating_sub(before) < MILLISECONDS) {
            return;
        }
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are writable.
        if unsafe { driver.mem_info(&mut free, &mut total) }.is_ok() {
            figures.available.store(free as u64 + figures.idle.load(Relaxed), Relaxed);
            figures.total.store(total as u64, Relaxed);
            figures.looked.store(now.max(1), Relaxed);
        }
    }

    fn figures(&self, device: c_int) -> &Figures {
        &self.figures[self.place(device)]
    }

    fn place(&self, device: c_int) -> usize {
        match self.side {
            Side::Host => 0,
            Side::Device => usize::try_from(device).map_or(0, |device| device.min(DEVICES - 1)),
        }
    }
}
