//! A file's name, with `%p` for the process. It lies in a static, because a small stack cannot hold it.
#![expect(unsafe_code, reason = "the path is kept in atomics, and opened as a C string")]

use std::ffi::CStr;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use syncedmem_core::text::{Escaped, Text};

use super::file_error::FileError;

/// Bytes of the system's longest path, with its NUL.
const LONGEST: usize = libc::PATH_MAX as usize;

/// Only one thread at a time sets and reads it.
pub struct Name([AtomicU8; LONGEST]);

impl Name {
    pub const fn empty() -> Name {
        Name([const { AtomicU8::new(0) }; LONGEST])
    }

    pub fn set(&self, name: &CStr) -> Result<(), FileError> {
        let bytes = name.to_bytes_with_nul();
        if bytes.len() > LONGEST {
            return Err(FileError::NameTooLong);
        }
        self.0.iter().zip(bytes).for_each(|(kept, &byte)| kept.store(byte, Relaxed));
        Ok(())
    }

    /// Copies `name`, with the process's id for `%p` and a percent sign for `%%`, and adds `.` and the id `times` times.
    pub fn set_path(&self, name: &Name, process: u32, times: u32) -> Result<(), FileError> {
        let number = Text::<12>::of(format_args!("{process}"));
        let mut rest = self.0.iter();
        let mut add = |byte| rest.next().map(|place| place.store(byte, Relaxed)).ok_or(FileError::NameTooLong);
        let mut bytes = name.bytes().peekable();
        while let Some(byte) = bytes.next() {
            let special = if byte == b'%' { bytes.next_if(|next| matches!(next, b'p' | b'%')) } else { None };
            match special {
                Some(b'p') => number.as_bytes().iter().try_for_each(|&byte| add(byte))?,
                _ => add(byte)?,
            }
        }
        for _ in 0..times {
            add(b'.')?;
            number.as_bytes().iter().try_for_each(|&byte| add(byte))?;
        }
        add(0)
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.0.iter().map(|byte| byte.load(Relaxed)).take_while(|&byte| byte != 0)
    }

    pub fn has_process(&self) -> bool {
        let mut bytes = self.bytes();
        std::iter::from_fn(|| bytes.find(|&byte| byte == b'%').map(|_| bytes.next())).any(|next| next == Some(b'p'))
    }

    /// # Safety
    /// `set_path` has succeeded, and the name does not change while the string lives.
    pub unsafe fn as_c_str(&self) -> &CStr {
        // SAFETY: atomic bytes have the layout of bytes; the caller of `as_c_str` guarantees their NUL, and that they stay.
        unsafe { CStr::from_ptr(self.0.as_ptr().cast()) }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().take(400).try_for_each(|byte| write!(f, "{}", Escaped(&[byte])))
    }
}
