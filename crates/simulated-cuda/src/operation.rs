//! The operations of a stream.
#![expect(unsafe_code, reason = "moves bytes, and calls the program's functions")]

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::abi::{Address, fill_bytes, move_bytes};
use crate::block::{self, Block, Span};
use crate::fault;
use crate::process;
use crate::race::Range;
use crate::state::{CHANGED, Guard, state};
use crate::stream::Stream;
use crate::view::View;

/// For `cuLaunchHostFunc`.
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

pub enum Action {
    /// Later work waits for what this waits for.
    Join,
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
    Host(HostFunction, Address),
    Kernel(Kernel),
    /// Ends a block of stream-ordered allocation.
    Free(Arc<Block>),
}

/// A function of the program in a kernel's place.
pub struct Kernel {
    pub name: Arc<str>,
    /// One for each address that it got.
    pub uses: Vec<Range>,
    pub run: Box<dyn FnOnce(&View) + Send>,
}

pub enum Source {
    Memory(Span),
    /// Read when the copy was queued.
    Staged(Vec<u8>),
}

impl Action {
    /// Done at once if nothing is before it.
    pub fn is_momentary(&self) -> bool {
        matches!(self, Action::Join | Action::Stamp(_))
    }

    /// For violations.
    pub fn name(&self) -> String {
        match self {
            Action::Kernel(kernel) => format!("kernel {}", kernel.name),
            Action::Copy { .. } => "a copy".into(),
            Action::Fill { .. } => "a fill".into(),
            _ => "an operation".into(),
        }
    }

    /// For momentary ones.
    pub fn happen(&self) {
        if let Action::Stamp(stamp) = self {
            // Only one operation has this stamp.
            let _ = stamp.set(Instant::now());
        }
    }
}

/// Gives the lock up while bytes move and while a function of the program runs.
pub fn perform(mut guard: Guard, stream: &Stream, action: Action, blocks: &[Arc<Block>]) -> Guard {
    let lost = blocks.iter().any(|block| block.is_freed());
    for block in blocks.iter().filter(|block| block.is_freed()) {
        let name = action.name();
        guard.violation(format!("{name} ran on 0x{:x} ({} bytes), freed meanwhile", block.start, block.bytes));
    }
    let broken = guard.contexts.get(&stream.context).and_then(|context| context.broken);
    guard = match action {
        Action::Join | Action::Stamp(_) => {
            action.happen();
            guard
        }
        // Freed memory cannot be touched; a broken context does nothing any more.
        Action::Copy { .. } | Action::Fill { .. } | Action::Kernel(_) if lost || broken.is_some() => guard,
        Action::Copy { .. } | Action::Fill { .. } | Action::Kernel(_) => {
            blocks.iter().for_each(|block| block.begin_use());
            drop(guard);
            let broken = match action {
                Action::Kernel(Kernel { name, run, .. }) => {
                    fault::watch(name, blocks, |view| process::as_callback(|| run(view)))
                }
                action => {
                    move_or_fill(action);
                    Vec::new()
                }
            };
            guard = state();
            broken.into_iter().for_each(|sentence| guard.violation(sentence));
            blocks.iter().for_each(|block| block.end_use());
            CHANGED.raise();
            guard
        }
        Action::Host(..) if broken.is_some() => guard,
        Action::Host(function, argument) => {
            drop(guard);
            let argument = std::ptr::with_exposed_provenance_mut(argument);
            // SAFETY: the program gave a function to be called with this argument.
            process::as_callback(|| unsafe { function(argument) });
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
            // SAFETY: the spans were checked against their blocks, and `moving` keeps host blocks mapped; a caller who gave
            // pageable memory is blocked in the call.
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
