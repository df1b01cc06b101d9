//! A simulated CUDA driver: a `libcuda.so.1` for testing CUDA code on machines without a GPU.
//!
//! The README says how a program gets it and what it does; `include/simulated_cuda.h` declares the functions that steer
//! it. This is how it is built.
//!
//! # The way of a call
//! Every entry point is an `extern "C"` function that hands its body to `log::enter` (or `enter_before_init`). That
//! aborts in a forked child and after exit (`process`), counts the call, lets it fail if a fault is due, checks that
//! the driver is initialised, runs the body, which returns a status for an error, catches a panic, and writes a line of
//! the log. Control functions (`control`) do not pass there.
//!
//! What comes from C arrives in the types of `abi`: places to write results to and arrays to read, which may be NULL;
//! addresses and handles as numbers, since nothing here dereferences them as they come.
//!
//! # What there is
//! `state` holds everything behind one lock: devices, contexts, streams, events and blocks. The lock is given up
//! while a stream waits, while bytes move, and while a function of the program runs.
//!
//! - `device`, `context`: what exists and what is current. `context_calls`: the calls about it.
//! - `space`, `block`: address ranges of devices, host memory with guards; blocks, and what an address belongs to.
//! - `memory`, `pinned`, `pool`, `pointer`: the calls about memory.
//! - `copy`, `fill`: which ranges, in which stream, and who waits.
//! - `stream`, `signal`, `operation`: queues, their threads, the order, and what an operation does. `event`,
//!   `stream_calls`: the calls about them.
//! - `kernel`: functions of the program that stand in for kernels.
//! - `capture`: what a capture takes, forbids and is invalidated by. `capture_calls`: the calls about captures and graphs.
//! - `errors`, `proc_address`, `unsupported`: names, addresses, and refusals.
//!
//! # Time
//! An operation has a number in its stream; a `stream::Token` names it. What it must wait for is decided when it is
//! queued, and is a list of tokens. A token that is done stays done. So no thread waits for a condition that may end
//! again, and a thread waits for one token after the other, in any order.
//!
//! Calls that wait for their own operation, as synchronous copies do, take a number in the stream and do the work in the
//! calling thread when it is their turn: a program that never uses a stream never has a thread of the simulator.

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
mod settings;
mod signal;
mod space;
mod state;
mod stream;
mod stream_calls;
mod unsupported;
