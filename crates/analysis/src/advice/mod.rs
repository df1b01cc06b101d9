//! Advice: which copies, fills and blocks the program could do without, where, and what to change: `docs/advice.md`.
//!
//! Each object has a [`History`], which feeds one state machine for each rule; [`Findings`] sums up their results.

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

/// An event's object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Who {
    pub made: Site,
    /// Whether every access is recorded. If not, an up-to-date side may have been read, and one that alone is up to
    /// date written, without an event. `false` yields less advice, and is always safe.
    pub every_access: bool,
}
