//! The naive model of an object: two blocks with contents, which of them are current, and the copy in flight.
//! It knows nothing of how the library does it, and says of every operation what must come of it.

use super::*;

/// One side's block, and whose it is. Borrowed ones are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Block {
    None,
    Owned,
    Borrowed(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Half {
    pub current: bool,
    pub block: Block,
    /// The seed of the pattern in the block.
    pub contents: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flight {
    None,
    Push,
    Pull,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Model {
    pub host: Half,
    pub device: Half,
    pub flight: Flight,
    /// Whether the copy in flight has landed; the library may not have noticed yet.
    pub landed: bool,
    /// Whether the library's host blocks are pinned.
    pub pinned: bool,
    pub driver: bool,
}

/// Whether an operation waits for the copy in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    No,
    /// It may, and need not.
    Maybe,
    Yes,
}

/// The result that an operation must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub status: syncedmem_status_t,
    /// Copies from host to device, and from device to host.
    pub copies: [usize; 2],
    /// Whether there is nothing to do for which the driver would be needed.
    pub silent: bool,
    pub waits: Waits,
    /// What `is_ready` answers.
    pub ready: bool,
}

const NOTHING: Half = Half { current: false, block: Block::None, contents: 0 };

impl Model {
    pub fn untouched(driver: bool, pinned: bool) -> Model {
        Model { host: NOTHING, device: NOTHING, flight: Flight::None, landed: true, pinned, driver }
    }

    pub fn head(&self) -> u32 {
        u32::from(self.host.current) | u32::from(self.device.current) << 1
    }

    /// Whether a copy is still on its way.
    pub fn is_flying(&self) -> bool {
        self.flight != Flight::None && !self.landed
    }

    /// What a sequence cannot tell apart: all but the contents.
    pub fn shape(&self) -> (u32, Block, Block, Flight, bool) {
        (self.head(), self.host.block, self.device.block, self.flight, self.landed)
    }

    fn waits(&self, operation: Operation) -> Waits {
        use Operation::*;
        match (self.flight, operation) {
            (Flight::None, _) | (_, IsReady | GpuData | Push) => Waits::No,
            (_, Wait | SetCpuData | SetGpuData | MutableCpuData | OverwriteCpuData | ReleaseCpu) => Waits::Yes,
            (Flight::Push, MutableGpuData) => Waits::No,
            // A copy back into the host block waits; a host that is current is read at once.
            (Flight::Push, CpuData | Pull) if self.host.current => Waits::No,
            (Flight::Push, CpuData) => Waits::Yes,
            (Flight::Push, ReleaseGpu) if self.host.current => Waits::Yes,
            (Flight::Push, Pull | ReleaseGpu | OverwriteGpuData) => Waits::Maybe,
            (Flight::Pull, Pull) => Waits::No,
            (Flight::Pull, _) => Waits::Yes,
        }
    }

    /// Does the operation; whatever is written, or set, has `seed`'s pattern.
    pub fn on(&mut self, operation: Operation, seed: u8, borrowed: u8) -> Step {
        use Operation::*;
        let before = *self;
        let waits = self.waits(operation);
        let mut step = Step { status: SYNCEDMEM_SUCCESS, copies: [0, 0], silent: false, waits, ready: true };
        match waits {
            Waits::No => {}
            Waits::Maybe => self.landed = true,
            Waits::Yes => self.land(),
        }
        let quiet = before.flight == Flight::None;
        match operation {
            CpuData | MutableCpuData | OverwriteCpuData => {
                let reads = operation != OverwriteCpuData;
                let allocates = self.host.block == Block::None;
                step.copies[1] = usize::from(reads && self.device.current && !self.host.current);
                step.silent = waits == Waits::No && step.copies[1] == 0 && !(allocates && self.pinned);
                if step.copies[1] == 1 {
                    self.host.contents = self.device.contents;
                } else if allocates && reads {
                    self.host.contents = 0;
                }
                if allocates {
                    self.host.block = Block::Owned;
                }
                self.host.current = true;
                if operation != CpuData {
                    (self.device.current, self.host.contents) = (false, seed);
                }
            }
            GpuData | MutableGpuData | OverwriteGpuData => {
                let reads = operation != OverwriteGpuData;
                let allocates = self.device.block == Block::None;
                step.copies[0] = usize::from(reads && self.host.current && !self.device.current);
                step.silent = waits == Waits::No && self.device.current;
                if step.copies[0] == 1 {
                    self.device.contents = self.host.contents;
                } else if allocates && reads {
                    self.device.contents = 0;
                }
                if allocates {
                    self.device.block = Block::Owned;
                }
                self.device.current = true;
                if operation != GpuData {
                    (self.host.current, self.device.contents) = (false, seed);
                }
            }
            SetCpuData => {
                step.silent = quiet && !(self.pinned && self.host.block == Block::Owned);
                self.host = Half { current: true, block: Block::Borrowed(borrowed), contents: seed };
                self.device.current = false;
            }
            SetGpuData => {
                self.device = Half { current: true, block: Block::Borrowed(borrowed), contents: seed };
                self.host.current = false;
            }
            ReleaseCpu if self.device.current => {
                step.silent = quiet && !(self.pinned && self.host.block == Block::Owned);
                self.host = NOTHING;
            }
            ReleaseGpu if self.host.current => {
                step.silent = quiet && self.device.block != Block::Owned;
                self.device = NOTHING;
            }
            ReleaseCpu | ReleaseGpu => (step.status, step.silent) = (SYNCEDMEM_ERROR_INVALID_STATE, quiet),
            Push if self.head() == 1 => {
                step.copies[0] = 1;
                if self.device.block == Block::None {
                    self.device.block = Block::Owned;
                }
                (self.device.current, self.device.contents) = (true, self.host.contents);
                (self.flight, self.landed) = (Flight::Push, false);
            }
            Push => (step.status, step.silent) = (SYNCEDMEM_ERROR_INVALID_STATE, true),
            Pull if self.head() == 0 => (step.status, step.silent) = (SYNCEDMEM_ERROR_INVALID_STATE, true),
            Pull if self.host.current || self.flight == Flight::Pull => step.silent = true,
            Pull => {
                step.copies[1] = 1;
                if self.host.block == Block::None {
                    self.host.block = Block::Owned;
                }
                self.host.contents = self.device.contents;
                (self.flight, self.landed) = (Flight::Pull, false);
            }
            Wait => step.silent = quiet,
            IsReady => {
                (step.silent, step.ready) = (quiet, self.landed);
                if self.landed {
                    self.land();
                }
            }
        }
        // If there is no driver, nothing makes the device side the newest, and no device block is freed.
        let asks = match operation {
            MutableGpuData | OverwriteGpuData => before.host.current,
            ReleaseGpu => step.status == SYNCEDMEM_SUCCESS,
            _ => false,
        };
        let asks = asks || !step.silent;
        if !self.driver && asks {
            *self = before;
            step = Step { status: SYNCEDMEM_ERROR_NO_GPU, copies: [0, 0], silent: true, ..step };
        }
        step
    }

    /// The library knows that the copy in flight has landed.
    fn land(&mut self) {
        self.host.current |= self.flight == Flight::Pull;
        (self.flight, self.landed) = (Flight::None, true);
    }
}
