//! Reads the records of one file, also while its process writes them.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use syncedmem_trace::recording::header::Header;
use syncedmem_trace::recording::record::{NoRecord, Record};
use syncedmem_trace::recording::{HEADER, RECORD};

use crate::{ReadError, family};

/// Number of records that are read at once.
const CHUNK: u64 = 1 << 12;

/// Bytes of text that are read at most. The library writes up to 4 MiB.
const MOST_TEXT: u64 = 16 << 20;

/// Number of the newest records of a running process, which may be unfinished.
const UNSETTLED: u64 = CHUNK;

#[derive(Debug)]
pub struct Recording {
    file: File,
    header: Header,
    /// Number of slots in the file: fewer than its layout names if the disk was full.
    slots: u64,
    /// The library leaves no holes, because it reserves space.
    has_holes: bool,
    next: u64,
    /// The index after the last record to read.
    until: u64,
    /// Bytes of text that have been read.
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
            has_holes: false,
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

    /// Continues with the records that were written since the last call.
    pub fn update(&mut self) -> io::Result<()> {
        self.read_header()?;
        self.until = self.header.next;
        Ok(())
    }

    fn read_header(&mut self) -> io::Result<()> {
        let mut bytes = [0; HEADER as usize];
        self.file.read_exact_at(&mut bytes, 0)?;
        // Only another program can damage a sound header: then the old one stays.
        if let Ok(header) = Header::read(&bytes) {
            if header.layout == self.header.layout && header.about == self.header.about {
                self.header = header;
            }
        }
        self.measure()
    }

    fn measure(&mut self) -> io::Result<()> {
        let about = self.file.metadata()?;
        self.slots = about.len().saturating_sub(self.header.layout.record_at(0)) / RECORD;
        // The system counts blocks of 512 bytes.
        self.has_holes = about.blocks().saturating_mul(512) < about.len();
        Ok(())
    }

    /// The first range of bytes from `from` on that is not a hole.
    fn data(&self, from: u64) -> Range<u64> {
        if !self.has_holes {
            return from..u64::MAX;
        }
        match seek(&self.file, SeekFrom::Data(from)) {
            Ok(start) => start..seek(&self.file, SeekFrom::Hole(start)).unwrap_or(u64::MAX),
            // The hole reaches to the end.
            Err(Errno::NXIO) => u64::MAX..u64::MAX,
            Err(_) => from..u64::MAX,
        }
    }

    /// Reads some records. Returns `false` if there are none. While the process `is_running`, the reader stops at an unfinished
    /// new record; else it counts the record and continues.
    pub fn read(&mut self, is_running: bool, records: &mut Vec<Record>) -> io::Result<bool> {
        let until = self.until;
        self.skip_overwritten();
        if self.next >= until {
            return Ok(false);
        }
        let layout = self.header.layout;
        let (slot, _) = layout.slot(self.next);
        let in_lap = (layout.most - slot).min(until - self.next);
        let in_file = in_lap.min(self.slots.saturating_sub(slot));
        let at = layout.record_at(slot);
        let data = self.data(at);
        let skipped = match in_file {
            // The file ends earlier: the disk was full.
            0 => in_lap,
            // Holes are not read: a file of few blocks may be of any length.
            _ => in_file.min(data.start.saturating_sub(at) / RECORD),
        };
        let settled = if is_running { (until - self.next).saturating_sub(UNSETTLED) } else { u64::MAX };
        if skipped.min(settled) > 0 {
            self.unfinished += skipped.min(settled);
            self.next += skipped.min(settled);
            return Ok(true);
        }
        let count = in_file.min(CHUNK).min(data.end.saturating_sub(at).div_ceil(RECORD));
        self.chunk.resize((count * RECORD) as usize, 0);
        self.file.read_exact_at(&mut self.chunk, at)?;
        let first = self.next;
        // The writer reserves a record before it changes the slot, so a header that is read now shows which slots may have changed.
        self.read_header()?;
        self.skip_overwritten();
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

    fn skip_overwritten(&mut self) {
        let oldest = self.header.indices().start;
        self.gave_way += oldest.saturating_sub(self.next);
        self.next = self.next.max(oldest);
    }

    /// Reads the text area if it has grown since the last call.
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
