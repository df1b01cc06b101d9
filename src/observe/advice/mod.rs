//! Advice: what the events say could be spared, where in the caller's code, and what to change there.
//!
//! Each object has a [`History`], which tells its events to one small state machine for each rule; what they find is summed
//! up in [`Findings`], by rule and by call site. Nothing is said that the events do not show: see [`Certainty`], and
//! [`Who::every_access`] for what is not among them. `docs/advice.md` describes each rule for those who read the advice.

mod fact;
mod findings;
mod history;
mod rates;
mod rule;
mod rules;

pub use findings::{Advice, Findings};
pub use history::History;
pub use rule::{Certainty, Rule, Subject};

use super::event::Site;

/// The object that an event is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// Who made it.
    pub made: Site,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether every access is told. If not, a side that holds the newest data may have been read, and a side that alone
    /// does may have been written, without an event. `false` is always safe: less is said then.
    pub every_access: bool,
}
