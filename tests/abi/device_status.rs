//! Whether there is a GPU, and why not: one sentence for each reason, from `syncedmem_cuda_status` and in the error of every device
//! call. The library looks for the driver once, so each case has its own process.

use std::ffi::{c_char, c_void};
use std::path::Path;

use crate::support::driver::{self, loaded, simulated};
use crate::support::pools::{ALL, set_pools, trim};
use crate::support::tensor::{Ask, DEVICE, FLOATS, export, exports};
use crate::support::*;

/// Checks that there is no GPU, for a reason that contains `words` and is in the error of every device call, and that the host side works.
fn there_is_none(words: &str) {
    let (status, sentence) = cuda_status();
    assert_eq!(status, SYNCEDMEM_ERROR_NO_GPU, "{sentence}");
    assert!(sentence.starts_with("no GPU: ") && sentence.contains(words), "{words:?} is not in: {sentence}");
    let (mut object, null) = (Object::new(100), std::ptr::null_mut());
    let nowhere = With { host: null, device: std::ptr::without_provenance_mut(512), stream: null.cast() };
    use Operation::*;
    let all = [GpuData, MutableGpuData, OverwriteGpuData, SetGpuData, Push, ReleaseGpu];
    for operations in [&all[..4], &all] {
        let before = object.0;
        for &operation in operations {
            assert_eq!(object.run(operation, &nowhere), Err(SYNCEDMEM_ERROR_NO_GPU), "{operation:?}");
            assert!(last_error().contains(&sentence), "{operation:?} says {}, not {sentence}", last_error());
        }
        let tensor = export(object.mem(), Ask { side: DEVICE, shape: &[25], ..FLOATS }).err();
        let waits = unsafe { syncedmem_stream_wait(object.mem(), null.cast()) };
        assert_eq!((tensor, waits), (Some(SYNCEDMEM_ERROR_NO_GPU), SYNCEDMEM_ERROR_NO_GPU));
        assert!(object.0 == before && exports(object.mem()) == (0, 0), "nothing is changed");
        object.fill_host(&pattern(1, 100));
    }
    assert_eq!((object.head(), object.host_bytes(100)), (1, pattern(1, 100)));
    // The string is static and does not change.
    assert_eq!(cuda_status(), (status, sentence));
}

fn each<'c, C>(cases: &'c [C], environment: impl Fn(&'c C) -> Vec<(&'c str, &'c str)>, body: impl Fn(&C)) {
    assert_eq!(each_alone(cases, environment, body).concat(), "", "nothing is said unasked");
}

/// The simulated driver's file. Skips the test where another driver, or none, is tested.
fn file_of_the_simulated() -> &'static str {
    match loaded() {
        Some(loaded) if loaded.control.is_some() => simulated().to_str().unwrap(),
        _ => skip("it needs the simulated driver"),
    }
}

#[test]
fn a_driver_that_runs_is_introduced_with_its_version_and_devices() {
    let gpu = gpu();
    let mut version = 0;
    assert_eq!(gpu.cuDriverGetVersion(&mut version), 0);
    let (status, sentence) = cuda_status();
    assert_eq!(status, SYNCEDMEM_SUCCESS, "{sentence}");
    let version = format!("{}.{}", version / 1000, version % 1000 / 10);
    assert!(sentence.contains(&version) && sentence.contains(&format!("{} device", gpu.devices())), "{sentence}");
}

#[test]
fn drivers_are_introduced_whatever_their_version_and_number_of_devices() {
    let cases = [
        ("12080", "1", ["12.8", "1 device"]),
        ("13000", "3", ["13.0", "3 devices"]),
        ("11040", "2", ["11.4", "2 devices"]),
    ];
    let file = file_of_the_simulated();
    let environment = |case: &(&'static str, &'static str, _)| {
        vec![("SIMCUDA_VERSION", case.0), ("SIMCUDA_DEVICES", case.1), ("SYNCEDMEM_SIMULATED_DRIVER", file)]
    };
    each(&cases, environment, |(_, _, words)| {
        loaded();
        let (status, sentence) = cuda_status();
        assert!(
            status == SYNCEDMEM_SUCCESS && words.iter().all(|word| sentence.contains(word)),
            "{status:?}: {sentence}"
        );
    });
}

#[test]
fn every_reason_why_a_driver_does_not_serve_has_its_own_sentence() {
    let cases = [
        ("SIMCUDA_VERSION", "6050", "CUDA 6.5, and "),
        ("SIMCUDA_DEVICES", "0", "finds no device"),
        ("CUDA_VISIBLE_DEVICES", "-1", "CUDA_VISIBLE_DEVICES"),
        ("CUDA_VISIBLE_DEVICES", "", "CUDA_VISIBLE_DEVICES"),
        ("CUDA_VISIBLE_DEVICES", "7", "CUDA_VISIBLE_DEVICES"),
        ("SIMCUDA_FAIL", "cuInit:1=34", "toolkit's stub"),
        ("SIMCUDA_FAIL", "cuDriverGetVersion:1=34", "toolkit's stub"),
        ("SIMCUDA_FAIL", "cuInit:1=999", "CUDA_ERROR_UNKNOWN (999)"),
        ("SIMCUDA_FAIL", "cuInit:1=100", "the driver finds no device; nvidia-smi"),
        ("SIMCUDA_FAIL", "cuInit:1=802", "fabricmanager"),
        ("SIMCUDA_FAIL", "cuInit:1=803", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"),
        ("SIMCUDA_FAIL", "cuInit:1=803", "different versions"),
        ("SIMCUDA_FAIL", "cuInit:1=3", "cuInit"),
        ("SIMCUDA_FAIL", "cuInit:1=4242", "(4242)"),
        ("SIMCUDA_FAIL", "cuDeviceGetCount:1=999", "cuDeviceGetCount"),
    ];
    let file = file_of_the_simulated();
    each(
        &cases,
        |case| vec![(case.0, case.1), ("SYNCEDMEM_SIMULATED_DRIVER", file)],
        |(_, _, words)| {
            loaded();
            there_is_none(words);
        },
    );
}

/// Runs `body` in a process whose loader finds the `libcuda.so.1` that `make` puts into a folder, and which has not loaded it before.
pub fn with_library(make: impl FnOnce(&Path), body: impl FnOnce()) {
    let folder = Folder::new();
    if !inside() {
        make(&folder.path("libcuda.so.1"));
    }
    let environment = [("LD_LIBRARY_PATH", folder.to_str().unwrap())];
    assert_eq!(alone(&environment, body), "");
}

#[test]
fn a_file_that_is_no_library_is_named_with_the_loaders_words() {
    let make = |library: &Path| std::fs::write(library, "not a library\n").unwrap();
    with_library(make, || {
        there_is_none("libcuda.so.1 cannot be loaded: ");
        assert!(cuda_status().1.contains("file too short") || cuda_status().1.contains("invalid ELF header"));
    });
}

#[test]
fn a_library_that_lacks_the_drivers_functions_is_told_from_none() {
    let make = |library: &Path| {
        // Any other library serves, and every program has this one.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut files = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        let libc = files.find(|file| file.contains("/libc.so") || file.contains("/libc-")).unwrap();
        std::os::unix::fs::symlink(libc, library).unwrap();
    };
    with_library(make, || there_is_none("has no function cu"));
}

#[test]
fn without_a_driver_the_sentence_says_what_to_install() {
    with_library(
        |_| (),
        || {
            let (status, sentence) = cuda_status();
            if status == SYNCEDMEM_SUCCESS || sentence.contains("no device") {
                skip("it needs a machine without a driver");
            }
            there_is_none("libcuda.so.1 is not installed");
        },
    );
}

fn links_the_simulated(library: &Path) {
    std::os::unix::fs::symlink(file_of_the_simulated(), library).unwrap();
}

#[test]
fn a_driver_is_found_by_its_name_where_the_loader_looks() {
    with_library(links_the_simulated, || {
        assert_eq!(cuda_status().0, SYNCEDMEM_SUCCESS, "{}", cuda_status().1);
        let mut object = Object::holding(&pattern(1, 100));
        object.mutable_gpu_data().unwrap();
        assert_bytes(&object.host_bytes(100), &pattern(1, 100), &"");
    });
}

/// The optional functions of `src/cuda/driver.rs`: no driver before CUDA 9.2 has any of them.
const LATER: [&str; 4] = ["cuStreamGetCtx", "cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode", "cuCtxGetId"];

/// Functions that the simulated driver exports under new names. Its counts of calls use the old ones.
fn hides_later_functions(library: &Path) {
    let mut file = std::fs::read(file_of_the_simulated()).unwrap();
    for name in LATER {
        let symbol = [b"\0", name.as_bytes(), b"\0"].concat();
        let found: Vec<_> =
            file.windows(symbol.len()).enumerate().filter(|(_, at)| *at == symbol).map(|(at, _)| at).collect();
        assert!(!found.is_empty(), "the simulated driver exports no {name}");
        found.into_iter().for_each(|at| file[at + 1..at + 3].copy_from_slice(b"no"));
    }
    std::fs::write(library, file).unwrap();
}

#[test]
fn a_driver_without_captures_serves_and_is_asked_nothing_about_them() {
    with_library(hides_later_functions, || {
        set_pools(true);
        assert_eq!(cuda_status().0, SYNCEDMEM_SUCCESS, "{}", cuda_status().1);
        let library = driver::open("libcuda.so.1");
        for name in LATER {
            let name = std::ffi::CString::new(name).unwrap();
            assert!(unsafe { libc::dlsym(library, name.as_ptr()) }.is_null(), "{name:?} is there");
        }
        for _ in 0..2 {
            let mut object = Object::holding(&pattern(1, 5000));
            assert_eq!(object.push(std::ptr::null_mut()), SYNCEDMEM_SUCCESS, "{}", last_error());
            object.mutable_gpu_data().unwrap();
            assert_eq!(unsafe { syncedmem_stream_wait(object.mem(), std::ptr::null_mut()) }, SYNCEDMEM_SUCCESS);
            assert_bytes(&object.host_bytes(5000), &pattern(1, 5000), &"");
        }
        trim(ALL);
        let calls = driver::symbol(library, "simcuda_calls");
        let calls = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> usize>(calls) };
        let of = |name: &str| unsafe { calls(std::ffi::CString::new(name).unwrap().as_ptr()) };
        assert!(of("cuMemAlloc_v2") > 0 && of("cuMemFree_v2") > 0);
        assert_eq!(LATER.map(of), [0; 4]);
    });
}

#[test(alone_with_driver)]
fn a_device_that_does_not_start_is_an_error_of_the_call_and_may_start_the_next_time() {
    let gpu = simulated_gpu();
    let mut object = Object::holding(&pattern(1, 100));
    for function in
        ["cuDevicePrimaryCtxRetain", "cuDeviceGet", "cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxGetDevice"]
    {
        gpu.fail(function, 1, 999);
        assert_eq!(object.gpu_data(), Err(SYNCEDMEM_ERROR_DRIVER), "{function}");
        assert!(last_error().contains(function) && last_error().contains("(999)"), "{}", last_error());
        gpu.control().simcuda_clear_faults();
    }
    assert_eq!(cuda_status().0, SYNCEDMEM_SUCCESS);
    assert!(object.gpu_data().is_ok(), "{}", last_error());
}
