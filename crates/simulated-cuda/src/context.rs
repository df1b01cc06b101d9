//! Contexts, primary and created, and what each thread has current.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::abi::{CONTEXT_IS_DESTROYED, Handle, INVALID_CONTEXT, INVALID_VALUE, Outcome, Status};
use crate::block;
use crate::state::{CHANGED, Guard, Kind, State};
use crate::stream::{Stream, Token};

/// A context. A primary one exists as long as its device, and is alive while it is retained.
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
    /// The default streams of threads that use theirs, by the thread's number.
    pub per_thread: BTreeMap<u32, Arc<Stream>>,
    /// All streams but the legacy one; destroyed ones until their work is done.
    pub streams: Vec<Arc<Stream>>,
    /// Contexts whose memory it may use.
    pub peers: BTreeSet<Handle>,
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
            legacy: Stream::new(0, handle, true, true, 0),
            per_thread: BTreeMap::new(),
            streams: Vec::new(),
            peers: BTreeSet::new(),
        }
    }

    /// The primary context of a device, which is not active yet.
    pub fn primary(state: &mut State, device: usize) -> Context {
        Context::new(state, device, true, 0)
    }
}

/// The deepest stack that a thread may have.
const DEPTH: usize = 64;

/// A thread's stack of current contexts: plain cells, so that it also serves while the thread ends.
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

/// The calling thread's current context, dead or alive.
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
    /// The context that the calling thread has current, which must work.
    ///
    /// None is INVALID_CONTEXT; one that was destroyed, or is a primary context that is not active, is
    /// CONTEXT_IS_DESTROYED (CUDA Driver API, "Data types used by CUDA driver", at those two statuses).
    pub fn current(&self) -> Outcome<Handle> {
        discard_old(self);
        let handle = top_of_stack().ok_or(INVALID_CONTEXT)?;
        match self.contexts.get(&handle) {
            Some(Context { broken: Some(status), .. }) => Err(*status),
            Some(context) if context.active => Ok(handle),
            _ => Err(CONTEXT_IS_DESTROYED),
        }
    }

    /// Refuses what is no context to make current. One that was destroyed is a broken rule, too: a real driver follows such a
    /// handle.
    pub fn check_exists(&mut self, handle: Handle) -> Outcome {
        if self.contexts.contains_key(&handle) {
            return Ok(());
        }
        if self.was_destroyed(handle, Kind::Context) {
            self.violation(format!("context 0x{handle:x} was made current, and had been destroyed"));
        }
        Err(INVALID_CONTEXT)
    }

    /// The context that a caller passed, NULL being the current one.
    pub fn context_or_current(&mut self, handle: Handle) -> Outcome<&mut Context> {
        let handle = if handle == 0 { self.current()? } else { handle };
        let context = self.contexts.get_mut(&handle).ok_or(INVALID_CONTEXT)?;
        if context.active { Ok(context) } else { Err(CONTEXT_IS_DESTROYED) }
    }

    /// The newest operations of all streams of a context.
    pub fn everything_in(&self, context: Handle) -> Vec<Token> {
        let Some(context) = self.contexts.get(&context) else { return Vec::new() };
        let streams = context.streams.iter().chain([&context.legacy]);
        streams.filter(|stream| !stream.is_idle()).map(Stream::last).collect()
    }
}

/// Ends what lives in a context: streams with what they still have queued, events, memory.
///
/// A created context is gone; a primary one is inactive. Queued work that is dropped is a violation, unless `quiet`.
pub fn end(mut guard: Guard, handle: Handle, quiet: bool) -> Guard {
    let state = &mut *guard;
    let id = state.new_id();
    let Some(context) = state.contexts.get_mut(&handle) else { return guard };
    let mut streams = std::mem::take(&mut context.streams);
    streams.push(std::mem::replace(&mut context.legacy, Stream::new(0, handle, true, true, 0)));
    context.per_thread.clear();
    context.peers.clear();
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
    for other in state.contexts.values_mut() {
        other.peers.remove(&handle);
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
