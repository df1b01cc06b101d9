//! Contexts, primary and created, and what each thread has current.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::abi::{Handle, INVALID_VALUE, Outcome, Status};
use crate::stream::Stream;

/// A primary context exists as long as its device, and lives while it is retained.
pub struct Context {
    pub handle: Handle,
    /// Differs for each life of a context.
    pub id: u64,
    pub device: usize,
    pub is_primary: bool,
    pub active: bool,
    /// The status of every call after a fault.
    pub broken: Option<Status>,
    pub legacy: Arc<Stream>,
    /// Default streams of threads, by the thread's number.
    pub per_thread: BTreeMap<u32, Arc<Stream>>,
    /// All but the legacy one; destroyed ones until their work is done.
    pub streams: Vec<Arc<Stream>>,
}

impl Context {
    pub fn new(handle: Handle, id: u64, device: usize, is_primary: bool) -> Context {
        Context {
            handle,
            id,
            device,
            is_primary,
            active: !is_primary,
            broken: None,
            legacy: Stream::new(0, handle, true, true),
            per_thread: BTreeMap::new(),
            streams: Vec::new(),
        }
    }
}

const DEPTH: usize = 64;

/// A thread's current contexts, in plain cells, which can be used while the thread ends.
struct Stack {
    length: Cell<usize>,
    handles: [Cell<Handle>; DEPTH],
}

thread_local! {
    static STACK: Stack = const {
        Stack { length: Cell::new(0), handles: [const { Cell::new(0) }; DEPTH] }
    };
}

/// The current context, which may have been destroyed.
pub fn top_of_stack() -> Option<Handle> {
    STACK.with(|stack| stack.length.get().checked_sub(1).map(|top| stack.handles[top].get()))
}

pub fn push(handle: Handle) -> Outcome {
    STACK.with(|stack| {
        let length = stack.length.get();
        stack.handles.get(length).ok_or(INVALID_VALUE)?.set(handle);
        stack.length.set(length + 1);
        Ok(())
    })
}

pub fn pop() -> Option<Handle> {
    let top = top_of_stack();
    STACK.with(|stack| stack.length.set(stack.length.get().saturating_sub(1)));
    top
}
