//! What the table keeps beside one object.

use crate::object::dlpack::tensors::Tensors;
use crate::object::sharing::parked::Parked;
use crate::object::sharing::share::Share;
use crate::platform::fallible_arc::FallibleArc;

/// Distinguishes an object from an earlier one at the same address, which ended without a call to the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The addresses of the object and of its blocks; 0 without a block.
    pub object: usize,
    pub host: usize,
    pub device: usize,
    pub size: usize,
    /// The word's slow bit. This library's constructor clears it; one that a compiler inlined from an old Caffe's header does not
    /// write it.
    pub is_slow: bool,
}

/// `F` describes a copy in flight. While the entry [`keeps`](Entry::keeps) anything, the slow bit of the object's word is set. A claim
/// alone, which lasts for one operation, does not change the word.
pub struct Entry<F> {
    pub(super) identity: Identity,
    /// `pthread_self()` of the thread that has the claim; `NO_THREAD` without a claim.
    pub(super) owner: usize,
    pub(super) has_waiters: bool,
    pub in_flight: Option<F>,
    pub tensors: Tensors,
    /// `None`: the object is not shared.
    pub share: Option<Share>,
    /// The contents, while they are parked.
    pub parked: Option<FallibleArc<Parked>>,
}

/// No thread's `pthread_self()`.
pub(super) const NO_THREAD: usize = 0;

impl<F> Entry<F> {
    pub(super) fn new(identity: Identity) -> Self {
        Entry {
            identity,
            owner: NO_THREAD,
            has_waiters: false,
            in_flight: None,
            tensors: Tensors::default(),
            share: None,
            parked: None,
        }
    }

    pub fn is_claimed(&self) -> bool {
        self.owner != NO_THREAD
    }

    /// Whether the entry outlives a claim.
    pub fn keeps(&self) -> bool {
        self.in_flight.is_some() || self.share.is_some() || self.parked.is_some() || !self.tensors.is_empty()
    }

    /// Whether the entry belongs to the object that is now at its address. An entry that keeps anything has set the slow bit, unless a
    /// claim has yet to publish it.
    pub fn is_of(&self, now: Identity) -> bool {
        let of = |identity: Identity| (identity.object, identity.host, identity.device, identity.size);
        // Compat: the slow bit is compared last: a constructor that was inlined from an old Caffe's header does not write it.
        of(now) == of(self.identity) && (self.is_claimed() || !self.keeps() || now.is_slow)
    }
}
