//! A blob that ends with its scope, and its operations as values.

use std::ffi::{c_char, c_void};

pub use syncedmem::abi::element::syncedmem_type_t::*;

use super::*;

/// An array, as the C API numbers it.
pub const DATA: i32 = SYNCEDMEM_DATA as i32;
pub const DIFF: i32 = SYNCEDMEM_DIFF as i32;

pub struct Blob(pub *mut syncedmem_blob_t);

/// The value that `ask` writes.
fn answer<T>(mut value: T, ask: impl FnOnce(&mut T) -> syncedmem_status_t) -> Answer<T> {
    super::answer(ask(&mut value), value)
}

/// Ends the hold of memory.
pub fn release(mem: *mut syncedmem_t) -> Answer<()> {
    done(unsafe { syncedmem_blob_release_memory(mem) })
}

impl Blob {
    /// A blob of floats.
    pub fn new(shape: &[i64]) -> Blob {
        Blob::of(SYNCEDMEM_FLOAT32, shape)
    }

    pub fn of(element: syncedmem_type_t, shape: &[i64]) -> Blob {
        let mut blob = Blob::unshaped(element).unwrap();
        blob.reshape(shape).unwrap();
        blob
    }

    pub fn unshaped(element: syncedmem_type_t) -> Answer<Blob> {
        let blob = std::ptr::null_mut();
        answer(blob, |blob| unsafe { syncedmem_blob_create(element as i32, blob) }).map(Blob)
    }

    pub fn reshape(&mut self, shape: &[i64]) -> Answer<()> {
        done(unsafe { syncedmem_blob_reshape(self.0, shape.len(), shape.as_ptr()) })
    }

    pub fn axes(&self) -> usize {
        answer(0, |axes| unsafe { syncedmem_blob_axes(self.0, axes) }).unwrap()
    }

    pub fn dim(&self, axis: i64) -> Answer<i64> {
        answer(0, |dim| unsafe { syncedmem_blob_shape(self.0, axis, dim) })
    }

    pub fn shape(&self) -> Vec<i64> {
        (0..self.axes() as i64).map(|axis| self.dim(axis).unwrap()).collect()
    }

    pub fn legacy(&self, axis: i64) -> Answer<i64> {
        answer(0, |dim| unsafe { syncedmem_blob_legacy_shape(self.0, axis, dim) })
    }

    pub fn count(&self) -> i64 {
        answer(0, |count| unsafe { syncedmem_blob_count(self.0, count) }).unwrap()
    }

    pub fn count_axes(&self, start: i64, end: i64) -> Answer<i64> {
        answer(0, |count| unsafe { syncedmem_blob_count_axes(self.0, start, end, count) })
    }

    pub fn offset(&self, indices: &[i64]) -> Answer<i64> {
        answer(0, |offset| unsafe { syncedmem_blob_offset(self.0, indices.len(), indices.as_ptr(), offset) })
    }

    pub fn legacy_offset(&self, [n, c, h, w]: [i64; 4]) -> Answer<i64> {
        answer(0, |offset| unsafe { syncedmem_blob_legacy_offset(self.0, n, c, h, w, offset) })
    }

    pub fn text(&self) -> String {
        let mut text = [0x7fu8; SYNCEDMEM_BLOB_SHAPE_STRING_BYTES];
        done(unsafe { syncedmem_blob_shape_string(self.0, text.as_mut_ptr().cast::<c_char>(), text.len()) }).unwrap();
        std::ffi::CStr::from_bytes_until_nul(&text).unwrap().to_str().unwrap().to_string()
    }

    pub fn equals(&self, shape: &[i64], legacy: bool) -> Answer<bool> {
        let equals = |equals: &mut bool| unsafe {
            syncedmem_blob_shape_equals(self.0, shape.len(), shape.as_ptr(), legacy, equals)
        };
        answer(false, equals)
    }

    pub fn capacity(&self, array: i32) -> usize {
        answer(0, |bytes| unsafe { syncedmem_blob_capacity(self.0, array, bytes) }).unwrap()
    }

    pub fn memory(&self, array: i32) -> Answer<*mut syncedmem_t> {
        answer(std::ptr::null_mut(), |mem| unsafe { syncedmem_blob_memory(self.0, array, mem) })
    }

    pub fn hold(&self, array: i32) -> Answer<*mut syncedmem_t> {
        answer(std::ptr::null_mut(), |mem| unsafe { syncedmem_blob_hold_memory(self.0, array, mem) })
    }

    pub fn head(&self, array: i32) -> syncedmem_head_t {
        let mem = self.memory(array).unwrap();
        answer(syncedmem_head_t::SYNCEDMEM_SYNCED, |head| unsafe { syncedmem_head(mem, head) }).unwrap()
    }

    pub fn set_cpu<T>(&mut self, array: i32, data: *mut T) -> Answer<()> {
        done(unsafe { syncedmem_blob_set_cpu_data(self.0, array, data.cast()) })
    }

    pub fn set_gpu(&mut self, array: i32, data: *mut c_void) -> Answer<()> {
        done(unsafe { syncedmem_blob_set_gpu_data(self.0, array, data) })
    }

    pub fn share(&mut self, array: i32, other: &Blob) -> Answer<()> {
        done(unsafe { syncedmem_blob_share(self.0, array, other.0) })
    }

    pub fn copy_from(&mut self, array: i32, source: &Blob, reshape: bool) -> Answer<()> {
        done(unsafe { syncedmem_blob_copy_from(self.0, array, source.0, reshape) })
    }

    pub fn update(&mut self) -> Answer<()> {
        done(unsafe { syncedmem_blob_update(self.0) })
    }

    pub fn asum(&self, array: i32) -> Answer<f64> {
        answer(f64::NAN, |sum| unsafe { syncedmem_blob_asum(self.0, array, sum) })
    }

    pub fn sumsq(&self, array: i32) -> Answer<f64> {
        answer(f64::NAN, |sum| unsafe { syncedmem_blob_sumsq(self.0, array, sum) })
    }

    pub fn scale(&mut self, array: i32, factor: f64) -> Answer<()> {
        done(unsafe { syncedmem_blob_scale(self.0, array, factor) })
    }

    pub fn gpu_shape(&self) -> Answer<*const c_void> {
        answer(std::ptr::null(), |shape| unsafe { syncedmem_blob_gpu_shape(self.0, shape) })
    }

    /// The elements on the host, to read.
    pub fn read<T: Copy>(&self, array: i32) -> Vec<T> {
        let mut values = self.read_all(array);
        values.truncate(self.count() as usize);
        values
    }

    /// As `read`, to the end of the memory.
    pub fn read_all<T: Copy>(&self, array: i32) -> Vec<T> {
        let mem = self.memory(array).unwrap();
        let data = answer(std::ptr::null(), |data| unsafe { syncedmem_cpu_data(mem, data) }).unwrap();
        let count = self.capacity(array) / size_of::<T>();
        (0..count).map(|index| unsafe { data.cast::<T>().add(index).read_unaligned() }).collect()
    }

    /// Writes the elements on the host.
    pub fn write<T: Copy>(&mut self, array: i32, values: &[T]) {
        assert_eq!(values.len() as i64, self.count());
        let mem = self.memory(array).unwrap();
        let data = answer(std::ptr::null_mut(), |data| unsafe { syncedmem_mutable_cpu_data(mem, data) }).unwrap();
        unsafe { data.cast::<T>().copy_from(values.as_ptr(), values.len()) };
    }
}

impl Drop for Blob {
    fn drop(&mut self) {
        assert_eq!(unsafe { syncedmem_blob_destroy(self.0) }, SYNCEDMEM_SUCCESS);
    }
}

impl Blob {
    /// The elements in device memory, to read, where they are then too.
    pub fn read_device(&self, gpu: &super::gpu::Gpu, array: i32) -> Vec<f32> {
        let data = self.sync(array).unwrap();
        let bytes = gpu.read(data.addr(), 4 * self.count() as usize);
        bytes.chunks_exact(4).map(|four| f32::from_ne_bytes(four.try_into().unwrap())).collect()
    }

    /// Writes the elements in device memory, which is then the newest side.
    pub fn write_device(&self, gpu: &super::gpu::Gpu, array: i32, values: &[f32]) {
        assert_eq!(values.len() as i64, self.count());
        let mem = self.memory(array).unwrap();
        let data = answer(std::ptr::null_mut(), |data| unsafe { syncedmem_mutable_gpu_data(mem, data) }).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        gpu.write(data.addr(), &bytes);
    }

    /// Brings the elements to the device, to read.
    pub fn sync(&self, array: i32) -> Answer<*const c_void> {
        let mem = self.memory(array)?;
        answer(std::ptr::null(), |data| unsafe { syncedmem_gpu_data(mem, data) })
    }
}

/// The calls that the host computed for want of cuBLAS.
pub fn computed_on_host() -> u64 {
    answer(u64::MAX, |count| unsafe { syncedmem_blob_computed_on_host(count) }).unwrap()
}
