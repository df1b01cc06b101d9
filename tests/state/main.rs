//! The word of an object: the pure state machine, and with `--cfg loom` (tests/state/run) the models of what threads do to it.

#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod state_machine;
