//! Observation of memory: the code that acts records events of `syncedmem_trace`, which yield the account, the trace
//! and the advice. The process evaluates them while it runs, the `syncedmem` command from a trace, by the same code.

pub(crate) mod call_counts;
pub mod call_site;
pub mod checksums;
pub mod control;
pub mod nvtx;
pub mod recorder;
pub(crate) mod report_file;
pub mod trace;
