//! The thread that works off a stream's operations.
#![expect(unsafe_code, reason = "blocks the signals of the threads it starts")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Operation, Stream};
use crate::operation::perform;
use crate::process;
use crate::state::{CHANGED, Guard, state};

pub fn start(stream: &Arc<Stream>) -> JoinHandle<()> {
    let stream = Arc::clone(stream);
    // The thread inherits the mask: it handles no signal of the program.
    // SAFETY: a signal set is plain data, for which zeros are a value.
    let (mut all, mut old): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: the set is this function's.
    unsafe { libc::sigfillset(&mut all) };
    // SAFETY: the set is this function's. A kernel's stray access goes to `fault`.
    unsafe { libc::sigdelset(&mut all, libc::SIGSEGV) };
    // SAFETY: both sets are this function's.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old) };
    let worker = std::thread::Builder::new().name("simcuda stream".into()).spawn(move || work_off(&stream));
    // SAFETY: `old` is what the call before filled.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut()) };
    match worker {
        Ok(worker) => worker,
        Err(error) => process::die(&format!("a stream's thread could not be started: {error}")),
    }
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
