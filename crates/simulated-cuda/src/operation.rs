//! The operations of a stream.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::abi::Address;
use crate::block::{Block, Span};
use crate::view::View;

/// A function of `cuLaunchHostFunc`.
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

pub enum Action {
    /// Does nothing: later work waits for what this waits for.
    Join,
    Stamp(Arc<OnceLock<Instant>>),
    Copy {
        to: Span,
        from: Source,
    },
    Fill {
        to: Span,
        value: u8,
    },
    Host(HostFunction, Address),
    Kernel(Kernel),
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

    /// The name in violations.
    pub fn name(&self) -> String {
        match self {
            Action::Kernel(kernel) => format!("kernel {}", kernel.name),
            Action::Copy { .. } => "a copy".into(),
            Action::Fill { .. } => "a fill".into(),
            _ => "an operation".into(),
        }
    }

    pub fn ranges(&self) -> Vec<Range> {
        match self {
            Action::Copy { to, from } => {
                let from = if let Source::Memory(from) = from { Range::of(from, false) } else { None };
                Range::of(to, true).into_iter().chain(from).collect()
            }
            Action::Fill { to, .. } => Range::of(to, true).into_iter().collect(),
            Action::Kernel(kernel) => kernel.uses.clone(),
            _ => Vec::new(),
        }
    }

    /// Runs a momentary action.
    pub fn happen(&self) {
        if let Action::Stamp(stamp) = self {
            // Only one operation has this stamp.
            let _ = stamp.set(Instant::now());
        }
    }
}

/// Bytes that an operation uses.
#[derive(Clone)]
pub struct Range {
    pub block: Arc<Block>,
    pub start: Address,
    pub end: Address,
    pub writes: bool,
}

impl Range {
    fn of(span: &Span, writes: bool) -> Option<Range> {
        let block = span.block.clone()?;
        Some(Range { block, start: span.address, end: span.address + span.bytes, writes })
    }

    pub fn conflicts(&self, other: &Range) -> bool {
        (self.writes || other.writes) && self.start < other.end && other.start < self.end
    }
}
