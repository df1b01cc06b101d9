//! What the table keeps beside one object.

use crate::object::dlpack::tensors::Tensors;
use crate::object::sharing::share::Share;

/// Distinguishes an object from an earlier one at the same address, which ended without a call to the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The addresses of the object and of its blocks; 0 without a block.
    pub object: usize,
    pub host: usize,
    pub device: usize,
    pub size: usize,
    /// The word's slow bit, which a constructor of this library clears. One that is inlined into an old Caffe's user leaves it.
    pub is_slow: bool,
}

/// `F` describes a copy in flight. The slow bit of the object's word is set while the entry [`keeps`](Entry::keeps) anything; a
/// claim alone, which lasts as long as one operation, leaves the word as it is.
pub struct Entry<F> {
    pub(super) identity: Identity,
    /// `pthread_self()` of the thread that has the claim; `NO_THREAD` without a claim.
    pub(super) owner: usize,
    pub(super) has_waiters: bool,
    pub in_flight: Option<F>,
    pub tensors: Tensors,
    /// `None`: the object is not shared.
    pub share: Option<Share>,
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
        }
    }

    pub fn is_claimed(&self) -> bool {
        self.owner != NO_THREAD
    }

    /// Whether the entry outlives a claim.
    pub fn keeps(&self) -> bool {
        self.in_flight.is_some() || self.share.is_some() || !self.tensors.is_empty()
    }

    /// The check of the identity. An entry that keeps anything has set the slow bit, unless the claim is yet to publish it.
    pub fn is_of(&self, now: Identity) -> bool {
        let of = |identity: Identity| (identity.object, identity.host, identity.device, identity.size);
        // Compat: the slow bit comes last, because a constructor that is inlined into an old Caffe's user does not write it.
        of(now) == of(self.identity) && (self.is_claimed() || !self.keeps() || now.is_slow)
    }
}
