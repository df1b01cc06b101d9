//! Objects, their tensors and what is lent to them, at random, on a device that is too small for them, while several threads
//! delete tensors: every object's newest data stays what it was, every tensor's memory its object's, and each lender gets
//! its memory back once, when it is no longer used.

use std::ffi::c_void;
use std::rc::Rc;
use std::sync::mpsc;

use crate::shared_memory::*;
use crate::support::tensor::*;
use crate::support::*;

/// Blocks that the device has room for: fewer than the objects need.
const ROOM: usize = 7;
const OBJECTS: usize = 6;
const THREADS: usize = 3;

/// An object as it must be.
struct Model {
    mem: *mut syncedmem_t,
    /// The value of each word of its newest data.
    newest: u32,
    values: Values,
    is_evictable: bool,
    /// The memory that its sides refer to, through any number of objects.
    lent: [Vec<Rc<Lent>>; 2],
    /// Tensors in the test's hands, and how many are with the threads: those may be deleted by now.
    held: Vec<(usize, Tensor)>,
    sent: [usize; 2],
}

struct World<'g> {
    gpu: &'g Gpu,
    random: Random,
    objects: Vec<Option<Model>>,
    /// Destroyed objects whose tensors are still in use.
    orphans: Vec<(usize, Tensor, Values)>,
    foreign: Vec<Rc<Lent>>,
    /// Device memory that was to be lent.
    blocks: Vec<u64>,
    threads: Vec<mpsc::Sender<Tensor>>,
    value: u32,
}

type Access = unsafe extern "C" fn(*mut syncedmem_t, *mut *mut c_void) -> syncedmem_status_t;

/// By side, and whether what is there is wanted.
const WRITES: [[Access; 2]; 2] = [
    [syncedmem_overwrite_cpu_data, syncedmem_mutable_cpu_data],
    [syncedmem_overwrite_gpu_data, syncedmem_mutable_gpu_data],
];

/// Errors that may come where there is too little memory, and the driver may fail.
fn succeeds(status: syncedmem_status_t) -> bool {
    let known = matches!(status, SYNCEDMEM_SUCCESS | SYNCEDMEM_ERROR_OUT_OF_MEMORY | SYNCEDMEM_ERROR_DRIVER);
    assert!(known, "{status:?}: {}", last_error());
    status == SYNCEDMEM_SUCCESS
}

/// Entry points, and how one of their calls may fail.
const FAULTS: [(&str, i32); 5] = [
    ("cuMemAlloc_v2", 999),
    ("cuMemcpy", 999),
    ("cuMemcpyAsync", 999),
    ("cuMemsetD8_v2", 999),
    ("cuMemHostRegister_v2", 2),
];

impl Model {
    /// Sees how many of its tensors the threads have deleted.
    fn count(&mut self) {
        let (host, device) = exports(self.mem);
        for (side, count) in [host, device].into_iter().enumerate() {
            let held = self.held.iter().filter(|(of, _)| *of == side).count();
            assert!((held..=held + self.sent[side]).contains(&count), "{count} of {held} and {}", self.sent[side]);
            self.sent[side] = count - held;
        }
    }
}

impl World<'_> {
    fn words(&self, side: usize, data: *mut u8) -> Vec<u32> {
        match side {
            0 => unsafe { std::slice::from_raw_parts(data.cast(), WORDS) }.to_vec(),
            _ => {
                let bytes = self.gpu.read(data as usize, BYTES);
                bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
            }
        }
    }

    fn fill(&self, side: usize, data: *mut u8, value: u32) {
        match side {
            0 => unsafe { std::slice::from_raw_parts_mut(data.cast::<u32>(), WORDS) }.fill(value),
            _ => self.gpu.write(data as usize, &value.to_le_bytes().repeat(WORDS)),
        }
    }

    fn new_value(&mut self) -> u32 {
        self.value += 1;
        self.value
    }

    fn create(&mut self, at: usize) {
        let (mem, how) = (created(BYTES), self.random.below(2) as i32);
        let is_evictable = how == 1;
        if is_evictable {
            assert_eq!(unsafe { syncedmem_set_evictable(mem, how) }, SYNCEDMEM_SUCCESS);
        }
        let values = Values::new();
        let model =
            Model { mem, newest: 0, values, is_evictable, lent: Default::default(), held: vec![], sent: [0; 2] };
        self.objects[at] = Some(model);
    }

    fn read(&mut self, model: &Model, side: usize) {
        let mut data = std::ptr::null();
        let read = [syncedmem_cpu_data, syncedmem_gpu_data][side];
        if succeeds(unsafe { read(model.mem, &mut data) }) {
            let words = self.words(side, data.cast_mut().cast());
            assert!(words.iter().all(|&word| word == model.newest), "{} is {:?}", model.newest, words[0]);
            self.end_access(model);
        }
    }

    fn write(&mut self, model: &mut Model, side: usize) {
        let mut data = std::ptr::null_mut();
        if succeeds(unsafe { WRITES[side][self.random.below(2)](model.mem, &mut data) }) {
            self.written(model, side, data.cast());
            self.end_access(model);
        }
    }

    fn written(&mut self, model: &mut Model, side: usize, data: *mut u8) {
        model.newest = self.new_value();
        model.values.add(model.newest);
        self.fill(side, data, model.newest);
    }

    fn end_access(&self, model: &Model) {
        if model.is_evictable {
            assert_eq!(unsafe { syncedmem_end_access(model.mem) }, SYNCEDMEM_SUCCESS, "{}", last_error());
        }
    }

    fn export(&mut self, model: &mut Model, side: usize, access: i32) -> Option<Tensor> {
        let versioned = access == READ || self.random.below(2) == 0;
        let ask = Ask { side: side as i32, access, shape: &[WORDS as i64], versioned, ..FLOATS };
        match export(model.mem, ask) {
            Ok(tensor) if access != READ => {
                self.written(model, side, tensor.data());
                Some(tensor)
            }
            Ok(tensor) => Some(tensor),
            Err(status) => {
                assert!(!succeeds(status));
                None
            }
        }
    }

    /// A tensor's memory is still what its object once was, all of it.
    fn check(&self, side: usize, tensor: &Tensor, values: &Values) {
        // A pull may be on its way to it.
        self.gpu.within(0, || assert_eq!(self.gpu.cuStreamSynchronize(std::ptr::null_mut()), 0));
        let words = self.words(side, tensor.data());
        assert!(
            values.have(words[0]) && words.iter().all(|&word| word == words[0]),
            "side {side}: {} and {}",
            words[0],
            words[WORDS - 1]
        );
    }

    fn send(&mut self, tensor: Tensor) {
        let to = self.random.below(THREADS);
        self.threads[to].send(tensor).unwrap();
    }

    /// Whether something that tensors of a side stand in the way of was done.
    fn may_be_exported(&self, model: &Model, sides: &[usize], status: syncedmem_status_t) -> bool {
        let held = sides.iter().any(|side| model.held.iter().any(|(of, _)| of == side));
        let sent = sides.iter().any(|&side| model.sent[side] > 0);
        if status == SYNCEDMEM_ERROR_EXPORTED {
            assert!(held || sent, "there is no tensor");
        } else {
            assert!(!held, "a tensor's memory was taken away: {status:?}");
        }
        status == SYNCEDMEM_SUCCESS
    }

    fn lend(&mut self, model: &mut Model, foreign: Rc<Lent>) {
        let side = (foreign.managed.tensor.device.0 == 2) as usize;
        let value = self.new_value();
        self.fill(side, foreign.managed.tensor.data.cast(), value);
        let status =
            unsafe { syncedmem_set_dlpack(model.mem, std::ptr::from_ref(&*foreign.managed).cast_mut().cast(), true) };
        if self.may_be_exported(model, &[side], status) {
            self.foreign.push(foreign.clone());
            (model.newest, model.lent[side]) = (value, vec![foreign]);
            model.values.add(value);
        } else {
            assert_eq!((status, foreign.deleted()), (SYNCEDMEM_ERROR_EXPORTED, 0));
        }
    }

    /// Lends a tensor of one object to another, and destroys the first.
    fn chain(&mut self, mut from: Model, to: &mut Model, side: usize) {
        if let Some(tensor) = self.export(&mut from, side, WRITE) {
            let value = from.newest;
            let versioned = tensor.is_versioned();
            let status = unsafe { syncedmem_set_dlpack(to.mem, tensor.address, versioned) };
            if self.may_be_exported(to, &[side], status) {
                let _ = tensor.into_raw();
                let lent = from.lent.iter().flatten().cloned().collect();
                (to.newest, to.lent[side]) = (value, lent);
                to.values.0.extend(from.values.0.iter().cloned());
                to.values.add(value);
            }
        }
        self.destroy(from);
    }

    fn destroy(&mut self, model: Model) {
        assert_eq!(destroy(model.mem), SYNCEDMEM_SUCCESS);
        let Model { held, values, .. } = model;
        self.orphans.extend(held.into_iter().map(|(side, tensor)| (side, tensor, values.clone())));
    }

    fn release(&mut self, model: &mut Model, side: usize) {
        let release = [syncedmem_release_cpu, syncedmem_release_gpu][side];
        let status = unsafe { release(model.mem) };
        if self.may_be_exported(model, &[side], status) {
            model.lent[side].clear();
        } else {
            assert!(matches!(status, SYNCEDMEM_ERROR_EXPORTED | SYNCEDMEM_ERROR_INVALID_STATE), "{status:?}");
        }
    }

    fn mark(&mut self, model: &mut Model) {
        let how = self.random.below(2) as i32;
        let status = unsafe { syncedmem_set_evictable(model.mem, how) };
        if model.is_evictable || how == 0 {
            assert_eq!(status, SYNCEDMEM_SUCCESS);
            model.is_evictable = how != 0;
        } else {
            model.is_evictable = self.may_be_exported(model, &[0, 1], status);
        }
    }

    /// Copies that may be in flight while anything else is done.
    fn transfer(&mut self, model: &Model) {
        let null = std::ptr::null_mut();
        let status = unsafe {
            match self.random.below(4) {
                0 => syncedmem_async_gpu_push(model.mem, null),
                1 => syncedmem_async_cpu_pull(model.mem, null),
                2 => syncedmem_pin(model.mem),
                _ => syncedmem_unpin(model.mem),
            }
        };
        // There may be nothing to copy or to page-lock.
        if status != SYNCEDMEM_ERROR_INVALID_STATE {
            succeeds(status);
        }
    }

    fn step(&mut self, faults: bool) {
        if faults && self.random.below(4) == 0 {
            let (function, status) = FAULTS[self.random.below(FAULTS.len())];
            self.gpu.fail(function, 1 + self.random.below(3) as u32, status);
        }
        let at = self.random.below(OBJECTS);
        let Some(mut model) = self.objects[at].take() else { return self.create(at) };
        model.count();
        let (side, what) = (self.random.below(2), self.random.below(24));
        match what {
            0..4 => self.read(&model, side),
            4..7 => self.write(&mut model, side),
            7..11 => {
                let access = self.random.below(3) as i32;
                let tensor = self.export(&mut model, side, access);
                model.held.extend(tensor.map(|tensor| (side, tensor)));
            }
            11..15 if !model.held.is_empty() => {
                let (side, tensor) = model.held.swap_remove(self.random.below(model.held.len()));
                self.check(side, &tensor, &model.values);
                if self.random.below(3) > 0 {
                    model.sent[side] += 1;
                    self.send(tensor);
                }
            }
            15 => self.lend(&mut model, Lent::new(None)),
            16 => {
                let mut address = 0;
                let status = self.gpu.within(0, || self.gpu.cuMemAlloc_v2(&mut address, BYTES));
                if status == 0 {
                    self.blocks.push(address);
                    self.lend(&mut model, Lent::new(Some(address as usize)));
                }
            }
            17 | 18 => {
                let next = (at + 1) % OBJECTS;
                if let Some(mut to) = self.objects[next].take() {
                    self.chain(model, &mut to, side);
                    self.objects[next] = Some(to);
                    return;
                }
            }
            19 => return self.destroy(model),
            20 => self.release(&mut model, side),
            21 => self.mark(&mut model),
            22 => self.transfer(&model),
            _ if !self.orphans.is_empty() => {
                let (side, tensor, values) = self.orphans.swap_remove(self.random.below(self.orphans.len()));
                self.check(side, &tensor, &values);
                self.send(tensor);
            }
            _ => {}
        }
        let gone = model.lent.iter().flatten().any(|foreign| foreign.deleted() != 0);
        assert!(!gone, "memory that an object refers to went away");
        self.objects[at] = Some(model);
    }
}

fn at_random(gpu: &Gpu, seed: u64, steps: usize, faults: bool) {
    if gpu.is_simulated() {
        gpu.set_memory(ROOM * BYTES);
    }
    let deletes = |tensors: mpsc::Receiver<Tensor>| tensors.into_iter().for_each(drop);
    let (threads, running): (Vec<_>, Vec<_>) = std::iter::repeat_with(|| {
        let (send, receive) = mpsc::channel();
        (send, std::thread::spawn(move || deletes(receive)))
    })
    .take(THREADS)
    .unzip();
    let objects = (0..OBJECTS).map(|_| None).collect();
    let random = Random::new(seed, 0);
    let mut world = World { gpu, random, objects, orphans: vec![], foreign: vec![], blocks: vec![], threads, value: 0 };
    (0..steps).for_each(|_| world.step(faults));
    gpu.calm();
    for model in std::mem::take(&mut world.objects).into_iter().flatten() {
        world.destroy(model);
    }
    for (side, tensor, values) in std::mem::take(&mut world.orphans) {
        world.check(side, &tensor, &values);
        world.send(tensor);
    }
    world.threads.clear();
    running.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(world.foreign.iter().all(|foreign| foreign.deleted() == 1), "each lender gets it back");
    for block in world.blocks {
        gpu.within(0, || assert_eq!(gpu.cuMemFree_v2(block), 0));
    }
}

fn whatever_is_done_in_whatever_order_nothing_is_lost_and_nothing_is_left() {
    let gpu = gpu();
    let seeds = std::env::var("SYNCEDMEM_TEST_SEEDS").map_or(4, |seeds| seeds.parse().unwrap());
    for seed in 1..=seeds {
        println!("seed {seed}");
        at_random(&gpu, seed, 1500, gpu.is_simulated() && seed % 2 == 0);
    }
}

crate::support::harness::tests![whatever_is_done_in_whatever_order_nothing_is_lost_and_nothing_is_left,];
