//! Everything that the driver knows, behind one lock.
//!
//! The lock is never held while a stream sleeps, while the bytes of an operation move, or while a caller's function runs.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::abi::{Address, Handle};
use crate::block::Block;
use crate::capture::{Capture, Node};
use crate::context::Context;
use crate::device::Device;
use crate::event::Event;
use crate::process;
use crate::race::Uses;
use crate::settings::{self, Lag};
use crate::signal::Signal;
use crate::stream::Stream;

pub type Guard = MutexGuard<'static, State>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Context,
    Stream,
    Event,
    Pool,
    Graph,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Alive,
    /// By its own call: a later use is a mistake of the program.
    Destroyed,
    /// With its context, or by `simcuda_reset`.
    LostWithContext,
}

pub struct State {
    pub devices: Vec<Device>,
    pub contexts: BTreeMap<Handle, Context>,
    pub streams: BTreeMap<Handle, Arc<Stream>>,
    pub events: BTreeMap<Handle, Event>,
    /// Allocated or registered, by first address.
    pub blocks: BTreeMap<Address, Arc<Block>>,
    /// Captures under way, graphs, and what those were instantiated as.
    pub captures: Vec<Capture>,
    pub graphs: BTreeMap<Handle, Vec<Node>>,
    pub executables: BTreeMap<Handle, Vec<Node>>,
    pub uses: Uses,
    pub violations: Vec<String>,
    pub held: bool,
    /// Whether registrations wait, and how many do.
    pub registrations_held: bool,
    pub registrations_waiting: usize,
    pub lag: Lag,
    /// The seed by which operations are put off or not.
    pub order: Option<u64>,
    /// Whether queued work starts when it is waited for, and how often all was released.
    pub puts_off: bool,
    pub releases: u64,
    /// Bytes of page-locked host memory.
    pub pinned: usize,
    pub pinned_peak: usize,
    /// From `simcuda_set_memory`, by device.
    pub memory: BTreeMap<usize, usize>,
    /// Count of resets: contexts that threads had current before are gone.
    pub epoch: u64,
    handles: Vec<(Kind, Fate)>,
    last_id: u64,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| Mutex::new(State::new()));

/// Raised when streams are released and when bytes of a block no longer move.
pub static CHANGED: Signal = Signal::new();

pub fn state() -> Guard {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// No process has memory there. No handle is given out twice, so that a stale one is found.
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
            captures: Vec::new(),
            graphs: BTreeMap::new(),
            executables: BTreeMap::new(),
            uses: Uses::default(),
            violations: Vec::new(),
            held: false,
            registrations_held: false,
            registrations_waiting: 0,
            puts_off: false,
            releases: 0,
            pinned: 0,
            pinned_peak: 0,
            memory: BTreeMap::new(),
            epoch: 0,
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
                process::die(&format!("use of {what} 0x{handle:x}, which was destroyed"))
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
