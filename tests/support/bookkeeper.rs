//! A bookkeeper who knows nothing of the library's events: it reads the simulated driver's log of every step, looks at the
//! objects before and after, and says what the account must be.

use std::collections::{HashMap, HashSet};

use super::driver::Account;
use super::figures::*;
use super::pools::{DEVICE, PINNED, idle};
use super::*;

/// From this size on, fresh pageable blocks are mappings.
const MAPPED_FROM: usize = 2 << 20;

/// Live blocks of the driver, by address.
#[derive(Default)]
pub struct Bookkeeper {
    /// The account as it must be.
    pub expected: syncedmem_stats_t,
    device: HashMap<usize, usize>,
    pinned: HashMap<usize, usize>,
    /// Bytes of the test's own.
    own: [usize; 2],
    /// Copies on streams that were started and whose event was recorded.
    started: u64,
    /// Streams of the library's own.
    streams: HashSet<usize>,
}

/// An object as seen from outside.
#[derive(Clone, Copy, PartialEq)]
struct Look {
    head: u32,
    host: usize,
    device: usize,
    size: usize,
}

impl Look {
    fn at(object: &Object) -> Look {
        let untouched = object.head() == 0;
        let [owns_host, _, owns_device, _] = object.flags();
        let block = |owned: u8, address| if untouched || owned == 0 { 0 } else { address };
        Look {
            head: object.head(),
            host: block(owns_host, object.host_address()),
            device: block(owns_device, object.device_address()),
            size: object.word(16),
        }
    }
}

fn number(call: &Call, field: &str) -> usize {
    let text = call.field(field).unwrap_or_else(|| panic!("{field} of {}", call.line));
    match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

fn add(sum: &mut syncedmem_sum_t, bytes: usize) {
    sum.count += 1;
    sum.bytes += bytes as u64;
}

impl Bookkeeper {
    /// Blocks of the test's own are in the driver already.
    pub fn new(own_device: &[(usize, usize)], own_pinned: &[(usize, usize)]) -> Bookkeeper {
        let bytes = |blocks: &[(usize, usize)]| blocks.iter().map(|&(_, bytes)| bytes).sum();
        Bookkeeper {
            device: own_device.iter().copied().collect(),
            pinned: own_pinned.iter().copied().collect(),
            own: [bytes(own_device), bytes(own_pinned)],
            ..Default::default()
        }
    }

    /// Does a step of one object, and takes down what came of it.
    pub fn step(
        &mut self,
        gpu: &Gpu,
        objects: &mut [Object],
        at: usize,
        operation: Operation,
        work: impl FnOnce(&mut Object) -> Outcome,
    ) -> Outcome {
        use Operation::*;
        let before = Look::at(&objects[at]);
        let pageable_before = counts().pageable.allocations.count;
        let (outcome, calls) = gpu.watch(|| work(&mut objects[at]));
        let worked = outcome.is_ok();
        // The kernel gives a new mapping with zeros in it: nothing is filled.
        let is_new = counts().pageable.allocations.count > pageable_before;
        let is_mapped = before.size >= MAPPED_FROM && is_new;
        let calls = self.read(calls);
        let accesses = match operation {
            CpuData => Some(&mut self.expected.host_reads),
            MutableCpuData => Some(&mut self.expected.host_writes),
            OverwriteCpuData => Some(&mut self.expected.host_overwrites),
            GpuData => Some(&mut self.expected.device_reads),
            MutableGpuData => Some(&mut self.expected.device_writes),
            OverwriteGpuData => Some(&mut self.expected.device_overwrites),
            _ => None,
        };
        accesses.into_iter().for_each(|count| *count += 1);
        let reads_zeros = before.head == 0 && before.size > 0 && matches!(operation, CpuData | MutableCpuData);
        if worked && reads_zeros && !is_mapped {
            add(&mut self.expected.host_fills, before.size);
        }
        if outcome == Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY) {
            let is_host = matches!(operation, CpuData | MutableCpuData | OverwriteCpuData | Pull);
            let failures = if is_host { &mut self.expected.host_failures } else { &mut self.expected.device_failures };
            add(failures, before.size);
        }
        let after = Look::at(&objects[at]);
        // A block that the driver did not give just now came from the pool.
        if after.device != 0
            && after.device != before.device
            && !calls.iter().any(|&(address, _)| address == after.device)
        {
            add(&mut self.expected.device.pool_hits, self.device[&after.device]);
        }
        if after.host != 0 && after.host != before.host {
            match self.pinned.get(&after.host) {
                Some(&bytes) if !calls.iter().any(|&(address, _)| address == after.host) => {
                    add(&mut self.expected.pinned.pool_hits, bytes);
                }
                Some(_) => {}
                None => add(&mut self.expected.pageable.allocations, after.size),
            }
        }
        outcome
    }

    /// Does what is no step, and takes down what came of it.
    pub fn watch(&mut self, gpu: &Gpu, work: impl FnOnce()) {
        let ((), calls) = gpu.watch(work);
        self.read(calls);
    }

    /// Takes the driver's log down, and returns the blocks that were given out: address and bytes.
    fn read(&mut self, calls: Vec<Call>) -> Vec<(usize, usize)> {
        let mut given = Vec::new();
        for call in calls.iter().filter(|call| call.status == 0) {
            let expected = &mut self.expected;
            match call.function.as_str() {
                "cuMemAlloc_v2" => {
                    let block = (number(call, "ptr"), number(call, "bytes"));
                    self.device.insert(block.0, block.1);
                    add(&mut expected.device.allocations, block.1);
                    given.push(block);
                }
                "cuMemHostAlloc" => {
                    let block = (number(call, "ptr"), number(call, "bytes"));
                    self.pinned.insert(block.0, block.1);
                    add(&mut expected.pinned.allocations, block.1);
                    given.push(block);
                }
                "cuMemFree_v2" => assert!(self.device.remove(&number(call, "ptr")).is_some(), "{}", call.line),
                "cuMemFreeHost" => {
                    assert!(self.pinned.remove(&number(call, "ptr")).is_some(), "{}", call.line);
                }
                "cuMemsetD8_v2" => add(&mut expected.device_fills, number(call, "bytes")),
                "cuCtxSynchronize" => expected.synchronises.count += 1,
                "cuStreamCreate" => drop(self.streams.insert(number(call, "stream"))),
                "cuEventRecord" if number(call, "stream") != 0 => {
                    self.started += u64::from(!self.streams.contains(&number(call, "stream")));
                }
                "cuMemcpy" | "cuMemcpyAsync" => self.copied(call),
                _ => {}
            }
        }
        given
    }

    fn copied(&mut self, call: &Call) {
        let to_device = call.field("kind") == Some("HtoD");
        let host = number(call, if to_device { "src" } else { "dst" });
        let is_pinned = self.pinned.iter().any(|(&start, &bytes)| (start..start + bytes).contains(&host));
        let expected = &mut self.expected;
        let sum = match (to_device, is_pinned) {
            (true, true) => &mut expected.to_device_pinned,
            (true, false) => &mut expected.to_device_pageable,
            (false, true) => &mut expected.to_host_pinned,
            (false, false) => &mut expected.to_host_pageable,
        };
        add(sum, number(call, "bytes"));
    }

    /// Compares the account with what it must be, now that a step is done. `is_calm`: no step failed that took a block and
    /// gave it back, which would be a peak that is not seen from outside.
    pub fn check(&mut self, gpu: &Gpu, objects: &[Object], is_calm: bool) {
        let is = counts();
        let (mut held, mut blocks) = ([0u64; 3], [0u64; 3]);
        for look in objects.iter().map(Look::at) {
            let mut hold = |kind: usize, bytes: usize| {
                held[kind] += bytes as u64;
                blocks[kind] += 1;
            };
            if look.device != 0 {
                hold(2, self.device[&look.device]);
            }
            match self.pinned.get(&look.host) {
                Some(&bytes) => hold(1, bytes),
                // An object of no bytes has an address, and no block.
                None if look.host != 0 && look.size != 0 => hold(0, look.size),
                None => {}
            }
        }
        let sum_of = |blocks: &HashMap<usize, usize>| blocks.values().sum::<usize>();
        let alive: Account = gpu.alive();
        assert_eq!(alive.device_bytes, sum_of(&self.device), "the log has every block of the device");
        let lives =
            [alive.device_bytes - self.own[0] - idle(DEVICE), sum_of(&self.pinned) - self.own[1] - idle(PINNED)];
        assert_eq!([held[2], held[1]], lives.map(|bytes| bytes as u64), "what the driver has out, but for idle blocks");

        let expected = &mut self.expected;
        let kinds = [
            (&mut expected.pageable, &is.pageable, held[0], blocks[0]),
            (&mut expected.pinned, &is.pinned, held[1], blocks[1]),
            (&mut expected.device, &is.device, held[2], blocks[2]),
        ];
        for (kind, (expected, is, held, blocks)) in kinds.into_iter().enumerate() {
            expected.live = held;
            expected.peak = expected.peak.max(held);
            if !is_calm {
                assert!(is.peak >= expected.peak, "{is:?} {expected:?}");
                expected.peak = is.peak;
                // A block from the pool that went back there at once.
                expected.pool_hits = is.pool_hits;
            }
            if kind == 0 {
                // Which of them came from the pool is not to be seen from outside.
                let both = (is.allocations.count + is.pool_hits.count, is.allocations.bytes + is.pool_hits.bytes);
                if is_calm {
                    let sums = [expected.allocations, expected.pool_hits];
                    assert_eq!(both, (sums[0].count + sums[1].count, sums[0].bytes + sums[1].bytes), "pageable blocks");
                }
                (expected.allocations, expected.pool_hits) = (is.allocations, is.pool_hits);
            }
            expected.frees.count = expected.allocations.count + expected.pool_hits.count - blocks;
            expected.frees.bytes = expected.allocations.bytes + expected.pool_hits.bytes - held;
            expected.turned_away = is.turned_away;
        }
        assert!(is.waits.count <= self.started, "no copy is done that was not started");
        expected.waits = is.waits;
        assert_same(&is, expected);
    }

    /// How many copies were started on streams.
    pub fn started(&self) -> u64 {
        self.started
    }
}

/// Asserts that figures are those that they should be, and says which are not.
#[track_caller]
fn assert_same(is: &syncedmem_stats_t, should_be: &syncedmem_stats_t) {
    let lines = |stats: &syncedmem_stats_t| format!("{stats:#?}").lines().map(str::to_string).collect::<Vec<_>>();
    let (mut path, mut differ) = (Vec::new(), String::new());
    for (is, should_be) in lines(is).iter().zip(lines(should_be)) {
        if is.ends_with('{') {
            path.push(is.trim().split(':').next().unwrap().to_string());
        } else if is.trim_start().starts_with('}') {
            path.pop();
        }
        if *is != should_be {
            differ += &format!("{} {}, should be {}\n", path[1..].join("."), is.trim(), should_be.trim());
        }
    }
    assert!(differ.is_empty(), "{differ}");
}
