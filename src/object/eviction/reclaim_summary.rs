//! What was given back before an allocation failed all the same, for the error's sentence.
//!
//! An error has no room for it, and memory for a thread's own state may have run out, so a table keeps the last few summaries.

use std::fmt;

use syncedmem_trace::text::Bytes;

use crate::error::Error;
use crate::platform::sync::{Lock, locked_static, this_thread};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub number: usize,
    pub bytes: usize,
}

impl Count {
    pub fn add(&mut self, bytes: usize) {
        self.number += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// In the order of giving back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimSummary {
    /// Bytes of idle blocks; `None` if such make no room.
    pub idle: Option<u64>,
    /// Device sides of objects that the host side could replace.
    pub evicted: Count,
    pub is_any_evictable: bool,
}

#[derive(Clone, Copy)]
struct Failure {
    thread: usize,
    error: Error,
    summary: ReclaimSummary,
}

/// Threads that may fail at the same time and keep their summaries.
const PLACES: usize = 16;

// The last of each thread, the newest first.
locked_static! { static FAILURES: Lock<[Option<Failure>; PLACES]> = Lock::new([None; PLACES]); }

pub fn keep(error: Error, summary: ReclaimSummary) {
    let thread = this_thread();
    FAILURES.with(|failures| {
        let own = failures.iter().position(|last| last.is_some_and(|last| last.thread == thread));
        failures[..=own.unwrap_or(PLACES - 1)].rotate_right(1);
        failures[0] = Some(Failure { thread, error, summary });
    });
}

/// The summary of this thread's last failure, if `error` is that one's.
pub fn of(error: Error) -> Option<ReclaimSummary> {
    let thread = this_thread();
    FAILURES.with(|failures| {
        let mut last = failures.iter().flatten();
        last.find(|last| last.thread == thread && last.error == error).map(|last| last.summary)
    })
}

impl fmt::Display for ReclaimSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReclaimSummary { idle, evicted, .. } = *self;
        if evicted.number == 0 && idle.unwrap_or(0) == 0 {
            let no_idle_block = if idle.is_some() { "no idle block and " } else { "" };
            return write!(f, "; {no_idle_block}no evictable object was left to make room");
        }
        let mut separator = "; to make room it gave back";
        if let Some(bytes @ 1..) = idle {
            write!(f, "{separator} idle blocks of {}", Bytes(bytes))?;
            separator = ", then";
        }
        if evicted.number > 0 {
            let copies = if evicted.number == 1 { "copy" } else { "copies" };
            write!(f, "{separator} the device {copies} of {evicted}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.number == 1 { "" } else { "s" };
        write!(f, "{} object{plural} of {}", self.number, Bytes(self.bytes as u64))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::Cause;
    use syncedmem_trace::head::Side;
    use syncedmem_trace::text::Text;

    #[test]
    fn the_sentence_lists_blocks_in_the_order_in_which_they_were_given_back() {
        let count = |number, bytes| Count { number, bytes };
        let text_of = |summary: ReclaimSummary| Text::<400>::of(format_args!("{summary}")).as_ref().to_string();
        let summary = ReclaimSummary { idle: Some(12 << 20), evicted: count(2, 8 << 20), is_any_evictable: true };
        assert_eq!(
            text_of(summary),
            "; to make room it gave back idle blocks of 12582912 bytes (12.0 MiB), then the device copies of 2 objects of \
             8388608 bytes (8.0 MiB)"
        );
        let summary = ReclaimSummary { evicted: count(1, 10), ..ReclaimSummary::default() };
        assert_eq!(text_of(summary), "; to make room it gave back the device copy of 1 object of 10 bytes");
    }

    #[test]
    fn each_thread_gets_the_summary_of_its_own_failure_alone() {
        let error = |asked| Error::OutOfMemory { side: Side::Host, asked, cause: Cause::System };
        let summary = ReclaimSummary { idle: Some(5), ..ReclaimSummary::default() };
        keep(error(1), summary);
        assert_eq!(of(error(1)), Some(summary));
        assert_eq!(of(error(2)), None);
        std::thread::scope(|threads| {
            threads.spawn(|| assert_eq!(of(error(1)), None));
        });
        keep(error(2), ReclaimSummary::default());
        assert_eq!((of(error(1)), of(error(2))), (None, Some(ReclaimSummary::default())));
    }
}
