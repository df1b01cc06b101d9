//! Objects whose contents die before they do: a dead one gives up its memory and keeps its identity.
//!
//! `discard` leaves the head HEAD_AT_CPU, without a block and with the word's slow bit set, so that also code of Caffe's
//! that asks the head alone meets the error of a read. The next write takes memory anew.
//!
//! A shared object also has an entry in [`SHARED`], and its blocks come from its thread's arena. Only the layer that is
//! executing may touch it ([`Executing`]): any other access, which may keep the address, takes the object out of the
//! table, and with it the block that it has. The table's lock comes after that of the object's entry.
#![expect(unsafe_code, reason = "blocks are given back")]

use std::ffi::{CStr, c_void};

use syncedmem_trace::address_hash::{AddressMap, address_map};
use syncedmem_trace::head::{Access, Head, Side};

use super::dlpack::exchange;
use super::eviction::uses::Use;
use super::table::Blocking;
use super::{ObjectState, SyncedMemory, refused};
use crate::caffe;
use crate::error::Error;
use crate::memory::blocks;
use crate::memory::host::{self, arena};
use crate::platform::sync::{Lock, Ordering, locked_static};
use crate::platform::thread_pointer::ThreadPointer;
use crate::settings;
use crate::state::flags::{self, SHARING};
use crate::state::word::Word;

/// What a thread does with shared objects. Stored as a pointer's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Executing {
    /// No layer: an access may keep the address.
    Nothing = 0,
    /// A layer that writes all of what it is lent.
    Layer = 1,
    /// A layer that is lent zeros.
    LayerWithZeros = 2,
}

static EXECUTING: ThreadPointer = ThreadPointer::new(None);

impl Executing {
    pub const ALL: [Executing; 3] = [Executing::Nothing, Executing::Layer, Executing::LayerWithZeros];

    /// Sets it for this thread; returns what it was.
    pub fn begin(self) -> Executing {
        let before = Executing::now();
        EXECUTING.set(self as usize as *mut c_void);
        before
    }

    fn now() -> Executing {
        Executing::ALL.get(EXECUTING.get().addr()).copied().unwrap_or(Executing::Nothing)
    }
}

#[derive(Clone, Copy)]
struct Entry {
    /// The sentence of the error of a read of what was given up.
    gone: &'static CStr,
    /// Bytes, once a block was lent; 0 before.
    bytes: u64,
    /// Where in the arena the block lies, if that is free.
    offset: Option<usize>,
}

struct Table {
    /// By the object's address.
    entries: AddressMap<Entry>,
    /// The bytes of the entries, which the objects would have if each had a block of its own.
    bytes: u64,
    most_bytes: u64,
    /// Sentences of objects that were touched from outside of layers: each once, the first ones.
    touched: [Option<&'static CStr>; TOUCHED],
}

const TOUCHED: usize = 100;

locked_static! {
    static SHARED: Lock<Table> =
        Lock::new(Table { entries: address_map(), bytes: 0, most_bytes: 0, touched: [None; TOUCHED] });
}

impl Table {
    fn remove(&mut self, object: usize) -> Option<Entry> {
        let entry = self.entries.remove(&object)?;
        self.bytes -= entry.bytes;
        Some(entry)
    }

    fn lent(&mut self, object: usize, bytes: u64) {
        if let Some(entry) = self.entries.get_mut(&object).filter(|entry| entry.bytes == 0) {
            entry.bytes = bytes;
            self.bytes += bytes;
            self.most_bytes = self.most_bytes.max(self.bytes);
        }
    }

    fn note_touched(&mut self, gone: &'static CStr) {
        let known = |place: &&mut Option<&CStr>| place.is_none_or(|known| std::ptr::eq(known, gone));
        if let Some(place) = self.touched.iter_mut().find(known) {
            *place = Some(gone);
        }
    }
}

/// The most bytes that shared objects would have had at once, and the sentences of those that were touched from outside.
pub fn figures() -> (u64, [Option<&'static CStr>; TOUCHED]) {
    SHARED.with(|shared| (shared.most_bytes, shared.touched))
}

impl SyncedMemory {
    /// Lets the object take its memory from the thread's arena, if nothing has touched it yet. `gone` is the error's sentence.
    /// Returns whether the object is shared.
    pub fn share(&self, gone: &'static CStr) -> Result<bool, Error> {
        self.head()?;
        let is_wanted = self.size.load(Ordering::Relaxed) > 0 && !caffe::is_gpu(false) && blocks::program().is_none();
        if !is_wanted {
            return Ok(false);
        }
        flags::raise_if(true, SHARING);
        let claim = self.claim(Blocking::Yes).map_err(refused)?;
        if !self.load().is_untouched() {
            return Ok(false);
        }
        claim.with(|_| {
            SHARED.with(|shared| {
                shared.entries.try_reserve(1).map_err(|_| Error::no_room(size_of::<Entry>()))?;
                shared.entries.insert(self.address(), Entry { gone, bytes: 0, offset: None });
                Ok(true)
            })
        })
    }

    pub fn place(&self, offset: usize) {
        SHARED.with(|shared| {
            if let Some(entry) = shared.entries.get_mut(&self.address()) {
                entry.offset = Some(offset);
            }
        });
    }

    /// Gives up the contents and the memory of both sides. The object is then as new, but that it must be written first.
    ///
    /// # Safety
    /// The object's pointers are not used any more.
    pub unsafe fn discard(&self) -> Result<(), Error> {
        self.head()?;
        flags::raise_if(true, SHARING);
        let mut claim = self.claim_always()?;
        claim.with(|entry| entry.tensors.refuse(None))?;
        self.finish(&mut claim)?;
        let now = self.state()?;
        if now.word.is_untouched() || now.is_given_up() || self.size.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let old = self.owned(now.word);
        self.forget_checksum(&claim);
        let imports =
            self.publish_with(claim, ObjectState::GIVEN_UP, Use::Renews, |entry| entry.tensors.take_imports());
        // SAFETY: the object does not refer to them, and the caller gave up its pointers.
        unsafe { old.free() };
        exchange::end_imports(imports);
        Ok(())
    }

    /// `discard`, unless the object is kept apart.
    ///
    /// # Safety
    /// As for `discard`.
    pub unsafe fn discard_shared(&self) -> Result<(), Error> {
        if self.is_shared() {
            // SAFETY: the caller guarantees it.
            unsafe { self.discard() }?;
        }
        Ok(())
    }

    pub fn is_shared(&self) -> bool {
        flags::has(SHARING) && SHARED.with(|shared| shared.entries.contains_key(&self.address()))
    }

    /// Keeps the object, and the block that it may have, apart from now on.
    pub(super) fn keep_apart(&self) {
        if flags::has(SHARING) {
            SHARED.with(|shared| {
                if let Some(entry) = shared.remove(self.address()) {
                    shared.note_touched(entry.gone);
                }
            });
        }
    }

    /// At the end of the object, or before a new one at the address. The last one's end gives the arenas' memory back.
    pub(super) fn end_sharing(address: usize) {
        if flags::has(SHARING) && SHARED.with(|shared| shared.remove(address).is_some() && shared.entries.is_empty()) {
            arena::release_idle();
        }
    }

    /// Before an access that needs work: keeps the object apart if the access is no layer's, or needs what the arena does not
    /// have. Returns the address if it lent a block.
    #[cold]
    pub(super) fn lend(&self, access: Access, side: Side) -> Result<Option<*mut c_void>, Error> {
        if !self.is_shared() {
            return Ok(None);
        }
        let (executing, now) = (Executing::now(), self.state()?);
        let is_served = executing != Executing::Nothing && side == Side::Host;
        if now.is_given_up() && !(is_served && access != Access::Read) {
            return Err(self.given_up());
        }
        // Compat: what a layer reads first holds zeros, and other passes may rely on them.
        if !is_served || now.word.is_untouched() && access == Access::Read {
            self.keep_apart();
            return Ok(None);
        }
        if now.host.is_some() {
            return Ok(None);
        }
        self.lent(executing == Executing::LayerWithZeros)
    }

    fn lent(&self, zeroed: bool) -> Result<Option<*mut c_void>, Error> {
        let claim = self.claim(Blocking::Yes).map_err(refused)?;
        let (now, bytes) = (self.state()?, self.size.load(Ordering::Relaxed));
        if now.host.is_some() {
            // Another thread's layer was first.
            return Ok(None);
        }
        let request = host::Request { bytes, zeroed, pinned: false, aligned: false, holder: self.address() };
        let offset = SHARED.with(|shared| shared.entries.get(&self.address()).and_then(|entry| entry.offset));
        let Some(host::HostMemory { address, .. }) = host::lend(request, offset) else {
            drop(claim);
            self.keep_apart();
            return Ok(None);
        };
        SHARED.with(|shared| shared.lent(self.address(), bytes as u64));
        if !zeroed && settings::fills_with_junk() {
            // SAFETY: a new block of the object's size.
            unsafe { host::fill_with_junk(address, bytes) };
        }
        let word = Word::NEW.with_head(Head::AtCpu).with_host(true, false);
        self.publish(claim, ObjectState { host: Some(address), device: None, word }, Use::Opens);
        Ok(Some(address.as_ptr()))
    }

    pub(super) fn given_up(&self) -> Error {
        let entry = SHARED.with(|shared| shared.entries.get(&self.address()).copied());
        Error::GivenUp { what: entry.and_then(|entry| entry.gone.to_str().ok()) }
    }

    /// The state for `access`: that of a new object, if the contents were given up and it does not read them.
    pub(super) fn revived(&self, access: Access) -> Result<ObjectState, Error> {
        let now = self.state()?;
        match (now.is_given_up(), access) {
            (false, _) => Ok(now),
            (true, Access::Read) => Err(self.given_up()),
            (true, Access::Write | Access::Overwrite) => Ok(ObjectState::UNTOUCHED),
        }
    }
}
