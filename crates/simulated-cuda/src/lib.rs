//! A simulated CUDA driver: a `libcuda.so.1` for testing CUDA code on machines without a GPU.
//!
//! # The way of a call
//!
//! Every entry point hands its body to `log::enter` (or `enter_before_init`). That aborts in a forked child and after exit
//! (`process`), counts the call, injects a fault if one is due, checks that the driver is initialised, runs the body,
//! catches a panic, and writes a line of the log. Control functions (`control`) do not pass there. Arguments from C have
//! the types of `abi`.
//!
//! # Modules
//!
//! `state` holds everything behind one lock, which is given up while a stream waits, bytes move, or a function of the program
//! runs.
//!
//! - `device`, `context`, `context_calls`: what exists, and what is current.
//! - `space`, `block`: address ranges of devices, guarded host memory; the block of an address.
//! - `memory`, `pinned`, `pool`, `pointer`: the calls about memory.
//! - `copy`, `fill`: which ranges, in which stream, and who waits.
//! - `stream`, `signal`, `operation`, `event`, `stream_calls`: queues, threads, order, and the effect of an operation.
//! - `race`: operations whose order no stream decides.
//! - `kernel`, `fault`: functions of the program in the place of kernels, and their stray accesses.
//! - `capture`, `capture_calls`: what a capture takes and forbids; graphs.
//! - `errors`, `proc_address`: names and addresses.
//!
//! # Time
//! A `stream::Token` names an operation by its number in its stream. The tokens that an operation waits for are decided when
//! it is queued. A token that is done stays done, so a thread waits for one after the other, in any order.
//!
//! A call that waits for its own operation, as a synchronous copy, takes a number in the stream and works in the calling
//! thread: a program without streams has no thread of the simulator.

#![deny(unsafe_code)]

mod abi;
mod block;
mod capture;
mod capture_calls;
mod context;
mod context_calls;
mod control;
mod copy;
mod device;
mod errors;
mod event;
mod fault;
mod fill;
mod kernel;
mod log;
mod memory;
mod operation;
mod pinned;
mod pointer;
mod pool;
mod proc_address;
mod process;
mod race;
mod settings;
mod signal;
mod space;
mod state;
mod stream;
mod stream_calls;
mod view;
