//! Observation of memory: the code that acts records one [`event::Event`] for each thing that happens. The events yield
//! the [`account`], the trace and the advice. The process evaluates them while it runs; the `syncedmem` command
//! evaluates a trace by the same code.

pub(crate) mod calls;
pub mod contents;
pub mod live;
pub mod nvtx;
pub mod site;
pub mod switch;
pub mod trace;

pub use syncedmem_analysis::{account, advice, ledger, summary};
pub use syncedmem_trace::event;
