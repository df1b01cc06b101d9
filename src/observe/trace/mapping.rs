//! The mapped recording: stores, and a system call only for new space.
#![expect(unsafe_code, reason = "words of the mapping")]

use std::ptr::null_mut;
use std::slice;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};

use syncedmem_trace::event::Event;
use syncedmem_trace::recording::header::{self, About, End, Words};
use syncedmem_trace::recording::record::{Record, Slot};
use syncedmem_trace::recording::text::{self, Kind};
use syncedmem_trace::recording::{HEADER, Layout, RECORD};

use super::file::File;
use crate::platform::file_error::FileError;
use crate::platform::sync::{FOR_EVER, Lock, locked_static};
use crate::settings;

/// Bytes of a recording without a setting.
const DEFAULT: u64 = 256 << 20;
/// Bytes that are reserved at once: first, and at most.
const STEPS: (u64, u64) = (64 << 10, 1 << 20);

#[derive(Clone, Copy)]
struct Area {
    /// Bytes that are reserved.
    reserved: &'static AtomicU64,
    /// Place in the file.
    begins: u64,
    /// Bytes that it may have.
    most: u64,
}

/// Set while no thread is inside, see `sink`. The reserved bytes of `TEXTS` and `RECORDS` also grow under `SPACE`.
static BASE: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static LAYOUT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static FILE: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
static TEXTS: AtomicU64 = AtomicU64::new(0);
static RECORDS: AtomicU64 = AtomicU64::new(0);
/// No space could be reserved: no record is written any more.
static CUT: AtomicBool = AtomicBool::new(false);

locked_static! {
    static SPACE: Lock<()> = Lock::new(());
}

/// For a caller that keeps it mapped.
#[derive(Clone, Copy)]
pub struct Recording(());

impl Recording {
    /// Starts the header of a new, empty file. On an error the file stays, and is closed.
    ///
    /// # Safety
    /// No other thread uses the recording.
    pub unsafe fn begin(file: File, about: &About<&str>) -> Result<(), FileError> {
        store(&FILE, file.parts());
        // SAFETY: the caller guarantees it.
        unsafe { Recording::map(file, about) }.inspect_err(|_| close_file())
    }

    /// # Safety
    /// As for `begin`.
    unsafe fn map(file: File, about: &About<&str>) -> Result<(), FileError> {
        let layout = Layout::within(settings::TRACE_SIZE.get().unwrap_or(DEFAULT));
        file.reserve(0, HEADER)?;
        // Zeros without a header would be refused.
        let base = file.map(layout.bytes()).inspect_err(|_| file.empty())?;
        BASE.store(base.as_ptr(), Relaxed);
        store(&LAYOUT, [layout.texts, layout.most]);
        [&TEXTS, &RECORDS].into_iter().for_each(|reserved| reserved.store(0, Relaxed));
        CUT.store(false, Relaxed);
        let this = Recording(());
        header::begin(this.header(), layout, about);
        let begun = this.reserve(this.texts()).and_then(|()| this.reserve(this.records()));
        begun.inspect_err(|&trouble| {
            header::cut(this.header(), trouble.errno());
            // SAFETY: the caller keeps other threads out.
            unsafe { this.unmap() };
        })
    }

    /// # Safety
    /// A recording is mapped, and is not unmapped while this is used.
    pub unsafe fn mapped() -> Recording {
        Recording(())
    }

    /// # Safety
    /// No thread uses it any more.
    pub unsafe fn unmap(self) {
        // SAFETY: `map` mapped it with this length; the caller guarantees that no thread uses it.
        unsafe { libc::munmap(BASE.swap(null_mut(), Relaxed).cast(), self.layout().bytes() as usize) };
    }

    fn layout(self) -> Layout {
        let [texts, most] = load(&LAYOUT);
        Layout { texts, most }
    }

    fn texts(self) -> Area {
        Area { reserved: &TEXTS, begins: HEADER, most: self.layout().texts }
    }

    fn records(self) -> Area {
        let layout = self.layout();
        Area { reserved: &RECORDS, begins: layout.record_at(0), most: layout.most * RECORD }
    }

    /// # Safety
    /// The words from there on are in the recording, and reserved.
    unsafe fn words(self, from: u64, count: usize) -> &'static [AtomicU64] {
        // SAFETY: the caller guarantees that they are mapped.
        let first = unsafe { BASE.load(Relaxed).add(from as usize) };
        // SAFETY: likewise. Every part begins on a multiple of 8, all stores are atomic, and `unmap`'s caller
        // guarantees that it comes later.
        unsafe { slice::from_raw_parts(first.cast(), count) }
    }

    fn header(self) -> &'static Words {
        // SAFETY: `begin` reserved the header first.
        unsafe { &*BASE.load(Relaxed).cast() }
    }

    #[inline]
    pub fn event(self, event: Event, object_bytes: u64) {
        header::count(self.header(), &event);
        self.record(&Record::Event { event, object_bytes });
    }

    /// Once all slots are used, the oldest record gives way.
    #[inline]
    pub fn record(self, record: &Record) {
        let (slot, lap) = self.layout().slot(header::reserve(self.header()));
        if !self.has_room(self.records(), (slot + 1) * RECORD) {
            return header::lose(self.header());
        }
        // SAFETY: it is reserved.
        let words = unsafe { self.words(self.layout().record_at(slot), size_of::<Slot>() / 8) };
        if let Some(words) = words.first_chunk() {
            record.write(words, lap);
        }
    }

    /// Returns the text's place, unless there is no room.
    pub fn text(self, kind: Kind, number: u64, text: &[u8]) -> Option<u32> {
        let room = text::room(text.len());
        let place = header::reserve_text(self.header(), room as u64, self.layout().texts)?;
        if !self.has_room(self.texts(), place + room as u64) {
            return None;
        }
        // SAFETY: it is reserved.
        text::write(unsafe { self.words(HEADER + place, room / 8) }, kind, number, text);
        u32::try_from(place).ok()
    }

    /// Whether this text is at `place`, which `text` returned for this recording.
    pub fn has_text(self, place: u32, kind: Kind, text: &[u8]) -> bool {
        let (place, room) = (u64::from(place), text::room(text.len()));
        // SAFETY: reserved, by the comparison before it.
        place + room as u64 <= TEXTS.load(Relaxed)
            && text::is(unsafe { self.words(HEADER + place, room / 8) }, kind, text)
    }

    pub fn end(self, end: End) {
        header::end(self.header(), end);
    }

    /// Whether the first `bytes` of an area are reserved, now or by this call.
    #[inline]
    fn has_room(self, area: Area, bytes: u64) -> bool {
        bytes <= area.reserved.load(Acquire) || self.grow(area, bytes)
    }

    #[cold]
    fn grow(self, area: Area, bytes: u64) -> bool {
        // Without the lock, this is a signal handler, and the thread that it interrupted reserves.
        let cut = SPACE.try_with(FOR_EVER, |()| {
            while bytes > area.reserved.load(Relaxed) && !CUT.load(Relaxed) {
                if let Err(trouble) = self.reserve(area) {
                    CUT.store(true, Relaxed);
                    header::cut(self.header(), trouble.errno());
                    return Some(trouble);
                }
            }
            None
        });
        if let Ok(Some(trouble)) = cut {
            super::complain(trouble);
        }
        bytes <= area.reserved.load(Acquire)
    }

    /// Doubles the space, within `STEPS`: a short recording takes little.
    fn reserve(self, area: Area) -> Result<(), FileError> {
        let reserved = area.reserved.load(Relaxed);
        let step = reserved.clamp(STEPS.0, STEPS.1).min(area.most - reserved);
        file().reserve(area.begins + reserved, step)?;
        area.reserved.store(reserved + step, Release);
        Ok(())
    }
}

/// Closing gives up the lock.
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
