//! All blocks: the one at an address, new ones, and their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::abi::{Address, Handle, INVALID_VALUE, OUT_OF_MEMORY, Outcome};
use crate::block::{Block, Memory, Span};
use crate::settings;
use crate::signal::CHANGED;
use crate::space::{self, Space};
use crate::state::{Guard, State};

impl State {
    pub fn block_at(&self, address: Address) -> Option<&Arc<Block>> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        (address < block.end()).then_some(block)
    }

    /// An error if the range leaves its block, or is a device's and not allocated.
    pub fn span(&self, address: Address, bytes: usize) -> Outcome<Span> {
        let end = address.checked_add(bytes).ok_or(INVALID_VALUE)?;
        let block = self.block_at(address).cloned();
        match &block {
            Some(block) if end > block.end() => return Err(INVALID_VALUE),
            Some(_) => {}
            None if address == 0 || self.is_device_address(address) => return Err(INVALID_VALUE),
            None => {}
        }
        Ok(Span { address, bytes, block })
    }

    pub fn is_device_address(&self, address: Address) -> bool {
        self.devices
            .iter()
            .flat_map(|device| device.space.iter().chain(&device.former_spaces))
            .any(|space| space.contains(address))
    }

    pub fn add_block(&mut self, start: Address, bytes: usize, memory: Memory, context: Handle) -> Arc<Block> {
        let device = self.contexts.get(&context).map_or(0, |context| context.device);
        let taken = if memory.is_on_device() { space::rounded(bytes).unwrap_or(0) } else { 0 };
        let space = self.devices[device].space.as_ref().filter(|_| memory.is_out_of_reach());
        let (shift, file) = space.map_or((0, None), |space| (space.shift(), space.file()));
        let block = Arc::new(Block {
            id: self.new_id(),
            start,
            bytes,
            taken,
            memory,
            context,
            device,
            shift,
            file,
            freed: AtomicBool::new(false),
            pending: AtomicUsize::new(0),
            moving: AtomicUsize::new(0),
        });
        if !memory.is_on_device() {
            self.pinned += bytes;
            self.pinned_peak = self.pinned_peak.max(self.pinned);
        }
        let device = &mut self.devices[device];
        device.used += taken;
        device.peak = device.peak.max(device.used);
        self.blocks.insert(start, Arc::clone(&block));
        block
    }

    pub fn allocate_on_device(&mut self, bytes: usize, memory: Memory, context: Handle) -> Outcome<Arc<Block>> {
        let ordinal = self.contexts.get(&context).map_or(0, |context| context.device);
        let device = &mut self.devices[ordinal];
        let taken = space::rounded(bytes).ok_or(OUT_OF_MEMORY)?;
        if taken > device.available() {
            return Err(OUT_OF_MEMORY);
        }
        let start = if memory == Memory::Managed {
            space::map_host(bytes)
        } else {
            if device.used == 0 && device.space.as_ref().is_some_and(|space| !space.suffices(device.total)) {
                // The former addresses remain known and inaccessible.
                device.former_spaces.extend(device.space.take());
            }
            if device.space.is_none() {
                device.space = Space::reserve(device.total, settings::strict());
            }
            device.space.as_mut().and_then(|space| space.take(taken))
        };
        Ok(self.add_block(start.ok_or(OUT_OF_MEMORY)?, bytes, memory, context))
    }
}

/// Gives the block's memory back; a violation if a queued operation needs it. Waits while its bytes are moving, because its
/// pages go.
pub fn release(mut guard: Guard, block: &Arc<Block>) -> Guard {
    let state = &mut *guard;
    state.blocks.remove(&block.start);
    state.uses.forget(block);
    block.freed.store(true, Ordering::Relaxed);
    if block.is_expected() {
        let sentence =
            format!("0x{:x} ({} bytes) was freed while a queued operation needed it", block.start, block.bytes);
        state.violation(sentence);
    }
    while block.moving.load(Ordering::Relaxed) > 0 {
        guard = CHANGED.wait(guard);
    }
    let state = &mut *guard;
    if !block.is_on_device() {
        state.pinned -= block.bytes;
    }
    if let Some(device) = state.devices.get_mut(block.device) {
        device.used = device.used.saturating_sub(block.taken);
        if let Some(space) = device.space.as_mut().filter(|_| block.memory.is_out_of_reach()) {
            space.give_back(block.start, block.taken);
        }
    }
    if matches!(block.memory, Memory::Managed | Memory::Pinned(_)) {
        space::unmap_host(block.start, block.bytes);
    }
    guard
}
