//! A kernel's own view of device memory (`SIMCUDA_STRICT`): in each thread that runs kernels, another mapping of a device's bytes, in which
//! the pages of the blocks that the running kernel was given can be reached, and no others.

use std::cell::RefCell;
use std::ffi::c_int;

use crate::abi::Address;
use crate::space::{self, File, GAP, protect};

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

fn window(file: File) -> Option<Address> {
    WINDOWS.with_borrow_mut(|windows| match windows.iter().find(|window| window.file == file) {
        Some(window) => Some(window.start),
        None => {
            let start = space::map(file.length, libc::PROT_NONE, Some(file.descriptor))?;
            windows.push(Window { file, start });
            Some(start)
        }
    })
}

/// A block, and where the running kernel finds it.
pub struct Seen {
    pub start: Address,
    pub bytes: usize,
    pub place: Address,
    /// Whether the place is in the thread's window.
    is_own: bool,
}

impl Seen {
    /// A block whose bytes are at `kept`, or in the file; `None`: no address range is left.
    pub fn new(start: Address, bytes: usize, kept: Address, file: Option<File>) -> Option<Seen> {
        let place = match file {
            Some(file) => window(file)? + (start - file.seen),
            None => kept,
        };
        Some(Seen { start, bytes, place, is_own: file.is_some() })
    }
}

/// The blocks that a kernel was given, which its thread reaches until this is dropped.
pub struct View(pub Vec<Seen>);

impl View {
    /// `None`: the system changes no more access rights.
    pub fn open(blocks: Vec<Seen>) -> Option<View> {
        let view = View(blocks);
        view.protect(libc::PROT_READ | libc::PROT_WRITE).then_some(view)
    }

    /// The address at which the kernel finds an address of one of its blocks.
    pub fn place(&self, address: Address) -> Address {
        let holds = |seen: &&Seen| (seen.start..seen.start + seen.bytes).contains(&address);
        self.0.iter().find(holds).map_or(0, |seen| seen.place + (address - seen.start))
    }

    fn protect(&self, protection: c_int) -> bool {
        self.0.iter().filter(|seen| seen.is_own).all(|seen| {
            let start = seen.place / GAP * GAP;
            protect(start, (seen.place + seen.bytes).next_multiple_of(GAP) - start, protection)
        })
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.protect(libc::PROT_NONE);
    }
}
