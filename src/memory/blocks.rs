//! The table of blocks: who made each one, and for which object.
//!
//! A block without an entry came from malloc's family, of this library or of an inlined original. The flag [`RECORDED`] is set while an entry may be of
//! any address, or an allocator of the program's is set: without it, a block with an entry begins a page, and the others
//! are freed without a look.
//!
//! The table's lock is held for no driver's call, no function of the program's and no other lock.
#![expect(unsafe_code, reason = "addresses are sent between threads")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_core::address_hash::{AddressMap, address_map};
use syncedmem_core::head::Side;

use super::driver::allocation::Allocation;
use super::host::allocator::Functions;
use super::mapping::Mapping;
use crate::error::Cause;
use crate::platform::sync::{Lock, locked_static};
use crate::state::flags::{self, RECORDED};

pub struct Block {
    pub maker: Maker,
    /// As the object asked for them.
    pub bytes: usize,
    /// The object's address.
    pub holder: usize,
}

#[derive(Clone, Copy)]
pub enum Maker {
    Mapping(Mapping),
    /// On the device, or page-locked.
    Driver(Allocation),
    /// An allocator of the program's own.
    Program(Functions),
    /// A thread's arena lent it.
    Arena,
    /// A thread's arena on the device lent it, out of a block of the driver's.
    DeviceArena(Allocation),
}

impl Block {
    pub fn new(maker: Maker, bytes: usize, holder: usize) -> Block {
        Block { maker, bytes, holder }
    }

    /// Bytes of a mapping behind the object's.
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

    fn may_begin_anywhere(&self) -> bool {
        matches!(self.maker, Maker::Program(_) | Maker::Arena)
    }
}

pub struct Table {
    blocks: AddressMap<Block>,
    /// The program's allocator of later blocks.
    program: Option<Functions>,
    /// Number of blocks that may begin anywhere.
    anywhere: usize,
    /// Blocks that the driver refused to free: see `deferred`.
    pub refused: Vec<(NonNull<c_void>, Allocation)>,
}

// SAFETY: blocks belong to the process, not to a thread; any thread may use the context of the program's functions.
unsafe impl Send for Table {}

locked_static! {
    static TABLE: Lock<Table> =
        Lock::new(Table { blocks: address_map(), program: None, anywhere: 0, refused: Vec::new() });
}

/// The sum of the blocks' `spare`.
static SPARE: AtomicU64 = AtomicU64::new(0);

/// `work` calls neither the driver nor the program, and takes no lock.
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

    /// Also returns the block that was at the address: other code has freed it.
    pub fn insert(&mut self, address: NonNull<c_void>, block: Block) -> Result<Option<Block>, Cause> {
        self.blocks.try_reserve(1).map_err(|_| Cause::Bookkeeping)?;
        let gone = self.remove(address);
        SPARE.fetch_add(block.spare(), Relaxed);
        self.anywhere += usize::from(block.may_begin_anywhere());
        self.blocks.insert(key(address), block);
        self.update_flag();
        Ok(gone)
    }

    pub fn remove(&mut self, address: NonNull<c_void>) -> Option<Block> {
        let block = self.blocks.remove(&key(address))?;
        SPARE.fetch_sub(block.spare(), Relaxed);
        self.anywhere -= usize::from(block.may_begin_anywhere());
        self.update_flag();
        Some(block)
    }

    /// Under the lock, because a thread that frees a block reads the flag after the block got its entry.
    fn update_flag(&self) {
        let is_used = self.program.is_some() || self.anywhere > 0;
        if is_used != flags::has(RECORDED) {
            flags::set(RECORDED, is_used);
        }
    }
}

/// Also returns the block that was at the address: other code has freed it.
pub fn keep(address: NonNull<c_void>, block: Block) -> Result<Option<Block>, Cause> {
    with(|table| table.insert(address, block))
}

/// What to do with a block that its object frees.
pub enum Freed {
    /// It has no entry.
    Unknown,
    /// Another object holds a block at the address: a reset of the device has ended the one to free.
    Anothers,
    /// The caller gives it back to its maker; the object asked for so many bytes.
    Of(Maker, usize),
}

pub fn free(address: NonNull<c_void>, holder: usize) -> Freed {
    with(|table| {
        let Some(block) = table.get(address) else { return Freed::Unknown };
        let (maker, bytes) = (block.maker, block.bytes);
        if matches!(maker, Maker::Driver(_) | Maker::DeviceArena(_)) && block.holder != holder {
            return Freed::Anothers;
        }
        table.remove(address);
        Freed::Of(maker, bytes)
    })
}

/// The allocator of later host blocks, if it is one of the program's.
#[inline]
pub fn program() -> Option<Functions> {
    if flags::has(RECORDED) { with(|table| table.program) } else { None }
}

pub fn set_program(program: Option<Functions>) {
    with(|table| {
        table.program = program;
        table.update_flag();
    });
}

/// Whether the block may have an entry. Takes no lock.
#[inline]
pub fn may_know(address: NonNull<c_void>) -> bool {
    const SMALLEST_PAGE: usize = 4096;
    key(address) % SMALLEST_PAGE == 0 || flags::has(RECORDED)
}

/// The bytes of mappings behind those that objects asked for.
pub fn spare() -> u64 {
    SPARE.load(Relaxed)
}

/// A block of the driver's, and the address of the object that holds it.
pub fn find(address: NonNull<c_void>) -> Option<(Allocation, usize)> {
    with(|table| {
        let block = table.get(address)?;
        block.allocation().map(|allocation| (allocation, block.holder))
    })
}

/// Changes what is known of a block of the driver's.
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

/// The driver's blocks of one side that objects hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub blocks: usize,
    pub bytes: u64,
    /// Bytes that the objects asked for.
    pub asked: u64,
    /// The objects' addresses, and the blocks' bytes.
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
                held.largest[place] = (block.holder, room);
            }
        }
    });
    held
}
