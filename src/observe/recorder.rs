//! The recorder: the code that allocates, copies, fills or waits records each event here once. The recorder passes it to the
//! counters, for the report and `syncedmem_stats`; to the trace; and to a profiler, for which a [`Span`] is a range.
//!
//! An event takes a lock only for new space of the trace and for a new call site. A caller may have claimed an object, and
//! holds no lock.

use std::ffi::CStr;
// This is not loom's type: a model has no signals.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use syncedmem_core::address_hash::hash_address;
use syncedmem_core::kind::Kind;
use syncedmem_trace::account::{Account, Counters};
use syncedmem_trace::event::{Event, Place, Site, What};

use super::call_site;
use super::nvtx::{self, Range};
use super::trace::{self, FileError};
use crate::platform::clock::nanoseconds;
use crate::platform::thread_pointer::ThreadPointer;
use crate::state::flags::{self, ACCOUNT, RANGES, TRACE};

static COUNTERS: Counters = Counters::new();

/// The object of an event.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Address; 0 for none.
    pub object: usize,
    /// Bytes of the object.
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
    if flags::is_observed() { start(title, bytes) } else { Span { start: 0, end: 0, range: None } }
}

#[inline]
pub fn begin_wait() -> Span {
    begin(c"wait for copy", 0)
}

#[cold]
fn start(title: &'static CStr, bytes: usize) -> Span {
    let range = flags::has(RANGES).then(|| nvtx::range(title, bytes as u64));
    Span { start: if flags::are_events_read() { nanoseconds() } else { 0 }, end: 0, range }
}

impl Span {
    /// Ends the measured time. The event may be recorded later.
    #[inline]
    pub fn stop(&mut self) {
        if self.start != 0 {
            self.end = nanoseconds();
        }
        self.range = None;
    }

    #[inline]
    pub fn is_measured(&self) -> bool {
        self.start != 0
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
    if flags::are_events_read() {
        let what = what();
        record_at(moment(), 0, subject, what);
    }
}

#[cold]
fn record_span(span: Span, subject: Subject, what: What) {
    let end = if span.end == 0 { nanoseconds() } else { span.end };
    record_at(span.start, end.saturating_sub(span.start), subject, what);
}

#[cold]
fn record_at(start: u64, duration: u64, subject: Subject, what: What) {
    let object = subject.object as u64;
    let mut event = Event { start, duration, thread: 0, object, site: Site::UNKNOWN, what };
    if flags::has(TRACE) {
        if wants_site(what, subject.object) {
            event.site = call_site::here();
        }
        trace::record(&event, subject.bytes);
    }
    if flags::has(ACCOUNT) {
        COUNTERS.take(&event);
    }
}

/// The time of an event without a duration. Only a trace needs it.
fn moment() -> u64 {
    if flags::has(TRACE) { nanoseconds() } else { 0 }
}

/// Whether the objects that this thread makes get names of layers, stored as the address of a pointer.
static NAMED: ThreadPointer = ThreadPointer::new(None);

/// Sets whether the objects that this thread makes are recorded without a call site; they then have that of their first block.
/// A look-up takes longer than making the object, and the name of a layer says more. Returns the previous value.
pub fn name_objects(is_on: bool) -> bool {
    let before = !NAMED.get().is_null();
    NAMED.set(std::ptr::without_provenance_mut(usize::from(is_on)));
    before
}

fn wants_site(what: What, object: usize) -> bool {
    const FROM: u64 = 64 << 10;
    /// In a net that is being made, smaller blocks get no call site: shapes and biases are most of its blocks.
    const NAMED_FROM: u64 = 4 << 10;
    match what {
        What::Made { .. } => {
            let is_wanted = NAMED.get().is_null();
            note_site(object, is_wanted);
            is_wanted
        }
        What::Allocated { bytes, .. } if bytes < NAMED_FROM && !NAMED.get().is_null() => false,
        // The constructor was not recorded, because it is inlined or ran before observation began, or it has no site.
        What::Allocated { .. } => !note_site(object, true),
        What::Copied { .. } | What::Started { .. } | What::Failed { .. } => true,
        What::Filled { bytes, .. } => bytes >= FROM,
        _ => false,
    }
}

/// Notes whether the trace has a call site of the object. Returns whether it is known to have had one.
fn note_site(object: usize, has_site: bool) -> bool {
    /// Recent objects, by the hash of their address.
    static SEEN: [AtomicUsize; 1 << BITS] = [const { AtomicUsize::new(0) }; 1 << BITS];
    const BITS: u32 = 10;
    let place = &SEEN[(hash_address(object) >> (u64::BITS - BITS)) as usize];
    place.swap(if has_site { object } else { 0 }, Relaxed) == object
}

fn trace_site(site: Site) {
    let text = call_site::with_text(site, |text| Place::of(format_args!("{}", text.unwrap_or_default())));
    trace::site(site, text.as_ref());
}

pub fn open_trace(file: &CStr) -> Result<(), FileError> {
    trace::start(file)?;
    call_site::all().for_each(trace_site);
    Ok(())
}

pub fn account() -> Account {
    COUNTERS.account()
}

pub fn reset_peaks() {
    COUNTERS.reset_peaks(nanoseconds());
}

/// Begins the account: blocks from before count as live.
pub fn set_live(kind: Kind, bytes: u64) {
    COUNTERS.set_live(kind, bytes);
}

/// Begins the counts of a forked child.
pub fn begin_child() {
    trace::after_fork_in_child();
    COUNTERS.begin_child();
}
