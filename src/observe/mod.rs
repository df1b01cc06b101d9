//! Observation of memory: the code that acts records one [`event::Event`] for each thing that happens. The events yield
//! the [`account`], the trace and the advice. The process evaluates them while it runs; the `syncedmem` command
//! evaluates a trace by the same code.

pub mod account;
pub mod advice;
pub(crate) mod calls;
pub mod contents;
pub mod event;
pub mod ledger;
pub mod live;
pub mod nvtx;
pub mod site;
pub mod summary;
pub mod switch;
pub mod trace;
