//! A real object beside its model: each step is done to both, and compared.

use super::model::*;
use super::*;

const BYTES: usize = 24;
/// An address that nothing here follows, for where there is no driver.
const DEVICE: usize = 0x7000_0000_0000;

/// Where a sequence starts. The last two are objects whose device side another implementation filled: of the first
/// it keeps the block, of the second it has given it away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    Untouched,
    AtGpu,
    Synced,
}

pub const STARTS: [Start; 3] = [Start::Untouched, Start::AtGpu, Start::Synced];

/// What a step of a sequence is: an operation, perhaps after the copy in flight has landed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    pub operation: Operation,
    /// Asked only of `is_ready`, which alone tells the difference.
    pub lands_first: bool,
}

pub fn moves() -> Vec<Move> {
    let plain = OPERATIONS.into_iter().map(|operation| Move { operation, lands_first: false });
    plain.chain([Move { operation: Operation::IsReady, lands_first: true }]).collect()
}

/// What sequences share: the driver, and what can be lent to an object.
pub struct Ground<'g> {
    pub gpu: Option<&'g Gpu>,
    stream: Option<Stream<'g>>,
    host: [Vec<u8>; 2],
    pinned: Vec<Foreign<'g>>,
    device: Vec<Foreign<'g>>,
    pins: bool,
    /// The test's own blocks: on the device, pinned.
    own: [usize; 2],
}

impl<'g> Ground<'g> {
    pub fn new(gpu: Option<&'g Gpu>, pins: bool) -> Ground<'g> {
        assert_eq!(syncedmem_set_pinning(if pins { 1 } else { 2 }), SYNCEDMEM_SUCCESS);
        let two = |make: &dyn Fn(&'g Gpu) -> Foreign<'g>| gpu.iter().flat_map(|gpu| [make(gpu), make(gpu)]).collect();
        let mut ground = Ground {
            gpu,
            stream: gpu.map(|gpu| gpu.stream()),
            host: [vec![0; BYTES], vec![0; BYTES]],
            pinned: if pins { two(&|gpu| gpu.pinned(BYTES)) } else { Vec::new() },
            device: two(&|gpu| gpu.block(BYTES)),
            pins,
            own: [0, 0],
        };
        if let Some(simulated) = ground.simulated() {
            ground.own = [simulated.account().device_blocks, simulated.account().pinned_blocks];
        }
        ground
    }

    fn simulated(&self) -> Option<&'g Gpu> {
        self.gpu.filter(|gpu| gpu.is_simulated())
    }

    fn host(&self, number: usize) -> *mut u8 {
        match self.pinned.get(number) {
            Some(pinned) => pinned.pointer(),
            None => self.host[number].as_ptr().cast_mut(),
        }
    }

    fn device(&self, number: usize) -> *mut u8 {
        match self.device.get(number) {
            Some(block) => block.pointer(),
            None => std::ptr::without_provenance_mut(DEVICE + number * 512),
        }
    }

    fn hold(&self) {
        self.simulated().inspect(|gpu| gpu.control().simcuda_hold_streams());
    }

    fn land(&self) {
        self.simulated().inspect(|gpu| gpu.control().simcuda_release_streams());
        self.stream.as_ref().inspect(|stream| stream.synchronize());
    }
}

pub struct World<'g> {
    ground: &'g Ground<'g>,
    pub object: Object,
    pub model: Model,
    steps: u8,
}

impl<'g> World<'g> {
    pub fn new(ground: &'g Ground<'g>, start: Start) -> World<'g> {
        let mut object = Object::new(BYTES);
        let driver = ground.gpu.is_some();
        let mut model = Model::untouched(driver, ground.pins && driver);
        if start == Start::AtGpu {
            model.device = Half { current: true, block: Block::Borrowed(0), contents: 1 };
            ground.gpu.inspect(|gpu| gpu.write(ground.device(0).addr(), &pattern(1, BYTES)));
            object.put(8, &ground.device(0).addr().to_le_bytes());
            object.put(24, &[2, 0, 0, 0, 0, 0, 0]);
        }
        if start == Start::Synced {
            let contents = pattern(2, BYTES);
            model.host = Half { current: true, block: Block::Owned, contents: 2 };
            model.device = Half { current: true, block: Block::Owned, contents: 2 };
            // From the original's CaffeMallocHost.
            let mut block = std::ptr::null_mut();
            match ground.gpu.filter(|_| model.pinned) {
                Some(gpu) => gpu.within(0, || assert_eq!(gpu.cuMemHostAlloc(&mut block, BYTES, 0), 0)),
                None => block = unsafe { libc::malloc(BYTES) },
            }
            let block: *mut u8 = block.cast();
            unsafe { block.copy_from_nonoverlapping(contents.as_ptr(), BYTES) };
            object.put(0, &block.expose_provenance().to_le_bytes());
            let address = match ground.gpu {
                Some(gpu) => {
                    let mut address = 0;
                    gpu.within(0, || assert_eq!(gpu.cuMemAlloc_v2(&mut address, BYTES), 0));
                    gpu.write(address as usize, &contents);
                    address as usize
                }
                None => DEVICE,
            };
            object.put(8, &address.to_le_bytes());
            // It cannot be freed if there is no driver.
            object.put(24, &[3, 0, 0, 0, 1, u8::from(model.pinned), 1]);
        }
        World { ground, object, model, steps: 2 }
    }

    /// Does one step, and with `check` looks at everything afterwards.
    pub fn step(&mut self, step: Move, check: bool) -> Result<(), String> {
        use Operation::*;
        let (ground, operation) = (self.ground, step.operation);
        self.steps += 1;
        let seed = self.steps;
        // Whether a real driver's copies have landed is unknown.
        let lands_first = step.lands_first || (operation == IsReady && ground.simulated().is_none());
        if lands_first && self.model.is_flying() {
            ground.land();
            self.model.landed = true;
        }
        let borrowed = match (operation, self.model.host.block, self.model.device.block) {
            (SetCpuData, Block::Borrowed(0), _) | (SetGpuData, _, Block::Borrowed(0)) => 1,
            _ => 0,
        };
        let before = (self.model, self.object.host_address(), self.object.device_address());
        let expected = self.model.on(operation, seed, borrowed);
        self.prepare(step, &before.0, &expected, seed, borrowed);

        let with = With {
            host: ground.host(borrowed as usize),
            device: ground.device(borrowed as usize),
            stream: ground.stream.as_ref().map_or(std::ptr::null_mut(), Stream::handle),
        };
        if check {
            ground.simulated().inspect(|gpu| gpu.control().simcuda_clear_log());
        }
        let outcome = self.object.run(operation, &with);
        let status = outcome.err().unwrap_or(SYNCEDMEM_SUCCESS);
        same("status", status, expected.status)?;
        if let Some(gpu) = ground.simulated().filter(|_| check) {
            same("copies", gpu.copies(), expected.copies)?;
            if expected.silent {
                same("driver calls", names(&gpu.log()), Vec::new())?;
            }
        }
        if expected.waits == Waits::Yes && before.0.is_flying() {
            same("the copy has landed", ground.stream.as_ref().unwrap().is_idle(), true)?;
        }
        if !self.model.pinned && self.model.flight == Flight::Pull {
            // A copy into pageable memory returns when it is done.
            self.model.landed = true;
        }
        if operation == IsReady {
            same("ready", outcome.unwrap().addr() == 1, expected.ready)?;
        }
        if let Ok(data) = outcome {
            self.write(operation, data, seed)?;
        }
        if check { self.check(&before.0, before.1, before.2) } else { Ok(()) }
    }

    /// Fills the block to be borrowed. An operation that must not wait would hang, and one that must wait finds its copy released.
    fn prepare(&mut self, step: Move, before: &Model, expected: &Step, seed: u8, borrowed: u8) {
        use Operation::*;
        let ground = self.ground;
        match step.operation {
            SetCpuData => unsafe {
                let contents = pattern(seed, BYTES);
                ground.host(borrowed as usize).copy_from_nonoverlapping(contents.as_ptr(), BYTES);
            },
            SetGpuData => {
                ground.gpu.inspect(|gpu| gpu.write(ground.device(borrowed as usize).addr(), &pattern(seed, BYTES)));
            }
            _ => {}
        }
        if before.is_flying() && expected.waits == Waits::Maybe {
            ground.land();
        } else if before.is_flying() && expected.waits == Waits::Yes {
            // The stream is not synchronized: the operation itself must wait for it.
            ground.simulated().inspect(|gpu| gpu.control().simcuda_release_streams());
        }
        let starts = expected.copies != [0, 0] && (step.operation == Push || step.operation == Pull);
        if starts && (self.model.pinned || step.operation == Push) {
            ground.hold();
        }
    }

    /// Reads and writes through the address that an access gave, as its caller would.
    fn write(&mut self, operation: Operation, data: *mut u8, seed: u8) -> Result<(), String> {
        use Operation::*;
        let contents = pattern(seed, BYTES);
        match operation {
            CpuData | MutableCpuData | OverwriteCpuData => {
                same("address", data.addr(), self.object.host_address())?;
                if operation != CpuData {
                    unsafe { data.copy_from_nonoverlapping(contents.as_ptr(), BYTES) };
                }
            }
            GpuData | MutableGpuData | OverwriteGpuData => {
                same("address", data.addr(), self.object.device_address())?;
                if let Some(gpu) = self.ground.gpu.filter(|_| operation != GpuData) {
                    if self.model.is_flying() {
                        // The caller of a push synchronises the stream before the device's memory is used.
                        self.ground.land();
                        self.model.landed = true;
                    }
                    gpu.write(data.addr(), &contents);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn check(&self, before: &Model, host: usize, device: usize) -> Result<(), String> {
        let (model, object) = (&self.model, &self.object);
        same("head", object.head(), model.head())?;
        same("size", object.word(16), BYTES)?;
        let stands = |side, half: Half, earlier: Half, now, then, lent: [*mut u8; 2]| match half.block {
            Block::None => same(side, now, 0),
            Block::Borrowed(number) => same(side, now, lent[number as usize].addr()),
            // An owned block stays where it is.
            Block::Owned if earlier.block == Block::Owned => same(side, now, then),
            Block::Owned => same(side, now != 0, true),
        };
        let (hosts, devices) = ([0, 1].map(|at| self.ground.host(at)), [0, 1].map(|at| self.ground.device(at)));
        stands("host", model.host, before.host, object.host_address(), host, hosts)?;
        stands("device", model.device, before.device, object.device_address(), device, devices)?;
        if model.head() != 0 {
            let owns = [model.host.block, model.device.block].map(|block| u8::from(block == Block::Owned));
            // A flag counts only where there is a block; a host block of another implementation is pageable.
            same("owns host and device", [object.flags()[0], object.flags()[2]], owns)?;
        }
        if model.host.current {
            let data = std::ptr::with_exposed_provenance(object.host_address());
            let contents: &[u8] = unsafe { std::slice::from_raw_parts(data, BYTES) };
            same("host contents", contents, &pattern(model.host.contents, BYTES)[..])?;
        }
        let Some(gpu) = self.ground.gpu else { return Ok(()) };
        if model.device.current && !model.is_flying() {
            let contents = gpu.read(object.device_address(), BYTES);
            same("device contents", contents, pattern(model.device.contents, BYTES))?;
        }
        if let Some(gpu) = self.ground.simulated() {
            let (account, own) = (gpu.account(), self.ground.own);
            let owned = [model.device.block, model.host.block].map(|block| usize::from(block == Block::Owned));
            let pinned = if model.pinned { owned[1] } else { 0 };
            let alive = [account.device_blocks - own[0], account.pinned_blocks - own[1]];
            same("device and pinned blocks", alive, [owned[0], pinned])?;
        }
        Ok(())
    }

    /// What can be asked of the object must agree with the model, too.
    pub fn ask(&mut self) -> Result<(), String> {
        let model = self.model;
        let owns = [model.host.block, model.device.block].map(|block| block == Block::Owned);
        same("owns", [self.object.owns_cpu(), self.object.owns_gpu()], owns)?;
        same("pinned", self.object.is_pinned(), owns[0] && model.pinned)?;
        let known = model.driver && model.device.block != Block::None;
        same("ordinal", self.object.device_ordinal(), if known { 0 } else { -1 })
    }

    pub fn finish(self) -> Result<(), String> {
        let ground = self.ground;
        ground.simulated().inspect(|gpu| gpu.control().simcuda_release_streams());
        drop(self);
        if let Some(gpu) = ground.simulated() {
            let account = gpu.account();
            same("blocks at the end", [account.device_blocks, account.pinned_blocks], ground.own)?;
        }
        Ok(())
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: T, should_be: T) -> Result<(), String> {
    if is == should_be { Ok(()) } else { Err(format!("{what}: {is:?}, should be {should_be:?}; {}", last_error())) }
}
