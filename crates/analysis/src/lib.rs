//! Evaluates a recorded process: [`ledger::Ledger`] keeps the objects and the holders of memory, [`net::chains`] finds the
//! layers that could be in place.
#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "used in this workspace alone: a comment stands where the name does not say it")]

pub mod ledger;
pub mod net;
pub mod role;
