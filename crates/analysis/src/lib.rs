//! Evaluates the events of a process: sums, holders of memory, and advice.
//!
//! [`ledger::Ledger`] keeps the [`account`], the objects and the holders of memory; [`summary::Summary`] is a report of
//! it. [`evaluation::Evaluation`] is a ledger with the [`advice`], for the command alone.
#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "used in this workspace alone: a comment stands where the name does not say it")]

pub mod account;
pub mod advice;
pub mod evaluation;
pub mod ledger;
pub mod net;
pub mod summary;
