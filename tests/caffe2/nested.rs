//! Ends that cause ends, and what a function sees of what it ends.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;

use crate::handles::*;
use crate::objects::Lent;

thread_local! {
    /// How many tensors have ended on this thread by a deleter.
    static ENDED: Cell<usize> = const { Cell::new(0) };
}

unsafe extern "C-unwind" fn end_next_tensor(_: *mut c_void, next: *mut c_void) {
    ENDED.set(ENDED.get() + 1);
    drop(Tensor(next.cast()));
}

/// The handle, which no longer ends.
fn given<T, H>(holder: T, handle: impl FnOnce(&T) -> *mut H) -> *mut c_void {
    handle(&std::mem::ManuallyDrop::new(holder)).cast()
}

static MEMORY: [f32; 1] = [1.0];

/// A tensor of one tensor, of one tensor…
fn within_each_other(links: usize) -> Tensor {
    let innermost = Tensor::of(&[1]);
    innermost.mutable::<f32>(&float()).unwrap();
    (0..links).fold(innermost, |inner, _| {
        let tensor = Tensor::of(&[1]);
        let item = tensor.mutable::<*mut c_void>(&tensor_meta(HOST)).unwrap();
        let old = unsafe { item.replace(given(inner, |inner| inner.0)) };
        drop(Tensor(old.cast()));
        tensor
    })
}

/// A class of the caller's with a pool and a tensor of its memory: the tensor ends first.
struct Layer {
    tensor: Tensor,
    pool: RefCell<Vec<&'static str>>,
}

unsafe extern "C-unwind" fn end_layer(layer: *mut c_void, log: *mut c_void) {
    unsafe extern "C-unwind" fn to_pool(_: *mut c_void, pool: *mut c_void) {
        unsafe { &*pool.cast::<RefCell<Vec<&str>>>() }.borrow_mut().push("tensor");
    }
    let Layer { tensor, pool } = *unsafe { Box::from_raw(layer.cast::<Layer>()) };
    let at = std::ptr::from_ref(&pool).cast_mut().cast();
    tensor.share_external(MEMORY.as_ptr().cast_mut(), &float(), 0, Some(to_pool), at).unwrap();
    drop(tensor);
    pool.borrow_mut().push("pool");
    unsafe { &*log.cast::<RefCell<Vec<&str>>>() }.borrow_mut().append(&mut pool.borrow_mut());
}

fn what_a_deleter_ends_has_ended_when_the_function_returns() {
    let log = RefCell::new(Vec::<&str>::new());
    let layer = || {
        let layer = Layer { tensor: Tensor::of(&[1]), pool: RefCell::new(Vec::new()) };
        Box::into_raw(Box::new(layer))
    };
    let context: *mut c_void = std::ptr::from_ref(&log).cast_mut().cast();
    let (workspace, holder) = (Workspace::new(), Workspace::new());
    workspace.create("layer").unwrap().reset(layer(), &float(), Some(end_layer), context);
    holder.map("mapped", &workspace, "layer", false).unwrap();
    drop((workspace, Workspace::over(&holder)));
    assert!(log.borrow().is_empty());
    drop(holder);
    assert_eq!(*log.borrow(), ["tensor", "pool"]);
}

fn a_deleter_may_end_the_last_tensor_that_shares_other_memory() {
    let lent = Lent::default();
    let (shared, also) = (Tensor::of(&[1]), Tensor::of(&[1]));
    let memory = MEMORY.as_ptr().cast_mut();
    shared.share_external(memory, &float(), 0, lent.deleter(), lent.context()).unwrap();
    also.share_data(&shared).unwrap();
    let outer = Tensor::of(&[1]);
    outer.share_external(memory, &float(), 0, Some(end_next_tensor), given(shared, |shared| shared.0)).unwrap();
    drop(outer);
    assert_eq!((ENDED.take(), lent.returned().len()), (1, 0));
    drop(also);
    assert_eq!(lent.returned(), [memory.addr()]);
}

fn tensors_within_tensors_are_copied_and_end() {
    let source = within_each_other(5);
    let target = Tensor::new();
    assert_eq!((target.copy_from(&source), target.dims().len()), (Ok(()), 1));
}

crate::support::harness::tests![
    what_a_deleter_ends_has_ended_when_the_function_returns,
    a_deleter_may_end_the_last_tensor_that_shares_other_memory,
    tensors_within_tensors_are_copied_and_end,
];
