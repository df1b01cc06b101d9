//! The mapped recording: stores, and system calls only for new space and new windows.
#![expect(unsafe_code, reason = "words of the mapping")]

use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use syncedmem_trace::event::Event;
use syncedmem_trace::recording::header::{self, About, End, Words};
use syncedmem_trace::recording::record::{Record, Slot};
use syncedmem_trace::recording::text::{self, Topic};
use syncedmem_trace::recording::{HEADER, Layout, RECORD};

use super::file::File;
use super::windows::{self, Wanted};
use crate::platform::file_error::FileError;
use crate::platform::sync::{FOR_EVER, Lock, locked_static};
use crate::settings;

/// Bytes of a recording, unless SYNCEDMEM_TRACE_SIZE is set.
const DEFAULT: u64 = 256 << 20;
/// Bytes that are reserved at once: the first time, and at most.
const STEPS: (u64, u64) = (64 << 10, 1 << 20);

#[derive(Clone, Copy)]
struct Area {
    /// Number of reserved bytes.
    reserved: &'static AtomicU64,
    /// Offset of the area in the file.
    begins: u64,
    /// Bytes that may be reserved.
    most: u64,
}

/// Records between looks at the next window.
const LOOKS: u64 = 1 << 10;

/// These are set while no thread is inside: see `sink`. The reserved bytes of `TEXTS` and `RECORDS` also grow under the lock
/// `SPACE`, as do the windows.
static LAYOUT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static FILE: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
static TEXTS: AtomicU64 = AtomicU64::new(0);
static RECORDS: AtomicU64 = AtomicU64::new(0);
/// Set when no space could be reserved: no record is written after that.
static CUT: AtomicBool = AtomicBool::new(false);

locked_static! {
    static SPACE: Lock<()> = Lock::new(());
}

/// The mapped recording. The code that made it guarantees that it stays mapped: see [`Recording::mapped`].
#[derive(Clone, Copy)]
pub struct Recording(());

impl Recording {
    /// Maps a new, empty file and writes its header. After an error the file is closed.
    ///
    /// # Safety
    /// No other thread uses the recording.
    pub unsafe fn begin(file: File, about: &About<&str>) -> Result<(), FileError> {
        store(&FILE, file.parts());
        // SAFETY: the caller of `begin` guarantees that no other thread uses the recording.
        unsafe { Recording::map(file, about) }.inspect_err(|_| close_file())
    }

    /// # Safety
    /// No other thread uses the recording.
    unsafe fn map(file: File, about: &About<&str>) -> Result<(), FileError> {
        let layout = Layout::within(settings::TRACE_SIZE.get().unwrap_or(DEFAULT));
        file.reserve(0, HEADER)?;
        windows::begin(layout.bytes());
        // If the window cannot be mapped, the file is emptied: readers refuse zeros without a header.
        let first = Wanted { window: 0, kept: 0, first: windows::COUNT, at_once: true };
        // SAFETY: `first` is COUNT: no window is replaced.
        unsafe { windows::map(file, first) }.inspect_err(|_| file.empty())?;
        store(&LAYOUT, [layout.texts, layout.most]);
        [&TEXTS, &RECORDS].into_iter().for_each(|reserved| reserved.store(0, Relaxed));
        CUT.store(false, Relaxed);
        let this = Recording(());
        header::begin(this.header(), layout, about);
        let begun = this.reserve(this.texts()).and_then(|()| this.reserve(this.records()));
        begun.inspect_err(|&trouble| {
            header::cut(this.header(), trouble.errno());
            // SAFETY: the caller of `map` guarantees that no other thread uses the recording.
            unsafe { this.unmap() };
        })
    }

    /// # Safety
    /// A recording is mapped, and stays so while the value is used: this thread is inside, or no thread is.
    pub unsafe fn mapped() -> Recording {
        Recording(())
    }

    /// # Safety
    /// No thread uses the recording any more.
    pub unsafe fn unmap(self) {
        // SAFETY: the caller of `unmap` guarantees that no thread uses the recording.
        unsafe { windows::end() };
    }

    fn layout(self) -> Layout {
        let [texts, most] = load(&LAYOUT);
        Layout { texts, most }
    }

    pub fn bytes_of_texts(self) -> u64 {
        self.layout().texts
    }

    fn texts(self) -> Area {
        Area { reserved: &TEXTS, begins: HEADER, most: self.layout().texts }
    }

    fn records(self) -> Area {
        let layout = self.layout();
        Area { reserved: &RECORDS, begins: layout.record_at(0), most: layout.most * RECORD }
    }

    /// Returns words of an area, from `from` on. Reserves and maps them if necessary.
    #[inline]
    fn words(self, area: Area, from: u64, count: usize) -> Option<&'static [AtomicU64]> {
        let at = area.begins + from;
        if !self.is_reserved(area, from + 8 * count as u64) {
            return None;
        }
        let first = windows::address(at).or_else(|| self.mapped_at(area, at))?;
        // SAFETY: the words are reserved and lie in one window, which stays mapped while this thread is inside. Every area
        // begins on a multiple of 8, and all accesses are atomic.
        Some(unsafe { slice::from_raw_parts(first.as_ptr().cast(), count) })
    }

    /// Maps the window that contains a place.
    #[cold]
    fn mapped_at(self, area: Area, at: u64) -> Option<NonNull<u8>> {
        if CUT.load(Relaxed) {
            return None;
        }
        let window = windows::of(at);
        let wanted = Wanted { window, kept: window, first: self.first_to_go(area), at_once: true };
        // SAFETY: this thread is inside, as `mapped` demands.
        self.extend(|| match unsafe { windows::map(file(), wanted) } {
            // There may be address space for the next record.
            Err(FileError::System(_)) => Ok(()),
            mapped => mapped,
        });
        windows::address(at)
    }

    /// The first window that may be replaced. Texts stay mapped: they are looked up again.
    fn first_to_go(self, area: Area) -> usize {
        let records = self.records().begins;
        if area.begins == records { windows::of(records) + 1 } else { windows::COUNT }
    }

    /// Maps the next window from the middle of one on. There no thread waits for it, and a moment comes when no other thread
    /// is inside.
    #[cold]
    fn look_ahead(self, slot: u64) {
        let (layout, bytes) = (self.layout(), windows::bytes());
        let at = layout.record_at(slot);
        let next = layout.record_at((slot + bytes / RECORD) % layout.most);
        if at % bytes >= bytes / 2 {
            let (first, at_once) = (self.first_to_go(self.records()), false);
            let wanted = Wanted { window: windows::of(next), kept: windows::of(at), first, at_once };
            // SAFETY: this thread is inside, as `mapped` demands.
            let map = |(): &mut ()| unsafe { windows::map(file(), wanted) };
            // After a failure, a later call or the first record in the window maps it.
            let _ = SPACE.try_with(FOR_EVER, map);
        }
    }

    fn header(self) -> &'static Words {
        // SAFETY: `map` reserved and mapped the header first.
        unsafe { &*windows::first().cast() }
    }

    #[inline]
    pub fn event(self, event: Event, object_bytes: u64) {
        header::count(self.header(), &event);
        self.record(&Record::Event { event, object_bytes });
    }

    /// Writes a record. When all slots are used, it replaces the oldest one.
    #[inline]
    pub fn record(self, record: &Record) {
        let (slot, lap) = self.layout().slot(header::reserve(self.header()));
        let words = self.words(self.records(), slot * RECORD, size_of::<Slot>() / 8);
        let Some(words) = words.and_then(<[_]>::first_chunk) else { return header::lose(self.header()) };
        record.write(words, lap);
        if slot % LOOKS == 0 {
            self.look_ahead(slot);
        }
    }

    /// Stores a text and returns its place. `None` if there is no space.
    pub fn text(self, topic: Topic, number: u64, text: &[u8]) -> Option<u32> {
        let bytes = text::entry_bytes(text.len()) as u64;
        let is_whole = |place: u64| windows::of(HEADER + place) == windows::of(HEADER + place + bytes - 1);
        let reserve = || header::reserve_text(self.header(), bytes, self.layout().texts);
        // An entry lies in one window. Readers skip the space that is left empty.
        let fits = bytes <= windows::bytes();
        let place = fits.then(|| std::iter::from_fn(reserve).find(|&place| is_whole(place)))??;
        text::write(self.words(self.texts(), place, bytes as usize / 8)?, topic, number, text);
        u32::try_from(place).ok()
    }

    /// Whether the text is at `place`, which `text` returned for this recording.
    pub fn has_text(self, place: u32, topic: Topic, text: &[u8]) -> bool {
        let words = self.words(self.texts(), place.into(), text::entry_bytes(text.len()) / 8);
        words.is_some_and(|words| text::is(words, topic, text))
    }

    pub fn end(self, end: End) {
        header::end(self.header(), end);
    }

    /// Returns whether the first `bytes` of an area are reserved. Reserves them if necessary.
    #[inline]
    fn is_reserved(self, area: Area, bytes: u64) -> bool {
        bytes <= area.reserved.load(Acquire) || self.grow(area, bytes)
    }

    #[cold]
    fn grow(self, area: Area, bytes: u64) -> bool {
        self.extend(|| {
            while bytes > area.reserved.load(Relaxed) && !CUT.load(Relaxed) {
                self.reserve(area)?;
            }
            Ok(())
        });
        bytes <= area.reserved.load(Acquire)
    }

    /// Gets space or address space under the lock, and ends the records after an error. Does nothing in a signal handler that
    /// interrupted this function.
    fn extend(self, get: impl FnOnce() -> Result<(), FileError>) {
        let got = SPACE.try_with(FOR_EVER, |()| {
            get().inspect_err(|trouble| {
                CUT.store(true, Relaxed);
                header::cut(self.header(), trouble.errno());
            })
        });
        if let Ok(Err(trouble)) = got {
            super::complain(trouble);
        }
    }

    /// Doubles the space, within `STEPS`: a short recording needs little.
    fn reserve(self, area: Area) -> Result<(), FileError> {
        let reserved = area.reserved.load(Relaxed);
        let step = reserved.clamp(STEPS.0, STEPS.1).min(area.most - reserved);
        file().reserve(area.begins + reserved, step)?;
        area.reserved.store(reserved + step, Release);
        Ok(())
    }
}

/// Closes the file, and so releases its lock.
pub fn close_file() {
    file().close();
}

fn file() -> File {
    File::of_parts(load(&FILE))
}

fn load<const N: usize>(words: &[AtomicU64; N]) -> [u64; N] {
    std::array::from_fn(|word| words[word].load(Relaxed))
}

fn store<const N: usize>(words: &[AtomicU64; N], values: [u64; N]) {
    words.iter().zip(values).for_each(|(word, value)| word.store(value, Relaxed));
}
