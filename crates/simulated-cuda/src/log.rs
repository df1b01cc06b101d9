//! The log of calls, their counts, and injected faults.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{Display, LowerHex, Write as _};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::abi::{SUCCESS, Status};
use crate::settings;

/// Older text is dropped, and only counted.
const TEXT_LIMIT: usize = 64 << 20;

/// The `skip + 1`th call of `function` from now fails, and `times - 1` more (`None`: all that follow).
struct Fault {
    function: &'static str,
    skip: u32,
    times: Option<u32>,
    status: Status,
}

#[derive(Default)]
pub struct Log {
    calls: BTreeMap<&'static str, usize>,
    copies: BTreeMap<(&'static str, usize), usize>,
    lines: VecDeque<String>,
    length: usize,
    dropped: usize,
    faults: Vec<Fault>,
}

static LOG: LazyLock<Mutex<Log>> = LazyLock::new(|| {
    let mut log = Log::default();
    for (function, nth, status) in settings::faults() {
        log.fail(function, nth, status, 1);
    }
    Mutex::new(log)
});

/// Held for moments; a thread that holds it takes no other lock.
pub fn log() -> MutexGuard<'static, Log> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    /// Counts a call; returns the status of a fault that is due.
    pub fn begin(&mut self, function: &'static str) -> Option<Status> {
        *self.calls.entry(function).or_insert(0) += 1;
        let mut status = None;
        for fault in self.faults.iter_mut().filter(|fault| fault.function == function) {
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if status.is_none() {
                status = Some(fault.status);
                fault.times = fault.times.map(|times| times - 1);
            }
        }
        self.faults.retain(|fault| fault.times != Some(0));
        status
    }

    pub fn end(&mut self, Call { mut line, copy }: Call, thread: u32, status: Status) {
        let _ = writeln!(line, " thread={thread} -> {status}");
        if let Some(copy) = copy.filter(|_| status == SUCCESS) {
            *self.copies.entry(copy).or_insert(0) += 1;
        }
        self.length += line.len();
        self.lines.push_back(line);
        while self.length > TEXT_LIMIT {
            self.length -= self.lines.pop_front().map_or(self.length, |line| line.len());
            self.dropped += 1;
        }
    }

    /// The `nth` call from now and the `times - 1` that follow fail; `times` 0: all.
    pub fn fail(&mut self, function: &'static str, nth: u32, status: Status, times: u32) {
        let times = if times == 0 { None } else { Some(times) };
        self.faults.push(Fault { function, skip: nth.saturating_sub(1), times, status });
    }

    pub fn clear_faults(&mut self) {
        self.faults.clear();
    }

    pub fn clear(&mut self) {
        *self = Log { faults: std::mem::take(&mut self.faults), ..Log::default() };
    }

    /// `None`: of all functions.
    pub fn calls(&self, function: Option<&str>) -> usize {
        match function {
            Some(function) => self.calls.get(function).copied().unwrap_or(0),
            None => self.calls.values().sum(),
        }
    }

    /// Copies that were accepted. `None`: of any kind, of any size.
    pub fn copies(&self, kind: Option<&str>, bytes: Option<usize>) -> usize {
        let wanted = |key: &(&str, usize)| kind.is_none_or(|kind| kind == key.0) && bytes.is_none_or(|b| b == key.1);
        self.copies.iter().filter(|(key, _)| wanted(key)).map(|(_, count)| count).sum()
    }

    pub fn all_calls(&self) -> impl Iterator<Item = (&&'static str, &usize)> {
        self.calls.iter()
    }

    /// Numbers and bytes.
    pub fn copies_by_kind(&self) -> BTreeMap<&'static str, (usize, usize)> {
        let mut kinds = BTreeMap::new();
        for ((kind, bytes), count) in &self.copies {
            let sum = kinds.entry(*kind).or_insert((0, 0));
            *sum = (sum.0 + count, sum.1 + count * bytes);
        }
        kinds
    }

    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.length + 64);
        if self.dropped > 0 {
            let _ = writeln!(text, "# {} earlier calls are left out", self.dropped);
        }
        self.lines.iter().for_each(|line| text.push_str(line));
        text
    }
}

/// A line of the log.
pub struct Call {
    line: String,
    copy: Option<(&'static str, usize)>,
}

impl Call {
    pub fn new(function: &str) -> Call {
        let mut line = String::with_capacity(144);
        line.push_str(function);
        Call { line, copy: None }
    }

    pub fn number(&mut self, field: &str, value: impl Display) {
        let _ = write!(self.line, " {field}={value}");
    }

    pub fn hex(&mut self, field: &str, value: impl LowerHex) {
        let _ = write!(self.line, " {field}=0x{value:x}");
    }

    pub fn copy(&mut self, kind: &'static str, bytes: usize) {
        let _ = write!(self.line, " kind={kind}");
        self.copy = Some((kind, bytes));
    }
}
