//! The `syncedmem` command as it is typed.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "what a test cannot prepare, it cannot test")]

mod caffe_like;
mod device;
mod diff;
mod doctor;
#[path = "../observe/trace/events.rs"]
mod events;
mod export;
mod functions;
mod help;
mod input;
mod killed;
mod names_under_threads;
mod net_like;
mod never_called;
mod out_of_memory;
mod output;
mod own_layers;
mod passes;
mod privileged_names;
mod report;
mod run;
mod several_caffes;
#[path = "../support/mod.rs"]
mod support;
mod take_over;
mod take_over_names;
mod trace;
