//! What the table keeps beside one object.

use syncedmem_trace::head::Side;

use crate::error::Error;
use crate::object::dlpack::tensors::Tensors;
use crate::object::eviction::uses::{Use, Uses};
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
    /// The claim is an eviction's. A destructor on another thread waits for it.
    pub(super) is_evicting: bool,
    pub(super) has_waiters: bool,
    pub in_flight: Option<F>,
    /// `None`: the object is not evictable.
    pub uses: Option<Uses>,
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
            is_evicting: false,
            has_waiters: false,
            in_flight: None,
            uses: None,
            tensors: Tensors::default(),
            share: None,
        }
    }

    pub fn is_claimed(&self) -> bool {
        self.owner != NO_THREAD
    }

    /// Whether the entry outlives a claim.
    pub fn keeps(&self) -> bool {
        self.in_flight.is_some() || self.uses.is_some() || self.share.is_some() || !self.tensors.is_empty()
    }

    /// The check of the identity. An entry that keeps anything has set the slow bit, unless the claim is yet to publish it.
    pub fn is_of(&self, now: Identity) -> bool {
        let of = |identity: Identity| (identity.object, identity.host, identity.device, identity.size);
        // Compat: the slow bit comes last, because a constructor that is inlined into an old Caffe's user does not write it.
        of(now) == of(self.identity) && (self.is_claimed() || !self.keeps() || now.is_slow)
    }

    pub fn has_block(&self, side: Side) -> bool {
        match side {
            Side::Host => self.identity.host != 0,
            Side::Device => self.identity.device != 0,
        }
    }

    /// An operation has handed out an address, or made all earlier ones invalid.
    pub fn follow(&mut self, means: Use) {
        if let Some(uses) = &mut self.uses {
            uses.follow(means);
        }
    }

    /// Whether the object is evictable, and neither in use nor used since `last_use`.
    pub fn is_unused_since(&self, last_use: u64) -> bool {
        self.uses.is_some_and(|uses| uses.is_unused_since(last_use))
    }

    /// `Ok` also if the object is not evictable.
    pub fn end_access(&mut self) -> Result<(), Error> {
        let is_ended = self.uses.as_mut().is_none_or(Uses::end);
        is_ended.then_some(()).ok_or(Error::NoOpenAccess)
    }
}
