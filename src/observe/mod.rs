//! Observation of memory: the code that acts records one event of `syncedmem_trace` for each thing that happens. The events
//! yield the account, the trace and the advice. The process evaluates them while it runs; the `syncedmem` command
//! evaluates a trace by the same code.

pub(crate) mod call_counts;
pub mod call_site;
pub mod checksums;
pub mod control;
pub mod nvtx;
pub mod recorder;
pub(crate) mod report_file;
pub mod trace;
