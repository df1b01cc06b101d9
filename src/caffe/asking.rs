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
    // Made only if it is the first: one that ends says that nobody asks.
    is_first.then(|| Asking(()))
}
