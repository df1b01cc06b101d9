use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Error;

/// Runs `work`; a panic, which is a bug of this library, becomes [`Error::Internal`].
#[inline]
pub fn guard<T, E: From<Error>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    // The closure writes the result in place: moving it through `catch_unwind` costs as much as a small block.
    let mut result = Err(Error::Internal.into());
    // Unwind safety: an outcome is published in one step, and a claim ends when it is dropped.
    let _ = catch_unwind(AssertUnwindSafe(|| result = work()));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let result = guard::<(), Error>(|| panic!("a bug"));
        std::panic::set_hook(quiet);
        assert_eq!(result, Err(Error::Internal));
    }
}
