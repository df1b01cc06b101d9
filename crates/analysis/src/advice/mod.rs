//! Advice: which copies, fills and blocks the program could do without, where in its code, and what to change there.
//!
//! Each object has a [`History`], which feeds one state machine for each rule; [`Findings`] sums up their results.
//! `docs/advice.md` describes the rules.

mod fact;
mod findings;
mod history;
mod rates;
mod rule;
mod rules;

pub use findings::{Advice, Findings};
pub use history::History;
pub use rule::{Certainty, Rule, Subject};

use syncedmem_trace::event::Site;

/// The object that an event is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// The call site that made it.
    pub made: Site,
    /// Whether every access is recorded. If not, a side that is up to date may have been read, and a side that alone is
    /// up to date may have been written, without an event. `false` is always safe: it yields less advice.
    pub every_access: bool,
}
