use super::{
    ACCOUNT, About, CUT, END_TIME, ENDED, End, IDENTITY, LIBRARY, LIBRARY_WORDS, LOST, MAGIC, NAME, NAME_WORDS, NEXT,
    PEAK_ADDRESS_SPACE, PEAK_RESIDENT, PROCESSOR_TIME, RUN, TEXTS, VERSION,
};
use crate::account::Account;
use crate::recording::record::{self, Record};
use crate::recording::{HEADER, Layout, RECORD, words};

/// Whose a file is: read before another process writes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub identity: u64,
    pub run: u64,
    pub ended: bool,
}

impl Owner {
    /// That [`Owner::read`] needs.
    pub const BYTES: usize = 128;

    /// `None` if the bytes are no recording's.
    pub fn read(bytes: &[u8; Owner::BYTES]) -> Option<Owner> {
        let words: [u64; Owner::BYTES / 8] = words(bytes);
        let is_one = words[0] == u64::from_le_bytes(MAGIC);
        is_one.then_some(Owner { identity: words[IDENTITY], run: words[RUN], ended: words[ENDED] != 0 })
    }
}

/// Whether a file of these bytes is a header that its process was killed before or while writing.
pub fn is_unfinished(file: &[u8]) -> bool {
    let Some((first, rest)) = file.split_first_chunk::<24>() else { return false };
    file.len() as u64 == HEADER
        && match words::<24, 3>(first) {
            [0, VERSION, RECORD] => true,
            [0, 0 | VERSION, 0] => rest.iter().all(|&byte| byte == 0),
            _ => false,
        }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub about: About<String>,
    pub layout: Layout,
    /// Records that were reserved.
    pub next: u64,
    /// Bytes used.
    pub texts: u64,
    /// The process exited, or stopped the recording.
    pub end: Option<End>,
    /// The errno for which no more records were written.
    pub cut: Option<i32>,
    /// After the cut, or in a signal handler that could not wait.
    pub lost: u64,
    /// Of all events, also of those whose records gave way.
    pub account: Account,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHeader {
    Foreign,
    /// With the format's version.
    Other(u64),
    Damaged,
}

impl Header {
    pub fn read(bytes: &[u8]) -> Result<Header, NoHeader> {
        if !bytes.starts_with(&MAGIC) {
            return Err(NoHeader::Foreign);
        }
        let bytes = bytes.first_chunk::<{ HEADER as usize }>().ok_or(NoHeader::Damaged)?;
        let all: [u64; HEADER as usize / 8] = words(bytes);
        let [_, version, record, texts, most, process, parent, identity, run, start, start_of_day, ..] = all;
        if version != VERSION {
            return Err(NoHeader::Other(version));
        }
        let layout = Layout { texts, most };
        let is_sound = record == RECORD
            && most > 0
            && texts <= u32::MAX.into()
            && most < u64::MAX / RECORD / 2
            && all[TEXTS] <= texts;
        if !is_sound {
            return Err(NoHeader::Damaged);
        }
        let text = |from: usize, count: usize| {
            let bytes: Vec<u8> = all[from..from + count].iter().flat_map(|word| word.to_le_bytes()).collect();
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let about = About {
            process: process as u32,
            parent: parent as u32,
            identity,
            run,
            start,
            start_of_day,
            program: text(NAME, NAME_WORDS),
            library: text(LIBRARY, LIBRARY_WORDS),
        };
        Ok(Header {
            about,
            layout,
            next: all[NEXT],
            texts: all[TEXTS],
            end: (all[ENDED] != 0).then_some(End {
                time: all[END_TIME],
                processor_time: all[PROCESSOR_TIME],
                peak_resident: all[PEAK_RESIDENT],
                peak_address_space: all[PEAK_ADDRESS_SPACE],
            }),
            cut: Some(all[CUT] as i32).filter(|&errno| errno != 0),
            lost: all[LOST],
            account: Account::of(std::array::from_fn(|word| all[ACCOUNT + word])),
        })
    }

    /// Of the records in the file, the oldest first.
    pub fn indices(&self) -> std::ops::Range<u64> {
        self.next.saturating_sub(self.layout.most)..self.next
    }

    /// From the bytes of its slot.
    pub fn record(&self, index: u64, bytes: &[u8; RECORD as usize]) -> Result<Record, record::NoRecord> {
        Record::read(bytes, self.layout.slot(index).1)
    }
}
