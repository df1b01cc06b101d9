//! One thread's objects, and what it does to them.

use std::ffi::c_int;

use crate::contents::{self, Seed, UNIFORM};
use crate::settings::Weather;
use crate::subject::{LENT, Subject, succeeds};
use crate::support::gpu::{Foreign, Gpu, Stream};
use crate::support::model::{Block, Flight};
use crate::support::object::{OPERATIONS, Operation};
use crate::support::random::Random;
use syncedmem::abi::c::pools::*;

/// Of device 0, and of device 1.
const SLOTS: [usize; 2] = [8, 2];
pub const LARGEST: usize = 2 << 20;

pub struct Worker<'g> {
    gpu: &'g Gpu,
    random: Random,
    slots: Vec<Option<Subject<'g>>>,
    seed: Seed,
    /// Where work on host blocks leaves its result.
    scratch: Option<Foreign<'g>>,
    pub done: usize,
}

/// Streams of a worker, for the length of a round: a pair of each device.
struct Streams<'g> {
    copies: [Stream<'g>; 2],
    work: [Stream<'g>; 2],
    /// What `work` of device 0 reads from host blocks that were given back since, and should leave in `scratch`.
    left: Option<(Seed, usize)>,
}

impl<'g> Worker<'g> {
    pub fn new(gpu: &'g Gpu, seed: u64, number: u64) -> Worker<'g> {
        let slots = (0..SLOTS[0] + SLOTS[1]).map(|_| None).collect();
        let scratch = Some(gpu.block(LENT));
        Worker { gpu, random: Random::new(seed, number), slots, seed: 0, scratch, done: 0 }
    }

    /// Does so many operations.
    pub fn round(&mut self, operations: usize, weather: &Weather) {
        let both = |gpu: &'g Gpu| [0, 1].map(|device| gpu.stream_of(gpu.primary(device)));
        let mut streams = Streams { copies: both(self.gpu), work: both(self.gpu), left: None };
        for _ in 0..operations {
            let slot = self.random.below(self.slots.len());
            self.step(slot, &mut streams, weather);
            self.done += 1;
        }
        self.finish_work(&mut streams);
    }

    /// Ends every object.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = None);
    }

    /// The objects that there are.
    pub fn subjects(&mut self) -> impl Iterator<Item = &mut Subject<'g>> {
        self.slots.iter_mut().flatten()
    }

    /// Gives up whatever a reset of a device would take away.
    pub fn lay_down(&mut self) {
        self.clear();
        self.scratch = None;
    }

    /// Takes up again what it needs.
    pub fn take_up(&mut self) {
        self.scratch = Some(self.gpu.block(LENT));
    }

    fn scratch(&self) -> usize {
        self.scratch.as_ref().map_or(0, |scratch| scratch.address)
    }

    fn new_seed(&mut self) -> Seed {
        self.seed = self.seed % (UNIFORM - 1) + 1;
        self.seed
    }

    fn step(&mut self, slot: usize, streams: &mut Streams, weather: &Weather) {
        if self.random.one_in(2000) {
            return self.turn_a_knob(weather);
        }
        let device = usize::from(slot >= SLOTS[0]);
        let Some(subject) = &mut self.slots[slot] else {
            let bytes = size(&mut self.random);
            self.slots[slot] = Some(Subject::new(self.gpu, bytes, device as c_int));
            return;
        };
        let what = self.random.below(100);
        let ends = matches!(what, 80..=91);
        if subject.busy && !ends {
            self.finish_work(streams);
        }
        let seed = self.new_seed();
        let value = UNIFORM + self.random.below((255 - UNIFORM) as usize) as Seed;
        let own = self.random.one_in(2);
        let Some(subject) = &mut self.slots[slot] else { return };
        match what {
            0..=2 => subject.set_evictable(self.random.of(&[0, 1, 1])),
            3 => subject.pin(self.random.one_in(2)),
            4..=79 => {
                let operation = self.random.of(&OPERATIONS);
                let lends = matches!(operation, Operation::SetCpuData | Operation::SetGpuData);
                if lends && !subject.is_lent_memory() {
                    return;
                }
                let stream = if self.random.one_in(4) { None } else { Some(&streams.copies[device]) };
                subject.run(operation, stream, seed, own)
            }
            80..=91 => {
                if subject.busy && !(weather.may_leave_work && subject.may_leave_work()) {
                    self.finish_work(streams);
                }
                let Some(ended) = self.slots[slot].take() else { return };
                let (was_busy, bytes, device) = (ended.busy, ended.bytes, ended.device);
                drop(ended);
                if was_busy {
                    self.follow(slot, bytes, device, seed, streams);
                }
            }
            92..=95 => subject.start_work(&streams.work[device], value),
            96..=97 => subject.record(&streams.work[device]),
            _ if device == 0 && weather.may_leave_work && subject.bytes <= LENT => {
                self.finish_work(streams);
                self.leave_work_on_the_host(slot, streams, seed);
            }
            _ => {}
        }
    }

    /// Uses at once what may be the block of an object that ended in the midst of work, and looks at it when that is done.
    fn follow(&mut self, slot: usize, bytes: usize, device: c_int, seed: Seed, streams: &mut Streams) {
        let mut next = Subject::new(self.gpu, bytes, device);
        next.run(self.random.of(&[Operation::MutableGpuData, Operation::OverwriteGpuData]), None, seed, true);
        self.slots[slot] = Some(next);
        self.finish_work(streams);
        if let Some(next) = &mut self.slots[slot] {
            next.run(Operation::GpuData, None, seed, true);
        }
    }

    /// Lets a stream that the library does not know read a page-locked block, and ends its object meanwhile.
    fn leave_work_on_the_host(&mut self, slot: usize, streams: &mut Streams, seed: Seed) {
        let to = self.scratch() as u64;
        let Some(subject) = &mut self.slots[slot] else { return };
        subject.run(Operation::MutableCpuData, None, seed, true);
        if !subject.object.is_pinned() || subject.model.host.block != Block::Owned {
            return;
        }
        let (from, bytes) = (subject.object.host_address() as u64, subject.bytes);
        let start = || self.gpu.cuMemcpyAsync(to, from, bytes, streams.work[0].handle());
        assert_eq!(self.gpu.within(0, start), 0);
        streams.left = Some((seed, bytes));
        self.slots[slot] = None;
    }

    /// Waits for what the library does not know of.
    fn finish_work(&mut self, streams: &mut Streams) {
        streams.work.iter().for_each(Stream::synchronize);
        self.subjects().for_each(Subject::work_is_done);
        // Other bytes: a host block was handed out while it was read.
        if let Some((seed, bytes)) = streams.left.take() {
            contents::check_device(self.gpu, self.scratch(), bytes, seed);
        }
    }

    fn turn_a_knob(&mut self, weather: &Weather) {
        let kind = self.random.below(3) as i32;
        match self.random.below(4) {
            0 => succeeds(syncedmem_trim(kind)),
            1 => succeeds(syncedmem_trim(3)),
            2 => succeeds(syncedmem_set_pool_age(self.random.of(&[0.0, 0.01, 10.0]))),
            _ => {
                let budget = weather.budget(&mut self.random);
                succeeds(syncedmem_set_pool_budget(budget))
            }
        }
    }

    /// In a forked child: what the host has is there, the rest is refused.
    pub fn look_in_child(&mut self) {
        for subject in self.subjects() {
            let is_there = subject.model.host.current && subject.model.flight == Flight::None;
            let data = subject.object.cpu_data();
            if is_there {
                contents::check_host(data.unwrap(), subject.bytes, subject.model.host.contents);
            }
        }
        for _ in 0..20 {
            let bytes = size(&mut self.random);
            let mut object = crate::support::object::Object::new(bytes);
            let data = object.mutable_cpu_data().unwrap();
            contents::check_host(data, bytes, 0);
            contents::write_host(data, bytes, 1);
        }
        self.slots.iter_mut().filter_map(Option::take).for_each(Subject::end_in_child);
    }
}

/// Small ones are many, large ones are few.
fn size(random: &mut Random) -> usize {
    let power = random.of(&[3, 6, 9, 12, 13, 14, 15, 16, 16, 17, 18, 19, 20]);
    // A few of each again and again, as nets have, and others in between.
    let size = (1 << power) * (8 + random.below(8)) / 8;
    if random.one_in(3) { (size + random.below(1 << power)).min(LARGEST) } else { size }
}
