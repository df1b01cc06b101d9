//! Evaluates the events of a process: sums, holders of memory, and advice.
//!
//! [`ledger::Ledger`] takes the events one by one and keeps the [`account`], the state of each object and the [`advice`];
//! [`summary::Summary`] is a report of it. The library evaluates its own events while it runs, and the `syncedmem` command
//! those of a trace, both by this code.
#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "used in this workspace alone: a comment stands where the name does not say it")]

pub mod account;
pub mod advice;
pub mod ledger;
pub mod summary;
