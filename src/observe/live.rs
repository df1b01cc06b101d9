//! The events of this process, told by the code that makes them happen.
//!
//! Whoever tells of something holds no lock: the ledger is taken for the time of an entry, and the trace is written to. A
//! claim on an object may be held.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
// Not loom's: a model has no signals.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::event::{Event, Noticed, Site, What};
use super::ledger::Ledger;
use super::nvtx::{self, Range};
use super::site::{self, Place};
use super::trace::{self, Live, Trouble};
use crate::platform::clock::nanoseconds;
use crate::platform::sync::{FOR_EVER, Lock};
use crate::platform::text::Text;
use crate::platform::thread;
use crate::state::flags::{self, ACCESSES, COMPARE, Flags, RANGES, TRACE};
use crate::state::head::{Access, Side};
use crate::state::kind::Kind;

#[cfg(not(loom))]
static LEDGER: Lock<Ledger> = Lock::new(Ledger::new());
#[cfg(loom)]
loom::lazy_static! { static ref LEDGER: Lock<Ledger> = Lock::new(Ledger::new()); }

/// Events that signal handlers told of in the middle of an entry, and that the ledger has not counted as dropped yet.
static MISSED: AtomicU64 = AtomicU64::new(0);

/// How long an event waits for the ledger that a signal handler may tell of: some 100 ms. Entries take microseconds.
const HANDLERS_NAPS: u32 = 1000;

/// What an event is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Address of the object; 0 for none.
    pub object: usize,
    /// Its size.
    pub bytes: usize,
}

/// No object.
pub const NOTHING: Subject = Subject { object: 0, bytes: 0 };

/// Something that takes time, from its beginning on.
#[must_use = "it is told when it ends"]
pub struct Span {
    /// When it began; 0 if nothing is observed.
    start: u64,
    /// When it ended; 0 if it did not yet.
    end: u64,
    /// What a profiler shows of it.
    range: Option<Range>,
}

/// Begins something that takes time: so a profiler calls it, and so many bytes it is about.
#[inline]
pub fn begin(title: &'static CStr, bytes: usize) -> Span {
    if flags::off() { Span { start: 0, end: 0, range: None } } else { start(title, bytes) }
}

/// Begins to wait for a copy in flight.
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
    /// It is over, whenever it is told.
    #[inline]
    pub fn stop(&mut self) {
        if self.start != 0 {
            self.end = nanoseconds();
        }
        self.range = None;
    }

    /// Tells of what was found out by it, as of its beginning: events are told in the order of their ends, and this comes first.
    #[inline]
    pub fn found(&self, subject: Subject, what: What) {
        if self.start != 0 {
            tell_at(self.start, 0, subject, what);
        }
    }

    /// It ended well, and was this.
    #[inline]
    pub fn end(mut self, subject: Subject, what: impl FnOnce() -> What) {
        self.range = None;
        if self.start != 0 {
            tell_from(self, subject, what());
        }
    }
}

/// Tells of something whose time is not measured.
#[inline]
pub fn tell(subject: Subject, what: impl FnOnce() -> What) {
    if !flags::off() && flags::on() {
        let what = what();
        tell_at(moment(), 0, subject, what);
    }
}

/// Tells that an object gave back the block at `address`, if that is known. Where another thread has had another block
/// made for the object meanwhile, the ledger knows already.
#[inline]
pub fn freed(object: usize, side: Side, address: NonNull<c_void>) {
    if !flags::off() && flags::on() {
        tell_freed(object, side, address);
    }
}

#[cold]
fn tell_freed(object: usize, side: Side, address: NonNull<c_void>) {
    let block = LEDGER.with(|ledger| ledger.object(object as u64).and_then(|object| object.block(side)));
    if let Some(block) = block.filter(|block| block.address == address.addr().get() as u64) {
        let what = What::Freed { kind: block.kind, bytes: block.bytes, block: block.address };
        tell_at(moment(), 0, Subject { object, bytes: 0 }, what);
    }
}

/// Tells that an object was made.
#[inline]
pub fn made(subject: Subject) {
    if flags::on() {
        tell_at(moment(), 0, subject, What::Made { bytes: subject.bytes as u64, noticed: Noticed::Construction });
    }
}

/// Tells that an object was ended, if it is known.
#[inline]
pub fn ended(object: usize) {
    if !flags::off() && flags::on() && LEDGER.with(|ledger| ledger.knows(object as u64)) {
        tell_at(moment(), 0, Subject { object, bytes: 0 }, What::Ended);
    }
}

#[cold]
fn tell_from(span: Span, subject: Subject, what: What) {
    let end = if span.end == 0 { nanoseconds() } else { span.end };
    tell_at(span.start, end.saturating_sub(span.start), subject, what);
}

#[cold]
fn tell_at(start: u64, duration: u64, subject: Subject, what: What) {
    let object = subject.object as u64;
    let is_traced = flags::has(TRACE);
    let thread = if is_traced { thread::number() } else { 0 };
    let site = if wants_site(what) { here() } else { Site::UNKNOWN };
    let event = Event { start, duration, thread, object, site, what };
    let is_about_known = object == 0 || matches!(what, What::Made { .. });
    // A signal handler may have made an access that needed nothing, and tell of it.
    let naps = if matches!(what, What::Accessed { ready: true, .. }) { HANDLERS_NAPS } else { FOR_EVER };
    let taken = LEDGER.try_with(naps, |ledger| {
        let known = is_about_known || ledger.knows(object);
        known.then(|| take(ledger, &event))
    });
    let Ok(taken) = taken else {
        // A signal handler has interrupted an entry of this thread, or cannot wait for that of another.
        MISSED.fetch_add(1, Relaxed);
        return;
    };
    let live = taken.unwrap_or_else(|| {
        notice(Event { duration: 0, ..event }, subject.bytes);
        LEDGER.with(|ledger| take(ledger, &event))
    });
    if is_traced {
        trace::record(&event, &live);
    }
}

/// Tells of an object that is not known yet, whose first event that is.
#[cold]
fn notice(first: Event, bytes: usize) {
    let site = if first.site == Site::UNKNOWN { here() } else { first.site };
    let what = What::Made { bytes: bytes as u64, noticed: Noticed::FirstAccess };
    let made = Event { site, what, ..first };
    let live = LEDGER.with(|ledger| take(ledger, &made));
    if flags::has(TRACE) {
        trace::record(&made, &live);
    }
}

fn take(ledger: &mut Ledger, event: &Event) -> Live {
    ledger.take(event);
    Live { bytes: Kind::ALL.map(|kind| ledger.account().memory(kind).live) }
}

/// The time for what takes none: asked for where it is told.
fn moment() -> u64 {
    if flags::has(TRACE) { nanoseconds() } else { 0 }
}

/// What is worth to be asked who it is for: to look costs a microsecond.
fn wants_site(what: What) -> bool {
    const FROM: u64 = 64 << 10;
    match what {
        What::Made { .. } | What::Copied { .. } | What::Started { .. } | What::Failed { .. } => true,
        What::Filled { bytes, .. } => bytes >= FROM,
        // Whoever asks to write and only reads is found where contents are compared, which costs more.
        What::Accessed { access: Access::Write, ready: false, .. } => flags::has(COMPARE),
        _ => false,
    }
}

#[inline(always)]
fn here() -> Site {
    let (site, is_new) = site::here();
    if is_new && flags::has(TRACE) {
        trace_site(site);
    }
    site
}

fn trace_site(site: Site) {
    let text = site::with_text(site, |text| Place::of(format_args!("{}", text.unwrap_or_default())));
    trace::site(site, text.as_ref());
}

/// Opens the trace, for what is told from now on.
pub fn open_trace(file: &CStr, observed: Flags) -> Result<(), Trouble> {
    trace::start(file)?;
    trace::mode(observed.has(ACCESSES), observed.has(COMPARE));
    site::all().for_each(trace_site);
    Ok(())
}

/// Says whether every access is told from now on.
pub fn watch_accesses(every_access: bool) {
    LEDGER.with(|ledger| ledger.set_every_access(every_access));
}

/// Forgets every object: what becomes of them is not told from now on, or was not.
pub fn forget_objects() {
    LEDGER.with(Ledger::forget_objects);
}

/// Gives an object a name.
pub fn name(subject: Subject, name: &str) {
    let object = subject.object as u64;
    if !LEDGER.with(|ledger| ledger.knows(object)) {
        let nothing = What::Resized { bytes: subject.bytes as u64 };
        let (start, thread) = (nanoseconds(), thread::number());
        notice(Event { start, duration: 0, thread, object, site: Site::UNKNOWN, what: nothing }, subject.bytes);
    }
    LEDGER.with(|ledger| ledger.name(object, name));
    if flags::has(TRACE) {
        trace::name(object, name);
    }
}

/// The name of an object; empty if it has none.
pub fn name_of(object: usize) -> Text<256> {
    LEDGER.with(|ledger| {
        let name = ledger.object(object as u64).and_then(|object| ledger.name_of(object.holder));
        Text::of(format_args!("{}", name.unwrap_or_default()))
    })
}

/// Whether the ledger can be had, now or within a second or two: not where a signal handler, in the middle of an entry, ends
/// the process.
pub fn can_be_had() -> bool {
    LEDGER.is_free_within(20_000)
}

/// Does `work` with the ledger, which nobody else can use meanwhile.
pub fn with_ledger<R>(work: impl FnOnce(&mut Ledger) -> R) -> R {
    LEDGER.with(|ledger| {
        ledger.drop_events(MISSED.swap(0, Relaxed));
        work(ledger)
    })
}

/// Holds the ledger still, until `release`: for fork.
pub fn acquire() {
    LEDGER.acquire();
    site::acquire();
}

/// Ends `acquire`.
pub fn release() {
    site::release();
    LEDGER.release();
}

/// In a forked child: what its parent did is the parent's to tell, and its objects are noticed when they are used.
pub fn begin_anew() {
    trace::after_fork_in_child();
    MISSED.store(0, Relaxed);
    LEDGER.with(Ledger::begin_anew);
}
