//! Contents that wait without a block: encoded in fewer bytes, or as equal contents of other objects, *twins*. Any access brings them back.
//!
//! A twin that is parked itself shares its encoded contents. The block of another twin is [`Lent`]: if its object must change the block or
//! end, the block stays with those that wait for it.
#![expect(unsafe_code, reason = "blocks become slices, and are freed")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use syncedmem_core::encoding::{Decoder, Encoding, choose, encode};
use syncedmem_core::head::Side;
use syncedmem_core::waited::Waited;

use super::super::access::Source;
use super::super::table::Blocking;
use super::super::{Claim, Entry, ObjectState, SyncedMemory, refused};
use super::share::Share;
use crate::error::Error;
use crate::memory::arena::device::Place;
use crate::memory::arena::host::Gap;
use crate::memory::host::{self, HostMemory, Owned, Request};
use crate::platform::fallible_arc::FallibleArc;
use crate::platform::sync::Ordering;
use crate::state::step::{Contents, Fill, Operation};

/// Smaller contents are not parked.
const LEAST: usize = 1024;

/// The contents of a parked object.
pub struct Parked {
    stored: Stored,
    bytes: usize,
}

enum Stored {
    Encoded(Encoding, Owned),
    /// Each of so many rows is a row of each twin, one after the other.
    Twins(Vec<Twin>, usize),
}

enum Twin {
    Parked(FallibleArc<Parked>),
    Lent(FallibleArc<Lent>),
}

/// A block that belongs to an object with equal contents, until that object leaves it.
pub struct Lent {
    block: Owned,
    is_left: AtomicBool,
}

// SAFETY: the block belongs to an object or to the parked ones, not to a thread.
unsafe impl Send for Lent {}
// SAFETY: the block does not change while it is lent.
unsafe impl Sync for Lent {}
// SAFETY: parked contents belong to an object, not to a thread.
unsafe impl Send for Parked {}
// SAFETY: parked contents do not change.
unsafe impl Sync for Parked {}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.is_left.load(Relaxed) {
            // SAFETY: its object has left the block, and no parked object needs it any more.
            unsafe { host::free(self.block) };
        }
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        self.count(u64::wrapping_sub);
        if let Stored::Encoded(_, block) = self.stored {
            // SAFETY: `encoded` allocated the block, and only this value knows it.
            unsafe { host::free(block) };
        }
    }
}

impl Share {
    /// Whether a parked object needs this object's block.
    pub fn is_lent(&self) -> bool {
        self.lent.as_ref().is_some_and(FallibleArc::is_shared)
    }

    /// Leaves the block to the parked objects that need it, of which the last one frees it. `None`: no parked object needs it. The caller
    /// drops the value outside of the lock.
    pub fn leave_block(&mut self) -> Option<FallibleArc<Lent>> {
        let is_needed = |lent: &_| FallibleArc::is_shared(lent) && !cfg!(syncedmem_fault = "a twin is forgotten");
        let lent = self.lent.take().filter(is_needed)?;
        lent.is_left.store(true, Relaxed);
        Some(lent)
    }
}

impl SyncedMemory {
    /// Parks the contents of a shared object, if the host alone is current, and an encoding saves a fifth or `twins` have the contents: in each
    /// of so many rows a row of each twin, one after the other. Returns the bytes that they take.
    ///
    /// # Safety
    /// Unused: pointers to the object's block are not used any more.
    pub unsafe fn park<'t>(
        &self,
        twins: impl ExactSizeIterator<Item = &'t SyncedMemory>,
        rows: usize,
    ) -> Result<Option<usize>, Error> {
        if self.with_share(|share| share.is_lent())?.is_none_or(|is_lent| is_lent) {
            return Ok(None);
        }
        let mut claim = self.claim(Blocking::Yes).map_err(refused)?;
        self.finish(&mut claim)?;
        let (now, step) = self.step(Operation::Park)?;
        if step.next == now.contents() {
            return Ok(None);
        }
        let bytes = self.size.load(Ordering::Relaxed);
        let place = claim.with(|entry| {
            let share = entry.share.as_ref().filter(|share| !share.is_lent())?;
            entry.tensors.refuse(None).ok().map(|()| share.stored)
        });
        let is_own = place.is_some() && now.word.owns_host() && now.device.is_none();
        let block = now.host.filter(|_| is_own && bytes >= LEAST);
        // SAFETY: the host is current, so its block has the object's bytes; this thread has claimed the object, and the caller of `park`
        // guarantees Unused.
        let Some(words) = block.and_then(|block| unsafe { words_of(block, bytes) }) else { return Ok(None) };
        let stored = of_twins(words, twins, rows).or_else(|| self.encoded(words, place?));
        let Some(parked) = stored.and_then(|stored| FallibleArc::new(Parked::new(stored, bytes)).ok()) else {
            return Ok(None);
        };
        let taken = parked.taken();
        let old = self.owned(now.word);
        let former = self.publish_with(claim, ObjectState::UNTOUCHED.with(step.next), |entry| {
            entry.parked = Some(parked);
            entry.share.as_mut().and_then(|share| share.lent.take())
        });
        drop(former);
        // SAFETY: the object no longer refers to the block, and the caller of this function guarantees Unused.
        unsafe { old.free() };
        Ok(Some(taken))
    }

    fn encoded(&self, words: &[u32], (place, room): (Place, usize)) -> Option<Stored> {
        let choice = choose(words)?;
        let owner = self.address();
        let bytes = choice.words * size_of::<u32>();
        let request = Request { bytes, zeroed: false, pinned: false, aligned: false, owner };
        let planned = (bytes <= room).then(|| host::take_from_arena(request, place, Gap::Planned)).flatten();
        let HostMemory { address, .. } = planned.or_else(|| host::allocate(request).ok())?;
        // SAFETY: the block is new and has these bytes, of which any are numbers.
        let to = unsafe { std::slice::from_raw_parts_mut(address.as_ptr().cast::<u32>(), choice.words) };
        encode(choice.encoding, words, to);
        Some(Stored::Encoded(choice.encoding, Owned { address, bytes, pinned: false, owner }))
    }

    /// The object's contents, without a copy: its parked contents, or its block, which it lends.
    fn twin(&self) -> Option<(Twin, usize)> {
        let owns = |now: &ObjectState| now.contents() == Contents::At(Side::Host) && now.word.owns_host();
        let now = self.state().ok()?;
        let bytes = self.size.load(Ordering::Relaxed);
        let lent = now.host.filter(|_| owns(&now)).and_then(|address| {
            let block = Owned { address, bytes, pinned: now.word.is_pinned(), owner: self.address() };
            FallibleArc::new(Lent { block, is_left: AtomicBool::new(false) }).ok()
        });
        let mut former = None;
        let find = |entry: &mut Entry| {
            // An operation of another thread may be about to change the contents.
            if entry.is_claimed() {
                return None;
            }
            if let Some(parked) = &entry.parked {
                return Some(Twin::Parked(parked.clone()));
            }
            let new = lent.as_ref()?;
            let is_same = self.state().is_ok_and(|now| owns(&now) && now.host == Some(new.block.address));
            let share = entry.share.as_mut().filter(|_| is_same)?;
            // One that no parked object needs may be of a former block.
            if !share.is_lent() {
                former = share.lent.replace(new.clone());
            }
            share.lent.clone().map(Twin::Lent)
        };
        Some((self.with_entry(find).ok()??.filter(|twin| twin.words().is_some())?, bytes))
    }

    /// Brings parked contents back to the host, under the claim.
    pub(in super::super) fn bring_back(&self, claim: &Claim<'_>, from: Source) -> Result<(), Error> {
        let now = self.state()?;
        if now.contents() != Contents::Parked {
            return Ok(());
        }
        let parked = claim.with(|entry| entry.parked.clone()).ok_or(Error::Internal)?;
        let at_host = now.with(Contents::At(Side::Host));
        let (next, new) = self.with_host_block(at_host, Fill::Copy, from)?;
        let block = next.host.ok_or(Error::Internal)?;
        // SAFETY: the block is new, and has the object's bytes.
        let words =
            unsafe { std::slice::from_raw_parts_mut(block.as_ptr().cast::<u32>(), parked.bytes / size_of::<u32>()) };
        // SAFETY: the new block was not published.
        unsafe { new.kept_for(parked.write_to(words)) }?;
        let gone = claim.with(|entry| {
            self.set_under(entry, next);
            entry.parked.take()
        });
        drop((gone, parked));
        Ok(())
    }

    /// Gives the object a block of its own, if a parked object needs the present one. Must come before the contents change.
    pub(in super::super) fn separate(&self, claim: &Claim<'_>) -> Result<(), Error> {
        if !claim.with(|entry| entry.share.as_ref().is_some_and(Share::is_lent)) {
            return Ok(());
        }
        let now = self.state()?;
        let Some(old) = now.host else { return Ok(()) };
        let (next, new) = self.with_host_block(now.without(Side::Host), Fill::Copy, Source::default())?;
        if let Some(host) = next.host {
            // SAFETY: both blocks have the object's size, and the new one is not published.
            unsafe { host.copy_from_nonoverlapping(old, self.size.load(Ordering::Relaxed)) };
        }
        // One step, between which and the next no fork comes.
        let left = claim.with(|entry| {
            let left = entry.share.as_mut().and_then(Share::leave_block)?;
            self.set_under(entry, next);
            Some(left)
        });
        if left.is_none() {
            // The parked objects have ended meanwhile.
            // SAFETY: the new block was not published.
            unsafe { new.free() };
        }
        Ok(())
    }

    /// Publishes a state under a claim that goes on.
    fn set_under(&self, entry: &mut Entry, state: ObjectState) {
        self.store(state, true);
        entry.identity = self.identity();
    }
}

/// The twins, if they have the `wanted` words.
fn of_twins<'t>(
    wanted: &[u32],
    objects: impl ExactSizeIterator<Item = &'t SyncedMemory>,
    rows: usize,
) -> Option<Stored> {
    let mut twins = Vec::new();
    twins.try_reserve_exact(objects.len()).ok()?;
    let mut sum = 0;
    for object in objects {
        let (twin, bytes) = object.twin()?;
        sum += bytes;
        twins.push(twin);
    }
    if twins.is_empty() || sum != size_of_val(wanted) {
        return None;
    }
    let mut rest = wanted;
    let compare = |words: &mut Words<'_>, length: usize| {
        let part = take(&mut rest, length)?;
        words.are_next(part).then_some(())
    };
    each_row(&twins, rows, compare)?;
    rest.is_empty().then_some(Stored::Twins(twins, rows))
}

/// Does `work` for each twin's part of each row, with the number of its words.
fn each_row(twins: &[Twin], rows: usize, mut work: impl FnMut(&mut Words<'_>, usize) -> Option<()>) -> Option<()> {
    let mut parts = Vec::new();
    parts.try_reserve_exact(twins.len()).ok()?;
    for twin in twins {
        let (words, count) = twin.words()?;
        parts.push((words, count.checked_div(rows)?));
    }
    (0..rows).try_for_each(|_| parts.iter_mut().try_for_each(|(words, count)| work(words, *count)))
}

/// The words of a twin, from the first to the last.
enum Words<'t> {
    Encoded(Decoder<'t>),
    Plain(&'t [u32]),
}

impl Words<'_> {
    fn are_next(&mut self, wanted: &[u32]) -> bool {
        match self {
            Words::Encoded(decoder) => decoder.are_next(wanted),
            Words::Plain(words) => take(words, wanted.len()).is_some_and(|words| words == wanted),
        }
    }

    fn fill(&mut self, to: &mut [u32]) -> Option<()> {
        match self {
            Words::Encoded(decoder) => decoder.fill(to),
            Words::Plain(words) => to.copy_from_slice(take(words, to.len())?),
        }
        Some(())
    }
}

/// The first words of a slice, which keeps the others.
fn take<'w>(words: &mut &'w [u32], count: usize) -> Option<&'w [u32]> {
    let (first, rest) = words.split_at_checked(count)?;
    *words = rest;
    Some(first)
}

impl Twin {
    /// The words and their number. `None` for contents that are twins themselves.
    fn words(&self) -> Option<(Words<'_>, usize)> {
        match self {
            Twin::Parked(parked) => {
                let count = parked.bytes / size_of::<u32>();
                let Stored::Encoded(encoding, block) = &parked.stored else { return None };
                // SAFETY: the block has these bytes, and does not change while `parked` has it.
                let encoded = unsafe { words_of(block.address, block.bytes) }?;
                Some((Words::Encoded(Decoder::new(*encoding, encoded, count)), count))
            }
            Twin::Lent(lent) => {
                // SAFETY: the block is lent, so it neither changes nor ends.
                let words = unsafe { words_of(lent.block.address, lent.block.bytes) }?;
                Some((Words::Plain(words), words.len()))
            }
        }
    }
}

impl Parked {
    fn new(stored: Stored, bytes: usize) -> Parked {
        let parked = Parked { stored, bytes };
        parked.count(u64::wrapping_add);
        parked
    }

    /// The bytes that they take beside their twins.
    fn taken(&self) -> usize {
        match &self.stored {
            Stored::Encoded(_, block) => block.bytes,
            Stored::Twins(..) => 0,
        }
    }

    fn write_to(&self, words: &mut [u32]) -> Result<(), Error> {
        match &self.stored {
            Stored::Encoded(encoding, block) => {
                // SAFETY: the block has these bytes, and does not change while this value has it.
                let encoded = unsafe { words_of(block.address, block.bytes) }.unwrap_or_default();
                Decoder::new(*encoding, encoded, words.len()).fill(words);
            }
            Stored::Twins(twins, rows) => {
                let mut rest = words;
                let fill = |words: &mut Words<'_>, length: usize| {
                    let (part, others) = std::mem::take(&mut rest).split_at_mut_checked(length)?;
                    rest = others;
                    words.fill(part)
                };
                each_row(twins, *rows, fill).ok_or(Error::no_room(size_of_val(&twins[..])))?;
            }
        }
        Ok(())
    }

    fn count(&self, change: fn(u64, u64) -> u64) {
        let kind = match &self.stored {
            Stored::Twins(..) => 0,
            Stored::Encoded(Encoding::Runs | Encoding::Small, _) => 1,
            Stored::Encoded(Encoding::Zeros, _) => 2,
        };
        let update =
            |sum: &AtomicU64, by: u64| sum.fetch_update(Relaxed, Relaxed, |sum| Some(change(sum, by))).unwrap_or(0);
        let by = [1, self.bytes as u64, self.taken() as u64];
        NOW[kind].iter().zip(by).for_each(|(sum, by)| _ = update(sum, by));
        let before = update(&BYTES, by[1]);
        let waiting = change(before, by[1]);
        if waiting > before && MOST_BYTES.fetch_max(waiting, Relaxed) < waiting {
            MOST.iter()
                .flatten()
                .zip(NOW.iter().flatten())
                .for_each(|(most, now)| most.store(now.load(Relaxed), Relaxed));
        }
    }
}

type Sums = [[AtomicU64; 3]; 3];

/// The figures of [`Waited`]: now, and when most bytes waited.
static NOW: Sums = [const { [const { AtomicU64::new(0) }; 3] }; 3];
static MOST: Sums = [const { [const { AtomicU64::new(0) }; 3] }; 3];
/// The bytes that wait: now, and the most.
static BYTES: AtomicU64 = AtomicU64::new(0);
static MOST_BYTES: AtomicU64 = AtomicU64::new(0);

/// Returns what waited when most bytes did.
pub fn figures() -> Waited {
    Waited([0, 1, 2].map(|way: usize| [0, 1, 2].map(|figure: usize| MOST[way][figure].load(Relaxed))))
}

/// # Safety
/// The block has these bytes, readable, and does not change while the slice is used.
unsafe fn words_of<'b>(block: NonNull<c_void>, bytes: usize) -> Option<&'b [u32]> {
    let words = block.cast::<u32>();
    // SAFETY: the caller of this function guarantees the bytes; any are numbers.
    (words.is_aligned() && bytes % size_of::<u32>() == 0)
        .then(|| unsafe { std::slice::from_raw_parts(words.as_ptr(), bytes / size_of::<u32>()) })
}
