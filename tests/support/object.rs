//! An object that ends with its scope, and its operations on both sides as values.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};

use super::driver::{Loaded, loaded};
use super::*;

/// An object in storage of its own.
pub struct Object(Box<Storage>);

impl Object {
    pub fn new(bytes: usize) -> Object {
        let mut storage = Storage::new();
        assert_eq!(storage.construct(bytes), SYNCEDMEM_SUCCESS);
        Object(storage)
    }

    /// After its first access.
    #[track_caller]
    pub fn touched(access: fn(&mut Storage) -> Outcome, bytes: usize) -> Object {
        let mut object = Object::new(bytes);
        access(&mut object).unwrap_or_else(|status| panic!("{status:?}: {}", last_error()));
        object
    }

    /// With this on the host.
    pub fn holding(contents: &[u8]) -> Object {
        let mut object = Object::new(contents.len());
        object.fill_host(contents);
        object
    }

    /// To which memory is lent.
    #[track_caller]
    pub fn borrowing(memory: &mut [u8]) -> Object {
        let mut object = Object::new(memory.len());
        assert_eq!(object.set_cpu_data(memory.as_mut_ptr()), SYNCEDMEM_SUCCESS);
        object
    }
}

impl Deref for Object {
    type Target = Storage;

    fn deref(&self) -> &Storage {
        &self.0
    }
}

impl DerefMut for Object {
    fn deref_mut(&mut self) -> &mut Storage {
        &mut self.0
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // Whatever a test that failed has held would be waited for here for ever.
        let panicking = std::thread::panicking();
        if let Some(Loaded { control: Some(control), .. }) = panicking.then(loaded).flatten() {
            control.simcuda_release_streams();
        }
        let status = self.0.destruct();
        if !panicking {
            assert_eq!(status, SYNCEDMEM_SUCCESS);
            assert!(self.0.guard_is_whole());
        }
    }
}

/// The outcome of an operation: its status, and the address if it gave one.
pub type Outcome = Result<*mut u8, syncedmem_status_t>;

/// The functions of the C API on one object, as methods: those that give an address, those that give a status alone, and those that ask
/// for a value, which begins as another.
macro_rules! methods {
    ($($address:ident => $give:ident;)* / $($act:ident($($argument:ident: $kind:ty)?) => $do:ident($($given:expr)?);)* /
     $($question:ident -> $answer:ty => $ask:ident($other:expr);)*) => {
        impl Storage {
            $(pub fn $address(&mut self) -> Outcome {
                let mut data = std::ptr::null_mut::<u8>();
                answer(unsafe { $give(self.mem(), (&raw mut data).cast()) }, data)
            })*
            $(pub fn $act(&mut self $(, $argument: $kind)?) -> syncedmem_status_t {
                unsafe { $do(self.mem() $(, $given)?) }
            })*
            $(pub fn $question(&mut self) -> $answer {
                let mut value = $other;
                assert_eq!(unsafe { $ask(self.mem(), &mut value) }, SYNCEDMEM_SUCCESS);
                value
            })*
        }
    };
}

methods! {
    cpu_data => syncedmem_cpu_data;
    mutable_cpu_data => syncedmem_mutable_cpu_data;
    overwrite_cpu_data => syncedmem_overwrite_cpu_data;
    gpu_data => syncedmem_gpu_data;
    mutable_gpu_data => syncedmem_mutable_gpu_data;
    overwrite_gpu_data => syncedmem_overwrite_gpu_data;
    /
    destruct() => syncedmem_destruct();
    set_cpu_data(data: *mut u8) => syncedmem_set_cpu_data(data.cast());
    set_gpu_data(data: *mut u8) => syncedmem_set_gpu_data(data.cast());
    release_cpu() => syncedmem_release_cpu();
    release_gpu() => syncedmem_release_gpu();
    discard() => syncedmem_discard();
    push(stream: *mut c_void) => syncedmem_async_gpu_push(stream.cast());
    pull(stream: *mut c_void) => syncedmem_async_cpu_pull(stream.cast());
    wait() => syncedmem_wait();
    /
    device_ordinal -> i32 => syncedmem_device_ordinal(i32::MIN);
    is_pinned -> bool => syncedmem_is_pinned(false);
    owns_cpu -> bool => syncedmem_owns_cpu(false);
    owns_gpu -> bool => syncedmem_owns_gpu(false);
}

impl Storage {
    pub fn host_address(&self) -> usize {
        self.word(0)
    }

    pub fn device_address(&self) -> usize {
        self.word(8)
    }

    pub fn is_ready(&mut self) -> Answer<bool> {
        let mut ready = false;
        answer(unsafe { syncedmem_is_ready(self.mem(), &mut ready) }, ready)
    }

    /// The host side's bytes, which must be current.
    pub fn host_bytes(&mut self, bytes: usize) -> Vec<u8> {
        unsafe { std::slice::from_raw_parts(self.cpu_data().unwrap(), bytes) }.to_vec()
    }

    /// Writes the host side in full.
    pub fn fill_host(&mut self, contents: &[u8]) {
        let data = self.mutable_cpu_data().unwrap();
        unsafe { data.copy_from_nonoverlapping(contents.as_ptr(), contents.len()) };
    }

    /// Does an operation. A `set` borrows `first` or `second` of its side, a copy goes to `stream`.
    pub fn run(&mut self, operation: Operation, with: &With) -> Outcome {
        match operation {
            Operation::CpuData => self.cpu_data(),
            Operation::MutableCpuData => self.mutable_cpu_data(),
            Operation::OverwriteCpuData => self.overwrite_cpu_data(),
            Operation::GpuData => self.gpu_data(),
            Operation::MutableGpuData => self.mutable_gpu_data(),
            Operation::OverwriteGpuData => self.overwrite_gpu_data(),
            Operation::SetCpuData => nothing(self.set_cpu_data(with.host)),
            Operation::SetGpuData => nothing(self.set_gpu_data(with.device)),
            Operation::ReleaseCpu => nothing(self.release_cpu()),
            Operation::ReleaseGpu => nothing(self.release_gpu()),
            Operation::Push => nothing(self.push(with.stream)),
            Operation::Pull => nothing(self.pull(with.stream)),
            Operation::Wait => nothing(self.wait()),
            Operation::IsReady => self.is_ready().map(|ready| std::ptr::without_provenance_mut(usize::from(ready))),
        }
    }
}

fn nothing(status: syncedmem_status_t) -> Outcome {
    answer(status, std::ptr::null_mut())
}

/// What some operations are given.
#[derive(Clone, Copy)]
pub struct With {
    pub host: *mut u8,
    pub device: *mut u8,
    pub stream: *mut c_void,
}

macro_rules! operations {
    ($($operation:ident),*) => {
        /// Every operation on an object's two sides. `IsReady` gives the answer as an address: 1 for yes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation { $($operation),* }
        pub const OPERATIONS: [Operation; 14] = [$(Operation::$operation),*];
    };
}

operations! {
    CpuData, MutableCpuData, OverwriteCpuData, GpuData, MutableGpuData, OverwriteGpuData, SetCpuData, SetGpuData, ReleaseCpu, ReleaseGpu,
    Push, Pull, Wait, IsReady
}

/// Bytes that differ from each other and from those of other seeds; seed 0: zeros.
pub fn pattern(seed: u8, bytes: usize) -> Vec<u8> {
    if seed == 0 {
        return vec![0; bytes];
    }
    // Wanted millions of times, so nothing is computed: byte n is 31 * seed + 7 * n, and seven times 183 is one, modulo 256.
    const STEPS: [u8; 512] = {
        let mut steps = [0; 512];
        let mut at = 0;
        while at < 512 {
            steps[at] = (at * 7) as u8;
            at += 1;
        }
        steps
    };
    let begin = seed as usize * 31 * 183 % 256;
    let mut bytes_of_it = STEPS[begin..begin + 256].repeat(bytes.div_ceil(256));
    bytes_of_it.truncate(bytes);
    bytes_of_it
}

/// Asserts that bytes are those that they should be, and says where they begin not to be.
#[track_caller]
pub fn assert_bytes(are: &[u8], should_be: &[u8], what: &dyn std::fmt::Display) {
    if are == should_be {
        return;
    }
    let differ = are.iter().zip(should_be).position(|(is, should_be)| is != should_be);
    let show = |bytes: &[u8], at: usize| bytes[at..bytes.len().min(at + 8)].to_vec();
    if let Some(at) = differ {
        panic!("{what}: from byte {at} on {:?}, should be {:?}", show(are, at), show(should_be, at));
    }
    assert_eq!(are.len(), should_be.len(), "{what}");
}
