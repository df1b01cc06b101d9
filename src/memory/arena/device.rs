//! An arena on a device is one block of the driver's, of as many bytes as the thread's plans need. A block that finds no place in it
//! gets one more block of the driver's. When no block is in use, one block of the driver's replaces all.
//!
//! Caffe's kernels and copies are in the legacy default stream, and each call of a layer with streams of cuDNN's ends with a kernel there
//! that waits for them, so the next object gets a block without a wait. Before another stream uses a block, `pending_on_legacy` makes it
//! wait for the legacy stream. The push of an object on a stream ends the object's sharing ([`crate::object`]).
//!
//! Only the arena's thread takes blocks from it. Any thread may give a block back. No function of the driver is called under the lock.
#![expect(unsafe_code, reason = "blocks of the driver are given back")]

use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, without_provenance_mut};
use std::sync::atomic::AtomicBool;

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_core::text::Bytes;
use syncedmem_trace::event::Origin;

use super::{ALIGNMENT, ARENAS, Figures, Spans};
use crate::cuda::context::{Context, ContextGuard, Operation};
use crate::cuda::driver::Driver;
use crate::cuda::driver_in_use;
use crate::cuda::streams::StreamEvents;
use crate::error::Error;
use crate::memory::blocks::{self, Block, Maker};
use crate::memory::cache::device::give_back_near;
use crate::memory::cache::device::idle::IdleBlocks;
use crate::memory::driver::allocator::{self, Request};
use crate::memory::driver::deferred;
use crate::memory::driver::source::Allocation;
use crate::memory::observed::Found;
use crate::platform::sync::this_thread;
use crate::platform::text::warn_once;

/// The place that a plan gives a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// `None` means any gap.
    pub offset: Option<usize>,
    /// Bytes of all that the plan has placed.
    pub whole: usize,
}

/// One block of the driver's.
struct Chunk {
    address: NonNull<c_void>,
    allocation: Allocation,
    spans: Spans,
}

// SAFETY: a chunk belongs to its arena, not to a thread.
unsafe impl Send for Chunk {}

pub struct Arena {
    /// `pthread_self()` of the arena's thread.
    owner: usize,
    context: Context,
    /// A reset of the device changes the context, and ends the chunks.
    context_id: u64,
    /// The bytes of the largest plan, and of the blocks that found no place in it.
    planned: usize,
    beside: usize,
    /// The driver refused a block of so many bytes.
    refused: usize,
    /// The first chunk serves the plan.
    chunks: Vec<Chunk>,
    figures: Figures,
}

// SAFETY: a context belongs to the process, not to a thread.
unsafe impl Send for Arena {}

enum Step {
    Taken(NonNull<c_void>, Allocation),
    /// The caller gives these chunks back, outside of the lock.
    Ended(Vec<Chunk>),
    /// The arena needs a chunk of so many bytes.
    Lacks(usize),
    Refused,
}

/// Takes a block with undefined contents from this thread's arena. `None` if the device has no memory for it.
pub fn take(
    driver: &Driver,
    guard: &ContextGuard<'_>,
    (bytes, owner): (usize, usize),
    place: Place,
) -> Result<Option<Found>, Error> {
    let Some(room) = bytes.checked_next_multiple_of(ALIGNMENT) else { return Ok(None) };
    let id = guard.context_id()?;
    let (address, allocation) = loop {
        let step = ARENAS.with(|arenas| {
            Arena::of_this_thread(&mut arenas.device, guard.context).map(|arena| arena.step(id, room, place))
        });
        match step.unwrap_or(Step::Refused) {
            Step::Taken(address, allocation) => break (address, allocation),
            Step::Ended(chunks) => chunks.into_iter().for_each(|chunk| end(driver, chunk)),
            Step::Lacks(bytes) => add(driver, guard, bytes)?,
            Step::Refused => return Ok(None),
        }
    };
    if blocks::keep(address, Block::new(Maker::DeviceArena(allocation), bytes, owner)).is_err() {
        give_back(address, allocation);
        return Ok(None);
    }
    Ok(Some(Found { address, room: bytes, origin: Origin::Arena, undefined: bytes }))
}

/// Adds a chunk to the thread's arena, or notes that the driver has none.
fn add(driver: &Driver, guard: &ContextGuard<'_>, bytes: usize) -> Result<(), Error> {
    let request = Request { side: Side::Device, bytes, owner: 0, pending_on_legacy: true };
    let attempt = || allocator::fresh(driver, guard, guard.device()?, request);
    let made = attempt().or_else(|error| {
        let is_full = matches!(error, Error::OutOfMemory { .. });
        if is_full && give_back_near(Kind::Device) > 0 { attempt() } else { Err(error) }
    });
    let made = match made {
        Err(Error::OutOfMemory { .. }) => None,
        answer => Some(answer?),
    };
    let chunk = made.map(|(address, allocation)| Chunk { address, allocation, spans: Spans(Vec::new()) });
    let left = ARENAS.with(|arenas| {
        let Some(arena) = Arena::of_this_thread(&mut arenas.device, guard.context) else { return chunk };
        if let Some(chunk) = chunk {
            return arena.add(chunk);
        }
        (arena.planned, arena.beside, arena.refused) = (0, 0, bytes);
        None
    });
    match (made, left) {
        (Some((_, allocation)), Some(left)) => {
            IdleBlocks::of(Side::Device).add_use(&allocation);
            end(driver, left);
            return Err(Error::no_room(size_of::<Chunk>()));
        }
        (Some((_, allocation)), None) => IdleBlocks::of(Side::Device).add_use(&allocation),
        (None, _) => {
            static NOTED: AtomicBool = AtomicBool::new(false);
            warn_once(
                &NOTED,
                format_args!(
                    "the device has no {} for shared memory; what does not fit is not shared",
                    Bytes(bytes as u64)
                ),
            );
        }
    }
    Ok(())
}

/// Gives a chunk back to the driver, after the work of the legacy default stream.
fn end(driver: &Driver, chunk: Chunk) {
    let _operation = Operation::begin();
    IdleBlocks::of(Side::Device).end_use(&chunk.allocation);
    // SAFETY: an arena gives up only chunks without blocks, so no object uses the memory.
    unsafe { deferred::give_back_or_leave(driver, chunk.address, chunk.allocation) };
}

/// Gives a block back. Work of the legacy stream may still use it; work that was declared on another stream is waited for. If that
/// wait fails, the place stays taken.
pub fn give_back(address: NonNull<c_void>, mut allocation: Allocation) {
    if driver_in_use().is_some_and(|driver| allocation.behind.wait(driver).is_err()) {
        return;
    }
    if !cfg!(syncedmem_fault = "freed blocks do not return to their arena") {
        ARENAS.with(|arenas| arenas.device.iter_mut().any(|arena| arena.give_back(address)));
    }
}

/// The devices whose arenas a caller means.
#[derive(Clone, Copy, Debug)]
pub enum Devices {
    All,
    /// The ordinal of the device.
    Only(c_int),
    /// None: the thread's current device is not known.
    Unknown,
}

/// Gives back the chunks of arenas without blocks, and returns their bytes.
pub fn release_idle(devices: Devices) -> u64 {
    let Some(driver) = driver_in_use() else { return 0 };
    let mut released = 0;
    while let Some(chunks) = ARENAS.with(|arenas| arenas.device.iter_mut().find_map(|arena| arena.release(devices))) {
        for chunk in chunks {
            released += chunk.allocation.room as u64;
            end(driver, chunk);
        }
    }
    released
}

/// The sums of all arenas on devices.
pub fn figures() -> Figures {
    ARENAS.with(|arenas| arenas.device.iter().map(|arena| arena.figures).sum())
}

impl Arena {
    /// Returns this thread's arena. A thread without one takes over an arena without blocks, whose thread may have ended, or makes a
    /// new one: `None` if there is no memory for it.
    fn of_this_thread(arenas: &mut Vec<Arena>, context: Context) -> Option<&mut Arena> {
        let owner = this_thread();
        let find = |is_wanted: &dyn Fn(&Arena) -> bool| {
            arenas.iter().position(|arena| arena.context == context && is_wanted(arena))
        };
        let at = find(&|arena| arena.owner == owner).or_else(|| find(&Arena::is_idle));
        let at = match at {
            Some(at) => at,
            None => {
                arenas.try_reserve(1).ok()?;
                let (chunks, figures) = (Vec::new(), Figures::default());
                let (context_id, planned, beside, refused) = (0, 0, 0, usize::MAX);
                arenas.push(Arena { owner, context, context_id, planned, beside, refused, chunks, figures });
                arenas.len() - 1
            }
        };
        arenas[at].owner = owner;
        Some(&mut arenas[at])
    }

    fn is_idle(&self) -> bool {
        self.chunks.iter().all(|chunk| chunk.spans.0.is_empty())
    }

    fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.allocation.room).sum()
    }

    fn step(&mut self, context_id: u64, room: usize, Place { offset, whole }: Place) -> Step {
        if whole > self.planned {
            (self.planned, self.beside) = (whole, 0);
        }
        let capacity = self.planned.saturating_add(self.beside).max(room);
        let is_reset = self.context_id != context_id;
        let is_outgrown = self.is_idle() && (self.chunks.len() > 1 || self.bytes() < capacity);
        if !self.chunks.is_empty() && (is_reset || is_outgrown) {
            self.refused = usize::MAX;
            return Step::Ended(std::mem::take(&mut self.chunks));
        }
        self.context_id = context_id;
        let planned = offset.and_then(|start| {
            let first = self.chunks.first_mut()?;
            first.take(|spans, limit| spans.take_at(start, room, limit))
        });
        let in_a_gap = || self.chunks.iter_mut().find_map(|chunk| chunk.take(|spans, limit| spans.take(room, limit)));
        if let Some((address, allocation)) = planned.or_else(in_a_gap) {
            let figures = &mut self.figures;
            figures.in_use += room as u64;
            figures.most_in_use = figures.most_in_use.max(figures.in_use);
            return Step::Taken(address, allocation);
        }
        let lacking = if self.chunks.is_empty() { capacity } else { room };
        if lacking < self.refused {
            return Step::Lacks(lacking);
        }
        if self.chunks.is_empty() {
            // A later plan may be smaller, and fit.
            (self.planned, self.beside) = (0, 0);
        }
        Step::Refused
    }

    /// Adds a chunk. Returns it if there is no memory for its bookkeeping.
    fn add(&mut self, chunk: Chunk) -> Option<Chunk> {
        if self.chunks.try_reserve(1).is_err() {
            return Some(chunk);
        }
        self.chunks.push(chunk);
        self.beside = self.beside.max(self.bytes().saturating_sub(self.planned));
        self.figures.needed = self.figures.needed.max(self.bytes() as u64);
        None
    }

    fn give_back(&mut self, address: NonNull<c_void>) -> bool {
        let span = self.chunks.iter_mut().find_map(|chunk| {
            let start = address.addr().get().wrapping_sub(chunk.address.addr().get());
            if start < chunk.allocation.room { chunk.spans.give_back(start) } else { None }
        });
        self.figures.in_use -= span.map_or(0, |span| span.bytes as u64);
        span.is_some()
    }

    fn release(&mut self, devices: Devices) -> Option<Vec<Chunk>> {
        let is_there = |chunk: &Chunk| match devices {
            Devices::All => true,
            Devices::Only(device) => chunk.allocation.device == device,
            Devices::Unknown => false,
        };
        let is_wanted = self.is_idle() && self.chunks.first().is_some_and(is_there);
        is_wanted.then(|| std::mem::take(&mut self.chunks))
    }
}

impl Chunk {
    fn take(
        &mut self,
        take: impl FnOnce(&mut Spans, usize) -> Option<super::Span>,
    ) -> Option<(NonNull<c_void>, Allocation)> {
        let span = take(&mut self.spans, self.allocation.room)?;
        let address = NonNull::new(without_provenance_mut(self.address.addr().get() + span.start))?;
        // Work of a block that was here before may still be in the legacy stream.
        let (room, pending_on_legacy, behind) = (span.bytes, true, StreamEvents::default());
        Some((address, Allocation { room, pending_on_legacy, behind, ..self.allocation }))
    }
}
