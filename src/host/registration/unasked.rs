//! Large blocks that keep crossing to the device and back: counted, and registered on a thread of its own.
#![expect(unsafe_code, reason = "a thread registers memory, and frees what was left to it")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Entry, Stage, end, is_used, key, lose, say_once, with_table};
use crate::cuda::blocks::{self, Record};
use crate::cuda::context::Within;
use crate::cuda::driver::Driver;
use crate::cuda::registering::{self, Registration};
use crate::cuda::{self, driver_in_use, source};
use crate::error::{DriverFailure, Error};
use crate::host::{MAPPED_FROM, free, records};
use crate::observe::event::What;
use crate::observe::live::{self, NOTHING};
use crate::{budget, settings, thread};

/// So many copies of a block, and it is registered.
const CROSSINGS: u32 = 3;

/// One side of a copy.
#[derive(Clone, Copy)]
pub struct Crossing {
    /// The host's memory.
    pub host: NonNull<c_void>,
    /// Its size.
    pub bytes: usize,
    /// The device's block.
    pub device: NonNull<c_void>,
    /// Address of the object.
    pub holder: usize,
    /// Whether the object owns the host's memory.
    pub owned: bool,
}

/// Counts a copy, and says whether the host's memory is registered. The copy that makes it many starts the thread.
pub fn count(driver: &Driver, crossing: Crossing) -> bool {
    let Crossing { host, bytes, holder, owned, .. } = crossing;
    let counts = owned && bytes >= settings::register_from().max(MAPPED_FROM);
    if !counts && !is_used() {
        return false;
    }
    let is_ours = counts && records::knows(host);
    let (registration, due) = with_table(|table| {
        let Some(entry) = table.entries.get_mut(&key(host)) else {
            if is_ours && table.entries.try_reserve(1).is_ok() {
                table.entries.insert(key(host), Entry::new(bytes, Stage::Counting, 1));
            }
            return (None, false);
        };
        match entry.stage {
            Stage::Registered(registration) if bytes <= entry.bytes => {
                // Its copies may be in flight when another object ends what they share.
                if !owned && !table.holders.contains_key(&holder) && table.holders.try_reserve(1).is_ok() {
                    table.holders.insert(holder, key(host));
                    entry.pins += 1;
                }
                (Some(registration), false)
            }
            Stage::Counting if counts => {
                entry.crossings += 1;
                (None, entry.crossings >= CROSSINGS)
            }
            _ => (None, false),
        }
    });
    if due {
        start(crossing);
    }
    registration.is_some_and(|registration| match registration.is_there(driver) {
        Ok(false) => {
            lose(host, registration);
            false
        }
        answer => answer.is_ok(),
    })
}

/// What the thread is to register, and a block on the device, in whose context it does.
#[derive(Clone, Copy)]
pub(super) struct Job {
    host: NonNull<c_void>,
    bytes: usize,
    device: NonNull<c_void>,
    record: Record,
}

/// Whether the thread is at it: one block at a time, since each holds up every page fault of the process.
static WORKING: AtomicBool = AtomicBool::new(false);

#[cold]
fn start(Crossing { host, bytes, device, .. }: Crossing) {
    // The life of a context of a caller's own block is not known.
    let Some(record) = blocks::find(device).filter(|_| source::forks_copy_locked_pages()) else { return };
    if WORKING.swap(true, Ordering::Acquire) {
        return;
    }
    let admitted = budget::admit_pinned(bytes);
    let job = Job { host, bytes, device, record };
    let begun = with_table(|table| {
        let entry = table.entries.get_mut(&key(host)).filter(|entry| matches!(entry.stage, Stage::Counting));
        let stage = if admitted { Stage::Busy } else { Stage::Refused };
        let begun = entry.map(|entry| entry.stage = stage).is_some() && admitted;
        table.job = begun.then_some(job);
        begun
    });
    // SAFETY: it needs no argument.
    if begun && unsafe { thread::start(work, std::ptr::null_mut()) } {
        return;
    }
    if begun {
        with_table(|table| {
            table.job = None;
            table.set(host, Stage::Refused);
        });
    }
    if admitted {
        budget::withdraw_pinned(bytes);
    }
    WORKING.store(false, Ordering::Release);
}

extern "C" fn work(_: *mut c_void) -> *mut c_void {
    let job = with_table(|table| table.job.take());
    // Where the process is about to exit, everything is left as it is.
    if let (Some(job), Some(background)) = (job, cuda::background()) {
        if let Some(driver) = driver_in_use() {
            do_job(driver, job);
        }
        drop(background);
    }
    WORKING.store(false, Ordering::Release);
    std::ptr::null_mut()
}

fn do_job(driver: &Driver, job: Job) {
    let span = live::begin(c"page-lock", job.bytes);
    let registered = register_for(driver, job);
    if let Ok(Some(_)) = registered {
        span.end(NOTHING, || What::Registered { bytes: job.bytes as u64 });
    }
    let registration = registered.unwrap_or_else(|failure| {
        say_once(format_args!("libsyncedmem: a block could not be page-locked: {}\n", Error::from(failure)));
        None
    });
    if registration.is_none() {
        budget::withdraw_pinned(job.bytes);
    }
    let left = with_table(|table| {
        let entry = table.entries.get_mut(&key(job.host))?;
        if entry.left.is_none() {
            entry.stage = registration.map_or(Stage::Refused, Stage::Registered);
        }
        entry.left.take()
    });
    let Some(left) = left else { return };
    if registration.is_none_or(|registration| end(driver, registration, job.host, job.bytes, Some(left))) {
        with_table(|table| table.remove(job.host));
        // SAFETY: whoever left it here has given it up.
        unsafe { free(left) };
    }
}

fn register_for(
    driver: &Driver,
    Job { host, bytes, device, record }: Job,
) -> Result<Option<Registration>, DriverFailure> {
    // While the block is there, so is its context.
    if !record.is_alive(driver, device)? {
        return Ok(None);
    }
    let within = Within::enter(driver, record.context)?;
    // SAFETY: the block is not freed while its entry says that somebody is at it.
    unsafe { registering::register(driver, &within, host, bytes) }
}
