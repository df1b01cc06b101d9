//! A type with constructors, which counts its objects, and memory that notes when it comes back.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;

use crate::handles::{TypeMeta, syncedmem_deleter_t};

thread_local! {
    /// Objects that live.
    pub static ALIVE: Cell<isize> = const { Cell::new(0) };
    /// Whether the next call of a function of the type that may fail fails.
    pub static REFUSES: Cell<bool> = const { Cell::new(false) };
}

/// The value of a new object.
pub const BORN: [u8; 4] = [0xB0, 0xB1, 0xB2, 0xB3];

static ID: u8 = 0;

unsafe extern "C-unwind" fn construct(items: *mut c_void, count: usize) -> bool {
    if REFUSES.take() {
        return false;
    }
    ALIVE.set(ALIVE.get() + count as isize);
    (0..count).for_each(|item| unsafe { items.cast::<[u8; 4]>().add(item).write(BORN) });
    true
}

unsafe extern "C-unwind" fn destruct(items: *mut c_void, count: usize) {
    ALIVE.set(ALIVE.get() - count as isize);
    (0..count).for_each(|item| unsafe { items.cast::<[u8; 4]>().add(item).write([0xDE; 4]) });
}

unsafe extern "C-unwind" fn copy(source: *const c_void, target: *mut c_void, count: usize) -> bool {
    unsafe { target.cast::<[u8; 4]>().copy_from(source.cast(), count) };
    !REFUSES.take()
}

/// A type of 4 bytes with constructors.
pub fn object() -> TypeMeta {
    TypeMeta {
        id: (&raw const ID).cast(),
        name: c"Object".as_ptr(),
        itemsize: 4,
        construct: Some(construct),
        destruct: Some(destruct),
        copy: Some(copy),
    }
}

/// A deleter that records the memory that it gets.
#[derive(Default)]
pub struct Lent(RefCell<Vec<usize>>);

impl Lent {
    pub fn deleter(&self) -> syncedmem_deleter_t {
        unsafe extern "C-unwind" fn note(pointer: *mut c_void, context: *mut c_void) {
            unsafe { &*context.cast::<Lent>() }.0.borrow_mut().push(pointer.addr());
        }
        Some(note)
    }

    pub fn context(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// The addresses that the deleter got.
    pub fn returned(&self) -> Vec<usize> {
        self.0.borrow().clone()
    }
}
