//! The state of the driver, under one lock.
//!
//! The lock is never held while a stream sleeps, while the bytes of an operation move, or while a caller's function runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::abi::{Address, CONTEXT_IS_DESTROYED, Handle, INVALID_CONTEXT, Outcome};
use crate::block::Block;
use crate::capture::Captures;
use crate::context::{Context, top_of_stack};
use crate::device::Device;
use crate::event::Event;
use crate::life;
use crate::race::Uses;
use crate::settings::{self, Lag};
use crate::stream::{Stream, Token};

pub type Guard = MutexGuard<'static, State>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Context,
    Stream,
    Event,
    Graph,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Alive,
    /// Destroyed by its own call: a later use is a mistake of the program.
    Destroyed,
    /// Destroyed with its context.
    LostWithContext,
}

pub struct State {
    pub devices: Vec<Device>,
    pub contexts: BTreeMap<Handle, Context>,
    pub streams: BTreeMap<Handle, Arc<Stream>>,
    pub events: BTreeMap<Handle, Event>,
    /// Allocated or registered, by first address.
    pub blocks: BTreeMap<Address, Arc<Block>>,
    /// Captures under way, and graphs that others made.
    pub captures: Captures,
    pub graphs: BTreeSet<Handle>,
    pub uses: Uses,
    pub violations: Vec<String>,
    pub held: bool,
    pub lag: Lag,
    /// The seed by which operations are put off or not.
    pub order: Option<u64>,
    /// Whether queued work starts when it is waited for, and how often all was released.
    pub puts_off: bool,
    pub releases: u64,
    /// Bytes of page-locked host memory.
    pub pinned: usize,
    pub pinned_peak: usize,
    /// Values of `simcuda_set_memory`, by device.
    pub memory: BTreeMap<usize, usize>,
    handles: Vec<(Kind, Fate)>,
    last_id: u64,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| Mutex::new(State::new()));

pub fn state() -> Guard {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// No process has memory at this address. No handle is used twice, so that a stale one is found.
const FIRST_HANDLE: Handle = 0x0051_4d00_0000_0000;
const HANDLE_STEP: Handle = 16;

impl State {
    fn new() -> State {
        State {
            lag: settings::lag(),
            order: settings::order(),
            devices: Vec::new(),
            contexts: BTreeMap::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            blocks: BTreeMap::new(),
            captures: Captures::default(),
            graphs: BTreeSet::new(),
            uses: Uses::default(),
            violations: Vec::new(),
            held: false,
            puts_off: false,
            releases: 0,
            pinned: 0,
            pinned_peak: 0,
            memory: BTreeMap::new(),
            handles: Vec::new(),
            last_id: 0,
        }
    }

    pub fn new_handle(&mut self, kind: Kind) -> Handle {
        self.handles.push((kind, Fate::Alive));
        FIRST_HANDLE + HANDLE_STEP * (self.handles.len() - 1)
    }

    pub fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn issued(&mut self, handle: Handle) -> Option<&mut (Kind, Fate)> {
        let offset = handle.checked_sub(FIRST_HANDLE)?;
        if offset % HANDLE_STEP == 0 { self.handles.get_mut(offset / HANDLE_STEP) } else { None }
    }

    pub fn note_destroyed(&mut self, handle: Handle) {
        if let Some(issued) = self.issued(handle) {
            issued.1 = Fate::Destroyed;
        }
    }

    pub fn note_lost(&mut self, handle: Handle) {
        if let Some(issued) = self.issued(handle) {
            issued.1 = Fate::LostWithContext;
        }
    }

    /// Aborts if `handle` was destroyed by its own call; returns whether it was lost with its context.
    pub fn check_not_destroyed(&mut self, handle: Handle, kind: Kind, what: &str) -> bool {
        match self.issued(handle) {
            Some((issued, Fate::Destroyed)) if *issued == kind => {
                life::die(&format!("use of {what} 0x{handle:x}, which was destroyed"))
            }
            Some((issued, Fate::LostWithContext)) => *issued == kind,
            _ => false,
        }
    }

    pub fn was_destroyed(&mut self, handle: Handle, kind: Kind) -> bool {
        self.issued(handle).is_some_and(|issued| *issued == (kind, Fate::Destroyed))
    }

    pub fn violation(&mut self, sentence: String) {
        self.violations.push(sentence);
    }
}

impl State {
    /// INVALID_CONTEXT without one; CONTEXT_IS_DESTROYED if it was destroyed, or is a primary context that is not
    /// active (CUDA Driver API, "Data types used by CUDA driver", at those statuses).
    pub fn current(&self) -> Outcome<Handle> {
        let handle = top_of_stack().ok_or(INVALID_CONTEXT)?;
        match self.contexts.get(&handle) {
            Some(Context { broken: Some(status), .. }) => Err(*status),
            Some(context) if context.active => Ok(handle),
            _ => Err(CONTEXT_IS_DESTROYED),
        }
    }

    /// Checks a context that is made current. A destroyed one is also a violation, because a real driver follows its handle.
    pub fn check_exists(&mut self, handle: Handle) -> Outcome {
        if self.contexts.contains_key(&handle) {
            return Ok(());
        }
        if self.was_destroyed(handle, Kind::Context) {
            self.violation(format!("context 0x{handle:x} was made current, and had been destroyed"));
        }
        Err(INVALID_CONTEXT)
    }

    /// NULL means the current context.
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
