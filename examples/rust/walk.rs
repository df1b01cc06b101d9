//! The walk of Caffe's tutorial on blobs, in Rust through the C API: which access copies, and which does not.

use std::ffi::{CStr, c_void};
use std::process::ExitCode;
use std::ptr::{null, null_mut};
use std::slice;

/// bindgen's translation of syncedmem.h.
#[allow(dead_code, non_camel_case_types, non_upper_case_globals, reason = "C's names, not all used")]
mod syncedmem {
    include!(concat!(env!("BINDINGS"), "/syncedmem.rs"));
}
use syncedmem::*;

/// Returns the library's sentence if the call failed.
fn check(status: syncedmem_status_t) -> Result<(), String> {
    match status {
        SYNCEDMEM_SUCCESS => Ok(()),
        // SAFETY: the library keeps the sentence until this thread's next failure.
        _ => Err(unsafe { CStr::from_ptr(syncedmem_last_error()) }.to_string_lossy().into_owned()),
    }
}

/// The object, and the numbers of copies after the last line.
struct Walk {
    mem: *const syncedmem_t,
    to_gpu: u64,
    to_cpu: u64,
}

impl Walk {
    /// Prints one line: the access, the side with the newest data, and the numbers of copies.
    fn show(&mut self, access: &str) -> Result<(), String> {
        let mut head = SYNCEDMEM_UNINITIALIZED;
        let mut stats = syncedmem_stats_t { size: size_of::<syncedmem_stats_t>(), ..Default::default() };
        // SAFETY: `walk` destroys the object after its last use of this value.
        check(unsafe { syncedmem_head(self.mem, &mut head) })?;
        // SAFETY: `size` is the size of the structure.
        check(unsafe { syncedmem_stats(&mut stats) })?;
        let to_gpu = stats.to_device_pinned.count + stats.to_device_pageable.count;
        let to_cpu = stats.to_host_pinned.count + stats.to_host_pageable.count;
        let copied = match (to_gpu > self.to_gpu, to_cpu > self.to_cpu) {
            (true, _) => "data copied cpu->gpu",
            (_, true) => "data copied gpu->cpu",
            _ => "no data copied",
        };
        let head = ["UNINITIALIZED", "HEAD_AT_CPU", "HEAD_AT_GPU", "SYNCED"][head as usize];
        println!("{access:<18} {head:<13} cpu->gpu {to_gpu}, gpu->cpu {to_cpu}   {copied}");
        (self.to_gpu, self.to_cpu) = (to_gpu, to_cpu);
        Ok(())
    }
}

fn walk() -> Result<(), String> {
    // SAFETY: only this function uses the object, and it uses no address of its data after `syncedmem_destroy`.
    unsafe {
        let (mut mem, mut foo, mut bar): (*mut syncedmem_t, *const c_void, *mut c_void) =
            (null_mut(), null(), null_mut());
        check(syncedmem_create(1024 * size_of::<f32>(), &mut mem))?;
        check(syncedmem_mutable_cpu_data(mem, &mut bar))?;
        slice::from_raw_parts_mut(bar.cast::<f32>(), 1024).fill(1.0);
        check(syncedmem_gpu_data(mem, &mut foo))?; // data copied cpu->gpu

        let mut bytes = 0;
        check(syncedmem_size(mem, &mut bytes))?;
        println!("{} floats, {bytes} bytes", bytes / size_of::<f32>());
        let mut walk = Walk { mem, to_gpu: 0, to_cpu: 0 };
        walk.show("gpu_data")?;
        check(syncedmem_cpu_data(mem, &mut foo))?;
        walk.show("cpu_data")?;
        check(syncedmem_mutable_gpu_data(mem, &mut bar))?;
        walk.show("mutable_gpu_data")?;
        check(syncedmem_mutable_gpu_data(mem, &mut bar))?;
        walk.show("mutable_gpu_data")?;
        check(syncedmem_cpu_data(mem, &mut foo))?;
        walk.show("cpu_data")?;
        check(syncedmem_gpu_data(mem, &mut foo))?;
        walk.show("gpu_data")?;
        check(syncedmem_mutable_cpu_data(mem, &mut bar))?;
        walk.show("mutable_cpu_data")?;
        check(syncedmem_mutable_gpu_data(mem, &mut bar))?;
        walk.show("mutable_gpu_data")?;
        check(syncedmem_mutable_cpu_data(mem, &mut bar))?;
        walk.show("mutable_cpu_data")?;
        let data = slice::from_raw_parts(bar.cast::<f32>(), 1024);
        println!("first {}, last {}", data[0], data[1023]);
        check(syncedmem_destroy(mem))
    }
}

fn main() -> ExitCode {
    let mut sentence = null();
    // SAFETY: the library writes the address of a sentence that it never frees.
    let cuda = unsafe { syncedmem_cuda_status(&mut sentence) };
    if cuda != SYNCEDMEM_SUCCESS {
        // SAFETY: the library's sentence is NUL-terminated.
        eprintln!("{}", unsafe { CStr::from_ptr(sentence) }.to_string_lossy());
        return ExitCode::FAILURE;
    }
    // SAFETY: the library checks the number.
    let counts = check(unsafe { syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_ON) });
    match counts.and_then(|()| walk()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}
