//! A simulated CUDA driver: a `libcuda.so.1` for testing CUDA code on machines without a GPU.
//!
//! # A call
//!
//! Every entry point hands its body to `entry::enter` (or `enter_before_init`). That aborts in a forked child and after exit
//! (`life`), counts the call, injects a fault if one is due, checks that the driver is initialised, runs the body,
//! catches a panic, and writes a line of the log. Control functions (`control`) do not pass there. Arguments from C have
//! the types of `abi`.
//!
//! # Layers
//!
//! Files from the lowest layer to the highest; none uses one of a higher layer.
//!
//! - `abi`, `life`, `names`, `settings`, `signal`, `space`, `view`: what C passes, the process, the environment, address ranges.
//! - `block`, `operation`, `stream`, `race`, `capture`, `event`, `context`, `device`: the objects of the driver, and two rules:
//!   `race` finds operations whose order no stream decides, `capture` finds what a capture takes and forbids.
//! - `state`: all of these under one lock, which is released while a stream waits, bytes move, or a function of the program
//!   runs; `log` has another lock.
//! - `blocks`, `fault`, `queue`: new blocks and their end; what runs when, its effect, and a kernel's stray accesses.
//! - `entry`, and the entry points by topic: `memory`, `pinned`, `pointer`; `copy` and `fill`, which queue
//!   an operation with its ranges and stream, and wait where the driver does; `kernel`, which runs functions of the program in the
//!   place of kernels; `capture_calls`.
//! - `control`, `process`.
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
mod blocks;
mod capture;
mod capture_calls;
mod context;
mod context_calls;
mod control;
mod copy;
mod device;
mod device_calls;
mod entry;
mod errors;
mod event;
mod event_calls;
mod fault;
mod fill;
mod kernel;
mod life;
mod log;
mod memory;
mod names;
mod operation;
mod pinned;
mod pointer;
mod process;
mod queue;
mod race;
mod settings;
mod signal;
mod space;
mod state;
mod stream;
mod stream_calls;
mod view;
