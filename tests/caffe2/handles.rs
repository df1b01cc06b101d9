//! The handles of the C API, for Rust tests: each drops its reference at its end.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};

pub use crate::support::{syncedmem_typemeta_t as TypeMeta, *};

pub fn meta(of: syncedmem_type_t) -> TypeMeta {
    ask(TypeMeta::NONE, |meta| unsafe { syncedmem_typemeta(of as i32, meta) }).unwrap()
}

pub fn float() -> TypeMeta {
    meta(SYNCEDMEM_FLOAT32)
}

/// The type of tensors as values.
pub fn tensor_meta(side: i32) -> TypeMeta {
    ask(TypeMeta::NONE, |meta| unsafe { syncedmem_tensor_typemeta(side, meta) }).unwrap()
}

fn text(name: &str) -> CString {
    CString::new(name).unwrap()
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

/// The functions of the C API on one tensor, as methods: those that give a status alone, and those that write a value.
macro_rules! methods {
    ($($act:ident($($argument:ident: $kind:ty),*) => $do:ident($($passed:expr),*);)* /
     $($question:ident($($of:ident: $type:ty)?) -> $answer:ty = $first:expr => $ask:ident($($given:expr)?);)*) => {
        impl Tensor {
            $(pub fn $act(&self, $($argument: $kind),*) -> Answer {
                done(unsafe { $do(self.0, $($passed),*) })
            })*
            $(pub fn $question(&self $(, $of: $type)?) -> Answer<$answer> {
                ask($first, |value| unsafe { $ask(self.0, $($given,)? value) })
            })*
        }
    };
}

methods! {
    resize(dims: &[i64]) => syncedmem_tensor_resize(dims.len() as i32, dims.as_ptr());
    reshape(dims: &[i64]) => syncedmem_tensor_reshape(dims.len() as i32, dims.as_ptr());
    reserve(dims: &[i64]) => syncedmem_tensor_reserve(dims.len() as i32, dims.as_ptr());
    resize_like(source: &Tensor) => syncedmem_tensor_resize_like(source.0);
    shrink(outer: i64) => syncedmem_tensor_shrink(outer);
    extend(more: i64, growth: f64) => syncedmem_tensor_extend(more, growth);
    copy_from(source: &Tensor) => syncedmem_tensor_copy_from(source.0);
    share_data(source: &Tensor) => syncedmem_tensor_share_data(source.0);
    swap(other: &Tensor) => syncedmem_tensor_swap(other.0);
    /
    memory() -> *mut syncedmem_t = null_mut() => syncedmem_tensor_memory();
    dim(axis: i32) -> i64 = 0 => syncedmem_tensor_dim(axis);
    dim32(axis: i32) -> i32 = 0 => syncedmem_tensor_dim32(axis);
}

impl Tensor {
    pub fn on(side: i32) -> Answer<Tensor> {
        ask(null_mut(), |tensor| unsafe { syncedmem_tensor_create(side, tensor) }).map(Tensor)
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

    pub fn free_memory(&self) {
        done(unsafe { syncedmem_tensor_free_memory(self.0) }).unwrap();
    }

    /// Shares memory without a deleter.
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
        done(unsafe { syncedmem_tensor_share_external(self.0, memory.cast(), meta, capacity, deleter, context) })
    }

    pub fn raw_data(&self) -> Answer<*const u8> {
        ask(null(), |data| unsafe { syncedmem_tensor_data(self.0, null(), data) }).map(|data| data.cast())
    }

    pub fn data<T>(&self, meta: &TypeMeta) -> Answer<*const T> {
        ask(null(), |data| unsafe { syncedmem_tensor_data(self.0, meta, data) }).map(|data| data.cast())
    }

    pub fn mutable<T>(&self, meta: &TypeMeta) -> Answer<*mut T> {
        ask(null_mut(), |data| unsafe { syncedmem_tensor_mutable_data(self.0, meta, data) }).map(|data| data.cast())
    }

    pub fn mutable_raw(&self) -> Answer<*mut u8> {
        ask(null_mut(), |data| unsafe { syncedmem_tensor_mutable_data(self.0, null(), data) }).map(|data| data.cast())
    }

    pub fn is_type(&self, meta: &TypeMeta) -> bool {
        ask(false, |is| unsafe { syncedmem_tensor_is_type(self.0, meta, is) }).unwrap()
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
        Blob(ask(null_mut(), |blob| unsafe { syncedmem_typed_blob_create(blob) }).unwrap())
    }

    pub fn meta(&self) -> TypeMeta {
        ask(TypeMeta::NONE, |meta| unsafe { syncedmem_typed_blob_meta(self.0, meta) }).unwrap()
    }

    pub fn is_type(&self, meta: &TypeMeta) -> bool {
        ask(false, |is| unsafe { syncedmem_typed_blob_is_type(self.0, meta, is) }).unwrap()
    }

    pub fn get<T>(&self, meta: &TypeMeta) -> Answer<*mut T> {
        ask(null_mut(), |value| unsafe { syncedmem_typed_blob_get(self.0, meta, value) }).map(|value| value.cast())
    }

    pub fn get_raw(&self) -> *mut c_void {
        ask(null_mut(), |value| unsafe { syncedmem_typed_blob_get(self.0, null(), value) }).unwrap()
    }

    /// The value, and whether it is new.
    pub fn get_mutable<T>(&self, meta: &TypeMeta) -> Answer<(*mut T, bool)> {
        let get =
            |(value, is_new): &mut (_, _)| unsafe { syncedmem_typed_blob_get_mutable(self.0, meta, is_new, value) };
        ask((null_mut(), false), get).map(|(value, is_new)| (value.cast(), is_new))
    }

    pub fn reset<T>(&self, value: *mut T, meta: &TypeMeta, deleter: syncedmem_deleter_t, context: *mut c_void) {
        done(unsafe { syncedmem_typed_blob_reset(self.0, value.cast(), meta, deleter, context) }).unwrap();
    }

    pub fn release(&self) -> *mut c_void {
        let release = |value: &mut _| unsafe { syncedmem_typed_blob_release(self.0, value, null_mut(), null_mut()) };
        ask(null_mut(), release).unwrap()
    }

    pub fn swap(&self, other: &Blob) {
        assert_eq!(unsafe { syncedmem_typed_blob_swap(self.0, other.0) }, SYNCEDMEM_SUCCESS);
    }

    pub fn tensor(&self) -> Answer<Tensor> {
        ask(null_mut(), |tensor| unsafe { syncedmem_typed_blob_get_tensor(self.0, tensor) }).map(Tensor)
    }

    pub fn mutable_tensor(&self, side: i32) -> Answer<(Tensor, bool)> {
        let get = |(tensor, is_new): &mut (_, _)| unsafe {
            syncedmem_typed_blob_get_mutable_tensor(self.0, side, is_new, tensor)
        };
        ask((null_mut(), false), get).map(|(tensor, is_new)| (Tensor(tensor), is_new))
    }

    pub fn set_tensor(&self, tensor: &Tensor) -> Answer {
        done(unsafe { syncedmem_typed_blob_set_tensor(self.0, tensor.0) })
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
        Workspace(ask(null_mut(), |workspace| unsafe { syncedmem_workspace_create(parent, workspace) }).unwrap())
    }

    pub fn new() -> Workspace {
        Workspace::made(null_mut())
    }

    pub fn over(parent: &Workspace) -> Workspace {
        Workspace::made(parent.0)
    }

    pub fn create(&self, name: &str) -> Answer<Blob> {
        let name = text(name);
        ask(null_mut(), |blob| unsafe { syncedmem_workspace_create_blob(self.0, name.as_ptr(), blob) }).map(Blob)
    }

    pub fn create_local(&self, name: &str) -> Answer<Blob> {
        let name = text(name);
        ask(null_mut(), |blob| unsafe { syncedmem_workspace_create_local_blob(self.0, name.as_ptr(), blob) }).map(Blob)
    }

    pub fn get(&self, name: &str) -> Option<Blob> {
        let name = text(name);
        let blob =
            ask(null_mut(), |blob| unsafe { syncedmem_workspace_get_blob(self.0, name.as_ptr(), blob) }).unwrap();
        (!blob.is_null()).then_some(Blob(blob))
    }

    pub fn has(&self, name: &str) -> bool {
        let name = text(name);
        ask(false, |has| unsafe { syncedmem_workspace_has_blob(self.0, name.as_ptr(), has) }).unwrap()
    }

    pub fn remove(&self, name: &str) -> bool {
        let name = text(name);
        ask(false, |removed| unsafe { syncedmem_workspace_remove_blob(self.0, name.as_ptr(), removed) }).unwrap()
    }

    pub fn rename(&self, old: &str, new: &str) -> Answer<Blob> {
        let (old, new) = (text(old), text(new));
        let rename =
            |blob: &mut _| unsafe { syncedmem_workspace_rename_blob(self.0, old.as_ptr(), new.as_ptr(), blob) };
        ask(null_mut(), rename).map(Blob)
    }

    /// Makes the blob `name` of `other` visible as `new`.
    pub fn map(&self, new: &str, other: &Workspace, name: &str, skip: bool) -> Answer {
        let (new, name) = (text(new), text(name));
        done(unsafe { syncedmem_workspace_add_blob_mapping(self.0, new.as_ptr(), other.0, name.as_ptr(), skip) })
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
        done(unsafe { syncedmem_workspace_blobs(self.0, local, Some(visit), (&raw mut all).cast()) }).unwrap();
        all
    }

    pub fn names(&self, local: bool) -> Vec<String> {
        self.blobs(local).into_iter().map(|(name, _)| name).collect()
    }
}
