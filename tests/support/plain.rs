//! Objects as C++ makes them, through the symbols that it calls.

use std::ptr::NonNull;

use syncedmem::abi::caffe;
use syncedmem::object::SyncedMemory;

use super::Storage;

pub struct Plain(pub Box<Storage>);

impl Plain {
    pub fn new(bytes: usize) -> Plain {
        let mut storage = Storage::new();
        unsafe { caffe::new(NonNull::from(&mut storage.0).cast(), bytes) };
        Plain(storage)
    }

    /// Makes the object like an inlined constructor, without the library.
    pub fn unseen(bytes: usize) -> Plain {
        let mut storage = Storage::new();
        storage.0[..32].fill(0);
        storage.put(16, &bytes.to_le_bytes());
        Plain(storage)
    }

    pub fn this(&self) -> *const SyncedMemory {
        self.0.0.as_ptr().cast()
    }

    pub fn cpu_data(&self) {
        unsafe { caffe::cpu_data(self.this()) };
    }

    pub fn mutable_cpu_data(&self) {
        unsafe { caffe::mutable_cpu_data(self.this()) };
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        unsafe { caffe::delete(self.this()) };
    }
}
