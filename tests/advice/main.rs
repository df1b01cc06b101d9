//! The advice, from events that are written down here: what triggers each rule and what does not quite, and every rule
//! against a naive one that looks at the whole list afterwards.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod found;
mod naive;
mod random;
mod rules;
mod story;
mod world;
