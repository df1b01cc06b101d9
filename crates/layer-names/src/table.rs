//! An object with virtual functions gets a copy of its class's table, in which some slots are exchanged. The copy ends with the object: its
//! destructors are exchanged, too.

use std::ffi::c_void;

use crate::caffe::Class;

/// Before the first slot: the offset to the top, and the type.
const HEAD: usize = 2;

/// A destructor of a complete object, and one that also frees it.
type Destructor = unsafe extern "C-unwind" fn(*mut c_void);

/// Lies before a copy: what its functions need, and how it is freed.
struct Front<T> {
    class: Class,
    destructors: [usize; 2],
    of: T,
}

/// The copies' layout: a word that leads to the [`Front`], the head, the slots.
const BEFORE: usize = 1 + HEAD;

/// Gives the object a copy of its class's table with `slots` exchanged, pairs of a slot and a function; `of` is dropped when the object has
/// ended. `None`: the class's destructors are not known, and nothing has changed.
///
/// # Safety
/// The object is of that class, lives, and no thread calls it meanwhile; the functions have the types of those that they replace.
pub unsafe fn attach<T>(object: *mut c_void, class: Class, slots: &[(usize, usize)], of: T) -> Option<()> {
    let destructors = class.destructors?;
    let front = Box::into_raw(Box::new(Front { class, destructors, of }));
    let mut copy = vec![0; BEFORE + class.slots].into_boxed_slice();
    copy[0] = front.addr();
    for (at, word) in copy[1..BEFORE].iter_mut().enumerate() {
        // SAFETY: a table's head lies before its first slot.
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
    // SAFETY: the caller guarantees the object; `destroy` alone frees the copy.
    unsafe { *object.cast::<*const usize>() = Box::into_raw(copy).cast::<usize>().add(BEFORE) };
    Some(())
}

/// What `attach` was given.
///
/// # Safety
/// The object has a copy from `attach` with a `T`, and lives while the reference does.
pub unsafe fn of<'a, T>(object: *const c_void) -> &'a T {
    // SAFETY: the caller guarantees it.
    unsafe { &(*front::<T>(object)).of }
}

/// # Safety
/// As for `of`.
unsafe fn front<T>(object: *const c_void) -> *mut Front<T> {
    // SAFETY: the caller guarantees the copy, before which lies the address of its front.
    unsafe { *(*object.cast::<*const usize>()).sub(BEFORE) as *mut Front<T> }
}

unsafe extern "C-unwind" fn destroy<T, const WHICH: usize>(object: *mut c_void) {
    // SAFETY: only copies of `attach` have this function.
    let (table, front) = unsafe { (*object.cast::<*mut usize>(), front::<T>(object)) };
    // SAFETY: `attach` boxed it.
    let front = unsafe { Box::from_raw(front) };
    let slots = BEFORE + front.class.slots;
    // SAFETY: `attach` boxed the copy with so many words, and the object, whose last function this is, gets its class's table back.
    unsafe {
        *object.cast::<usize>() = front.class.first;
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(table.sub(BEFORE), slots)));
    }
    let destructor = front.destructors[WHICH];
    let of = front.of;
    // SAFETY: `destructors` found the class's own function in that slot.
    let destructor = unsafe { std::mem::transmute::<usize, Destructor>(destructor) };
    // SAFETY: the caller ends the object.
    unsafe { destructor(object) };
    drop(of);
}
