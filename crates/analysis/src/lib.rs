//! Evaluates the events of a recorded process: holders of memory, and advice.
//!
//! [`ledger::Ledger`] keeps the objects and the holders of memory, [`evaluation::Evaluation`] a ledger with the
//! [`advice`].
#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "used in this workspace alone: a comment stands where the name does not say it")]

pub mod advice;
pub mod evaluation;
pub mod ledger;
pub mod net;
pub mod role;
