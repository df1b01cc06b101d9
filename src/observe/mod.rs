//! What memory does, observed: each thing that happens is an [`event::Event`], told once, by the code that does it. From the
//! events come the [`account`] of what was allocated and copied, the trace, and the advice. The same code reckons in the
//! process, while it runs, and in the command, from a trace.

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
