//! One object beside its model, with what is lent to it.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use syncedmem::abi::c::eviction::{syncedmem_end_access, syncedmem_set_evictable};
use syncedmem::abi::c::pinning::{syncedmem_pin, syncedmem_unpin};
use syncedmem::abi::c::transfer::syncedmem_record_stream;
use syncedmem::abi::status::syncedmem_status_t;

use crate::contents::{self, Seed, UNIFORM};
use crate::support::gpu::{Foreign, Gpu, Stream};
use crate::support::model::{Block, Flight, Half, Model};
use crate::support::object::{Object, Operation, With};
use crate::support::{SYNCEDMEM_ERROR_INVALID_STATE, SYNCEDMEM_ERROR_OUT_OF_MEMORY, SYNCEDMEM_SUCCESS, last_error};

/// How many objects were found with a side evicted.
pub static EVICTED: AtomicUsize = AtomicUsize::new(0);

/// Only small ones are lent memory.
pub const LENT: usize = 64 << 10;

pub struct Subject<'g> {
    gpu: &'g Gpu,
    pub object: Object,
    pub bytes: usize,
    /// Where its device blocks are made.
    pub device: c_int,
    pub model: Model,
    /// Whether work that the library does not know of is writing its device block, and has not been waited for.
    pub busy: bool,
    /// What may be evicted of it while no access is open: a `syncedmem_eviction_t`.
    evictable: i32,
    host: [Vec<u8>; 2],
    lent: Vec<Foreign<'g>>,
    /// What was done to it last.
    history: Vec<String>,
}

impl<'g> Subject<'g> {
    pub fn new(gpu: &'g Gpu, bytes: usize, device: c_int) -> Subject<'g> {
        Subject {
            gpu,
            object: Object::new(bytes),
            bytes,
            device,
            // Whether it is page-locked says nothing that is looked at here.
            model: Model::untouched(true, true),
            busy: false,
            evictable: 0,
            host: [Vec::new(), Vec::new()],
            lent: Vec::new(),
            history: Vec::new(),
        }
    }

    pub fn is_lent_memory(&self) -> bool {
        // The tests' own blocks are device 0's.
        self.bytes <= LENT && self.device == 0
    }

    /// Whether its blocks outlive it: not what it was lent, which ends with it.
    pub fn may_leave_work(&self) -> bool {
        self.lent.is_empty()
    }

    /// Ends it in a forked child, where what it was lent is the parent's to free.
    pub fn end_in_child(mut self) {
        std::mem::forget(std::mem::take(&mut self.lent));
    }

    fn note(&mut self, what: String) {
        if self.history.len() == 40 {
            self.history.remove(0);
        }
        self.history.push(what);
    }

    /// Does an operation to both, and compares.
    pub fn run(&mut self, operation: Operation, stream: Option<&Stream>, seed: Seed, own: bool) {
        use Operation::*;
        self.note(format!("{operation:?}({seed})"));
        self.adopt();
        let borrowed = match (operation, self.model.host.block, self.model.device.block) {
            (SetCpuData, Block::Borrowed(0), _) | (SetGpuData, _, Block::Borrowed(0)) => 1,
            _ => 0,
        };
        let with = self.with(operation, stream, seed, borrowed as usize);
        let outcome = match own || self.device != 0 {
            true => self.gpu.within(self.device, || self.object.run(operation, &with)),
            false => self.object.run(operation, &with),
        };
        if operation == IsReady {
            let ready = outcome.unwrap_or_else(|status| panic!("{status:?} {}", last_error())).addr() == 1;
            assert!(ready || self.model.flight != Flight::None, "something is in flight that was not started");
            self.model.landed = ready;
        }
        let before = self.model;
        let expected = self.model.on(operation, seed, borrowed);
        let status = outcome.err().unwrap_or(SYNCEDMEM_SUCCESS);
        self.expect("status", status, expected.status);
        self.expect("head", self.object.head(), self.model.head());
        self.expect_blocks();
        let Ok(data) = outcome else { return };
        self.look(operation, data, &before, seed);
        let hands_out = [CpuData, MutableCpuData, OverwriteCpuData, GpuData, MutableGpuData, OverwriteGpuData];
        // Work that goes on keeps the access open, until it is waited for.
        if hands_out.contains(&operation) && !self.busy {
            self.end_access();
        }
    }

    fn end_access(&mut self) {
        let status = unsafe { syncedmem_end_access(self.object.mem()) };
        self.expect("status of end_access", status, SYNCEDMEM_SUCCESS);
    }

    /// Says what may be evicted from now on.
    pub fn set_evictable(&mut self, how: i32) {
        self.note(format!("set_evictable({how})"));
        // It may wait for what is in flight.
        self.wait();
        self.adopt();
        self.evictable = how;
        let status = unsafe { syncedmem_set_evictable(self.object.mem(), how) };
        self.expect("status of set_evictable", status, SYNCEDMEM_SUCCESS);
    }

    /// Lets the model follow what was evicted meanwhile: the device side of what was on both sides.
    fn adopt(&mut self) {
        if self.evictable == 0 || self.model.head() == 0 {
            return;
        }
        let head = self.object.head();
        if head != self.model.head() {
            // What was in flight was waited for.
            self.model.on(Operation::Wait, 0, 0);
        }
        let newest = if self.model.host.current { self.model.host } else { self.model.device };
        if head != self.model.head() {
            self.expect("the heads of what is evicted", (self.model.head(), head), (3, 1));
            EVICTED.fetch_add(1, Relaxed);
        }
        let gone = Half { current: false, block: Block::None, contents: 0 };
        for (half, address, bit) in [
            (&mut self.model.host, self.object.host_address(), 1),
            (&mut self.model.device, self.object.device_address(), 2),
        ] {
            let block = if half.block == Block::None { Block::Owned } else { half.block };
            *half = match head & bit != 0 {
                true => Half { current: true, block, contents: newest.contents },
                false if address == 0 => gone,
                false => Half { current: false, block, ..*half },
            };
        }
    }

    /// Page-locks the host side where it is, or undoes that.
    pub fn pin(&mut self, on: bool) {
        self.note(format!("pin({on})"));
        // It may wait for what is in flight.
        self.wait();
        self.adopt();
        let status = match on {
            true => unsafe { syncedmem_pin(self.object.mem()) },
            false => unsafe { syncedmem_unpin(self.object.mem()) },
        };
        let is_refused = match status {
            SYNCEDMEM_ERROR_INVALID_STATE => on && self.model.host.block == Block::None,
            SYNCEDMEM_ERROR_OUT_OF_MEMORY => on,
            _ => false,
        };
        assert!(status == SYNCEDMEM_SUCCESS || is_refused, "pin({on}): {status:?} {}", last_error());
    }

    fn with(&mut self, operation: Operation, stream: Option<&Stream>, seed: Seed, borrowed: usize) -> With {
        let (mut host, mut device) = (std::ptr::null_mut(), std::ptr::null_mut());
        if operation == Operation::SetCpuData {
            self.host[borrowed].resize(self.bytes, 0);
            host = self.host[borrowed].as_mut_ptr();
            contents::write_host(host, self.bytes, seed);
        }
        if operation == Operation::SetGpuData {
            while self.lent.len() <= borrowed {
                self.lent.push(self.gpu.block(self.bytes));
            }
            device = self.lent[borrowed].pointer();
            contents::write_device(self.gpu, device.addr(), self.bytes, seed);
        }
        With { host, device, stream: stream.map_or(std::ptr::null_mut(), Stream::handle) }
    }

    fn expect_blocks(&self) {
        let (host, device) = (self.object.host_address(), self.object.device_address());
        self.expect("whether there is a host block", host != 0, self.model.host.block != Block::None);
        self.expect("whether there is a device block", device != 0, self.model.device.block != Block::None);
        if let (Block::Borrowed(number), true) = (self.model.device.block, self.model.head() != 0) {
            self.expect("the lent block", device, self.lent[number as usize].address);
        }
    }

    /// Reads and writes through the address that an access gave, as its caller would.
    fn look(&mut self, operation: Operation, data: *mut u8, before: &Model, seed: Seed) {
        use Operation::*;
        match operation {
            CpuData => contents::check_host(data, self.bytes, self.model.host.contents),
            MutableCpuData | OverwriteCpuData => {
                if operation == MutableCpuData {
                    let newest = if before.host.current { before.host } else { before.device };
                    let newest = if before.head() == 0 { 0 } else { newest.contents };
                    contents::check_host(data, self.bytes, newest);
                }
                contents::write_host(data, self.bytes, seed);
            }
            GpuData | MutableGpuData | OverwriteGpuData => {
                // A caller lets its own work wait for the copy to the device.
                if self.model.flight != Flight::None {
                    self.wait();
                }
                self.settle();
                let newest = if before.device.current { before.device } else { before.host };
                let newest = if before.head() == 0 { 0 } else { newest.contents };
                if operation != OverwriteGpuData {
                    contents::check_device(self.gpu, data.addr(), self.bytes, newest);
                }
                if operation != GpuData {
                    contents::write_device(self.gpu, data.addr(), self.bytes, seed);
                }
            }
            _ => {}
        }
    }

    fn wait(&mut self) {
        self.model.on(Operation::Wait, 0, 0);
        let status = self.object.wait();
        self.expect("status of a wait", status, SYNCEDMEM_SUCCESS);
    }

    /// Fills of the legacy stream go on after the call that asked for them.
    fn settle(&self) {
        let settle = || self.gpu.cuStreamSynchronize(std::ptr::null_mut());
        assert_eq!(self.gpu.within(self.device, settle), 0);
    }

    /// Starts work on the device block in a stream that the library does not know, as a kernel would.
    pub fn start_work(&mut self, stream: &Stream, value: Seed) {
        assert!(value >= UNIFORM);
        // From here on its access stays open.
        self.busy = true;
        self.run(Operation::MutableGpuData, None, value, true);
        if self.model.flight != Flight::None {
            self.wait();
        }
        self.note("work".into());
        let start =
            || self.gpu.cuMemsetD8Async(self.object.device_address() as u64, value, self.bytes, stream.handle());
        let status = self.gpu.within(self.device, start);
        self.expect("status of a fill", status, 0);
    }

    /// That work is done.
    pub fn work_is_done(&mut self) {
        if std::mem::take(&mut self.busy) {
            self.end_access();
        }
    }

    /// Declares that work.
    pub fn record(&mut self, stream: &Stream) {
        self.note("record_stream".into());
        let status = unsafe { syncedmem_record_stream(self.object.mem(), stream.handle().cast()) };
        self.expect("status of record_stream", status, SYNCEDMEM_SUCCESS);
    }

    #[track_caller]
    fn expect<T: PartialEq + std::fmt::Debug>(&self, what: &str, is: T, should_be: T) {
        assert_eq!(is, should_be, "{what}; {}", last_error());
    }
}

impl Drop for Subject<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("an object of {} bytes, after {}", self.bytes, self.history.join(" "));
        }
    }
}

pub fn succeeds(status: syncedmem_status_t) {
    assert_eq!(status, SYNCEDMEM_SUCCESS, "{}", last_error());
}
