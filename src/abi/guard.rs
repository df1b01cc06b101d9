//! The border that no panic crosses.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Error;

/// Calls `work`; a panic, which is a bug of ours, becomes [`Error::Internal`].
#[inline]
pub fn guard<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // Written where it is wanted: `catch_unwind` would move it about, and a small block costs no more than such a move.
    let mut result = Err(Error::Internal);
    // Objects stay whole: an outcome is published as one step, and a claim ends when it is dropped.
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
        let result = guard::<()>(|| panic!("a bug"));
        std::panic::set_hook(quiet);
        assert_eq!(result, Err(Error::Internal));
    }
}
