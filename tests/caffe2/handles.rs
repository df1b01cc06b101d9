//! The handles of the C API, for Rust tests: each ends its holder.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};

pub use crate::support::{syncedmem_typemeta_t as TypeMeta, *};

/// A built-in type.
pub fn meta(of: syncedmem_type_t) -> TypeMeta {
    let mut meta = TypeMeta::NONE;
    assert_eq!(unsafe { syncedmem_typemeta(of as i32, &mut meta) }, SYNCEDMEM_SUCCESS);
    meta
}

pub fn float() -> TypeMeta {
    meta(SYNCEDMEM_FLOAT32)
}

/// The type of tensors as values.
pub fn tensor_meta(side: i32) -> TypeMeta {
    let mut meta = TypeMeta::NONE;
    assert_eq!(unsafe { syncedmem_tensor_typemeta(side, &mut meta) }, SYNCEDMEM_SUCCESS);
    meta
}

pub const HOST: i32 = 0;
pub const DEVICE: i32 = 1;

pub struct Tensor(pub *mut syncedmem_tensor_t);

unsafe impl Send for Tensor {}
unsafe impl Sync for Tensor {}

impl Drop for Tensor {
    fn drop(&mut self) {
        assert_eq!(unsafe { syncedmem_tensor_destroy(self.0) }, SYNCEDMEM_SUCCESS);
    }
}

impl Clone for Tensor {
    fn clone(&self) -> Self {
        assert_eq!(unsafe { syncedmem_tensor_retain(self.0) }, SYNCEDMEM_SUCCESS);
        Tensor(self.0)
    }
}

impl Tensor {
    pub fn on(side: i32) -> Answer<Tensor> {
        let mut tensor = null_mut();
        let status = unsafe { syncedmem_tensor_create(side, &mut tensor) };
        answer(status, ()).map(|()| Tensor(tensor))
    }

    pub fn new() -> Tensor {
        Tensor::on(HOST).unwrap()
    }

    pub fn of(dims: &[i64]) -> Tensor {
        let tensor = Tensor::new();
        tensor.resize(dims).unwrap();
        tensor
    }

    pub fn info(&self) -> syncedmem_tensor_info_t {
        let mut info = std::mem::MaybeUninit::uninit();
        assert_eq!(unsafe { syncedmem_tensor_info(self.0, info.as_mut_ptr()) }, SYNCEDMEM_SUCCESS);
        unsafe { info.assume_init() }
    }

    pub fn dims(&self) -> Vec<i64> {
        let info = self.info();
        (0..info.ndim as usize).map(|axis| unsafe { info.dims.add(axis).read() }).collect()
    }

    pub fn resize(&self, dims: &[i64]) -> Answer {
        answer(unsafe { syncedmem_tensor_resize(self.0, dims.len() as i32, dims.as_ptr()) }, ())
    }

    pub fn reshape(&self, dims: &[i64]) -> Answer {
        answer(unsafe { syncedmem_tensor_reshape(self.0, dims.len() as i32, dims.as_ptr()) }, ())
    }

    pub fn reserve(&self, dims: &[i64]) -> Answer {
        answer(unsafe { syncedmem_tensor_reserve(self.0, dims.len() as i32, dims.as_ptr()) }, ())
    }

    pub fn resize_like(&self, source: &Tensor) -> Answer {
        answer(unsafe { syncedmem_tensor_resize_like(self.0, source.0) }, ())
    }

    pub fn shrink(&self, outer: i64) -> Answer {
        answer(unsafe { syncedmem_tensor_shrink(self.0, outer) }, ())
    }

    pub fn extend(&self, more: i64, growth: f64) -> Answer {
        answer(unsafe { syncedmem_tensor_extend(self.0, more, growth) }, ())
    }

    pub fn free_memory(&self) {
        answer(unsafe { syncedmem_tensor_free_memory(self.0) }, ()).unwrap();
    }

    pub fn copy_from(&self, source: &Tensor) -> Answer {
        answer(unsafe { syncedmem_tensor_copy_from(self.0, source.0) }, ())
    }

    pub fn share_data(&self, source: &Tensor) -> Answer {
        answer(unsafe { syncedmem_tensor_share_data(self.0, source.0) }, ())
    }

    pub fn swap(&self, other: &Tensor) -> Answer {
        answer(unsafe { syncedmem_tensor_swap(self.0, other.0) }, ())
    }

    /// Shares memory that nothing takes back.
    pub fn share<T>(&self, memory: *mut T, meta: &TypeMeta, capacity: usize) -> Answer {
        self.share_external(memory, meta, capacity, None, null_mut())
    }

    pub fn share_external<T>(
        &self,
        memory: *mut T,
        meta: &TypeMeta,
        capacity: usize,
        deleter: syncedmem_deleter_t,
        context: *mut c_void,
    ) -> Answer {
        let status =
            unsafe { syncedmem_tensor_share_external(self.0, memory.cast(), meta, capacity, deleter, context) };
        answer(status, ())
    }

    pub fn raw_data(&self) -> Answer<*const u8> {
        let mut data = null();
        answer(unsafe { syncedmem_tensor_data(self.0, null(), &mut data) }, ()).map(|()| data.cast())
    }

    pub fn data<T>(&self, meta: &TypeMeta) -> Answer<*const T> {
        let mut data = null();
        answer(unsafe { syncedmem_tensor_data(self.0, meta, &mut data) }, ()).map(|()| data.cast())
    }

    pub fn mutable<T>(&self, meta: &TypeMeta) -> Answer<*mut T> {
        let mut data = null_mut();
        answer(unsafe { syncedmem_tensor_mutable_data(self.0, meta, &mut data) }, ()).map(|()| data.cast())
    }

    pub fn mutable_raw(&self) -> Answer<*mut u8> {
        let mut data = null_mut();
        answer(unsafe { syncedmem_tensor_mutable_data(self.0, null(), &mut data) }, ()).map(|()| data.cast())
    }

    pub fn memory(&self) -> Answer<*mut syncedmem_t> {
        let mut mem = null_mut();
        answer(unsafe { syncedmem_tensor_memory(self.0, &mut mem) }, ()).map(|()| mem)
    }

    pub fn dim(&self, axis: i32) -> Answer<i64> {
        let mut dim = 0;
        answer(unsafe { syncedmem_tensor_dim(self.0, axis, &mut dim) }, ()).map(|()| dim)
    }

    pub fn dim32(&self, axis: i32) -> Answer<i32> {
        let mut dim = 0;
        answer(unsafe { syncedmem_tensor_dim32(self.0, axis, &mut dim) }, ()).map(|()| dim)
    }

    pub fn is_type(&self, meta: &TypeMeta) -> bool {
        let mut is = false;
        assert_eq!(unsafe { syncedmem_tensor_is_type(self.0, meta, &mut is) }, SYNCEDMEM_SUCCESS);
        is
    }

    pub fn debug_string(&self) -> String {
        let (mut text, mut length) = ([0 as c_char; 2048], 0);
        let status = unsafe { syncedmem_tensor_debug_string(self.0, text.as_mut_ptr(), text.len(), &mut length) };
        assert_eq!(status, SYNCEDMEM_SUCCESS);
        let line = unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().unwrap().to_string();
        assert_eq!(line.len(), length);
        line
    }
}

pub struct Blob(pub *mut syncedmem_typed_blob_t);

unsafe impl Send for Blob {}
unsafe impl Sync for Blob {}

impl Drop for Blob {
    fn drop(&mut self) {
        assert_eq!(unsafe { syncedmem_typed_blob_destroy(self.0) }, SYNCEDMEM_SUCCESS);
    }
}

impl Blob {
    pub fn new() -> Blob {
        let mut blob = null_mut();
        assert_eq!(unsafe { syncedmem_typed_blob_create(&mut blob) }, SYNCEDMEM_SUCCESS);
        Blob(blob)
    }

    pub fn meta(&self) -> TypeMeta {
        let mut meta = TypeMeta::NONE;
        assert_eq!(unsafe { syncedmem_typed_blob_meta(self.0, &mut meta) }, SYNCEDMEM_SUCCESS);
        meta
    }

    pub fn is_type(&self, meta: &TypeMeta) -> bool {
        let mut is = false;
        assert_eq!(unsafe { syncedmem_typed_blob_is_type(self.0, meta, &mut is) }, SYNCEDMEM_SUCCESS);
        is
    }

    pub fn get<T>(&self, meta: &TypeMeta) -> Answer<*mut T> {
        let mut value = null_mut();
        answer(unsafe { syncedmem_typed_blob_get(self.0, meta, &mut value) }, ()).map(|()| value.cast())
    }

    pub fn get_raw(&self) -> *mut c_void {
        let mut value = null_mut();
        assert_eq!(unsafe { syncedmem_typed_blob_get(self.0, null(), &mut value) }, SYNCEDMEM_SUCCESS);
        value
    }

    /// The value, and whether it is new.
    pub fn get_mutable<T>(&self, meta: &TypeMeta) -> Answer<(*mut T, bool)> {
        let (mut value, mut is_new) = (null_mut(), false);
        let status = unsafe { syncedmem_typed_blob_get_mutable(self.0, meta, &mut is_new, &mut value) };
        answer(status, ()).map(|()| (value.cast(), is_new))
    }

    pub fn reset<T>(&self, value: *mut T, meta: &TypeMeta, deleter: syncedmem_deleter_t, context: *mut c_void) {
        let status = unsafe { syncedmem_typed_blob_reset(self.0, value.cast(), meta, deleter, context) };
        assert_eq!(status, SYNCEDMEM_SUCCESS);
    }

    pub fn empty(&self) {
        let status = unsafe { syncedmem_typed_blob_reset(self.0, null_mut(), null(), None, null_mut()) };
        assert_eq!(status, SYNCEDMEM_SUCCESS);
    }

    pub fn release(&self) -> *mut c_void {
        let mut value = null_mut();
        assert_eq!(
            unsafe { syncedmem_typed_blob_release(self.0, &mut value, null_mut(), null_mut()) },
            SYNCEDMEM_SUCCESS
        );
        value
    }

    pub fn swap(&self, other: &Blob) {
        assert_eq!(unsafe { syncedmem_typed_blob_swap(self.0, other.0) }, SYNCEDMEM_SUCCESS);
    }

    pub fn tensor(&self) -> Answer<Tensor> {
        let mut tensor = null_mut();
        answer(unsafe { syncedmem_typed_blob_get_tensor(self.0, &mut tensor) }, ()).map(|()| Tensor(tensor))
    }

    pub fn mutable_tensor(&self, side: i32) -> Answer<(Tensor, bool)> {
        let (mut tensor, mut is_new) = (null_mut(), false);
        let status = unsafe { syncedmem_typed_blob_get_mutable_tensor(self.0, side, &mut is_new, &mut tensor) };
        answer(status, ()).map(|()| (Tensor(tensor), is_new))
    }

    pub fn set_tensor(&self, tensor: &Tensor) -> Answer {
        answer(unsafe { syncedmem_typed_blob_set_tensor(self.0, tensor.0) }, ())
    }
}

pub struct Workspace(pub *mut syncedmem_workspace_t);

unsafe impl Send for Workspace {}
unsafe impl Sync for Workspace {}

impl Drop for Workspace {
    fn drop(&mut self) {
        assert_eq!(unsafe { syncedmem_workspace_destroy(self.0) }, SYNCEDMEM_SUCCESS);
    }
}

impl Workspace {
    fn made(parent: *mut syncedmem_workspace_t) -> Workspace {
        let mut workspace = null_mut();
        assert_eq!(unsafe { syncedmem_workspace_create(parent, &mut workspace) }, SYNCEDMEM_SUCCESS);
        Workspace(workspace)
    }

    pub fn new() -> Workspace {
        Workspace::made(null_mut())
    }

    pub fn over(parent: &Workspace) -> Workspace {
        Workspace::made(parent.0)
    }

    pub fn create(&self, name: &str) -> Answer<Blob> {
        let (mut blob, name) = (null_mut(), CString::new(name).unwrap());
        let status = unsafe { syncedmem_workspace_create_blob(self.0, name.as_ptr(), &mut blob) };
        answer(status, ()).map(|()| Blob(blob))
    }

    pub fn create_local(&self, name: &str) -> Answer<Blob> {
        let (mut blob, name) = (null_mut(), CString::new(name).unwrap());
        let status = unsafe { syncedmem_workspace_create_local_blob(self.0, name.as_ptr(), &mut blob) };
        answer(status, ()).map(|()| Blob(blob))
    }

    pub fn get(&self, name: &str) -> Option<Blob> {
        let (mut blob, name) = (null_mut(), CString::new(name).unwrap());
        assert_eq!(unsafe { syncedmem_workspace_get_blob(self.0, name.as_ptr(), &mut blob) }, SYNCEDMEM_SUCCESS);
        (!blob.is_null()).then_some(Blob(blob))
    }

    pub fn has(&self, name: &str) -> bool {
        let (mut has, name) = (false, CString::new(name).unwrap());
        assert_eq!(unsafe { syncedmem_workspace_has_blob(self.0, name.as_ptr(), &mut has) }, SYNCEDMEM_SUCCESS);
        has
    }

    pub fn remove(&self, name: &str) -> bool {
        let (mut removed, name) = (false, CString::new(name).unwrap());
        let status = unsafe { syncedmem_workspace_remove_blob(self.0, name.as_ptr(), &mut removed) };
        assert_eq!(status, SYNCEDMEM_SUCCESS);
        removed
    }

    pub fn rename(&self, old: &str, new: &str) -> Answer<Blob> {
        let (mut blob, old, new) = (null_mut(), CString::new(old).unwrap(), CString::new(new).unwrap());
        let status = unsafe { syncedmem_workspace_rename_blob(self.0, old.as_ptr(), new.as_ptr(), &mut blob) };
        answer(status, ()).map(|()| Blob(blob))
    }

    /// Makes the blob `name` of `other` visible as `new`.
    pub fn map(&self, new: &str, other: &Workspace, name: &str, skip: bool) -> Answer {
        let (new, name) = (CString::new(new).unwrap(), CString::new(name).unwrap());
        let status =
            unsafe { syncedmem_workspace_add_blob_mapping(self.0, new.as_ptr(), other.0, name.as_ptr(), skip) };
        answer(status, ())
    }

    /// The names and the bytes of its own blobs, or of all that are visible.
    pub fn blobs(&self, local: bool) -> Vec<(String, usize)> {
        unsafe extern "C-unwind" fn visit(
            name: *const c_char,
            blob: *mut syncedmem_typed_blob_t,
            bytes: usize,
            all: *mut c_void,
        ) {
            assert!(!blob.is_null());
            let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap().to_string();
            unsafe { &mut *all.cast::<Vec<(String, usize)>>() }.push((name, bytes));
        }
        let mut all: Vec<(String, usize)> = Vec::new();
        let status = unsafe { syncedmem_workspace_blobs(self.0, local, Some(visit), (&raw mut all).cast()) };
        assert_eq!(status, SYNCEDMEM_SUCCESS);
        all
    }

    pub fn names(&self, local: bool) -> Vec<String> {
        self.blobs(local).into_iter().map(|(name, _)| name).collect()
    }
}
