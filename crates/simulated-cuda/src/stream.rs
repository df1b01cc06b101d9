//! Streams: queues of operations, each with a thread that works them off, and the order between them.
//!
//! Work of the legacy stream waits for all earlier work of its context's blocking streams, and their later work for it
//! ("Stream synchronization behavior", CUDA Driver API: legacy default stream).

mod worker;

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::abi::Handle;
use crate::block::Block;
use crate::operation::{Action, perform};
use crate::process;
use crate::settings::Lag;
use crate::signal::Signal;
use crate::state::{CHANGED, Guard, State, state};

/// Tokens keep a stream after it is destroyed.
pub struct Stream {
    pub handle: Handle,
    pub context: Handle,
    /// The legacy default stream of its context.
    pub legacy: bool,
    /// Ordered with that.
    pub blocking: bool,
    completed: AtomicU64,
    /// The newest operation that a thread, or work that is not put off, waits for.
    wanted: AtomicU64,
    /// Raised when an operation completes, and when the stream is cancelled.
    done: Signal,
    work: Signal,
    /// Locked under the state's lock alone.
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    operations: VecDeque<Operation>,
    issued: u64,
    /// The tokens that operations wait for, by number, for those that may not be done.
    waits: VecDeque<(u64, Vec<Token>)>,
    closing: bool,
    cancelled: bool,
    /// The thread has an operation in hand.
    running: bool,
    worker: Option<JoinHandle<()>>,
}

impl Queue {
    fn issue(&mut self) -> u64 {
        self.issued += 1;
        self.issued
    }
}

struct Operation {
    number: u64,
    after: Vec<Token>,
    not_before: Option<Instant>,
    /// The count of releases when it was put off, until it is wanted or streams are released.
    put_off: Option<u64>,
    action: Action,
    blocks: Vec<Arc<Block>>,
}

/// A queued operation.
#[derive(Clone)]
pub struct Token {
    stream: Arc<Stream>,
    number: u64,
}

impl Token {
    pub fn is_done(&self) -> bool {
        self.stream.completed.load(Ordering::Acquire) >= self.number
    }

    pub fn wait(&self, mut guard: Guard) -> Guard {
        self.want();
        while !self.is_done() {
            guard = self.stream.done.wait(guard);
        }
        guard
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// Tells the token's stream from others.
    pub fn stream_key(&self) -> *const Stream {
        Arc::as_ptr(&self.stream)
    }

    /// The operation before it in its stream.
    pub fn before(&self) -> Token {
        Token { stream: Arc::clone(&self.stream), number: self.number - 1 }
    }

    /// What the operations of its stream wait for, from behind number `known` up to this one.
    pub fn waits_of_its_stream(&self, known: u64) -> Vec<Token> {
        let queue = self.stream.queue();
        let waits = queue.waits.iter().filter(|(number, _)| (known + 1..=self.number).contains(number));
        waits.flat_map(|(_, tokens)| tokens.iter().cloned()).collect()
    }

    /// Notes what it waits for.
    fn note_waits(&self, after: &[Token]) {
        let completed = self.stream.completed.load(Ordering::Acquire);
        let mut queue = self.stream.queue();
        while queue.waits.front().is_some_and(|(number, _)| *number <= completed) {
            queue.waits.pop_front();
        }
        if !after.is_empty() {
            queue.waits.push_back((self.number, after.to_vec()));
        }
    }

    /// Lets it start if it is put off, with all before it. Called under the state's lock.
    fn want(&self) {
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

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn last(self: &Arc<Self>) -> Token {
        Token { stream: Arc::clone(self), number: self.queue().issued }
    }

    pub fn is_idle(&self) -> bool {
        self.completed.load(Ordering::Acquire) >= self.queue().issued
    }

    /// A number that depends on the seed, the stream, and the operation's place in it.
    fn lot(&self, seed: u64, number: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (seed, self.context, self.handle, number).hash(&mut hasher);
        hasher.finish()
    }

    fn lag(&self, lag: Lag, number: u64) -> Option<Duration> {
        let most = u64::try_from(lag.most.as_micros()).unwrap_or(u64::MAX);
        let late = lag.seed.map_or(most, |seed| self.lot(seed, number) % most.saturating_add(1));
        (late > 0).then(|| Duration::from_micros(late))
    }

    pub fn is_closed(&self) -> bool {
        self.queue().closing
    }

    fn is_cancelled(&self) -> bool {
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
    fn cancel(&self) -> u64 {
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

    fn wake(&self) {
        self.done.raise();
        self.work.raise();
    }

    fn complete(&self, number: u64) {
        self.completed.fetch_max(number, Ordering::AcqRel);
        self.done.raise();
    }

    pub fn take_worker(&self) -> Option<JoinHandle<()>> {
        self.queue().worker.take()
    }
}

impl State {
    /// What new work of `stream` waits for.
    pub fn predecessors(&self, stream: &Stream) -> Vec<Token> {
        let Some(context) = self.contexts.get(&stream.context) else { return Vec::new() };
        let all = context.streams.iter().chain([&context.legacy]);
        let orders =
            |other: &&Arc<Stream>| if stream.legacy { other.blocking } else { stream.blocking && other.legacy };
        all.filter(orders).filter(|other| !other.is_idle()).map(Stream::last).collect()
    }

    /// Whether new work of `stream` could start at once.
    pub fn could_start(&self, stream: &Stream, after: &[Token]) -> bool {
        let held = self.held && !stream.legacy;
        let late = self.puts_off || self.order.is_some() || !self.lag.most.is_zero();
        stream.is_idle() && !held && !late && after.iter().all(Token::is_done)
    }

    /// It runs behind the stream's work, and behind `after`.
    pub fn queue(
        &mut self,
        stream: &Arc<Stream>,
        mut after: Vec<Token>,
        action: Action,
        blocks: Vec<Arc<Block>>,
    ) -> Token {
        after.extend(self.predecessors(stream));
        blocks.iter().for_each(|block| block.expect_use());
        let at_once = action.is_momentary() && self.could_start(stream, &after);
        let number = stream.queue().issue();
        let token = Token { stream: Arc::clone(stream), number };
        token.note_waits(&after);
        self.check_for_races(&token, &after, &action);
        let mut queue = stream.queue();
        let not_before = stream.lag(self.lag, number).map(|lag| Instant::now() + lag);
        let put_off = (self.puts_off || self.order.is_some_and(|seed| stream.lot(seed, number) % 2 == 0))
            .then_some(self.releases);
        // Work that reaches a context while it is destroyed is dropped.
        if at_once || queue.cancelled {
            drop(queue);
            action.happen();
            blocks.iter().for_each(|block| block.forget_use());
            stream.complete(number);
        } else {
            queue.operations.push_back(Operation { number, after, not_before, put_off, action, blocks });
            if queue.worker.is_none() {
                let stream = Arc::clone(stream);
                queue.worker =
                    Some(worker::start(move || work_off(&stream)).unwrap_or_else(|error| {
                        process::die(&format!("a stream's thread could not be started: {error}"))
                    }));
            }
            drop(queue);
            stream.work.raise();
        }
        if put_off.is_none() {
            token.want();
        }
        token
    }

    /// For streams whose context goes; returns the count of dropped operations.
    pub fn cancel(&mut self, streams: &[Arc<Stream>]) -> u64 {
        let dropped = streams.iter().map(|stream| stream.cancel()).sum();
        // Each stream may wait for each other one.
        let others = self.contexts.values().flat_map(|context| context.streams.iter().chain([&context.legacy]));
        others.chain(streams).for_each(|stream| stream.wake());
        CHANGED.raise();
        dropped
    }
}

/// Does `action` in the calling thread when its turn in `stream` comes; not if the stream is cancelled before.
pub fn run_in_turn(
    mut guard: Guard,
    stream: &Arc<Stream>,
    mut after: Vec<Token>,
    blocks: Vec<Arc<Block>>,
    action: Action,
) -> Guard {
    after.extend(guard.predecessors(stream));
    blocks.iter().for_each(|block| block.expect_use());
    // The number holds the place: later work of the stream waits for it.
    let number = stream.queue().issue();
    let token = Token { stream: Arc::clone(stream), number };
    token.note_waits(&after);
    guard.check_for_races(&token, &after, &action);
    after.push(token.before());
    for token in &after {
        guard = token.wait(guard);
    }
    if stream.is_cancelled() {
        blocks.iter().for_each(|block| block.forget_use());
        return guard;
    }
    guard = perform(guard, stream, action, &blocks);
    stream.complete(number);
    guard
}

/// A thread ends after so long without work: programs have more streams than they use at a time.
const IDLE: Duration = Duration::from_secs(5);

fn work_off(stream: &Arc<Stream>) {
    let mut guard = state();
    loop {
        let mut queue = stream.queue();
        if queue.cancelled {
            return;
        }
        if queue.closing && queue.operations.is_empty() {
            queue.worker = None;
            return;
        }
        let next = queue.operations.pop_front();
        queue.running = next.is_some();
        drop(queue);
        match next {
            None => match wait_a_while(guard, stream) {
                Some(still) => guard = still,
                None => return,
            },
            Some(operation) => {
                guard = run_when_allowed(guard, stream, operation);
                stream.queue().running = false;
                CHANGED.raise();
            }
        }
    }
}

/// `None`: the thread ends for lack of work. The next operation starts another.
fn wait_a_while(guard: Guard, stream: &Stream) -> Option<Guard> {
    let (guard, timed_out) = stream.work.wait_for(guard, IDLE);
    let mut queue = stream.queue();
    if timed_out && queue.operations.is_empty() {
        queue.worker = None;
        return None;
    }
    Some(guard)
}

fn run_when_allowed(mut guard: Guard, stream: &Arc<Stream>, operation: Operation) -> Guard {
    let before = operation.number - 1;
    loop {
        if stream.is_cancelled() {
            operation.blocks.iter().for_each(|block| block.forget_use());
            return guard;
        }
        let unfinished = operation.after.iter().find(|token| !token.is_done());
        let remaining =
            operation.not_before.map_or_else(Default::default, |t| t.saturating_duration_since(Instant::now()));
        if stream.completed.load(Ordering::Acquire) < before {
            // An earlier operation is under way in its caller's thread.
            guard = stream.done.wait(guard);
        } else if operation.put_off == Some(guard.releases) && stream.wanted.load(Ordering::Acquire) < operation.number
        {
            guard = CHANGED.wait(guard);
        } else if let Some(token) = unfinished {
            token.want();
            guard = token.stream.done.wait(guard);
        } else if (guard.held && !stream.legacy) || process::is_over() {
            guard = CHANGED.wait(guard);
        } else if !remaining.is_zero() {
            guard = stream.work.wait_for(guard, remaining).0;
        } else {
            break;
        }
    }
    let Operation { number, action, blocks, .. } = operation;
    guard = perform(guard, stream, action, &blocks);
    stream.complete(number);
    guard
}
