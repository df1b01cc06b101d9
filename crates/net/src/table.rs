//! Exchanges virtual functions of one object: the object gets a copy of its class's table with other functions in some slots. The copy has
//! other destructors, too, and is freed with the object.
#![expect(unsafe_code, reason = "tables of virtual functions are copied and called")]

use std::ffi::c_void;

use crate::caffe::Class;

/// Words before the first slot: the offset to top and the type info.
const HEAD: usize = 2;

/// The complete and the deleting destructor have this type.
type Destructor = unsafe extern "C-unwind" fn(*mut c_void);

/// The data of a copy.
struct Front<T> {
    class: Class,
    destructors: [usize; 2],
    of: T,
}

/// A copy has the address of its [`Front`], the head, and the slots: so many words come before the first slot.
const BEFORE: usize = 1 + HEAD;

/// Gives the object a copy of its class's table; `slots` are pairs of a slot and its new function. `of` is dropped after the object's
/// destructor. `None`: the class's destructors are not known, and nothing has changed.
///
/// # Safety
/// The object is of that class and lives, and no other thread calls it meanwhile. The functions have the types of those that they replace.
pub unsafe fn attach<T>(object: *mut c_void, class: Class, slots: &[(usize, usize)], of: T) -> Option<()> {
    let destructors = class.destructors?;
    let front = Box::into_raw(Box::new(Front { class, destructors, of }));
    let mut copy = vec![0; BEFORE + class.slots].into_boxed_slice();
    copy[0] = front.addr();
    for (at, word) in copy[1..BEFORE].iter_mut().enumerate() {
        // SAFETY: a table's head precedes its first slot.
        *word = unsafe { *(class.first as *const usize).sub(HEAD).add(at) };
    }
    for (at, slot) in copy[BEFORE..].iter_mut().enumerate() {
        *slot = class.slot(at);
    }
    copy[BEFORE] = destroy::<T, 0> as *const () as usize;
    copy[BEFORE + 1] = destroy::<T, 1> as *const () as usize;
    for &(slot, function) in slots {
        copy[BEFORE + slot] = function;
    }
    // SAFETY: the object begins with the address of its table, by this function's contract; only `destroy` frees the copy.
    unsafe { *object.cast::<*const usize>() = Box::into_raw(copy).cast::<usize>().add(BEFORE) };
    Some(())
}

/// The value that `attach` got.
///
/// # Safety
/// The object has a copy from `attach` with a `T`, and outlives the reference.
pub unsafe fn of<'a, T>(object: *const c_void) -> &'a T {
    // SAFETY: the object has a copy with a `T`, by this function's contract.
    unsafe { &(*front::<T>(object)).of }
}

/// # Safety
/// The object has a copy from `attach` with a `T`.
unsafe fn front<T>(object: *const c_void) -> *mut Front<T> {
    // SAFETY: the copy, which the object has by this function's contract, begins with the address of its front.
    unsafe { *(*object.cast::<*const usize>()).sub(BEFORE) as *mut Front<T> }
}

unsafe extern "C-unwind" fn destroy<T, const WHICH: usize>(object: *mut c_void) {
    // SAFETY: only copies of `attach` have this function.
    let (table, front) = unsafe { (*object.cast::<*mut usize>(), front::<T>(object)) };
    // SAFETY: `attach` boxed it.
    let front = unsafe { Box::from_raw(front) };
    let slots = BEFORE + front.class.slots;
    // SAFETY: `attach` boxed the copy with so many words. The object is being destroyed, and gets its class's table back.
    unsafe {
        *object.cast::<usize>() = front.class.first;
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(table.sub(BEFORE), slots)));
    }
    let destructor = front.destructors[WHICH];
    let of = front.of;
    // SAFETY: `Caffe::destructors` found the class's own destructor in that slot.
    let destructor = unsafe { std::mem::transmute::<usize, Destructor>(destructor) };
    // SAFETY: the caller called the object's destructor.
    unsafe { destructor(object) };
    drop(of);
}
