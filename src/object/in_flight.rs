//! The end of a copy in flight: the wait for it, and what its result makes of the object.

use syncedmem_core::head::Side;
use syncedmem_trace::event::What;

use super::table::{Blocking, Claimed, NoClaim};
use super::{Claim, Entry, SyncedMemory, refused};
use crate::copy::transfer::{CopyError, InFlight};
use crate::cuda;
use crate::cuda::context;
use crate::error::Error;
use crate::observe::recorder::{self, Span};
use crate::platform::sync::Ordering;
use crate::state::step::Contents;

impl SyncedMemory {
    /// Waits for the copy in flight, if there is one.
    pub fn wait(&self) -> Result<(), Error> {
        self.head()?;
        let claimed = self.claim_unless(Blocking::Yes, |entry| self.nothing_in_flight(entry));
        if let Claimed::Owner(mut claim) = claimed.map_err(refused)? {
            self.finish(&mut claim)?;
            self.publish(claim, self.state()?);
        }
        Ok(())
    }

    /// Completes the copy in flight if it is done, without a wait. Returns whether no copy is in flight any more.
    pub fn is_ready(&self) -> Result<bool, Error> {
        self.head()?;
        let mut claim = match self.claim_unless(Blocking::No, |entry| self.nothing_in_flight(entry)) {
            Ok(Claimed::Owner(claim)) => claim,
            Ok(Claimed::Ready(())) => return Ok(true),
            Err(NoClaim::Busy) => return Ok(false),
            Err(why) => return Err(refused(why)),
        };
        let Some(copy) = claim.in_flight else { return Ok(true) };
        let driver = cuda::driver()?;
        let _operation = context::Operation::begin();
        let span = recorder::begin_wait();
        match copy.is_done(driver) {
            Ok(false) => return Ok(false),
            Ok(true) => self.completed(&mut claim, span, copy),
            Err(trouble) => return Err(self.failed(&mut claim, copy, trouble)),
        }
        self.publish(claim, self.now()?);
        Ok(true)
    }

    /// Waits for the copy in flight and updates the head.
    pub(super) fn finish(&self, claim: &mut Claim<'_>) -> Result<(), Error> {
        let Some(copy) = claim.in_flight else { return Ok(()) };
        let driver = match cuda::driver() {
            // A forked child has no driver, and the copy is the parent's. After a push the host still has the data.
            Err(_) if copy.to == Side::Device => {
                claim.in_flight = None;
                return Ok(());
            }
            answer => answer?,
        };
        let _operation = context::Operation::begin();
        let span = recorder::begin_wait();
        copy.finish(driver).map_err(|trouble| self.failed(claim, copy, trouble))?;
        self.completed(claim, span, copy);
        Ok(())
    }

    pub(super) fn tell_completed(&self, span: Span, copy: InFlight) {
        span.end(self.subject(), || What::Completed { to: copy.to, copy: copy.number });
    }

    fn completed(&self, claim: &mut Claim<'_>, span: Span, copy: InFlight) {
        self.tell_completed(span, copy);
        claim.in_flight = None;
        // A push published its head when it started, and the device may have been written since.
        if copy.to == Side::Host {
            self.set(claim, Contents::Both);
        }
    }

    /// After a push that failed, the host alone is current.
    fn failed(&self, claim: &mut Claim<'_>, copy: InFlight, error: CopyError) -> Error {
        match error {
            CopyError::Unknown(error) => error,
            CopyError::Failed(error) => {
                claim.in_flight = None;
                if copy.to == Side::Device && self.state().is_ok_and(|now| now.contents() == Contents::Both) {
                    self.set(claim, Contents::At(Side::Host));
                }
                error
            }
        }
    }

    /// Publishes new contents under a claim, which keeps the slow bit.
    fn set(&self, claim: &Claim<'_>, contents: Contents) {
        claim.with(|_| {
            let word = self.load();
            let next = word.with(contents);
            let next = if word.is_slow() { next.slow() } else { next };
            // Relaxed: while the slow bit is set, readers take the lock.
            self.word.store(next.0, Ordering::Relaxed);
        });
    }

    fn nothing_in_flight(&self, entry: Option<&mut Entry>) -> Option<()> {
        let is_quiet = entry.map_or(!self.load().is_slow(), |entry| !entry.is_claimed() && entry.in_flight.is_none());
        is_quiet.then_some(())
    }
}
