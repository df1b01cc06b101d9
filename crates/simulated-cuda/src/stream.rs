//! Streams: queues of operations, and tokens of these. `queue` fills them and works them off.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::abi::Handle;
use crate::block::Block;
use crate::operation::Action;
use crate::settings::Lag;
use crate::signal::{CHANGED, Signal};

/// Tokens keep a stream after it is destroyed.
pub struct Stream {
    pub handle: Handle,
    pub context: Handle,
    /// The legacy default stream of its context.
    pub legacy: bool,
    /// Whether it is ordered with the legacy stream.
    pub blocking: bool,
    pub completed: AtomicU64,
    /// The newest operation that a thread, or work that is not put off, waits for.
    pub wanted: AtomicU64,
    /// Raised when an operation completes, and when the stream is cancelled.
    pub done: Signal,
    pub work: Signal,
    /// Locked only while the state is locked.
    queue: Mutex<Queue>,
}

#[derive(Default)]
pub struct Queue {
    pub operations: VecDeque<Operation>,
    pub issued: u64,
    /// The tokens that operations wait for, by number, for those that may not be done.
    pub waits: VecDeque<(u64, Vec<Token>)>,
    pub closing: bool,
    pub cancelled: bool,
    /// The thread has an operation in hand.
    pub running: bool,
    pub worker: Option<JoinHandle<()>>,
}

impl Queue {
    pub fn issue(&mut self) -> u64 {
        self.issued += 1;
        self.issued
    }
}

pub struct Operation {
    pub number: u64,
    pub after: Vec<Token>,
    pub not_before: Option<Instant>,
    /// The count of releases when it was put off, until it is wanted or streams are released.
    pub put_off: Option<u64>,
    pub action: Action,
    pub blocks: Vec<Arc<Block>>,
}

/// A queued operation.
#[derive(Clone)]
pub struct Token {
    pub stream: Arc<Stream>,
    pub number: u64,
}

impl Token {
    pub fn is_done(&self) -> bool {
        self.stream.completed.load(Ordering::Acquire) >= self.number
    }

    pub fn wait<'g, T>(&self, mut guard: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
        self.want();
        while !self.is_done() {
            guard = self.stream.done.wait(guard);
        }
        guard
    }

    /// Identifies the token's stream.
    pub fn stream_key(&self) -> *const Stream {
        Arc::as_ptr(&self.stream)
    }

    /// The operation before it in its stream.
    pub fn before(&self) -> Token {
        Token { stream: Arc::clone(&self.stream), number: self.number - 1 }
    }

    /// The tokens for which the operations of its stream wait, from after number `known` up to this one.
    pub fn waits_of_its_stream(&self, known: u64) -> Vec<Token> {
        let queue = self.stream.queue();
        let waits = queue.waits.iter().filter(|(number, _)| (known + 1..=self.number).contains(number));
        waits.flat_map(|(_, tokens)| tokens.iter().cloned()).collect()
    }

    /// Stores the tokens for which it waits.
    pub fn note_waits(&self, after: &[Token]) {
        let completed = self.stream.completed.load(Ordering::Acquire);
        let mut queue = self.stream.queue();
        while queue.waits.front().is_some_and(|(number, _)| *number <= completed) {
            queue.waits.pop_front();
        }
        if !after.is_empty() {
            queue.waits.push_back((self.number, after.to_vec()));
        }
    }

    /// Allows it to start if it is put off, with all operations before it. Called under the state's lock.
    pub fn want(&self) {
        if self.stream.wanted.fetch_max(self.number, Ordering::AcqRel) < self.number {
            CHANGED.raise();
        }
    }
}

impl Stream {
    pub fn new(handle: Handle, context: Handle, legacy: bool, blocking: bool) -> Arc<Stream> {
        Arc::new(Stream {
            handle,
            context,
            legacy,
            blocking,
            completed: AtomicU64::new(0),
            wanted: AtomicU64::new(0),
            done: Signal::new(),
            work: Signal::new(),
            queue: Mutex::default(),
        })
    }

    pub fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn last(self: &Arc<Self>) -> Token {
        Token { stream: Arc::clone(self), number: self.queue().issued }
    }

    pub fn is_idle(&self) -> bool {
        self.completed.load(Ordering::Acquire) >= self.queue().issued
    }

    /// A number that depends on the seed, the stream, and the operation's place in it.
    pub fn lot(&self, seed: u64, number: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (seed, self.context, self.handle, number).hash(&mut hasher);
        hasher.finish()
    }

    pub fn lag(&self, lag: Lag, number: u64) -> Option<Duration> {
        let most = u64::try_from(lag.most.as_micros()).unwrap_or(u64::MAX);
        let late = lag.seed.map_or(most, |seed| self.lot(seed, number) % most.saturating_add(1));
        (late > 0).then(|| Duration::from_micros(late))
    }

    pub fn is_closed(&self) -> bool {
        self.queue().closing
    }

    pub fn is_cancelled(&self) -> bool {
        self.queue().cancelled
    }

    pub fn is_running(&self) -> bool {
        self.queue().running
    }

    /// The thread ends when all is done.
    pub fn close(&self) {
        self.queue().closing = true;
        self.work.raise();
    }

    /// Drops what is queued, and returns the count; what is under way is completed.
    pub fn cancel(&self) -> u64 {
        let mut queue = self.queue();
        queue.cancelled = true;
        queue.closing = true;
        for operation in queue.operations.drain(..) {
            operation.blocks.iter().for_each(|block| block.forget_use());
        }
        let issued = queue.issued;
        drop(queue);
        let completed = self.completed.fetch_max(issued, Ordering::AcqRel);
        issued.saturating_sub(completed)
    }

    pub fn wake(&self) {
        self.done.raise();
        self.work.raise();
    }

    pub fn complete(&self, number: u64) {
        self.completed.fetch_max(number, Ordering::AcqRel);
        self.done.raise();
    }
}
