//! The recorder: the code that allocates, copies, fills or waits records its events here.
//!
//! An event goes to the trace, without a lock, and to the account, whose ledger is locked for one entry. A caller may
//! hold a claim, and no lock, except for [`touched`].
//!
//! While the account alone is kept, a new block with its zeros is one entry; so is an object's end with its block.

use std::ffi::{CStr, c_void};
use std::panic::catch_unwind;
use std::ptr::NonNull;
// Not loom's: a model has no signals.
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use syncedmem_analysis::ledger::{Ledger, NewBlock};
use syncedmem_trace::address_hash::hash_address;
use syncedmem_trace::event::{Event, Noticed, Place, Site, What};
use syncedmem_trace::head::Access;
use syncedmem_trace::kind::Kind;
use syncedmem_trace::text::Text;

use super::call_site;
use super::nvtx::{self, Range};
use super::trace::{self, FileError};
use crate::platform::clock::nanoseconds;
use crate::platform::sync::{FOR_EVER, Lock, locked_static};
use crate::state::flags::{self, ACCESSES, ACCOUNT, COMPARE, Flags, RANGES, TRACE};

locked_static! { static LEDGER: Lock<Ledger> = Lock::new(Ledger::new()); }

/// Events of signal handlers that interrupted an entry, which the ledger has yet to count as dropped.
static MISSED: AtomicU64 = AtomicU64::new(0);

/// Most naps that an event waits for the ledger, if a signal handler may record it or wait for it: about 100 ms. An
/// entry takes microseconds.
const HANDLERS_NAPS: u32 = 1000;

/// The object of an event.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Address; 0 for none.
    pub object: usize,
    /// In bytes.
    pub bytes: usize,
}

pub const NOTHING: Subject = Subject { object: 0, bytes: 0 };

#[must_use = "its event is recorded when it ends"]
pub struct Span {
    /// Start in nanoseconds; 0 if nothing is observed.
    start: u64,
    /// End in nanoseconds; 0 while it goes on.
    end: u64,
    range: Option<Range>,
}

/// `title` and `bytes` are for a profiler.
#[inline]
pub fn begin(title: &'static CStr, bytes: usize) -> Span {
    if flags::off() { Span { start: 0, end: 0, range: None } } else { start(title, bytes) }
}

#[inline]
pub fn begin_wait() -> Span {
    begin(c"wait for copy", 0)
}

#[cold]
fn start(title: &'static CStr, bytes: usize) -> Span {
    let range = flags::has(RANGES).then(|| nvtx::range(title, bytes as u64));
    Span { start: if flags::on() { nanoseconds() } else { 0 }, end: 0, range }
}

impl Span {
    /// The event may be recorded later.
    #[inline]
    pub fn stop(&mut self) {
        if self.start != 0 {
            self.end = nanoseconds();
        }
        self.range = None;
    }

    /// Records an event at the start of this measurement. Events are ordered by their ends: it stands before this one.
    #[inline]
    pub fn found(&self, subject: Subject, what: What) {
        if self.start != 0 {
            record_at(self.start, 0, subject, what);
        }
    }

    #[inline]
    pub fn is_measured(&self) -> bool {
        self.start != 0
    }

    /// Nanoseconds since the start. The measurement starts again.
    pub fn lap(&mut self) -> u64 {
        let start = std::mem::replace(&mut self.start, nanoseconds());
        self.start.saturating_sub(start)
    }

    /// Records the event of an action that succeeded.
    #[inline]
    pub fn end(mut self, subject: Subject, what: impl FnOnce() -> What) {
        self.range = None;
        if self.start != 0 {
            record_span(self, subject, what());
        }
    }
}

/// Records an event whose duration is not measured.
#[inline]
pub fn record(subject: Subject, what: impl FnOnce() -> What) {
    if !flags::off() && flags::on() {
        let what = what();
        record_at(moment(), 0, subject, what);
    }
}

#[inline]
pub fn freed(subject: Subject, kind: Kind, bytes: usize, address: NonNull<c_void>) {
    record(subject, || What::Freed { kind, bytes: bytes as u64, block: address.addr().get() as u64 });
}

#[inline]
pub fn made(subject: Subject) {
    let (bytes, noticed) = (subject.bytes as u64, Noticed::Construction);
    if flags::is_account_alone() {
        let site = call_site::here();
        enter(FOR_EVER, |ledger| ledger.make(subject.object as u64, bytes, site, noticed));
    } else {
        record(subject, || What::Made { bytes, noticed });
    }
}

/// Adds an object's first block to the account, which alone is kept. `Some(false)`: the account does not know the
/// object; [`notice_touched`] adds it.
///
/// The caller may hold the object's lock, which orders this entry before those of the block's next users. A signal handler that has
/// interrupted another entry may wait for that lock, so this waits no longer than a handler. `None`: nothing was added.
#[inline]
pub fn touched(subject: Subject, new: NewBlock) -> Option<bool> {
    LEDGER.try_with(HANDLERS_NAPS, |ledger| ledger.add_block(subject.object as u64, new)).ok()
}

/// As [`touched`], but waits, and adds an unknown object first.
pub fn allocated(subject: Subject, new: NewBlock) {
    let add = || enter(FOR_EVER, |ledger| ledger.add_block(subject.object as u64, new));
    if add() == Some(false) {
        notice_touched(subject);
        add();
    }
}

/// Adds an object to the account whose constructor was not seen.
#[cold]
pub fn notice_touched(subject: Subject) {
    notice(subject, 0, Site::UNKNOWN);
}

/// Adds the end of an object and of its pageable block to the account, which alone is kept. Catches panics: the path of
/// small objects is outside of the entry points' guard.
#[inline(never)]
pub fn ended_with(subject: Subject, block: Option<NonNull<c_void>>) {
    let block = block.map(|address| (address.addr().get() as u64, subject.bytes as u64));
    let _ = catch_unwind(|| enter(FOR_EVER, |ledger| ledger.end(subject.object as u64, block)));
}

/// Times one first touch for sixteen: to read the clock takes longer than to allocate a small block.
pub struct Sample {
    /// Start in nanoseconds; 0: not measured.
    start: u64,
    /// Number of touches that this one stands for.
    weight: u64,
}

impl Sample {
    const OF: u64 = 16;

    #[inline]
    pub fn begin() -> Sample {
        static TURN: AtomicU64 = AtomicU64::new(0);
        // Not one operation: threads that begin at once may count as one.
        let turn = TURN.load(Relaxed);
        TURN.store(turn + 1, Relaxed);
        match turn % Self::OF {
            // The first one stands for itself.
            0 => Sample { start: nanoseconds(), weight: if turn == 0 { 1 } else { Self::OF } },
            _ => Sample { start: 0, weight: 0 },
        }
    }

    /// Nanoseconds since the last lap, for all touches that this one stands for; 0: not measured.
    #[inline]
    pub fn lap(&mut self) -> u64 {
        if self.start == 0 { 0 } else { self.measured() }
    }

    #[cold]
    fn measured(&mut self) -> u64 {
        let start = std::mem::replace(&mut self.start, nanoseconds());
        self.start.saturating_sub(start) * self.weight
    }
}

#[inline]
pub fn ended(subject: Subject) {
    record(subject, || What::Ended);
}

#[cold]
fn record_span(span: Span, subject: Subject, what: What) {
    let end = if span.end == 0 { nanoseconds() } else { span.end };
    record_at(span.start, end.saturating_sub(span.start), subject, what);
}

#[cold]
fn record_at(start: u64, duration: u64, subject: Subject, what: What) {
    let object = subject.object as u64;
    let site = if wants_site(what, subject.object) { call_site::here() } else { Site::UNKNOWN };
    let event = Event { start, duration, thread: 0, object, site, what };
    if flags::has(TRACE) {
        trace::record(&event, subject.bytes);
    }
    if flags::has(ACCOUNT) {
        account(&event, subject.bytes);
    }
}

fn account(event: &Event, object_bytes: usize) {
    // A signal handler may make an access that needs nothing, and records it: it must not wait for ever.
    let naps = if matches!(event.what, What::Accessed { ready: true, .. }) { HANDLERS_NAPS } else { FOR_EVER };
    match enter(naps, |ledger| ledger.take_if_known(event)) {
        Some(true) | None => {}
        // Its end, or a block from before observation, is of no interest.
        Some(false) if matches!(event.what, What::Ended | What::Freed { .. }) => {}
        Some(false) => {
            notice(Subject { object: event.object as usize, bytes: object_bytes }, event.start, event.site);
            LEDGER.with(|ledger| ledger.take(event));
        }
    }
}

/// Makes an entry. `None`: a signal handler has interrupted an entry of this thread, or another thread's entry took longer than `naps`.
#[inline]
fn enter<R>(naps: u32, entry: impl FnOnce(&mut Ledger) -> R) -> Option<R> {
    let entered = LEDGER.try_with(naps, entry).ok();
    if entered.is_none() {
        MISSED.fetch_add(1, Relaxed);
    }
    entered
}

/// Before the first event of an unknown object. Another thread may have added it meanwhile.
#[cold]
fn notice(subject: Subject, start: u64, site: Site) {
    let site = if site == Site::UNKNOWN { call_site::here() } else { site };
    let object = subject.object as u64;
    let what = What::Made { bytes: subject.bytes as u64, noticed: Noticed::FirstAccess };
    enter(FOR_EVER, |ledger| {
        if !ledger.knows(object) {
            ledger.take(&Event { start, duration: 0, thread: 0, object, site, what });
        }
    });
}

/// The time of an event without a duration: read only for a trace.
fn moment() -> u64 {
    if flags::has(TRACE) { nanoseconds() } else { 0 }
}

fn wants_site(what: What, object: usize) -> bool {
    const FROM: u64 = 64 << 10;
    match what {
        What::Made { .. } => {
            if flags::has(TRACE) {
                had_site(object);
            }
            true
        }
        // The constructor was not seen: it is inlined into its user, or ran before observation began.
        What::Allocated { .. } => flags::has(TRACE) && !had_site(object),
        What::Copied { .. } | What::Started { .. } | What::Failed { .. } => true,
        What::Filled { bytes, .. } => bytes >= FROM,
        // Needed to find a caller that asks to write and only reads. Comparing contents costs more than this.
        What::Accessed { access: Access::Write, ready: false, .. } => flags::has(COMPARE),
        _ => false,
    }
}

/// Whether the trace has a call site of the object, as far as is known. From now on it has.
fn had_site(object: usize) -> bool {
    /// Objects lately seen, by their address's hash.
    static SEEN: [AtomicUsize; 1 << BITS] = [const { AtomicUsize::new(0) }; 1 << BITS];
    const BITS: u32 = 10;
    SEEN[(hash_address(object) >> (u64::BITS - BITS)) as usize].swap(object, Relaxed) == object
}

fn trace_site(site: Site) {
    let text = call_site::with_text(site, |text| Place::of(format_args!("{}", text.unwrap_or_default())));
    trace::site(site, text.as_ref());
}

pub fn open_trace(file: &CStr, observed: Flags) -> Result<(), FileError> {
    trace::start(file)?;
    trace::mode(observed.has(ACCESSES), observed.has(COMPARE));
    call_site::all().for_each(trace_site);
    Ok(())
}

/// Forgets all objects: events about them are missing, before or from now on.
pub fn forget_objects() {
    LEDGER.with(Ledger::forget_objects);
}

pub fn name(subject: Subject, name: &str) {
    if flags::has(TRACE) {
        trace::name(subject.object, subject.bytes, name);
    }
    if flags::has(ACCOUNT) {
        let object = subject.object as u64;
        if !LEDGER.with(|ledger| ledger.knows(object)) {
            notice(subject, moment(), Site::UNKNOWN);
        }
        LEDGER.with(|ledger| ledger.name(object, name));
    }
}

/// Notes in the trace how many items of the batch an object holds.
pub fn items(subject: Subject, items: u64) {
    if flags::has(TRACE) {
        trace::items(subject.object, subject.bytes, items);
    }
}

/// Empty without a name.
pub fn name_of(object: usize) -> Text<256> {
    LEDGER.with(|ledger| {
        let name = ledger.object(object as u64).and_then(|object| ledger.name_of(object.holder));
        Text::of(format_args!("{}", name.unwrap_or_default()))
    })
}

/// Whether the ledger is free within a second or two. It is not if a signal handler that ends the process interrupted
/// an entry.
pub fn can_be_had() -> bool {
    LEDGER.is_free_within(20_000)
}

pub fn with_ledger<R>(work: impl FnOnce(&mut Ledger) -> R) -> R {
    LEDGER.with(|ledger| {
        ledger.drop_events(MISSED.swap(0, Relaxed));
        work(ledger)
    })
}

/// In a forked child: forgets the parent's events. Objects of the parent are noticed at their next use.
pub fn begin_anew() {
    trace::after_fork_in_child();
    MISSED.store(0, Relaxed);
    LEDGER.with(Ledger::begin_anew);
}
