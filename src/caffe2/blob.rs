//! Blobs of one value of any type.
#![expect(unsafe_code, reason = "values are ended by functions of the caller's")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;

use super::attachment::Attachment;
use super::error::Error;
use super::handle::{self, Handle};
use super::lock::{Guarded, Held, locked};
use super::typemeta::{TypeMeta, syncedmem_deleter_t};
use crate::memory::malloc;
use crate::platform::fallible_arc::FallibleArc;

/// One value. The lock of [`locked`] guards it.
pub struct Blob {
    value: Guarded<Value>,
    attachment: Attachment,
}

pub struct Value {
    meta: TypeMeta,
    pointer: *mut c_void,
    end: End,
}

enum End {
    /// The caller ends it.
    Elsewhere,
    /// It was released, and its new owner may have ended it.
    Released,
    Deleter(unsafe extern "C-unwind" fn(*mut c_void, *mut c_void), *mut c_void),
    /// The functions of its type end it, and then `free` its memory.
    OfType,
}

// SAFETY: the C caller passes values that any thread may use and end ("Threads" and "Callbacks" in syncedmem_caffe2.h).
unsafe impl Send for Value {}

impl Default for Value {
    fn default() -> Self {
        Value { meta: TypeMeta::NONE, pointer: std::ptr::null_mut(), end: End::Elsewhere }
    }
}

const TAKEN_OUT: Error = Error::State("the blob's tensor was taken out of its value; reset the blob first");

impl Value {
    pub fn given(
        meta: TypeMeta,
        pointer: NonNull<c_void>,
        deleter: syncedmem_deleter_t,
        context: *mut c_void,
    ) -> Value {
        let end = deleter.map_or(End::Elsewhere, |deleter| End::Deleter(deleter, context));
        Value { meta, pointer: pointer.as_ptr(), end }
    }

    pub fn made(meta: TypeMeta) -> Result<Value, Error> {
        // A tensor is not made by the type's function, which could not return the error.
        if let Some(side) = handle::side_of(&meta) {
            return Value::tensor(Handle::new(side)?);
        }
        let mut value = Value::zeros(meta)?;
        if let Some(pointer) = NonNull::new(value.pointer) {
            // SAFETY: the block is new, holds zeros for one item, and is aligned to 64 bytes.
            unsafe { meta.construct(pointer, 1) }.inspect_err(|_| {
                // SAFETY: `Value::zeros` took the block from malloc's family, and it is not used again.
                unsafe { libc::free(value.pointer) };
                value.end = End::Elsewhere;
            })?;
        }
        Ok(value)
    }

    pub fn tensor(tensor: FallibleArc<Handle>) -> Result<Value, Error> {
        // SAFETY: only the side of the tensor is read, which never changes.
        let meta = handle::meta(unsafe { tensor.tensor() }.side());
        let mut value = Value::zeros(meta)?;
        // SAFETY: the block has the size of the type's item, a handle.
        unsafe { value.pointer.cast::<NonNull<Handle>>().write(tensor.into_address()) };
        value.end = End::OfType;
        Ok(value)
    }

    /// Zeros for one item, not constructed yet.
    fn zeros(meta: TypeMeta) -> Result<Value, Error> {
        let bytes = meta.itemsize.max(1);
        let pointer = malloc::aligned(bytes).ok_or(Error::out_of_memory(bytes))?;
        // SAFETY: the block is new and has that many bytes.
        unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
        Ok(Value { meta, pointer: pointer.as_ptr(), end: End::OfType })
    }

    fn is(&self, meta: &TypeMeta) -> bool {
        !self.pointer.is_null() && self.meta == *meta
    }

    fn as_tensor(&self) -> Option<NonNull<Handle>> {
        let is_tensor = !self.pointer.is_null() && handle::side_of(&self.meta).is_some();
        // SAFETY: a value of that type is a handle, or null if a caller took the tensor out.
        is_tensor.then(|| unsafe { self.pointer.cast::<Option<NonNull<Handle>>>().read() }).flatten()
    }

    fn tensor_reference(&self) -> Option<FallibleArc<Handle>> {
        // SAFETY: the value has a reference to the tensor, and cannot end while it is borrowed.
        self.as_tensor().map(|handle| unsafe { another_reference(handle) })
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        let Some(pointer) = NonNull::new(self.pointer) else { return };
        match self.end {
            End::Elsewhere | End::Released => {}
            // SAFETY: the C caller passed the deleter for this value; it is called once.
            End::Deleter(deleter, context) => unsafe { deleter(pointer.as_ptr(), context) },
            End::OfType => {
                // SAFETY: `made` or `tensor` constructed the item, and it is not used again.
                unsafe { self.meta.destruct(pointer, 1) };
                // SAFETY: `Value::zeros` took the block from malloc's family, and it is not used again.
                unsafe { libc::free(pointer.as_ptr()) };
            }
        }
    }
}

impl Blob {
    pub fn new() -> Result<FallibleArc<Blob>, Error> {
        let value = Guarded::new(Value::default());
        FallibleArc::new(Blob { value, attachment: Attachment::default() }).map_err(Error::out_of_memory)
    }

    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    pub fn meta(&self) -> TypeMeta {
        locked(|held| self.value.get(held).meta)
    }

    /// The value, which must be of type `meta` if that is given; null if there is none.
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

    /// The value of that type, made if there is none, and whether it is new. Two threads get the same value.
    pub fn get_mutable(&self, meta: TypeMeta) -> Result<(*mut c_void, bool), Error> {
        self.read_mutable(meta, |value| value.pointer)
    }

    /// Calls `read` with the value of that type, made if there is none, under the lock. Also returns whether the value is new.
    fn read_mutable<R>(&self, meta: TypeMeta, read: impl Fn(&Value) -> R) -> Result<(R, bool), Error> {
        if meta.is_none() {
            return Err(Error::Argument("the type is none: its id is NULL; pass a type"));
        }
        let there = |held: &Held| {
            let value = self.value.get(held);
            value.is(&meta).then(|| read(value))
        };
        if let Some(answer) = locked(|held| there(held)) {
            return Ok((answer, false));
        }
        let mut new = Value::made(meta)?;
        // The swap moves the old value into `new`, which ends after the lock is released.
        Ok(locked(|held| match there(held) {
            Some(answer) => (answer, false),
            None => {
                let value = self.value.get_mut(held);
                std::mem::swap(value, &mut new);
                (read(value), true)
            }
        }))
    }

    pub fn set(&self, value: Value) {
        drop(locked(|held| std::mem::replace(self.value.get_mut(held), value)));
    }

    /// Leaves the end of the value to the caller. Returns the value, its deleter and the deleter's context.
    ///
    /// Compat: the blob still refers to the value.
    pub fn release(&self) -> (*mut c_void, syncedmem_deleter_t, *mut c_void) {
        locked(|held| {
            let value = self.value.get_mut(held);
            match std::mem::replace(&mut value.end, End::Released) {
                End::Deleter(deleter, context) => (value.pointer, Some(deleter), context),
                End::Elsewhere | End::Released | End::OfType => (value.pointer, None, std::ptr::null_mut()),
            }
        })
    }

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

    pub fn tensor(&self) -> Result<FallibleArc<Handle>, Error> {
        let found = locked(|held| {
            let value = self.value.get(held);
            value.tensor_reference().ok_or(value.meta)
        });
        found.map_err(|holds| match handle::side_of(&holds) {
            Some(_) => TAKEN_OUT,
            None => Error::OtherType { holds: holds.shown(), asked: handle::meta(Side::Host).shown() },
        })
    }

    /// The value that is a tensor of `side`, made if there is none, and whether it is new.
    pub fn mutable_tensor(&self, side: Side) -> Result<(FallibleArc<Handle>, bool), Error> {
        let (tensor, is_new) = self.read_mutable(handle::meta(side), Value::tensor_reference)?;
        Ok((tensor.ok_or(TAKEN_OUT)?, is_new))
    }

    /// The footprint of a value that is a tensor and was not released; else zeros.
    pub fn footprint(&self, held: &Held) -> (usize, usize) {
        let value = self.value.get(held);
        if let End::Released = value.end {
            return (0, 0);
        }
        // SAFETY: the value has a reference to the tensor, and is exchanged only under the lock, which `held` proves.
        value.as_tensor().map_or((0, 0), |handle| unsafe { handle.as_ref() }.footprint())
    }
}

/// Adds a reference to what `address` points to.
///
/// # Safety
/// Another reference lives during the call.
pub unsafe fn another_reference<T>(address: NonNull<T>) -> FallibleArc<T> {
    // SAFETY: the caller of `another_reference` keeps a reference alive; this one is not dropped.
    let reference = std::mem::ManuallyDrop::new(unsafe { FallibleArc::from_address(address) });
    FallibleArc::clone(&reference)
}
