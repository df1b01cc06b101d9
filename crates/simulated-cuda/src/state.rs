//! Everything that the driver knows, behind one lock.
//!
//! The lock is never held while a stream sleeps, while the bytes of an operation move, or while a caller's function runs.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::abi::{Address, Handle};
use crate::block::Block;
use crate::capture::{Capture, Node};
use crate::context::Context;
use crate::device::Device;
use crate::event::Event;
use crate::process;
use crate::settings;
use crate::signal::Signal;
use crate::stream::Stream;

/// The lock on everything.
pub type Guard = MutexGuard<'static, State>;

/// The kind of object behind a handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Context,
    Stream,
    Event,
    Pool,
    Graph,
}

/// The state of the object behind a handle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Alive,
    /// By the call that destroys it: a later use is a mistake of the program.
    Destroyed,
    /// Together with its context, or by `simcuda_reset`.
    LostWithContext,
}

/// Everything that the driver knows.
pub struct State {
    pub devices: Vec<Device>,
    pub contexts: BTreeMap<Handle, Context>,
    pub streams: BTreeMap<Handle, Arc<Stream>>,
    pub events: BTreeMap<Handle, Event>,
    /// All that the driver allocated or registered, by its first address.
    pub blocks: BTreeMap<Address, Arc<Block>>,
    /// Captures under way, and what became of those that ended: graphs, and what they were instantiated as.
    pub captures: Vec<Capture>,
    pub graphs: BTreeMap<Handle, Vec<Node>>,
    pub executables: BTreeMap<Handle, Vec<Node>>,
    pub violations: Vec<String>,
    pub held: bool,
    /// Whether nothing is registered, and how many calls wait for that.
    pub registrations_held: bool,
    pub registrations_waiting: usize,
    pub lag: Duration,
    /// Whether what is queued now starts when it is waited for, and how often all of it was released.
    pub puts_off: bool,
    pub releases: u64,
    /// Bytes of host memory that are page-locked.
    pub pinned: usize,
    /// Bytes set by `simcuda_set_memory`, by device.
    pub memory: BTreeMap<usize, usize>,
    /// Counts the resets: contexts that threads had current before are gone.
    pub epoch: u64,
    handles: Vec<(Kind, Fate)>,
    last_id: u64,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    Mutex::new(State {
        devices: Vec::new(),
        contexts: BTreeMap::new(),
        streams: BTreeMap::new(),
        events: BTreeMap::new(),
        blocks: BTreeMap::new(),
        captures: Vec::new(),
        graphs: BTreeMap::new(),
        executables: BTreeMap::new(),
        violations: Vec::new(),
        held: false,
        registrations_held: false,
        registrations_waiting: 0,
        lag: settings::lag(),
        puts_off: false,
        releases: 0,
        pinned: 0,
        memory: BTreeMap::new(),
        epoch: 0,
        handles: Vec::new(),
        last_id: 0,
    })
});

/// Woken when streams are released and when bytes of a block no longer move.
pub static CHANGED: Signal = Signal::new();

/// Everything, locked.
pub fn state() -> Guard {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles lie where no process has memory, and are never given out twice, so that a stale one is always found out.
const FIRST_HANDLE: Handle = 0x0051_4d00_0000_0000;
const HANDLE_STEP: Handle = 16;

impl State {
    /// A handle that was never used before.
    pub fn new_handle(&mut self, kind: Kind) -> Handle {
        self.handles.push((kind, Fate::Alive));
        FIRST_HANDLE + HANDLE_STEP * (self.handles.len() - 1)
    }

    /// A number that nothing else has.
    pub fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn issued(&mut self, handle: Handle) -> Option<&mut (Kind, Fate)> {
        let offset = handle.checked_sub(FIRST_HANDLE)?;
        if offset % HANDLE_STEP == 0 { self.handles.get_mut(offset / HANDLE_STEP) } else { None }
    }

    /// Notes that an object was destroyed by the call for that.
    pub fn note_destroyed(&mut self, handle: Handle) {
        if let Some(issued) = self.issued(handle) {
            issued.1 = Fate::Destroyed;
        }
    }

    /// Notes that an object went with its context.
    pub fn note_lost(&mut self, handle: Handle) {
        if let Some(issued) = self.issued(handle) {
            issued.1 = Fate::LostWithContext;
        }
    }

    /// Aborts if `handle` was a stream's or event's that the program destroyed; says whether it was lost with its context.
    pub fn check_not_destroyed(&mut self, handle: Handle, kind: Kind, what: &str) -> bool {
        match self.issued(handle) {
            Some((issued, Fate::Destroyed)) if *issued == kind => {
                process::die(&format!("use of {what} 0x{handle:x}, which was destroyed"))
            }
            Some((issued, Fate::LostWithContext)) => *issued == kind,
            _ => false,
        }
    }

    /// Whether `handle` was that of an object of that kind that the program destroyed.
    pub fn was_destroyed(&mut self, handle: Handle, kind: Kind) -> bool {
        self.issued(handle).is_some_and(|issued| *issued == (kind, Fate::Destroyed))
    }

    /// Counts a rule that the program broke.
    pub fn violation(&mut self, sentence: String) {
        self.violations.push(sentence);
    }
}
