//! Contexts, primary and created, and what each thread has current.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::abi::{CONTEXT_IS_DESTROYED, Handle, INVALID_CONTEXT, INVALID_VALUE, Outcome, Status};
use crate::block;
use crate::state::{CHANGED, Guard, Kind, State};
use crate::stream::{Stream, Token};

/// A primary context exists as long as its device, and lives while it is retained.
pub struct Context {
    pub handle: Handle,
    /// Differs for each life of a context.
    pub id: u64,
    pub device: usize,
    pub is_primary: bool,
    pub active: bool,
    pub flags: u32,
    /// The status of every call after a fault.
    pub broken: Option<Status>,
    pub legacy: Arc<Stream>,
    /// Default streams of threads, by the thread's number.
    pub per_thread: BTreeMap<u32, Arc<Stream>>,
    /// All but the legacy one; destroyed ones until their work is done.
    pub streams: Vec<Arc<Stream>>,
}

impl Context {
    pub fn new(state: &mut State, device: usize, is_primary: bool, flags: u32) -> Context {
        let handle = state.new_handle(Kind::Context);
        Context {
            handle,
            id: state.new_id(),
            device,
            is_primary,
            active: !is_primary,
            flags,
            broken: None,
            legacy: Stream::new(0, handle, true, true),
            per_thread: BTreeMap::new(),
            streams: Vec::new(),
        }
    }
}

const DEPTH: usize = 64;

/// A thread's current contexts: plain cells, which serve while the thread ends, too.
struct Stack {
    epoch: Cell<u64>,
    length: Cell<usize>,
    handles: [Cell<Handle>; DEPTH],
}

thread_local! {
    static STACK: Stack = const {
        Stack { epoch: Cell::new(0), length: Cell::new(0), handles: [const { Cell::new(0) }; DEPTH] }
    };
}

/// Dead or alive.
pub fn top_of_stack() -> Option<Handle> {
    STACK.with(|stack| stack.length.get().checked_sub(1).map(|top| stack.handles[top].get()))
}

pub fn push(state: &State, handle: Handle) -> Outcome {
    discard_old(state);
    STACK.with(|stack| {
        let length = stack.length.get();
        stack.handles.get(length).ok_or(INVALID_VALUE)?.set(handle);
        stack.length.set(length + 1);
        Ok(())
    })
}

pub fn pop(state: &State) -> Option<Handle> {
    discard_old(state);
    let top = top_of_stack();
    STACK.with(|stack| stack.length.set(stack.length.get().saturating_sub(1)));
    top
}

/// Empties a stack from before the last reset.
pub fn discard_old(state: &State) {
    STACK.with(|stack| {
        if stack.epoch.replace(state.epoch) != state.epoch {
            stack.length.set(0);
        }
    });
}

impl State {
    /// INVALID_CONTEXT without one; CONTEXT_IS_DESTROYED if it was destroyed, or is a primary context that is not
    /// active (CUDA Driver API, "Data types used by CUDA driver", at those statuses).
    pub fn current(&self) -> Outcome<Handle> {
        discard_old(self);
        let handle = top_of_stack().ok_or(INVALID_CONTEXT)?;
        match self.contexts.get(&handle) {
            Some(Context { broken: Some(status), .. }) => Err(*status),
            Some(context) if context.active => Ok(handle),
            _ => Err(CONTEXT_IS_DESTROYED),
        }
    }

    /// For a context that is made current. A destroyed one is a violation, too: a real driver follows its handle.
    pub fn check_exists(&mut self, handle: Handle) -> Outcome {
        if self.contexts.contains_key(&handle) {
            return Ok(());
        }
        if self.was_destroyed(handle, Kind::Context) {
            self.violation(format!("context 0x{handle:x} was made current, and had been destroyed"));
        }
        Err(INVALID_CONTEXT)
    }

    /// NULL is the current one.
    pub fn context_or_current(&mut self, handle: Handle) -> Outcome<&mut Context> {
        let handle = if handle == 0 { self.current()? } else { handle };
        let context = self.contexts.get_mut(&handle).ok_or(INVALID_CONTEXT)?;
        if context.active { Ok(context) } else { Err(CONTEXT_IS_DESTROYED) }
    }

    pub fn everything_in(&self, context: Handle) -> Vec<Token> {
        let Some(context) = self.contexts.get(&context) else { return Vec::new() };
        let streams = context.streams.iter().chain([&context.legacy]);
        streams.filter(|stream| !stream.is_idle()).map(Stream::last).collect()
    }
}

/// Ends the context's streams with their queues, its events and its memory. A created context goes; a primary one becomes
/// inactive. Dropped work is a violation unless `quiet`.
pub fn end(mut guard: Guard, handle: Handle, quiet: bool) -> Guard {
    let state = &mut *guard;
    let id = state.new_id();
    let Some(context) = state.contexts.get_mut(&handle) else { return guard };
    let mut streams = std::mem::take(&mut context.streams);
    streams.push(std::mem::replace(&mut context.legacy, Stream::new(0, handle, true, true)));
    context.per_thread.clear();
    (context.active, context.broken, context.id) = (false, None, id);
    let is_primary = context.is_primary;
    state.captures.retain(|capture| !streams.iter().any(|stream| capture.has(stream)));
    let dropped = state.cancel(&streams);
    if dropped > 0 && !quiet {
        state.violation(format!("context 0x{handle:x} was destroyed with {dropped} operations queued"));
    }
    if !is_primary {
        state.contexts.remove(&handle);
        state.note_destroyed(handle);
    }
    while streams.iter().any(|stream| stream.is_running()) {
        guard = CHANGED.wait(guard);
    }
    let state = &mut *guard;
    let lost: Vec<Handle> = state.streams.values().filter(|s| s.context == handle).map(|s| s.handle).collect();
    for stream in lost {
        state.streams.remove(&stream);
        state.note_lost(stream);
    }
    let lost: Vec<Handle> = state.events.iter().filter(|(_, e)| e.context == handle).map(|(h, _)| *h).collect();
    for event in lost {
        state.events.remove(&event);
        state.note_lost(event);
    }
    let blocks: Vec<_> = state.blocks.values().filter(|block| block.context == handle).cloned().collect();
    for block in blocks {
        if !block.is_freed() {
            guard = block::release(guard, &block);
        }
    }
    CHANGED.raise();
    guard
}
