//! The program's name.
#![expect(unsafe_code, reason = "a variable of the C library")]

use std::ffi::{CStr, c_char};
use std::fmt::Write;

use syncedmem_core::text::Text;

pub fn name() -> Text<256> {
    unsafe extern "C" {
        /// The GNU C library's variable: the last component of `argv[0]`.
        static program_invocation_short_name: *const c_char;
    }
    // SAFETY: the C library sets it before the process's first instruction, and this crate never writes it.
    let name = unsafe { program_invocation_short_name };
    // SAFETY: the C library says that it is NUL-terminated.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
    let mut text = Text::new();
    // Control characters could steer a terminal.
    for part in name.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }) {
        let _ = text.write_char(part);
    }
    text
}
