//! Memory that objects and tensors share in `device_dlpack_random`, and the values that it has had.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use crate::support::tensor::*;

pub const WORDS: usize = 1024;
pub const BYTES: usize = 4 * WORDS;

/// Memory that is lent by a tensor.
pub struct Lent {
    theirs: Theirs,
    _memory: Vec<u32>,
}

impl Lent {
    /// On the host, or on the device at `address`.
    pub fn new(address: Option<usize>) -> Rc<Lent> {
        let mut memory = vec![0; WORDS];
        let mut theirs = Theirs::of(memory.as_mut_ptr().cast(), BYTES);
        if let Some(address) = address {
            theirs.managed.tensor.data = std::ptr::with_exposed_provenance_mut(address);
            theirs.managed.tensor.device = (2, 0);
        }
        Rc::new(Lent { theirs, _memory: memory })
    }
}

impl std::ops::Deref for Lent {
    type Target = Theirs;

    fn deref(&self) -> &Theirs {
        &self.theirs
    }
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
