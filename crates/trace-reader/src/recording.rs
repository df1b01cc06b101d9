//! The records of one file, in the order of their slots, also while its process writes them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use syncedmem_trace::recording::header::Header;
use syncedmem_trace::recording::record::{NoRecord, Record};
use syncedmem_trace::recording::{HEADER, RECORD};

use crate::{ReadError, family};

/// Records that are read at once.
const CHUNK: u64 = 1 << 12;

/// Bytes of text that are read at most. The library writes 4 MiB.
const MOST_TEXT: u64 = 16 << 20;

/// The newest records of a running process that may still be unfinished.
const UNSETTLED: u64 = CHUNK;

#[derive(Debug)]
pub struct Recording {
    file: File,
    header: Header,
    /// Slots that the file has room for. Fewer than its layout says, if the disk was full.
    slots: u64,
    /// Index of the next record.
    next: u64,
    /// Index behind the last record that is to be read.
    until: u64,
    /// Bytes of text that were read.
    texts: u64,
    pub gave_way: u64,
    pub unfinished: u64,
    pub unknown: u64,
    chunk: Vec<u8>,
}

impl Recording {
    pub fn new(file: File) -> Result<Recording, ReadError> {
        let header = family::header(&file)?;
        let mut recording = Recording {
            file,
            header,
            slots: 0,
            next: 0,
            until: 0,
            texts: 0,
            gave_way: 0,
            unfinished: 0,
            unknown: 0,
            chunk: Vec::new(),
        };
        recording.measure()?;
        recording.until = recording.header.next;
        Ok(recording)
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Goes on with what was written since.
    pub fn update(&mut self) -> io::Result<()> {
        self.read_header()?;
        self.until = self.header.next;
        Ok(())
    }

    fn read_header(&mut self) -> io::Result<()> {
        let mut bytes = [0; HEADER as usize];
        self.file.read_exact_at(&mut bytes, 0)?;
        // A header that was sound is so for ever, unless another program damages the file: then nothing is new.
        if let Ok(header) = Header::read(&bytes) {
            if header.layout == self.header.layout && header.about == self.header.about {
                self.header = header;
            }
        }
        self.measure()
    }

    fn measure(&mut self) -> io::Result<()> {
        let bytes = self.file.metadata()?.len();
        self.slots = bytes.saturating_sub(self.header.layout.record_at(0)) / RECORD;
        Ok(())
    }

    /// Adds the next records to `records`; `false` if there are none. Of a process that `is_running`, a new record without an end
    /// is waited for; otherwise it is counted and passed over.
    pub fn read(&mut self, is_running: bool, records: &mut Vec<Record>) -> io::Result<bool> {
        let until = self.until;
        self.pass_over_what_gave_way();
        if self.next >= until {
            return Ok(false);
        }
        let layout = self.header.layout;
        let (slot, _) = layout.slot(self.next);
        let in_lap = (layout.most - slot).min(until - self.next);
        let count = in_lap.min(self.slots.saturating_sub(slot)).min(CHUNK);
        if count == 0 {
            // The file ends before these slots: there was no space for them.
            self.unfinished += in_lap;
            self.next += in_lap;
            return Ok(true);
        }
        self.chunk.resize((count * RECORD) as usize, 0);
        self.file.read_exact_at(&mut self.chunk, layout.record_at(slot))?;
        let first = self.next;
        // A record is reserved before its slot is changed. So the header, read behind the records, says which of them may have changed.
        self.read_header()?;
        self.pass_over_what_gave_way();
        let chunks = self.chunk.chunks_exact(RECORD as usize).filter_map(<[u8]>::first_chunk);
        for (index, bytes) in (first..).zip(chunks).skip((self.next - first) as usize) {
            match self.header.record(index, bytes) {
                Ok(record) => records.push(record),
                Err(NoRecord::Unfinished) if is_running && until - index <= UNSETTLED => break,
                Err(NoRecord::Unfinished) => self.unfinished += 1,
                Err(NoRecord::Unknown) => self.unknown += 1,
            }
            self.next = index + 1;
        }
        Ok(self.next > first)
    }

    /// Goes on behind the records that have given way to later ones.
    fn pass_over_what_gave_way(&mut self) {
        let oldest = self.header.indices().start;
        self.gave_way += oldest.saturating_sub(self.next);
        self.next = self.next.max(oldest);
    }

    /// The text area, if it has grown since the last call.
    pub fn new_texts(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.header.texts == self.texts { Ok(None) } else { self.texts().map(Some) }
    }

    pub fn texts(&mut self) -> io::Result<Vec<u8>> {
        self.texts = self.header.texts;
        let room = self.file.metadata()?.len().saturating_sub(HEADER);
        let mut area = vec![0; self.texts.min(room).min(MOST_TEXT) as usize];
        self.file.read_exact_at(&mut area, HEADER)?;
        Ok(area)
    }
}
