//! The tensors that were made of one object, and those whose memory it borrows.
//!
//! While tensors of an object are in use, its memory is neither replaced nor given back; an object of `syncedmem_create`
//! that is destroyed meanwhile ends with the last one.

// The numbers only distinguish objects, so loom need not model them.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_core::head::Side;

use super::{Holding, Imported};
use crate::error::Error;

/// Borrowed tensors, by side.
pub type Imports = [Option<Imported>; 2];

#[derive(Default)]
pub struct Tensors {
    /// Distinguishes objects at the same address; 0 before a first tensor.
    generation: u64,
    /// Tensors of the object in use, by side.
    exported: [usize; 2],
    imported: Imports,
    /// Destroyed, and waits for its tensors.
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Ends,
    /// It ends with its last tensor.
    Waits,
}

impl Tensors {
    pub fn is_empty(&self) -> bool {
        self.exported == [0, 0] && self.imported.iter().all(Option::is_none)
    }

    pub fn open(&mut self, object: usize, side: Side) -> Result<Holding, Error> {
        static GENERATIONS: AtomicU64 = AtomicU64::new(0);
        if self.ended {
            return Err(Error::InvalidHandle);
        }
        if self.generation == 0 {
            self.generation = GENERATIONS.fetch_add(1, Relaxed) + 1;
        }
        self.exported[side as usize] += 1;
        Ok(Holding { object, generation: self.generation, side })
    }

    /// Whether the tensor was made of this object, not of an earlier one at the address.
    pub fn know(&self, holding: Holding) -> bool {
        self.generation == holding.generation
    }

    /// Returns whether the object was destroyed and this was its last tensor.
    pub fn close(&mut self, side: Side) -> bool {
        let tensors = &mut self.exported[side as usize];
        *tensors = tensors.saturating_sub(1);
        self.ended && self.exported == [0, 0]
    }

    /// Tensors of the object in use, by side.
    pub fn exported(&self) -> [usize; 2] {
        self.exported
    }

    /// An error while tensors of `side`, without it of any side, are in use.
    pub fn refuse(&self, side: Option<Side>) -> Result<(), Error> {
        let [host, device] = self.exported;
        let (host, device) = match side {
            Some(Side::Host) => (host, 0),
            Some(Side::Device) => (0, device),
            None => (host, device),
        };
        if host + device > 0 { Err(Error::Exported { host, device }) } else { Ok(()) }
    }

    /// Marks the object as destroyed if tensors of it are in use.
    pub fn destroy(&mut self) -> Result<Fate, Error> {
        if self.ended {
            return Err(Error::InvalidHandle);
        }
        self.ended = self.exported != [0, 0];
        Ok(if self.ended { Fate::Waits } else { Fate::Ends })
    }

    /// Sets the tensor that a side borrows, or none. The caller ends the previous one without a lock.
    pub fn exchange(&mut self, side: Side, imported: Option<Imported>) -> Option<Imported> {
        std::mem::replace(&mut self.imported[side as usize], imported)
    }

    /// The caller ends them without a lock.
    pub fn take_imports(&mut self) -> Imports {
        std::mem::take(&mut self.imported)
    }

    /// Those of an object that ended without a call to the library: the next one at its address returns them.
    pub fn inherit(&mut self, mut earlier: Tensors) {
        self.imported = earlier.take_imports();
    }
}
