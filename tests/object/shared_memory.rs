//! Memory that objects and tensors share in `device_dlpack_random`, and the values that it has had.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::support::tensor::*;

pub const WORDS: usize = 1024;
pub const BYTES: usize = 4 * WORDS;

/// Memory that is lent.
pub struct Lent {
    pub managed: DLManagedTensorVersioned,
    shape: [i64; 1],
    memory: Vec<u32>,
    pub deleted: AtomicUsize,
}

impl Lent {
    /// On the host, or on the device at `address`.
    pub fn new(address: Option<usize>) -> Rc<Lent> {
        let theirs = Theirs::of(std::ptr::null_mut(), BYTES);
        let managed = DLManagedTensorVersioned { deleter: Some(deleted), ..*theirs.managed };
        let deleted = AtomicUsize::new(0);
        let mut foreign = Rc::new(Lent { managed, shape: [BYTES as i64], memory: vec![0; WORDS], deleted });
        let this = Rc::get_mut(&mut foreign).unwrap();
        this.managed.tensor.data = this.memory.as_mut_ptr().cast();
        if let Some(address) = address {
            this.managed.tensor.data = std::ptr::with_exposed_provenance_mut(address);
            this.managed.tensor.device = (2, 0);
        }
        this.managed.tensor.strides = std::ptr::null_mut();
        this.managed.tensor.shape = this.shape.as_mut_ptr();
        this.managed.context = std::ptr::from_ref(&this.deleted).cast_mut().cast();
        foreign
    }
}

unsafe extern "C" fn deleted(managed: *mut DLManagedTensorVersioned) {
    unsafe { &*(*managed).context.cast::<AtomicUsize>() }.fetch_add(1, SeqCst);
}

/// What the words of some memory were at any time: of all objects that have shared it.
#[derive(Clone)]
pub struct Values(pub Vec<Rc<RefCell<HashSet<u32>>>>);

impl Values {
    pub fn new() -> Values {
        Values(vec![Rc::new(RefCell::new(HashSet::from([0])))])
    }

    pub fn add(&self, value: u32) {
        for values in &self.0 {
            values.borrow_mut().insert(value);
        }
    }

    pub fn have(&self, value: u32) -> bool {
        self.0.iter().any(|values| values.borrow().contains(&value))
    }
}
