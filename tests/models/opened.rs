//! An open model, through the C API.

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub use syncedmem::abi::element::syncedmem_type_t::{self, *};

use crate::support::*;

/// Closed at the end of its scope.
pub struct Opened(pub *mut syncedmem_model_t);

/// The handle, for other threads.
unsafe impl Sync for Opened {}

pub fn open(path: &Path) -> Result<Opened, syncedmem_status_t> {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let mut model = std::ptr::dangling_mut();
    match unsafe { syncedmem_model_open(path.as_ptr(), &mut model) } {
        SYNCEDMEM_SUCCESS => Ok(Opened(model)),
        status => {
            assert_eq!(model, std::ptr::dangling_mut(), "a result is written only on success");
            Err(status)
        }
    }
}

pub fn opened(folder: &Folder, name: &str, contents: &[u8]) -> Opened {
    std::fs::write(folder.path(name), contents).unwrap();
    open(&folder.path(name)).unwrap_or_else(|_| panic!("{}", last_error()))
}

pub fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap().to_string()
}

impl Opened {
    pub fn info(&self) -> syncedmem_model_info_t {
        let mut info: syncedmem_model_info_t = unsafe { std::mem::zeroed() };
        info.size = size_of_val(&info);
        assert_eq!(unsafe { syncedmem_model_info(self.0, &mut info) }, SYNCEDMEM_SUCCESS);
        info
    }

    /// Name, type and number of blobs of each layer.
    pub fn layers(&self) -> Vec<(String, String, usize)> {
        let mut count = 0;
        assert_eq!(unsafe { syncedmem_model_layer_count(self.0, &mut count) }, SYNCEDMEM_SUCCESS);
        let layer = |index| {
            let (mut name, mut of, mut blobs) = (std::ptr::null(), std::ptr::null(), 0);
            let status = unsafe { syncedmem_model_layer(self.0, index, &mut name, &mut of, &mut blobs) };
            assert_eq!(status, SYNCEDMEM_SUCCESS);
            (text(name), text(of), blobs)
        };
        (0..count).map(layer).collect()
    }

    pub fn blob(&self, layer: usize, blob: usize) -> syncedmem_blob_info_t {
        let mut info: syncedmem_blob_info_t = unsafe { std::mem::zeroed() };
        info.size = size_of_val(&info);
        assert_eq!(unsafe { syncedmem_model_blob_info(self.0, layer, blob, &mut info) }, SYNCEDMEM_SUCCESS);
        info
    }

    /// Reads the data of a blob of the first layer.
    pub fn read(&self, blob: usize, of: syncedmem_type_t, object: &mut Storage) -> syncedmem_status_t {
        let part = SYNCEDMEM_DATA as i32;
        unsafe { syncedmem_model_read_blob(self.0, 0, blob, part, of as i32, object.mem()) }
    }

    pub fn floats(&self, blob: usize, count: usize) -> Vec<f32> {
        let mut object = Object::new(count * 4);
        assert_eq!(self.read(blob, SYNCEDMEM_FLOAT32, &mut object), SYNCEDMEM_SUCCESS, "{}", last_error());
        values(&mut object)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        assert_eq!(unsafe { syncedmem_model_close(self.0) }, SYNCEDMEM_SUCCESS);
    }
}

pub fn values<T: Copy>(object: &mut Storage) -> Vec<T> {
    let bytes = object.word(16);
    let data = object.cpu_data().unwrap();
    unsafe { std::slice::from_raw_parts(data.cast::<T>(), bytes / size_of::<T>()) }.to_vec()
}
