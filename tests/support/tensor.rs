//! DLPack as another library knows it: the structures of its `dlpack.h`, asked for and made.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::*;

pub const HOST: i32 = 0;
pub const DEVICE: i32 = 1;
pub const READ: i32 = 0;
pub const WRITE: i32 = 1;
pub const OVERWRITE: i32 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLTensor {
    pub data: *mut c_void,
    pub device: (i32, i32),
    pub ndim: i32,
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

#[repr(C)]
pub struct DLManagedTensor {
    pub tensor: DLTensor,
    pub context: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

#[repr(C)]
pub struct DLManagedTensorVersioned {
    pub version: (u32, u32),
    pub context: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    pub flags: u64,
    pub tensor: DLTensor,
}

/// An object of `syncedmem_create`, which the caller destroys.
pub fn created(bytes: usize) -> *mut syncedmem_t {
    let mut mem = std::ptr::null_mut();
    assert_eq!(unsafe { syncedmem_create(bytes, &mut mem) }, SYNCEDMEM_SUCCESS);
    mem
}

pub fn destroy(mem: *mut syncedmem_t) -> syncedmem_status_t {
    unsafe { syncedmem_destroy(mem) }
}

/// An object of `syncedmem_create` that ends with its scope.
pub struct Owned(pub *mut syncedmem_t);

pub fn owned(bytes: usize) -> Owned {
    Owned(created(bytes))
}

impl std::ops::Deref for Owned {
    type Target = *mut syncedmem_t;

    fn deref(&self) -> &*mut syncedmem_t {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        assert_eq!(destroy(self.0), SYNCEDMEM_SUCCESS);
    }
}

/// The address of an object's host data, to read.
pub fn cpu_data(mem: *mut syncedmem_t) -> *const c_void {
    Shared(mem).read(false).unwrap().cast()
}

pub fn gpu_data(mem: *mut syncedmem_t) -> *const c_void {
    Shared(mem).read(true).unwrap().cast()
}

/// What to ask for.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    pub side: i32,
    pub access: i32,
    pub code: u8,
    pub bits: u8,
    pub shape: &'a [i64],
    pub versioned: bool,
}

/// Floats on the host, to be read.
pub const FLOATS: Ask<'static> =
    Ask { side: HOST, access: READ, code: 2, bits: 32, shape: &[2, 3, 4], versioned: true };

/// A tensor of ours, deleted when its scope ends.
pub struct Tensor {
    pub address: *mut c_void,
    versioned: bool,
}

// Deleters may be called on any thread.
unsafe impl Send for Tensor {}

pub fn export(mem: *mut syncedmem_t, ask: Ask<'_>) -> Result<Tensor, syncedmem_status_t> {
    let (ndim, shape) = (ask.shape.len() as i32, ask.shape.as_ptr());
    let mut address = std::ptr::null_mut();
    let status = unsafe {
        syncedmem_to_dlpack(mem, ask.side, ask.access, ask.code, ask.bits, ndim, shape, ask.versioned, &mut address)
    };
    if status == SYNCEDMEM_SUCCESS { Ok(Tensor { address, versioned: ask.versioned }) } else { Err(status) }
}

/// How many tensors of each side are in use.
pub fn exports(mem: *mut syncedmem_t) -> (usize, usize) {
    let (mut host, mut device) = (usize::MAX, usize::MAX);
    assert_eq!(unsafe { syncedmem_exports(mem, &mut host, &mut device) }, SYNCEDMEM_SUCCESS);
    (host, device)
}

impl Tensor {
    pub fn managed(&self) -> &DLManagedTensorVersioned {
        assert!(self.versioned);
        unsafe { &*self.address.cast() }
    }

    pub fn legacy(&self) -> &DLManagedTensor {
        assert!(!self.versioned);
        unsafe { &*self.address.cast() }
    }

    pub fn tensor(&self) -> DLTensor {
        if self.versioned { self.managed().tensor } else { self.legacy().tensor }
    }

    pub fn shape(&self) -> Vec<i64> {
        numbers(self.tensor().shape, self.tensor().ndim)
    }

    pub fn strides(&self) -> Vec<i64> {
        numbers(self.tensor().strides, self.tensor().ndim)
    }

    pub fn data<T>(&self) -> *mut T {
        self.tensor().data.cast()
    }

    /// The tensor, whose deleter the caller calls.
    pub fn into_raw(self) -> *mut c_void {
        let address = self.address;
        std::mem::forget(self);
        address
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        unsafe {
            if self.versioned {
                let managed = self.address.cast::<DLManagedTensorVersioned>();
                (*managed).deleter.unwrap()(managed);
            } else {
                let managed = self.address.cast::<DLManagedTensor>();
                (*managed).deleter.unwrap()(managed);
            }
        }
    }
}

fn numbers(numbers: *const i64, count: i32) -> Vec<i64> {
    unsafe { std::slice::from_raw_parts(numbers, count as usize) }.to_vec()
}

/// A tensor of another library, which counts its deletions.
pub struct Theirs {
    pub managed: Box<DLManagedTensorVersioned>,
    pub legacy: Box<DLManagedTensor>,
    pub shape: Vec<i64>,
    pub strides: Vec<i64>,
    deleted: Box<AtomicUsize>,
}

impl Theirs {
    /// Bytes at `data`, on the host.
    pub fn of(data: *mut u8, bytes: usize) -> Theirs {
        let (mut shape, mut strides) = (vec![bytes as i64], vec![1]);
        let deleted = Box::new(AtomicUsize::new(0));
        let tensor = DLTensor {
            data: data.cast(),
            device: (1, 0),
            ndim: 1,
            code: 1,
            bits: 8,
            lanes: 1,
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        };
        let context = std::ptr::from_ref(&*deleted).cast_mut().cast();
        let managed = DLManagedTensorVersioned { version: (1, 0), context, deleter: Some(count), flags: 0, tensor };
        let legacy = DLManagedTensor { tensor, context, deleter: Some(count_legacy) };
        Theirs { managed: Box::new(managed), legacy: Box::new(legacy), shape, strides, deleted }
    }

    /// The same with another shape and other strides.
    pub fn shaped(mut self, shape: &[i64], strides: &[i64]) -> Theirs {
        (self.shape, self.strides) = (shape.to_vec(), strides.to_vec());
        let (shape, strides) = (self.shape.as_mut_ptr(), self.strides.as_mut_ptr());
        for tensor in [&mut self.managed.tensor, &mut self.legacy.tensor] {
            (tensor.ndim, tensor.shape) = (self.shape.len() as i32, shape);
            tensor.strides = if self.strides.is_empty() { std::ptr::null_mut() } else { strides };
        }
        self
    }

    pub fn lend(&mut self, mem: *mut syncedmem_t) -> syncedmem_status_t {
        unsafe { syncedmem_set_dlpack(mem, std::ptr::from_mut(&mut *self.managed).cast(), true) }
    }

    pub fn lend_legacy(&mut self, mem: *mut syncedmem_t) -> syncedmem_status_t {
        unsafe { syncedmem_set_dlpack(mem, std::ptr::from_mut(&mut *self.legacy).cast(), false) }
    }

    pub fn deleted(&self) -> usize {
        self.deleted.load(SeqCst)
    }
}

unsafe extern "C" fn count(managed: *mut DLManagedTensorVersioned) {
    unsafe { &*(*managed).context.cast::<AtomicUsize>() }.fetch_add(1, SeqCst);
}

unsafe extern "C" fn count_legacy(managed: *mut DLManagedTensor) {
    unsafe { &*(*managed).context.cast::<AtomicUsize>() }.fetch_add(1, SeqCst);
}

/// A tensor of bytes whose deleter does something.
pub struct Calling {
    pub managed: Box<DLManagedTensorVersioned>,
    _shape: Box<[i64; 1]>,
}

impl Calling {
    pub fn new(data: *mut u8, bytes: usize, does: impl FnOnce() + 'static) -> Calling {
        unsafe extern "C" fn call(managed: *mut DLManagedTensorVersioned) {
            let does = unsafe { Box::from_raw((*managed).context.cast::<Box<dyn FnOnce()>>()) };
            does();
        }
        let mut shape = Box::new([bytes as i64]);
        let does: Box<dyn FnOnce()> = Box::new(does);
        let mut managed = Theirs::of(data, bytes).managed;
        managed.context = Box::into_raw(Box::new(does)).cast();
        managed.deleter = Some(call);
        (managed.tensor.shape, managed.tensor.strides) = (shape.as_mut_ptr(), std::ptr::null_mut());
        Calling { managed, _shape: shape }
    }

    pub fn address(&mut self) -> *mut c_void {
        std::ptr::from_mut(&mut *self.managed).cast()
    }
}
