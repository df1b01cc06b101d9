//! Orders records by their ends. The file is nearly so: only a thread that was interrupted between an event's end and
//! its record writes late. So a window of records is held back.

use std::collections::BTreeMap;

use syncedmem_trace::recording::record::Record;

/// Records.
const WINDOW: usize = 1 << 14;

#[derive(Debug, Default)]
pub struct Order {
    /// By end, then by position in the file, which is the order within a thread.
    waiting: BTreeMap<(u64, u64), Record>,
    sequence: u64,
}

impl Order {
    /// Returns its number.
    pub fn put(&mut self, record: Record) -> u64 {
        let end = match record {
            Record::Event { event, .. } => event.end(),
            Record::Pass(pass) => pass.start.saturating_add(pass.duration),
            Record::Named { time, .. } | Record::Items { time, .. } | Record::Step { time, .. } => time,
        };
        self.sequence += 1;
        self.waiting.insert((end, self.sequence), record);
        self.sequence
    }

    pub fn is_full(&self) -> bool {
        self.waiting.len() > WINDOW
    }

    /// With its number.
    pub fn next(&mut self) -> Option<(u64, Record)> {
        let ((_, sequence), record) = self.waiting.pop_first()?;
        Some((sequence, record))
    }
}
