//! Runs operations: the order between streams, their threads, and the effect of an operation.
//!
//! Work of the legacy stream waits for all earlier work of its context's blocking streams, and their later work for it
//! ("Stream synchronization behavior", CUDA Driver API: legacy default stream).
#![expect(unsafe_code, reason = "moves bytes, and calls the program's functions")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::abi::{fill_bytes, move_bytes};
use crate::block::Block;
use crate::operation::{Action, Kernel, Source};
use crate::signal::CHANGED;
use crate::state::{Guard, State, state};
use crate::stream::{Operation, Stream, Token};
use crate::{fault, life};

impl State {
    /// The operations for which new work of `stream` waits.
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

    /// Queues an operation. It runs after the stream's work and after `after`.
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
        self.note_uses(&token, &after, &action);
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
                    Some(start_thread(move || work_off(&stream)).unwrap_or_else(|error| {
                        life::die(&format!("a stream's thread could not be started: {error}"))
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

    fn note_uses(&mut self, token: &Token, after: &[Token], action: &Action) {
        let races = self.uses.add(token, after, action);
        self.violations.extend(races);
    }

    /// Cancels streams of a context that is being destroyed; returns the number of dropped operations.
    pub fn cancel(&mut self, streams: &[Arc<Stream>]) -> u64 {
        let dropped = streams.iter().map(|stream| stream.cancel()).sum();
        // Any stream may be waiting for one of these.
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
    // Later work of the stream waits for this number.
    let number = stream.queue().issue();
    let token = Token { stream: Arc::clone(stream), number };
    token.note_waits(&after);
    guard.note_uses(&token, &after, &action);
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

/// A stream's thread ends after this time without work, because programs have more streams than they use at a time.
const IDLE: Duration = Duration::from_secs(5);

/// Starts a stream's thread, which handles no signal of the program.
fn start_thread(work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    // The thread inherits the mask.
    // SAFETY: a signal set is plain data, for which zeros are a value.
    let (mut all, mut old): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: the set is this function's.
    unsafe { libc::sigfillset(&mut all) };
    // SAFETY: the set is this function's. `fault` handles a kernel's stray access.
    unsafe { libc::sigdelset(&mut all, libc::SIGSEGV) };
    // SAFETY: both sets are this function's.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old) };
    let worker = std::thread::Builder::new().name("simcuda stream".into()).spawn(work);
    // SAFETY: the previous call filled `old`.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut()) };
    worker
}

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
        } else if (guard.held && !stream.legacy) || life::is_over() {
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

/// Runs an operation, and releases the lock while bytes move or a function of the program runs.
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
                    fault::watch(name, blocks, |view| life::as_callback(|| run(view)))
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
            life::as_callback(|| unsafe { function(argument) });
            state()
        }
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
            // SAFETY: the span was checked against its block, which `moving` keeps mapped; it has as many bytes as were staged.
            unsafe { move_bytes(to.kept_at(), bytes.as_ptr().expose_provenance(), to.bytes) };
        }
        Action::Fill { to, value } => {
            // SAFETY: the span was checked against its block, which `moving` keeps mapped.
            unsafe { fill_bytes(to.kept_at(), value, to.bytes) };
        }
        _ => {}
    }
}
