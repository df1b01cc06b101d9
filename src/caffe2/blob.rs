//! A blob: one value of any type, which it owns or not.
#![expect(unsafe_code, reason = "values are ended by functions of the caller's")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_trace::head::Side;

use super::attachment::Attachment;
use super::error::Error;
use super::handle::{self, Handle};
use super::lock::{Guarded, Held, locked};
use super::typemeta::{TypeMeta, syncedmem_deleter_t};
use crate::memory::malloc;
use crate::platform::shared::Shared;

/// A blob. The room's lock guards its value: see [`locked`].
pub struct Blob {
    value: Guarded<Value>,
    attachment: Attachment,
}

/// A value, its type, and the way in which it ends. The default is no value.
pub struct Value {
    meta: TypeMeta,
    pointer: *mut c_void,
    end: End,
}

/// The end of a value.
enum End {
    /// It is not the blob's.
    Elsewhere,
    /// The caller's function, with its context.
    Deleter(syncedmem_deleter_t, *mut c_void),
    /// That of its type; its memory is malloc's.
    OfType,
}

// SAFETY: the makers of values let any thread use and end them.
unsafe impl Send for Value {}

impl Default for Value {
    fn default() -> Self {
        Value { meta: TypeMeta::NONE, pointer: std::ptr::null_mut(), end: End::Elsewhere }
    }
}

impl Value {
    /// A value of the caller's, which `deleter` ends; without one it stays the caller's.
    pub fn given(
        meta: TypeMeta,
        pointer: NonNull<c_void>,
        deleter: syncedmem_deleter_t,
        context: *mut c_void,
    ) -> Value {
        let end = if deleter.is_some() { End::Deleter(deleter, context) } else { End::Elsewhere };
        Value { meta, pointer: pointer.as_ptr(), end }
    }

    /// A new value, as its type makes it.
    pub fn made(meta: TypeMeta) -> Result<Value, Error> {
        // As the type's own function, but with the error.
        if let Some(side) = handle::side_of(&meta) {
            return Value::tensor(Handle::new(side)?);
        }
        let mut value = Value::room(meta)?;
        if let Some(pointer) = NonNull::new(value.pointer) {
            // SAFETY: the memory is new, of an item's size, aligned to 64 bytes and filled with zeros.
            unsafe { meta.construct(pointer, 1) }.inspect_err(|_| {
                // SAFETY: it came from malloc's family.
                unsafe { libc::free(value.pointer) };
                value.end = End::Elsewhere;
            })?;
        }
        Ok(value)
    }

    /// A tensor that others may hold too.
    pub fn tensor(tensor: Shared<Handle>) -> Result<Value, Error> {
        // SAFETY: only the side is read, which never changes.
        let meta = handle::meta(unsafe { tensor.tensor() }.side());
        let mut value = Value::room(meta)?;
        // SAFETY: it has room for the type's item, which is a handle.
        unsafe { value.pointer.cast::<NonNull<Handle>>().write(tensor.into_address()) };
        value.end = End::OfType;
        Ok(value)
    }

    /// Zeros for one item of a type, which is not there yet.
    fn room(meta: TypeMeta) -> Result<Value, Error> {
        let bytes = meta.itemsize.max(1);
        let pointer = malloc::aligned(bytes).ok_or(Error::no_room(bytes))?;
        // SAFETY: a new block of that size.
        unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
        Ok(Value { meta, pointer: pointer.as_ptr(), end: End::OfType })
    }

    fn is(&self, meta: &TypeMeta) -> bool {
        !self.pointer.is_null() && self.meta == *meta
    }

    /// The tensor that it is.
    fn as_tensor(&self) -> Option<NonNull<Handle>> {
        let is_tensor = !self.pointer.is_null() && handle::side_of(&self.meta).is_some();
        // SAFETY: a value of that type is a handle.
        is_tensor.then(|| unsafe { self.pointer.cast::<NonNull<Handle>>().read() })
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        let Some(pointer) = NonNull::new(self.pointer) else { return };
        match self.end {
            End::Elsewhere => {}
            End::Deleter(deleter, context) => {
                if let Some(deleter) = deleter {
                    // SAFETY: the value's maker gave it for this.
                    unsafe { deleter(pointer.as_ptr(), context) };
                }
            }
            End::OfType => {
                // SAFETY: `made` or `tensor` made it, and it is not used again.
                unsafe { self.meta.destruct(pointer, 1) };
                // SAFETY: `room` took it from malloc's family.
                unsafe { libc::free(pointer.as_ptr()) };
            }
        }
    }
}

impl Blob {
    /// An empty blob with one holder.
    pub fn new() -> Result<Shared<Blob>, Error> {
        let value = Guarded::new(Value::default());
        Shared::new(Blob { value, attachment: Attachment::default() }).map_err(Error::no_room)
    }

    /// What a language keeps with the blob.
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// The type of the value; none of an empty blob.
    pub fn meta(&self) -> TypeMeta {
        locked(|held| self.value.get(held).meta)
    }

    /// The address of the value, which has that type; of any type without `meta`, and null where there is none.
    pub fn get(&self, meta: Option<&TypeMeta>) -> Result<*mut c_void, Error> {
        let (holds, pointer) = locked(|held| {
            let value = self.value.get(held);
            (value.meta, value.pointer)
        });
        match meta {
            Some(meta) if pointer.is_null() || *meta != holds => {
                Err(Error::OtherType { holds: holds.shown(), asked: meta.shown() })
            }
            _ => Ok(pointer),
        }
    }

    /// The address of a value of that type, and whether it is a new one, as the type makes it. Of two threads both get the same.
    pub fn get_mutable(&self, meta: TypeMeta) -> Result<(*mut c_void, bool), Error> {
        if meta.is_none() {
            return Err(Error::Argument("the type is none: its id is NULL; pass a type"));
        }
        let there = |held: &Held| {
            let value = self.value.get(held);
            value.is(&meta).then_some(value.pointer)
        };
        if let Some(pointer) = locked(|held| there(held)) {
            return Ok((pointer, false));
        }
        let mut new = Value::made(meta)?;
        // `new` then has the old value, or the one that is not needed: it ends after the lock is released.
        Ok(locked(|held| match there(held) {
            Some(pointer) => (pointer, false),
            None => {
                let value = self.value.get_mut(held);
                std::mem::swap(value, &mut new);
                (value.pointer, true)
            }
        }))
    }

    /// Puts another value in, and ends the old one.
    pub fn set(&self, value: Value) {
        drop(locked(|held| std::mem::replace(self.value.get_mut(held), value)));
    }

    /// The address of the value, which is the caller's from now on, with its deleter and that one's context.
    /// Compat: the blob goes on to refer to it.
    pub fn release(&self) -> (*mut c_void, syncedmem_deleter_t, *mut c_void) {
        locked(|held| {
            let value = self.value.get_mut(held);
            match std::mem::replace(&mut value.end, End::Elsewhere) {
                End::Deleter(deleter, context) => (value.pointer, deleter, context),
                End::Elsewhere | End::OfType => (value.pointer, None, std::ptr::null_mut()),
            }
        })
    }

    /// Exchanges the values of two blobs.
    pub fn swap(&self, other: &Blob) {
        if std::ptr::eq(self, other) {
            return;
        }
        locked(|held| {
            let mine = std::mem::take(self.value.get_mut(held));
            let theirs = std::mem::replace(other.value.get_mut(held), mine);
            *self.value.get_mut(held) = theirs;
        });
    }

    /// The tensor that is the value.
    pub fn tensor(&self) -> Result<Shared<Handle>, Error> {
        let found = locked(|held| {
            let value = self.value.get(held);
            // SAFETY: the value holds the tensor, and ends behind this lock.
            value.as_tensor().map(|handle| unsafe { another_holder(handle) }).ok_or(value.meta)
        });
        found.map_err(|holds| Error::OtherType { holds: holds.shown(), asked: handle::meta(Side::Host).shown() })
    }

    /// The tensor of that side that is the value, or is made, and whether it is a new one.
    pub fn mutable_tensor(&self, side: Side) -> Result<(Shared<Handle>, bool), Error> {
        let is_new = self.get_mutable(handle::meta(side))?.1;
        Ok((self.tensor()?, is_new))
    }

    /// The number and the size of the storage of the tensor that is the value.
    pub fn footprint(&self, held: &Held) -> (usize, usize) {
        // SAFETY: the value holds the tensor, and ends behind this lock.
        self.value.get(held).as_tensor().map_or((0, 0), |handle| unsafe { handle.as_ref() }.footprint())
    }
}

/// One more holder of a value, beside the one whose address is given.
///
/// # Safety
/// The address stands for a holder, which stays one meanwhile.
pub unsafe fn another_holder<T>(address: NonNull<T>) -> Shared<T> {
    // SAFETY: the caller guarantees it.
    let holder = std::mem::ManuallyDrop::new(unsafe { Shared::from_address(address) });
    Shared::clone(&holder)
}
