//! Accounting, its report, and the names and items of objects.

use std::ffi::c_char;

use super::object::syncedmem_t;
use crate::abi::arguments::{handle, out, string, text_out};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::object::report;
use crate::observe::{self, control, recorder};
use crate::state::flags::{self, ACCOUNT};

/// What is accounted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum syncedmem_accounting_t {
    /// Nothing, at no cost.
    SYNCEDMEM_ACCOUNTING_OFF = 0,
    /// Objects, blocks, fills and copies.
    SYNCEDMEM_ACCOUNTING_ON = 1,
}

/// Maximum length of an object's name, in bytes.
pub const SYNCEDMEM_NAME_BYTES: usize = 200;

/// Sets what is accounted for from now on: a `syncedmem_accounting_t`. Counts stay. Existing blocks count as memory that
/// objects hold. The peak is approximate if other threads use objects during the call. Overrides `SYNCEDMEM_ACCOUNT`.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_set_accounting(accounting: i32) -> syncedmem_status_t {
    let what = "accounting is not a syncedmem_accounting_t; pass SYNCEDMEM_ACCOUNTING_OFF (0) \
                or SYNCEDMEM_ACCOUNTING_ON (1)";
    entry!(|| {
        if !(0..=1).contains(&accounting) {
            return Err(Error::InvalidArgument { what });
        }
        report::keep_account(accounting > 0);
    })
}

/// Writes to `*accounting` what is accounted for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_get_accounting(accounting: *mut syncedmem_accounting_t) -> syncedmem_status_t {
    entry!(out(accounting), |accounting| {
        control::read_settings();
        accounting.set(match flags::has(ACCOUNT) {
            false => syncedmem_accounting_t::SYNCEDMEM_ACCOUNTING_OFF,
            true => syncedmem_accounting_t::SYNCEDMEM_ACCOUNTING_ON,
        });
    })
}

/// Sets the peak of every kind of memory to what objects hold now.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_reset_peaks() -> syncedmem_status_t {
    entry!(|| recorder::reset_peaks())
}

/// Writes a report of this process, several lines of UTF-8: calls of Caffe's functions, memory now and at the peak, and
/// counts of operations.
///
/// `text` gets at most `capacity` bytes, including a NUL, and `*length` the length of the whole report without it.
/// `text` may be NULL if `capacity` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_report(
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> syncedmem_status_t {
    entry!(text_out(text, capacity), out(length), |text, length| {
        length.set(text.set(observe::report::text(&report::account()).as_ref()));
    })
}

/// Names an object in traces, and so in reports of them; the name is copied. Ignored without a trace.
///
/// Errors: `INVALID_ARGUMENT` (also a name that is empty, longer than `SYNCEDMEM_NAME_BYTES`, or not UTF-8).
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_set_name(mem: *mut syncedmem_t, name: *const c_char) -> syncedmem_status_t {
    entry!(handle(mem), string(name), |object, name| {
        object.head()?;
        let name = name.to_str().ok().filter(|name| !name.is_empty() && name.len() <= SYNCEDMEM_NAME_BYTES);
        let what = "name is empty, not UTF-8, or longer than SYNCEDMEM_NAME_BYTES (200); pass a shorter string";
        let name = name.ok_or(Error::InvalidArgument { what })?;
        control::read_settings();
        object.set_name(name);
    })
}

/// Notes for traces how many items of the batch an object holds: a report then says what one more item costs. 0, the
/// default: it does not grow with the batch. Ignored without a trace.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_set_items(mem: *mut syncedmem_t, items: usize) -> syncedmem_status_t {
    entry!(handle(mem), |object| {
        object.head()?;
        control::read_settings();
        object.set_items(items as u64);
    })
}
