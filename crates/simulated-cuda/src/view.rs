//! A kernel's own view of device memory (`SIMCUDA_STRICT`): in each thread that runs kernels, another mapping of a device's bytes, in which
//! the pages of the blocks that the running kernel was given can be reached, and no others.

use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::Address;
use crate::block::Block;
use crate::process;
use crate::space::{self, GAP, protect};

/// The bytes of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct File {
    pub descriptor: c_int,
    pub length: usize,
    /// The address that programs see of its first byte.
    pub seen: Address,
}

/// A thread's mapping of a file, which ends with the thread.
struct Window {
    file: File,
    start: Address,
}

impl Drop for Window {
    fn drop(&mut self) {
        space::unmap(self.start, self.file.length);
    }
}

thread_local! {
    static WINDOWS: RefCell<Vec<Window>> = const { RefCell::new(Vec::new()) };
}

fn window(file: File) -> Address {
    WINDOWS.with_borrow_mut(|windows| match windows.iter().find(|window| window.file == file) {
        Some(window) => window.start,
        None => match space::map(file.length, libc::PROT_NONE, Some(file.descriptor)) {
            Some(start) => {
                windows.push(Window { file, start });
                start
            }
            None => process::die("no address range is left for a kernel's view of device memory"),
        },
    })
}

/// A block, and where the running kernel finds it.
pub struct Seen {
    pub block: Arc<Block>,
    pub place: Address,
}

/// The blocks that a kernel was given, which its thread reaches until this is dropped.
pub struct View(pub Vec<Seen>);

impl View {
    pub fn open(blocks: &[Arc<Block>]) -> View {
        let see = |block: &Arc<Block>| {
            let in_window = block.file.map(|file| window(file) + (block.start - file.seen));
            Seen { block: Arc::clone(block), place: in_window.unwrap_or_else(|| block.kept_at(block.start)) }
        };
        let view = View(blocks.iter().map(see).collect());
        view.protect(libc::PROT_READ | libc::PROT_WRITE);
        view
    }

    /// Where the kernel finds an address of one of its blocks.
    pub fn place(&self, address: Address) -> Address {
        let holds = |seen: &&Seen| (seen.block.start..seen.block.end()).contains(&address);
        self.0.iter().find(holds).map_or(0, |seen| seen.place + (address - seen.block.start))
    }

    fn protect(&self, protection: c_int) {
        for seen in self.0.iter().filter(|seen| seen.block.file.is_some()) {
            let start = seen.place / GAP * GAP;
            if !protect(start, (seen.place + seen.block.bytes).next_multiple_of(GAP) - start, protection) {
                process::die("the system changes no more access rights of a kernel's view of device memory");
            }
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.protect(libc::PROT_NONE);
    }
}
