//! Junk in memory of undefined contents reveals a program that reads before it writes.
#![expect(unsafe_code, reason = "memory of undefined contents is written")]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Caffe2's pattern: NaN as a `float`; two of them are 1.7e308 as a `double`.
const JUNK: u32 = 0x7fed_beef;

/// Fills `bytes` bytes with the pattern, the last of which may be cut.
///
/// # Safety
/// Exclusive: the bytes are writable, and no other thread uses them.
#[cold]
pub unsafe fn fill_with_junk(address: NonNull<c_void>, bytes: usize) {
    let junk = JUNK.to_ne_bytes().map(MaybeUninit::new);
    // SAFETY: the caller of this function guarantees Exclusive.
    let memory = unsafe { std::slice::from_raw_parts_mut(address.as_ptr().cast::<MaybeUninit<u8>>(), bytes) };
    for word in memory.chunks_mut(junk.len()) {
        word.copy_from_slice(&junk[..word.len()]);
    }
}
