//! A blob that ends with its scope, and its operations as values.

use std::ffi::{c_char, c_void};

pub use syncedmem::abi::element::syncedmem_type_t::*;

use super::*;

/// An array, as the C API numbers it.
pub const DATA: i32 = SYNCEDMEM_DATA as i32;
pub const DIFF: i32 = SYNCEDMEM_DIFF as i32;

pub struct Blob(pub *mut syncedmem_blob_t);

/// Ends the hold of memory.
pub fn release(mem: *mut syncedmem_t) -> Answer<()> {
    done(unsafe { syncedmem_blob_release_memory(mem) })
}

/// The functions of the C API on one blob, as methods: those that ask for a value, and those that give a status alone.
macro_rules! methods {
    ($($question:ident($($argument:ident: $kind:ty),*) -> $answer:ty => $ask:ident($($given:expr),*);)* /
     $($act:ident($($of:ident: $type:ty),*) => $do:ident($($passed:expr),*);)*) => {
        impl Blob {
            $(pub fn $question(&self, $($argument: $kind),*) -> Answer<$answer> {
                let mut value: $answer = unsafe { std::mem::zeroed() };
                answer(unsafe { $ask(self.0, $($given,)* &mut value) }, value)
            })*
            $(pub fn $act(&mut self, $($of: $type),*) -> Answer {
                done(unsafe { $do(self.0, $($passed),*) })
            })*
        }
    };
}

methods! {
    dim(axis: i64) -> i64 => syncedmem_blob_shape(axis);
    legacy(axis: i64) -> i64 => syncedmem_blob_legacy_shape(axis);
    count_axes(start: i64, end: i64) -> i64 => syncedmem_blob_count_axes(start, end);
    offset(indices: &[i64]) -> i64 => syncedmem_blob_offset(indices.len(), indices.as_ptr());
    legacy_offset(at: [i64; 4]) -> i64 => syncedmem_blob_legacy_offset(at[0], at[1], at[2], at[3]);
    equals(shape: &[i64], legacy: bool) -> bool => syncedmem_blob_shape_equals(shape.len(), shape.as_ptr(), legacy);
    memory(array: i32) -> *mut syncedmem_t => syncedmem_blob_memory(array);
    hold(array: i32) -> *mut syncedmem_t => syncedmem_blob_hold_memory(array);
    asum(array: i32) -> f64 => syncedmem_blob_asum(array);
    sumsq(array: i32) -> f64 => syncedmem_blob_sumsq(array);
    gpu_shape() -> *const c_void => syncedmem_blob_gpu_shape();
    /
    reshape(shape: &[i64]) => syncedmem_blob_reshape(shape.len(), shape.as_ptr());
    set_cpu_data(array: i32, data: *mut c_void) => syncedmem_blob_set_cpu_data(array, data);
    set_gpu(array: i32, data: *mut c_void) => syncedmem_blob_set_gpu_data(array, data);
    share(array: i32, other: &Blob) => syncedmem_blob_share(array, other.0);
    copy_from(array: i32, source: &Blob, reshape: bool) => syncedmem_blob_copy_from(array, source.0, reshape);
    update() => syncedmem_blob_update();
    scale(array: i32, factor: f64) => syncedmem_blob_scale(array, factor);
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
        ask(blob, |blob| unsafe { syncedmem_blob_create(element as i32, blob) }).map(Blob)
    }

    pub fn axes(&self) -> usize {
        ask(0, |axes| unsafe { syncedmem_blob_axes(self.0, axes) }).unwrap()
    }

    pub fn shape(&self) -> Vec<i64> {
        (0..self.axes() as i64).map(|axis| self.dim(axis).unwrap()).collect()
    }

    pub fn count(&self) -> i64 {
        ask(0, |count| unsafe { syncedmem_blob_count(self.0, count) }).unwrap()
    }

    pub fn text(&self) -> String {
        let mut text = [0x7fu8; SYNCEDMEM_BLOB_SHAPE_STRING_BYTES];
        done(unsafe { syncedmem_blob_shape_string(self.0, text.as_mut_ptr().cast::<c_char>(), text.len()) }).unwrap();
        std::ffi::CStr::from_bytes_until_nul(&text).unwrap().to_str().unwrap().to_string()
    }

    pub fn capacity(&self, array: i32) -> usize {
        ask(0, |bytes| unsafe { syncedmem_blob_capacity(self.0, array, bytes) }).unwrap()
    }

    pub fn head(&self, array: i32) -> syncedmem_head_t {
        let mem = self.memory(array).unwrap();
        ask(syncedmem_head_t::SYNCEDMEM_SYNCED, |head| unsafe { syncedmem_head(mem, head) }).unwrap()
    }

    pub fn set_cpu<T>(&mut self, array: i32, data: *mut T) -> Answer<()> {
        self.set_cpu_data(array, data.cast())
    }

    /// The elements on the host, to read.
    pub fn read<T: Copy>(&self, array: i32) -> Vec<T> {
        let mut values = self.read_all(array);
        values.truncate(self.count() as usize);
        values
    }

    /// Like `read`, to the end of the memory.
    pub fn read_all<T: Copy>(&self, array: i32) -> Vec<T> {
        let mem = self.memory(array).unwrap();
        let data = ask(std::ptr::null(), |data| unsafe { syncedmem_cpu_data(mem, data) }).unwrap();
        let count = self.capacity(array) / size_of::<T>();
        (0..count).map(|index| unsafe { data.cast::<T>().add(index).read_unaligned() }).collect()
    }

    pub fn write<T: Copy>(&mut self, array: i32, values: &[T]) {
        assert_eq!(values.len() as i64, self.count());
        let mem = self.memory(array).unwrap();
        let data = ask(std::ptr::null_mut(), |data| unsafe { syncedmem_mutable_cpu_data(mem, data) }).unwrap();
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
        let data = ask(std::ptr::null_mut(), |data| unsafe { syncedmem_mutable_gpu_data(mem, data) }).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        gpu.write(data.addr(), &bytes);
    }

    /// Brings the elements to the device, to read.
    pub fn sync(&self, array: i32) -> Answer<*const c_void> {
        let mem = self.memory(array)?;
        ask(std::ptr::null(), |data| unsafe { syncedmem_gpu_data(mem, data) })
    }
}

/// The calls that the host computed for want of cuBLAS.
pub fn computed_on_host() -> u64 {
    ask(u64::MAX, |count| unsafe { syncedmem_blob_computed_on_host(count) }).unwrap()
}
