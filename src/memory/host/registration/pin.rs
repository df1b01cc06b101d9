#![expect(unsafe_code, reason = "memory is registered")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_trace::event::What;
use syncedmem_trace::head::Side;
use syncedmem_trace::kind::Kind;

use super::{Entry, Stage, forget, give_back_near, is_used, key, let_go, lose, reduce_near, with_table};
use crate::cuda::context;
use crate::cuda::driver::Driver;
use crate::error::{Cause, Error};
use crate::memory::cache;
use crate::memory::cache::budget;
use crate::memory::driver::host_register::{self, Registration};
use crate::observe::recorder::{self, NOTHING};
use crate::platform::sync::nap;

/// # Safety
/// The memory stays until the object releases it.
pub unsafe fn pin(driver: &Driver, holder: usize, address: NonNull<c_void>, bytes: usize) -> Result<(), Error> {
    enum Next {
        Wait,
        Refuse(Error),
        Look(Registration),
        Register,
    }
    let elsewhere = with_table(|table| table.holders.get(&holder).copied().filter(|&held| held != key(address)));
    if let Some(stale) = elsewhere.and_then(|held| NonNull::new(std::ptr::without_provenance_mut(held))) {
        // It was an earlier object's at this address, which ended without a call to the library.
        let_go(holder, stale, None);
    }
    loop {
        let next = with_table(|table| {
            if table.entries.try_reserve(1).is_err() || table.holders.try_reserve(1).is_err() {
                return Next::Refuse(Error::no_room(size_of::<Entry>()));
            }
            let next = match table.entries.get(&key(address)).map(|entry| (entry.stage, entry.bytes)) {
                Some((Stage::Busy, _)) => return Next::Wait,
                Some((Stage::Registered(_), registered)) if bytes > registered => {
                    return Next::Refuse(Error::PinnedInPart);
                }
                Some((Stage::Registered(registration), _)) => Next::Look(registration),
                None => {
                    table.entries.insert(key(address), Entry { bytes, stage: Stage::Busy, pins: 0, left: None });
                    Next::Register
                }
            };
            table.hold(holder, address);
            next
        });
        match next {
            Next::Refuse(error) => return Err(error),
            Next::Wait => nap(),
            Next::Look(registration) => {
                if registration.is_there(driver)? {
                    return Ok(());
                }
                lose(address, registration);
            }
            // SAFETY: the caller guarantees it.
            Next::Register => return unsafe { register(driver, address, bytes) },
        }
    }
}

/// The `Busy` entry is this thread's.
///
/// # Safety
/// As for `pin`.
unsafe fn register(driver: &Driver, address: NonNull<c_void>, bytes: usize) -> Result<(), Error> {
    reduce_near();
    let idle_is_less = || {
        let given = cache::device::give_back_near(Kind::Pinned) + give_back_near();
        given > 0 && budget::admit_pinned(bytes)
    };
    let span = recorder::begin(c"page-lock", bytes);
    let outcome = if budget::admit_pinned(bytes) || idle_is_less() {
        context::for_new_block(driver, |guard| {
            // SAFETY: the caller guarantees it.
            Ok(unsafe { host_register::register(driver, guard, address, bytes) }?)
        })
        .inspect_err(|_| budget::withdraw_pinned(bytes))
    } else {
        let cause = Cause::PinnedLimit(budget::pinned_limit());
        Err(Error::OutOfMemory { side: Side::Host, asked: bytes, cause })
    };
    match outcome {
        Ok(Some(registration)) => with_table(|table| table.set(address, Stage::Registered(registration))),
        // The program has registered it, or the driver failed.
        _ => forget(address),
    }
    outcome.map(|registration| match registration {
        Some(_) => span.end(NOTHING, || What::Registered { bytes: bytes as u64 }),
        None => budget::withdraw_pinned(bytes),
    })
}

pub fn unpin(driver: &Driver, holder: usize, address: NonNull<c_void>) -> Result<(), Error> {
    enum Next {
        Done,
        Wait,
        End(Registration, usize),
    }
    let (registration, bytes) = loop {
        let next = with_table(|table| {
            let held = table.holders.get(&holder) == Some(&key(address));
            let Some(entry) = table.entries.get_mut(&key(address)) else { return Next::Done };
            match entry.stage {
                Stage::Busy => Next::Wait,
                Stage::Registered(registration) if held && entry.pins == 1 => {
                    entry.stage = Stage::Busy;
                    Next::End(registration, entry.bytes)
                }
                Stage::Registered(_) if held => {
                    entry.pins -= 1;
                    table.holders.remove(&holder);
                    Next::Done
                }
                Stage::Registered(_) => Next::Done,
            }
        });
        match next {
            Next::Done => return Ok(()),
            Next::Wait => nap(),
            Next::End(registration, bytes) => break (registration, bytes),
        }
    };
    let outcome = registration.end(driver);
    match outcome {
        Err(_) => with_table(|table| table.set(address, Stage::Registered(registration))),
        Ok(()) => forget(address),
    }
    outcome?;
    budget::withdraw_pinned(bytes);
    Ok(())
}

/// Whether the object's memory is page-locked. Called before a copy, which may stay in flight: the object keeps memory
/// registered that it borrows and another has pinned.
pub fn hold(driver: &Driver, holder: usize, address: NonNull<c_void>, bytes: usize, owned: bool) -> bool {
    if !is_used() {
        return false;
    }
    let registration = with_table(|table| {
        let entry = table.entries.get(&key(address)).filter(|entry| bytes <= entry.bytes)?;
        let Stage::Registered(registration) = entry.stage else { return None };
        if !owned && table.holders.try_reserve(1).is_ok() {
            table.hold(holder, address);
        }
        Some(registration)
    });
    registration.is_some_and(|registration| match registration.is_there(driver) {
        Ok(false) => {
            lose(address, registration);
            false
        }
        answer => answer.is_ok(),
    })
}
