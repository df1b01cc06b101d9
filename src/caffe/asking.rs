//! Whether this thread is asking for the mode.

use crate::platform::thread_pointer::ThreadPointer;

static ASKING: ThreadPointer = ThreadPointer::new(None);

pub struct Asking(());

impl Drop for Asking {
    fn drop(&mut self) {
        ASKING.set(std::ptr::null_mut());
    }
}

/// `None` if this thread is asking already, or there is no memory to note that.
pub fn begin() -> Option<Asking> {
    let is_first = ASKING.get().is_null() && ASKING.set((&raw const ASKING).cast_mut().cast());
    // `then_some` would drop an `Asking` at once, and so clear the mark.
    is_first.then(|| Asking(()))
}
