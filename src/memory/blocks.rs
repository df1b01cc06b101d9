//! The table of blocks: who made each one, and for which object.
//!
//! A block without an entry came from malloc's family, of this library or of an inlined original. A block with
//! an entry begins a page, except an arena's, which exists only after [`SHARING`] is set: see [`may_know`].
//!
//! The table's lock is a leaf: no driver call and no other lock under it.
#![expect(unsafe_code, reason = "addresses are sent between threads")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_core::address_hash::{AddressMap, address_map};
use syncedmem_core::head::Side;

use super::driver::source::Allocation;
use super::mapping::Mapping;
use crate::error::Cause;
use crate::platform::sync::{Lock, locked_static};
use crate::state::flags::{self, SHARING};

pub struct Block {
    pub maker: Maker,
    /// The size that the object requested.
    pub bytes: usize,
    /// Address of the object that owns the block.
    pub owner: usize,
}

#[derive(Clone, Copy)]
pub enum Maker {
    Mapping(Mapping),
    /// On the device, or page-locked.
    Driver(Allocation),
    /// A span of a thread's arena on the host.
    Arena,
    /// A span of a thread's arena on the device, inside this allocation of the driver.
    DeviceArena(Allocation),
}

impl Block {
    pub fn new(maker: Maker, bytes: usize, owner: usize) -> Block {
        Block { maker, bytes, owner }
    }

    /// Bytes of a mapping beyond those that the object requested.
    fn spare(&self) -> u64 {
        match self.maker {
            Maker::Mapping(mapping) => mapping.room().saturating_sub(self.bytes) as u64,
            _ => 0,
        }
    }

    pub fn allocation(&self) -> Option<Allocation> {
        match self.maker {
            Maker::Driver(allocation) | Maker::DeviceArena(allocation) => Some(allocation),
            _ => None,
        }
    }
}

pub struct Table {
    blocks: AddressMap<Block>,
    /// Blocks that the driver refused to free: see `deferred`.
    pub refused: Vec<(NonNull<c_void>, Allocation)>,
}

// SAFETY: blocks belong to the process, not to a thread.
unsafe impl Send for Table {}

locked_static! {
    static TABLE: Lock<Table> =
        Lock::new(Table { blocks: address_map(), refused: Vec::new() });
}

/// The sum of the blocks' `spare`.
static SPARE: AtomicU64 = AtomicU64::new(0);

/// `work` must not call the driver or take a lock.
pub fn with<R>(work: impl FnOnce(&mut Table) -> R) -> R {
    TABLE.with(work)
}

fn key(address: NonNull<c_void>) -> usize {
    address.addr().get()
}

impl Table {
    pub fn get(&self, address: NonNull<c_void>) -> Option<&Block> {
        self.blocks.get(&key(address))
    }

    pub fn get_mut(&mut self, address: NonNull<c_void>) -> Option<&mut Block> {
        self.blocks.get_mut(&key(address))
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &Block)> {
        self.blocks.iter().map(|(&address, block)| (address, block))
    }

    /// Returns the block that had the address before: other code has freed it.
    pub fn insert(&mut self, address: NonNull<c_void>, block: Block) -> Result<Option<Block>, Cause> {
        self.blocks.try_reserve(1).map_err(|_| Cause::Bookkeeping)?;
        let gone = self.remove(address);
        SPARE.fetch_add(block.spare(), Relaxed);
        self.blocks.insert(key(address), block);
        Ok(gone)
    }

    pub fn remove(&mut self, address: NonNull<c_void>) -> Option<Block> {
        let block = self.blocks.remove(&key(address))?;
        SPARE.fetch_sub(block.spare(), Relaxed);
        Some(block)
    }
}

/// [`Table::insert`], under the lock.
pub fn keep(address: NonNull<c_void>, block: Block) -> Result<Option<Block>, Cause> {
    with(|table| table.insert(address, block))
}

/// What to do with a block that its object frees.
#[derive(Clone, Copy)]
pub enum Freed {
    /// The block has no entry: malloc's family made it, or an inlined original.
    Unknown,
    /// Another object owns a block at the address: a reset of the device has ended the one to free.
    Anothers(Allocation),
    /// The caller gives the block back to its maker. The number is the size that the object requested.
    Of(Maker, usize),
}

pub fn free(address: NonNull<c_void>, owner: usize) -> Freed {
    with(|table| {
        let Some(block) = table.get(address) else { return Freed::Unknown };
        let (maker, bytes) = (block.maker, block.bytes);
        if let Some(anothers) = block.allocation().filter(|_| block.owner != owner) {
            return Freed::Anothers(anothers);
        }
        table.remove(address);
        Freed::Of(maker, bytes)
    })
}

/// Whether the block may have an entry. Takes no lock.
#[inline]
pub fn may_know(address: NonNull<c_void>) -> bool {
    const SMALLEST_PAGE: usize = 4096;
    key(address) % SMALLEST_PAGE == 0 || flags::has(SHARING)
}

/// Bytes of mappings beyond those that objects requested.
pub fn spare() -> u64 {
    SPARE.load(Relaxed)
}

/// The allocation of a block of the driver, and the address of the object that owns it.
pub fn find(address: NonNull<c_void>) -> Option<(Allocation, usize)> {
    with(|table| {
        let block = table.get(address)?;
        block.allocation().map(|allocation| (allocation, block.owner))
    })
}

/// Changes the entry of a block of the driver. `None`: there is no such entry.
pub fn change<R>(address: NonNull<c_void>, change: impl FnOnce(&mut Allocation) -> R) -> Option<R> {
    with(|table| match table.get_mut(address) {
        Some(Block { maker: Maker::Driver(allocation) | Maker::DeviceArena(allocation), .. }) => {
            Some(change(allocation))
        }
        _ => None,
    })
}

pub fn set_pending_on_legacy(address: NonNull<c_void>, pending_on_legacy: bool) {
    change(address, |allocation| allocation.pending_on_legacy = pending_on_legacy);
}

/// Blocks of the driver at one side that objects own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub blocks: usize,
    pub bytes: u64,
    /// Bytes that the objects requested.
    pub asked: u64,
    /// Addresses of objects, and bytes of their blocks.
    pub largest: [(usize, usize); 3],
}

pub fn held(side: Side) -> Held {
    let mut held = Held::default();
    with(|table| {
        for (_, block) in table.iter() {
            let Some(room) = block.allocation().filter(|it| it.side == side).map(|it| it.room) else { continue };
            held.blocks += 1;
            held.bytes += room as u64;
            held.asked += block.bytes as u64;
            if let Some(place) = held.largest.iter().position(|&(_, other)| room > other) {
                held.largest[place..].rotate_right(1);
                held.largest[place] = (block.owner, room);
            }
        }
    });
    held
}
