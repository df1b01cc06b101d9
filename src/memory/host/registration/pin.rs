#![expect(unsafe_code, reason = "memory is registered")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::What;

use super::{forget, give_back_near, is_used, let_go, lose, reduce_near, registered, set};
use crate::cuda::context;
use crate::cuda::driver::Driver;
use crate::error::{Cause, Error};
use crate::memory::blocks::{self, Block, Maker, Registered, Stage, Table};
use crate::memory::cache;
use crate::memory::cache::budget;
use crate::memory::driver::host_register::{self, Registration};
use crate::observe::recorder::{self, NOTHING};
use crate::platform::sync::nap;

enum Next {
    Wait,
    Look(Registration),
    Register,
}

/// # Safety
/// The memory stays until the object releases it.
pub unsafe fn pin(driver: &Driver, holder: usize, address: NonNull<c_void>, bytes: usize) -> Result<(), Error> {
    // It was an earlier object's at this address, which ended without a call to the library.
    if let Some(stale) = held_elsewhere(holder, address) {
        let_go(holder, stale);
    }
    loop {
        match blocks::with(|table| begin(table, holder, address, bytes))? {
            Next::Wait => nap(),
            Next::Look(registration) => {
                if registration.is_there(driver)? {
                    return Ok(());
                }
                lose(address, registration);
            }
            // SAFETY: the caller of `pin` guarantees that the memory stays.
            Next::Register => return unsafe { register(driver, address, bytes) },
        }
    }
}

fn held_elsewhere(holder: usize, address: NonNull<c_void>) -> Option<NonNull<c_void>> {
    let is_other = |at: usize, block: &Block| {
        at != address.addr().get() && block.registration.as_ref().is_some_and(|it| it.holders.contains(&holder))
    };
    let other = |table: &mut Table| table.iter().find(|&(at, block)| is_other(at, block)).map(|(at, _)| at);
    let other = if is_used() { blocks::with(other) } else { None };
    other.and_then(|at| NonNull::new(std::ptr::without_provenance_mut(at)))
}

fn begin(table: &mut Table, holder: usize, address: NonNull<c_void>, bytes: usize) -> Result<Next, Error> {
    let no_memory = Error::no_room(size_of::<Block>());
    if let Some(registered) = registered(table, address) {
        let Some(registration) = registered.done() else { return Ok(Next::Wait) };
        if bytes > registered.bytes {
            return Err(Error::PinnedInPart);
        }
        return if registered.hold(holder) { Ok(Next::Look(registration)) } else { Err(no_memory) };
    }
    let mut registered = Registered { bytes, stage: Stage::Busy, holders: Vec::new(), is_left: false };
    if !registered.hold(holder) {
        return Err(no_memory);
    }
    if table.get(address).is_some() {
        table.set_registration(address, Some(registered));
    } else {
        let block = Block { registration: Some(registered), ..Block::new(Maker::Elsewhere, bytes, holder) };
        table.insert(address, block).map_err(|_| no_memory)?;
    }
    Ok(Next::Register)
}

/// The `Busy` registration is this thread's.
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
            // SAFETY: the caller of `pin` guarantees that the memory stays.
            Ok(unsafe { host_register::register(driver, guard, address, bytes) }?)
        })
        .inspect_err(|_| budget::withdraw_pinned(bytes))
    } else {
        let cause = Cause::PinnedLimit(budget::pinned_limit());
        Err(Error::OutOfMemory { side: Side::Host, asked: bytes, cause })
    };
    match outcome {
        Ok(Some(registration)) => set(address, Stage::Done(registration)),
        // The program has registered it, or the driver failed.
        _ => forget(address),
    }
    outcome.map(|registration| match registration {
        Some(_) => span.end(NOTHING, || What::Registered { bytes: bytes as u64 }),
        None => budget::withdraw_pinned(bytes),
    })
}

pub fn unpin(driver: &Driver, holder: usize, address: NonNull<c_void>) -> Result<(), Error> {
    // `None`: a thread changes the registration. `Some(None)`: it need not end.
    let next = || {
        blocks::with(|table| {
            let Some(registered) = registered(table, address) else { return Some(None) };
            let registration = registered.done()?;
            if !registered.holders.contains(&holder) {
                return Some(None);
            }
            if registered.holders.len() > 1 {
                registered.let_go(holder);
                return Some(None);
            }
            registered.stage = Stage::Busy;
            Some(Some((registration, registered.bytes)))
        })
    };
    let ends = loop {
        match next() {
            Some(ends) => break ends,
            None => nap(),
        }
    };
    let Some((registration, bytes)) = ends else { return Ok(()) };
    let outcome = registration.end(driver);
    match outcome {
        Err(_) => set(address, Stage::Done(registration)),
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
    let registration = blocks::with(|table| {
        let registered = registered(table, address).filter(|registered| bytes <= registered.bytes)?;
        let registration = registered.done()?;
        if !owned {
            registered.hold(holder);
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
