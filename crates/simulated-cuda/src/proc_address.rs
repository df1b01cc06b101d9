//! `cuGetProcAddress`, which looks entry points up.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::c_int;

use crate::abi::{Address, INVALID_VALUE, NOT_FOUND, Out, Status, Text};
use crate::entry::enter_before_init;
use crate::log::Call;
use crate::names::{all_entry_points, newest};
use crate::settings;

macro_rules! addresses {
    ($($since:literal $module:ident::$name:ident,)*) => {
        &[$(|| (crate::$module::$name as *const ()).expose_provenance()),*]
    };
}

/// In the order of the names.
const ADDRESSES: &[fn() -> Address] = all_entry_points!(addresses);

/// CU_GET_PROC_ADDRESS_SUCCESS and what else the search comes to.
const FOUND: c_int = 0;
const SYMBOL_NOT_FOUND: c_int = 1;
const VERSION_NOT_SUFFICIENT: c_int = 2;
/// LEGACY_STREAM and PER_THREAD_DEFAULT_STREAM.
const FLAGS: u64 = 3;

fn look_up<'s>(
    call: &mut Call,
    symbol: &'s Text,
    function: Out<Address>,
    version: c_int,
    flags: u64,
) -> Result<(&'s str, bool), Status> {
    let name = symbol.as_str().ok_or(INVALID_VALUE)?;
    call.number("symbol", name);
    if flags & !FLAGS != 0 || version > settings::version() {
        return Err(INVALID_VALUE);
    }
    let found = newest(name, version);
    function.put(found.map_or(0, |index| ADDRESSES[index]()))?;
    Ok((name, found.is_some()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress_v2(
    symbol: Text,
    function: Out<Address>,
    version: c_int,
    flags: u64,
    result: Out<c_int>,
) -> c_int {
    enter_before_init("cuGetProcAddress_v2", |call| {
        let (name, found) = look_up(call, &symbol, function, version, flags)?;
        result.put_if_wanted(match newest(name, c_int::MAX) {
            _ if found => FOUND,
            Some(_) => VERSION_NOT_SUFFICIENT,
            None => SYMBOL_NOT_FOUND,
        });
        Ok(())
    })
}

/// Has no place for the reason, and fails instead.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress(symbol: Text, function: Out<Address>, version: c_int, flags: u64) -> c_int {
    enter_before_init("cuGetProcAddress", |call| {
        let (_, found) = look_up(call, &symbol, function, version, flags)?;
        if found { Ok(()) } else { Err(NOT_FOUND) }
    })
}
