//! Blocks of memory that the driver allocated or registered, and ranges of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::abi::{Address, Handle};
use crate::space::File;
use crate::view::Seen;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// The host cannot reach it.
    Device,
    /// Device and host reach it.
    Managed,
    /// The driver's host memory, with the flags of its allocation.
    Pinned(u32),
    /// The program's host memory.
    Registered,
}

/// Queued operations keep it after it is freed.
#[derive(Debug)]
pub struct Block {
    pub id: u64,
    pub start: Address,
    pub bytes: usize,
    /// Bytes of the device's memory.
    pub taken: usize,
    pub memory: Memory,
    pub context: Handle,
    pub device: usize,
    /// Offset from the block's addresses to its bytes.
    pub shift: isize,
    /// The file with the bytes, if each kernel has its own view.
    pub file: Option<File>,
    pub freed: AtomicBool,
    /// Operations that are queued or under way and use the block.
    pub pending: AtomicUsize,
    /// Operations whose bytes are moving now.
    pub moving: AtomicUsize,
}

impl Memory {
    pub fn is_on_device(self) -> bool {
        matches!(self, Memory::Device | Memory::Managed)
    }

    /// Whether it lies in the device's own address range.
    pub fn is_out_of_reach(self) -> bool {
        self == Memory::Device
    }
}

impl Block {
    pub fn is_on_device(&self) -> bool {
        self.memory.is_on_device()
    }

    /// Address of the bytes for an address of the block.
    pub fn kept_at(&self, address: Address) -> Address {
        address.wrapping_add_signed(self.shift)
    }

    /// The block as a kernel of the calling thread sees it.
    pub fn seen(&self) -> Option<Seen> {
        Seen::new(self.start, self.bytes, self.kept_at(self.start), self.file)
    }

    pub fn is_freed(&self) -> bool {
        self.freed.load(Ordering::Relaxed)
    }

    pub fn end(&self) -> Address {
        self.start + self.bytes
    }

    /// An operation that uses the block was queued.
    pub fn expect_use(&self) {
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    pub fn begin_use(&self) {
        self.moving.fetch_add(1, Ordering::Relaxed);
    }

    pub fn end_use(&self) {
        self.moving.fetch_sub(1, Ordering::Relaxed);
    }

    /// The operation is over.
    pub fn forget_use(&self) {
        self.pending.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn is_expected(&self) -> bool {
        self.pending.load(Ordering::Relaxed) > 0
    }
}

/// A range of addresses; memory without a block is pageable.
#[derive(Clone)]
pub struct Span {
    pub address: Address,
    pub bytes: usize,
    pub block: Option<Arc<Block>>,
}

impl Span {
    pub fn is_on_device(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.is_on_device())
    }

    pub fn is_pageable(&self) -> bool {
        self.block.is_none()
    }

    pub fn kept_at(&self) -> Address {
        self.block.as_ref().map_or(self.address, |block| block.kept_at(self.address))
    }
}
