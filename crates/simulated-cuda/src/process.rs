//! `cuInit`, and the report at the end of the process.
#![expect(unsafe_code, reason = "entry points have C names; an exit handler is registered with C")]

use std::ffi::{c_int, c_uint};
use std::sync::Once;

use crate::abi::{INVALID_VALUE, NO_DEVICE, Out};
use crate::entry::enter_before_init;
use crate::life::{die, is_forked, is_initialised, note_exited, note_initialised, say};
use crate::state::state;
use crate::{control, device_calls, settings};

extern "C" fn at_exit() {
    if is_forked() {
        return;
    }
    if settings::report() {
        control::report().iter().for_each(|line| say(line));
    }
    note_exited();
}

fn register_exit_handler() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler is a function of this library, which is never unloaded (build.rs).
        if unsafe { libc::atexit(at_exit) } != 0 {
            die("the exit handler could not be registered");
        }
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> c_int {
    enter_before_init("cuInit", |_| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        if is_initialised() {
            return Ok(());
        }
        let mut state = state();
        device_calls::find(&mut state);
        if state.devices.is_empty() {
            return Err(NO_DEVICE);
        }
        register_exit_handler();
        note_initialised();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(version: Out<c_int>) -> c_int {
    enter_before_init("cuDriverGetVersion", |_| version.put(settings::version()))
}
