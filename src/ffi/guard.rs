//! The border that no panic crosses.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Error;

/// Calls `work`; a panic, which is a bug of ours, becomes [`Error::Internal`].
pub fn guard<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // Objects stay whole: an outcome is published as one step, and a claim ends when it is dropped.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Error::Internal))
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
