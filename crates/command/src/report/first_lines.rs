//! The lines that a report begins with: nothing was seen, memory ran out, or the process did not come to its end.

use syncedmem_core::kind::Kind;
use syncedmem_core::text::Size;

use super::facts::{How, Process};
use super::failure::Failure;
use crate::doctor::examine::{Bound, Verdict};

impl Process {
    /// None for a whole recording without failures.
    pub fn first_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.unreached().into_iter().collect();
        if let Some(failure) = self.failure_that_ended() {
            lines.push(format!("{} ran out of memory and {}: {}", self.program(), self.end(), failure.sentence()));
            lines.push(failure.held());
            return lines;
        }
        lines.extend(self.unfinished());
        if let Some(failure) = &self.failure {
            let goes_on = if failure.is_last { "" } else { ", and the program went on" };
            lines.push(match failure.count {
                1 => format!("an allocation failed{goes_on}: {}", failure.sentence()),
                count => format!("{count} allocations failed{goes_on}; the last: {}", failure.sentence()),
            });
            lines.push(failure.held());
        }
        lines
    }

    /// A failure that the process did not survive, as far as is known.
    pub fn failure_that_ended(&self) -> Option<&Failure> {
        let is_ended = match self.ending.how {
            How::Killed { .. } | How::Unknown => true,
            How::Whole => self.ending.status.is_some_and(|status| status != 0),
            How::Cut(_) => false,
        };
        self.failure.as_ref().filter(|failure| failure.is_last && is_ended)
    }

    /// The limit that ended the process, as far as is known.
    pub fn bound_that_ended(&self) -> Option<String> {
        let kill = || self.control_group_at_kill().map(|limit| format!("the control group's limit ({})", Size(limit)));
        self.failure_that_ended().map(Failure::bound).or_else(kill)
    }

    /// The limit in bytes of a control group, if SIGKILL came when the process had nearly reached it.
    fn control_group_at_kill(&self) -> Option<u64> {
        let is_kill = self.ending.how == How::Killed { signal: libc::SIGKILL };
        let limit = self.about.limit("control group").filter(|_| is_kill)?;
        self.ending.resident_peak.filter(|&peak| peak >= limit - limit / 10).map(|_| limit)
    }

    /// Whether no memory was seen, because the Caffe in the process calls its own functions.
    pub fn is_unseen(&self) -> bool {
        let has_memory = Kind::ALL.iter().any(|&kind| self.account.memory(kind).peak > 0);
        !has_memory && self.about.bound_caffe().is_some()
    }

    fn unreached(&self) -> Option<String> {
        let object = self.about.bound_caffe()?.to_path_buf();
        let verdict = Verdict::Bound { object, how: Bound::Symbolic, mixed: None, limit: None };
        let called = if self.is_unseen() { "never called the library" } else { "called the library only in part" };
        let was_tried = self.about.settings.iter().any(|setting| setting == "SYNCEDMEM_TAKE_OVER=1");
        let more = if was_tried { "" } else { " Or let the library take it over: syncedmem run --take-over." };
        let advice = verdict.advice().unwrap_or_default();
        Some(format!("{} {called}: {}. {advice}{more}", self.program(), verdict.reason()))
    }

    fn unfinished(&self) -> Option<String> {
        if self.ending.how == How::Whole {
            return None;
        }
        let [pageable, pinned, device] = Kind::ALL.map(|kind| self.account.memory(kind).live);
        let host = Size(pageable.saturating_add(pinned));
        let at = if device == 0 { host.to_string() } else { format!("{host}, and {} on the device", Size(device)) };
        let growing = self.ending.growing.iter().map(|who| format!(", growing: {who}")).collect::<String>();
        Some(match &self.ending.how {
            How::Cut(why) => format!("the recording of {} ends early ({why}) at {at}{growing}", self.program()),
            _ => format!("{} {} at {at}{growing}", self.program(), self.end()),
        })
    }

    fn end(&self) -> String {
        if let Some(limit) = self.control_group_at_kill() {
            return format!(
                "was killed by signal 9, as the kernel does beyond the control group's limit ({}),",
                Size(limit)
            );
        }
        match (&self.ending.how, self.ending.status) {
            (How::Killed { signal }, _) => format!("was killed by signal {signal}"),
            (How::Whole, Some(status)) => format!("ended with status {status}"),
            _ => "did not end its recording (killed, _exit, exec, or it still runs)".to_string(),
        }
    }

    fn program(&self) -> &str {
        if self.name.is_empty() { "an unnamed program" } else { &self.name }
    }
}
