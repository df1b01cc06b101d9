//! Observation of memory. The code that allocates and copies records events of `syncedmem_trace`; the process counts them and
//! writes them to a trace, which the `syncedmem` command reads.

pub(crate) mod call_counts;
pub mod call_site;
pub mod control;
pub mod nvtx;
pub mod recorder;
pub mod report;
pub(crate) mod report_file;
pub mod trace;
