//! The operations of a stream: copies, fills, marks, calls of host functions and of stand-ins for kernels, frees.
#![expect(unsafe_code, reason = "moves bytes, and calls the program's functions")]

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::abi::{Address, Handle, SUCCESS, Status, fill_bytes, move_bytes};
use crate::block::{self, Block, Span};
use crate::kernel::StandIn;
use crate::process;
use crate::state::{CHANGED, Guard, state};
use crate::stream::Stream;

/// A function of the program.
#[derive(Clone, Copy)]
pub enum HostFunction {
    /// `cuLaunchHostFunc`.
    Plain(unsafe extern "C" fn(*mut c_void)),
    /// `cuStreamAddCallback`, with the handle that the program used.
    Callback(unsafe extern "C" fn(Handle, Status, *mut c_void), Handle),
}

/// The effect of an operation when its turn comes.
pub enum Action {
    /// Nothing: what comes later waits for what this waits for.
    Join,
    /// Notes the time.
    Stamp(Arc<OnceLock<Instant>>),
    Copy {
        to: Span,
        from: Source,
    },
    Fill {
        to: Span,
        value: u32,
        width: usize,
    },
    /// The program's function, with its argument.
    Host(HostFunction, Address),
    /// The program's function in a kernel's place, with the kernel's parameters.
    Kernel {
        run: StandIn,
        parameters: Vec<u8>,
    },
    /// The end of a block of stream-ordered allocation.
    Free(Arc<Block>),
}

/// Where a copy reads.
pub enum Source {
    Memory(Span),
    /// The bytes that were read when the copy was queued.
    Staged(Vec<u8>),
}

impl Action {
    /// Whether it takes no time: done at once if nothing is before it.
    pub fn is_momentary(&self) -> bool {
        matches!(self, Action::Join | Action::Stamp(_))
    }

    /// Does what is momentary.
    pub fn happen(&self) {
        if let Action::Stamp(stamp) = self {
            // Only one operation has this stamp.
            let _ = stamp.set(Instant::now());
        }
    }
}

/// Does what an operation is there for. The lock is given up while bytes move and while a function of the program runs.
pub fn perform(mut guard: Guard, stream: &Stream, action: Action, blocks: &[Arc<Block>]) -> Guard {
    let mut lost = false;
    for block in blocks.iter().filter(|block| block.is_freed()) {
        lost |= !matches!(block.memory, block::Memory::Device | block::Memory::FromPool);
        guard.violation(format!("an operation ran on 0x{:x} ({} bytes), freed meanwhile", block.start, block.bytes));
    }
    let broken = guard.contexts.get(&stream.context).and_then(|context| context.broken);
    guard = match action {
        Action::Join | Action::Stamp(_) => {
            action.happen();
            guard
        }
        // Host memory that is gone cannot be touched; a context that is broken does nothing any more.
        Action::Copy { .. } | Action::Fill { .. } if lost || broken.is_some() => guard,
        Action::Copy { .. } | Action::Fill { .. } => {
            blocks.iter().for_each(|block| block.begin_use());
            drop(guard);
            move_or_fill(action);
            guard = state();
            blocks.iter().for_each(|block| block.end_use());
            CHANGED.raise();
            guard
        }
        Action::Host(function, argument) => {
            drop(guard);
            process::as_callback(|| call(function, argument, broken));
            state()
        }
        Action::Kernel { .. } if broken.is_some() => guard,
        Action::Kernel { run, parameters } => {
            drop(guard);
            process::as_callback(|| run(parameters.as_ptr().cast(), parameters.len()));
            state()
        }
        Action::Free(block) if block.is_freed() => guard,
        Action::Free(block) => block::release(guard, &block),
    };
    blocks.iter().for_each(|block| block.forget_use());
    guard
}

fn move_or_fill(action: Action) {
    match action {
        Action::Copy { to, from: Source::Memory(from) } => {
            // SAFETY: the spans were checked against their blocks, and `moving` keeps host blocks mapped; pageable
            // memory is the caller's, who is blocked in the call that gave it.
            unsafe { move_bytes(to.kept_at(), from.kept_at(), to.bytes) };
        }
        Action::Copy { to, from: Source::Staged(bytes) } => {
            // SAFETY: as above; the staged bytes are as many as the span has.
            unsafe { move_bytes(to.kept_at(), bytes.as_ptr().expose_provenance(), to.bytes) };
        }
        Action::Fill { to, value, width } => {
            // SAFETY: as above.
            unsafe { fill_bytes(to.kept_at(), value, width, to.bytes / width) };
        }
        _ => {}
    }
}

fn call(function: HostFunction, argument: Address, broken: Option<Status>) {
    let argument = std::ptr::with_exposed_provenance_mut(argument);
    match function {
        // Not called once the context is broken, unlike a callback, which gets the status (`cuLaunchHostFunc`).
        HostFunction::Plain(_) if broken.is_some() => {}
        // SAFETY: the program gave a function to be called with this argument.
        HostFunction::Plain(function) => unsafe { function(argument) },
        HostFunction::Callback(function, stream) => {
            // SAFETY: as above.
            unsafe { function(stream, broken.unwrap_or(SUCCESS), argument) };
        }
    }
}
