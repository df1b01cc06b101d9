//! What memory does, accounted for: figures, a report to read, and names by which objects are told apart in it.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::{CStr, c_char};

use super::call;
use super::object::syncedmem_t;
use super::pointers::{Out, object, write_text};
use super::policy;
use crate::abi::status::syncedmem_status_t;
use crate::error::{Cause, Error};
use crate::object::report::whole;
use crate::observe::control;
use crate::observe::recorder;
use crate::platform::clock;
use crate::settings;
use crate::state::flags::{self, ACCESSES, ACCOUNT, COMPARE};
use crate::state::head::Side;

/// What is accounted for.
#[expect(non_camel_case_types, reason = "the names of the C API")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_accounting_t {
    /// Nothing: it costs nothing.
    SYNCEDMEM_ACCOUNTING_OFF = 0,
    /// Objects, blocks, fills and copies.
    SYNCEDMEM_ACCOUNTING_ON = 1,
    /// Every access, too, also where nothing is to be done: each costs some tens of nanoseconds then.
    SYNCEDMEM_ACCOUNTING_ACCESSES = 2,
}

/// The longest name of an object, in bytes.
pub const SYNCEDMEM_NAME_BYTES: usize = 200;

/// Says what is accounted for from now on, a `syncedmem_accounting_t`. What was counted stays. Wins over
/// `SYNCEDMEM_ACCOUNT` (off, on, accesses).
///
/// Objects from before are noticed at their next access that needs something; blocks from before are not counted.
///
/// Errors: `INVALID_ARGUMENT` (another number).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_accounting(accounting: i32) -> syncedmem_status_t {
    let what = "accounting is not a syncedmem_accounting_t; pass SYNCEDMEM_ACCOUNTING_OFF (0), \
                SYNCEDMEM_ACCOUNTING_ON (1) or SYNCEDMEM_ACCOUNTING_ACCESSES (2)";
    let status = policy::set("syncedmem_set_accounting", &settings::ACCOUNT, accounting, what);
    if status == syncedmem_status_t::SYNCEDMEM_SUCCESS {
        control::set(ACCOUNT, accounting > 0);
        control::set(ACCESSES, accounting > 1);
    }
    status
}

/// Writes to `*accounting` what is accounted for.
///
/// Errors: `INVALID_ARGUMENT` (NULL or misaligned).
///
/// # Safety
/// `accounting` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_accounting(accounting: *mut syncedmem_accounting_t) -> syncedmem_status_t {
    call("syncedmem_get_accounting", || {
        control::read_settings();
        // SAFETY: the caller guarantees it.
        unsafe { Out::new(accounting) }?.set(match (flags::has(ACCOUNT), flags::has(ACCESSES)) {
            (false, _) => syncedmem_accounting_t::SYNCEDMEM_ACCOUNTING_OFF,
            (true, false) => syncedmem_accounting_t::SYNCEDMEM_ACCOUNTING_ON,
            (true, true) => syncedmem_accounting_t::SYNCEDMEM_ACCOUNTING_ACCESSES,
        });
        Ok(())
    })
}

/// Says whether the host's contents are compared when they are copied, which shows copies and fills that changed nothing.
/// It reads all that is copied once more. Only where something is accounted for or traced. Wins over
/// `SYNCEDMEM_COMPARE` (off, on).
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_compare(on: bool) -> syncedmem_status_t {
    call("syncedmem_set_compare", || {
        settings::COMPARE.set(usize::from(on));
        control::set(COMPARE, on);
        Ok(())
    })
}

/// Writes to `*on` whether the host's contents are compared.
///
/// Errors: `INVALID_ARGUMENT` (NULL).
///
/// # Safety
/// `on` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_compare(on: *mut bool) -> syncedmem_status_t {
    call("syncedmem_get_compare", || {
        control::read_settings();
        // SAFETY: the caller guarantees it.
        unsafe { Out::new(on) }?.set(flags::has(COMPARE));
        Ok(())
    })
}

/// Makes what objects hold now the most that they held: the peaks of every kind of memory begin anew.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_reset_peaks() -> syncedmem_status_t {
    call("syncedmem_reset_peaks", || {
        recorder::with_ledger(|ledger| ledger.reset_peaks(clock::nanoseconds()));
        Ok(())
    })
}

/// Writes the report of this process: how much memory there is and was at the peak, who held it, what was copied, and
/// what could be spared. It is text of several lines in UTF-8.
///
/// At most `capacity` bytes are written to `text`, a NUL at the end among them; what does not fit is left out. `*length`
/// is how many bytes the whole report has, without the NUL. `text` may be NULL where `capacity` is 0.
///
/// Errors: `INVALID_ARGUMENT` (`text` or `length` is NULL), `OUT_OF_MEMORY`.
///
/// # Safety
/// `text` is NULL or writable for `capacity` bytes; `length` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_report(
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> syncedmem_status_t {
    call("syncedmem_report", || {
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(length) }?;
        let report = whole::text().ok_or(no_memory(1 << 12))?;
        // SAFETY: the caller guarantees it.
        unsafe { write_text(text, capacity, &report) }?;
        out.set(report.len());
        Ok(())
    })
}

/// Gives an object a name, which is copied: its memory is told under it in reports and traces. Without accounting or a
/// trace there is nothing to tell, and nothing is kept.
///
/// Errors: `INVALID_ARGUMENT` (NULL; a name that is empty, longer than `SYNCEDMEM_NAME_BYTES`, or not UTF-8),
/// `INVALID_HANDLE`.
///
/// # Safety
/// `mem` is NULL or a handle; `name` is NULL or NUL-terminated.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_set_name(mem: *mut syncedmem_t, name: *const c_char) -> syncedmem_status_t {
    call("syncedmem_set_name", || {
        // SAFETY: the caller guarantees it.
        let object = unsafe { object(mem) }?;
        object.head()?;
        if name.is_null() {
            return Err(Error::InvalidArgument { what: "name is NULL; pass a string" });
        }
        // SAFETY: the caller guarantees it.
        let name = unsafe { CStr::from_ptr(name) }.to_str().ok();
        let name = name.filter(|name| !name.is_empty() && name.len() <= SYNCEDMEM_NAME_BYTES);
        let what = "name is empty, not UTF-8, or longer than SYNCEDMEM_NAME_BYTES (200); pass a shorter string";
        let name = name.ok_or(Error::InvalidArgument { what })?;
        control::read_settings();
        object.set_name(name);
        Ok(())
    })
}

/// Writes the name of an object, as `syncedmem_report` writes its text; an empty one if it has none.
///
/// Errors: `INVALID_ARGUMENT` (`text` or `length` is NULL), `INVALID_HANDLE`.
///
/// # Safety
/// `mem` is NULL or a handle; `text` is NULL or writable for `capacity` bytes; `length` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_name(
    mem: *const syncedmem_t,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> syncedmem_status_t {
    call("syncedmem_get_name", || {
        // SAFETY: the caller guarantees it.
        let object = unsafe { object(mem) }?;
        object.head()?;
        // SAFETY: the caller guarantees it.
        let out = unsafe { Out::new(length) }?;
        let name = object.name();
        // SAFETY: the caller guarantees it.
        unsafe { write_text(text, capacity, name.as_ref()) }?;
        out.set(name.as_ref().len());
        Ok(())
    })
}

fn no_memory(asked: usize) -> Error {
    Error::OutOfMemory { side: Side::Host, asked, cause: Cause::Bookkeeping }
}
