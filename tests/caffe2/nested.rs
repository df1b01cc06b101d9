//! Chains of objects that end one another, longer than any stack; and the state that a deleter sees.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;

use crate::handles::*;
use crate::objects::Lent;

/// Stack for the frames of a debug build, in bytes.
const SMALL_STACK: usize = 96 << 10;

/// Moves a value to the only thread that uses it.
struct Alone<T>(T);
unsafe impl<T> Send for Alone<T> {}

impl<T> Alone<T> {
    fn take(self) -> T {
        self.0
    }
}

fn on_a_small_stack<T, R>(value: T, work: impl FnOnce(T) -> R + Send) -> R {
    let value = Alone(value);
    std::thread::scope(|threads| {
        let run = move || Alone(work(value.take()));
        std::thread::Builder::new().stack_size(SMALL_STACK).spawn_scoped(threads, run).unwrap().join().unwrap().take()
    })
}

thread_local! {
    /// Number of links that have ended on this thread.
    static ENDED: Cell<usize> = const { Cell::new(0) };
}

/// Ends a chain, and returns how many of its functions were called.
fn end<T>(chain: T) -> usize {
    on_a_small_stack(chain, |chain| {
        drop(chain);
        ENDED.take()
    })
}

unsafe extern "C-unwind" fn end_next_tensor(_: *mut c_void, next: *mut c_void) {
    ENDED.set(ENDED.get() + 1);
    drop(Tensor(next.cast()));
}

/// The handle, whose reference is not dropped any more.
fn given<T, H>(holder: T, handle: impl FnOnce(&T) -> *mut H) -> *mut c_void {
    handle(&std::mem::ManuallyDrop::new(holder)).cast()
}

static MEMORY: [f32; 1] = [1.0];

/// A tensor whose memory's deleter ends the next one, and so on.
fn lent_to_each_other(links: usize) -> Tensor {
    (0..links).fold(Tensor::new(), |next, _| {
        let tensor = Tensor::of(&[1]);
        let next = given(next, |next| next.0);
        tensor.share_external(MEMORY.as_ptr().cast_mut(), &float(), 0, Some(end_next_tensor), next).unwrap();
        tensor
    })
}

/// A tensor whose item is a tensor, whose item is a tensor, and so on.
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

#[test(alone)]
fn a_chain_of_mappings_of_workspaces_ends() {
    let chain = (0..50_000).fold(Workspace::new(), |other, _| {
        drop(other.create_local("blob").unwrap());
        let workspace = Workspace::new();
        workspace.map("mapped", &other, "blob", false).unwrap();
        workspace
    });
    assert_eq!(end(chain), 0);
}

#[test(alone)]
fn a_chain_of_tensors_within_tensors_ends() {
    assert_eq!(end(within_each_other(30_000)), 0);
}

#[test(alone)]
fn a_chain_of_deleters_of_memory_ends_and_each_is_called() {
    assert_eq!(end(lent_to_each_other(30_000)), 30_000);
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

#[test]
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

#[test]
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

#[test(alone)]
fn a_copy_of_tensors_within_tensors_is_refused_where_it_would_need_any_depth() {
    let copy = |source| {
        on_a_small_stack(source, |source: Tensor| {
            let target = Tensor::new();
            let copied = target.copy_from(&source);
            (copied, target.dims().len())
        })
    };
    assert_eq!(copy(within_each_other(16)), (Ok(()), 1));
    assert_eq!(copy(within_each_other(17)), (Err(SYNCEDMEM_ERROR_INVALID_STATE), 0), "the header says 16");
    assert_eq!(copy(within_each_other(30_000)), (Err(SYNCEDMEM_ERROR_INVALID_STATE), 0));
}
