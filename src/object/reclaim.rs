//! Gives back idle blocks when an allocation has failed, and tries it once more.

mod refusal;

use syncedmem_core::kind::Kind;
use syncedmem_trace::event::What;

use crate::error::{Cause, Error};
use crate::memory::trim;
use crate::observe::recorder::{self, Subject};

/// Gives back idle blocks and retries an allocation that failed with `error`. The final error is the first one.
#[cold]
#[inline(never)]
pub fn make_room<T>(error: Error, subject: Subject, allocate: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    let Error::OutOfMemory { side, asked, cause } = error else { return Err(error) };
    if may_help(asked, cause) && trim(cause) > 0 {
        if let Ok(block) = allocate() {
            return Ok(block);
        }
    }
    refusal::name_layers();
    recorder::record(subject, || {
        let (refusal, limit) = refusal::of(cause, asked);
        What::Failed { side, bytes: asked as u64, refusal, limit }
    });
    Err(error)
}

/// Whether memory that is given back can help.
fn may_help(asked: usize, cause: Cause) -> bool {
    match cause {
        // A total of 0: the driver did not answer.
        Cause::Device { total, .. } => total == 0 || asked as u64 <= total,
        Cause::Limit(limit) => asked as u64 <= limit,
        Cause::System => true,
        Cause::Absurd | Cause::Bookkeeping | Cause::PinnedLimit(_) => false,
    }
}

/// Gives back idle blocks and returns their bytes. Under a limit, which counts them, `host::allocate` has done so.
fn trim(cause: Cause) -> u64 {
    let kinds: &[Kind] = match cause {
        Cause::Device { .. } => &[Kind::Device],
        Cause::System => &[Kind::Pageable, Kind::Pinned],
        _ => &[],
    };
    kinds.iter().map(|&kind| trim::trim_current_device(kind)).sum()
}
