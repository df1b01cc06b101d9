//! `syncedmem doctor`: what it finds in an ELF file, for every way in which Caffe is linked.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use crate::caffe_like::{LAYER, Said, TOO_SHORT, Workshop, command, said};
use crate::support::assert_has;

fn doctor(subject: &Path) -> Said {
    said(command().arg("doctor").arg(subject))
}

/// Fails where the verdict, which stands first, or the exit status with it, is another. Returns the whole.
#[track_caller]
fn verdict(subject: &Path, wanted: &str, status: i32) -> String {
    let said = doctor(subject);
    let line = said.output.lines().next().unwrap_or_else(|| panic!("{said:?}"));
    assert!(line.starts_with("verdict ") && line.contains(wanted), "{wanted:?} is not in: {line}");
    assert_eq!(said.status, Some(status), "{}", said.output);
    assert_has(&said.output, &["\nlibsyncedmem ", "\nsystem "]);
    said.output
}

#[test]
fn a_libcaffe_that_calls_through_the_dynamic_linker_works() {
    let told = verdict(&Workshop::new().caffe(&[]), "works: Caffe's calls go through the dynamic linker", 0);
    assert_has(
        &told,
        &["a CPU_ONLY build", "BVLC rc4 to master", "defines 6 functions of SyncedMemory; calls 4 of them"],
    );
}

#[test]
fn a_program_is_judged_with_the_libraries_that_it_finds() {
    let workshop = Workshop::with_program();
    let program = workshop.path("program");
    let told = verdict(&program, "works:", 0);
    assert!(told.contains("libcaffe.so"), "{told}");
    std::fs::create_dir(workshop.path("elsewhere")).unwrap();
    std::fs::rename(workshop.path("libcaffe.so"), workshop.path("elsewhere/libcaffe.so")).unwrap();
    let told = verdict(&program, "does not start:", 1);
    assert!(told.contains("missing      libcaffe.so"), "{told}");
    said(command().arg("doctor").arg(&program).env("LD_LIBRARY_PATH", workshop.path("elsewhere"))).ok();
}

#[test]
fn a_libcaffe_is_judged_by_how_it_is_linked() {
    let workshop = Workshop::new();
    let directly = "calls its own SyncedMemory directly";
    for (options, wanted, status) in [
        (&["-O2", "-Wl,-Bsymbolic-functions"][..], directly, 0),
        (&["-O2", "-Wl,-Bsymbolic"], directly, 0),
        (&["-O2", "-fvisibility=hidden"], "SyncedMemory is hidden inside", 0),
        // The text of its checks shows what the library is.
        (&["-O2", "-fvisibility=hidden", "-s"], "It cannot be taken over: its functions have no names", 1),
        (&TOO_SHORT, "It cannot be taken over: _ZN5caffe12SyncedMemory8cpu_dataEv has 16 bytes", 1),
    ] {
        println!("{options:?}");
        let told = verdict(&workshop.caffe(options), wanted, status);
        assert_eq!(told.contains("works: "), status == 0, "{told}");
        assert_eq!(told.contains("replaces all 6 functions at their entries"), status == 0, "{told}");
    }
    let told = doctor(&workshop.caffe(&["-fvisibility=hidden"])).output;
    assert!(told.contains("6 of them hidden"), "{told}");
}

#[test]
fn a_layer_of_another_library_on_a_libcaffe_that_is_bound_inside_would_be_mixed() {
    let workshop = Workshop::new();
    workshop.caffe(&TOO_SHORT);
    let told = verdict(&workshop.link("layer.so", LAYER, &["-shared", "-fPIC"]), "and the two would mix", 1);
    assert!(told.contains("SYNCEDMEM_HOST_BLOCKS=malloc"), "{told}");
}

#[test]
fn caffe_inside_the_program_is_taken_over_and_needs_no_preload_where_the_static_library_is_there_too() {
    let workshop = Workshop::new();
    // A symbol and a text by which `doctor` knows the static library.
    workshop.source("ours.c", "const char *syncedmem_version(void) { return \"libsyncedmem: \"; }");
    let (inside, static_program) = ("linked statically into", "the program is linked statically");
    let ours = "it is linked with libsyncedmem";
    for (options, wanted, status) in [
        (&["-O2"][..], inside, 0),
        (&["-O2", "-rdynamic", "-s"], inside, 0),
        (&["-O2", "-no-pie"], inside, 0),
        (&["-s"], inside, 1),
        (&["-O2", "-fcf-protection", "-falign-functions=32"], inside, 1),
        (&["-static"], static_program, 1),
        (&["-static-pie", "-fPIE"], static_program, 1),
        (&["ours.c"], ours, 0),
        (&["ours.c", "-s"], ours, 0),
        (&["ours.c", "-static"], ours, 0),
        (&["ours.c", "-static", "-s"], ours, 0),
    ] {
        println!("{options:?}");
        verdict(&workshop.program_with_caffe_inside(options), wanted, status);
    }
}

#[test]
fn a_program_with_other_rights_is_not_preloaded_into() {
    let workshop = Workshop::with_program();
    let program = workshop.path("program");
    for (mode, wanted) in [(0o4755, "it is set-user-ID"), (0o2755, "it is set-group-ID")] {
        std::fs::set_permissions(&program, PermissionsExt::from_mode(mode)).unwrap();
        verdict(&program, wanted, 1);
    }
}

#[test]
fn forks_and_builds_are_told_by_their_functions() {
    let workshop = Workshop::new();
    for (function, status, names) in [
        ("void *_ZN5caffe12SyncedMemory8prv_dataEv(void) { return 0; }", 1, &["Intel's Caffe"][..]),
        ("void *_ZN5caffe12SyncedMemory16mutable_cpu_dataEb(void) { return 0; }", 1, &["NVIDIA's fork from 0.16 on"]),
        ("void _ZN5caffe12SyncedMemoryC1EmPNS_6deviceE(void) {}", 1, &["an OpenCL branch"]),
        // Generations of the same layout.
        ("void _ZN5caffe12SyncedMemory14async_gpu_pushEv(void) {}", 0, &["NVIDIA's fork 0.15.12"]),
        ("void _ZN5caffe12SyncedMemory6ResizeEm(void) {}", 0, &["yjxiong's fork"]),
        (
            "void _ZN5caffe16caffe_gpu_memcpyEmPKvPv(void) {} int _ZN5caffe9GPUMemory4mgr_E;",
            0,
            &["a GPU build", "NVIDIA's fork"],
        ),
    ] {
        workshop.source("more.c", function);
        let told = verdict(&workshop.caffe(&["more.c"]), if status == 0 { "works:" } else { names[0] }, status);
        assert!(names.iter().all(|name| told.contains(name)), "{names:?}: {told}");
    }
}

#[test]
fn a_program_without_caffe_is_told_from_one_that_can_load_it() {
    let workshop = Workshop::new();
    workshop.source("none.c", "int main(void) { return 0; }");
    verdict(&workshop.compile("none", &["none.c"]), "it contains no Caffe", 1);
    workshop.source("later.c", "#include <dlfcn.h>\nint main(void) { return dlopen(\"libcaffe.so\", 1) == 0; }");
    verdict(&workshop.compile("later", &["later.c", "-ldl"]), "can load one while it runs", 1);
}

#[test]
fn a_script_is_named_with_what_runs_it() {
    let workshop = Workshop::new();
    let script = workshop.source("train", "#!/usr/bin/env -S bash -e\nexec caffe train\n");
    let told = verdict(&script, "what a script starts", 1);
    assert!(told.contains("run by bash"), "{told}");
}

#[test]
fn a_script_of_python_is_judged_by_the_caffe_that_it_would_import() {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    std::fs::create_dir_all(workshop.path("beside/caffe")).unwrap();
    // pycaffe has such a folder.
    workshop.link("beside/caffe/_caffe.so", LAYER, &["-shared", "-fPIC", "-Wl,-rpath,$ORIGIN/../.."]);
    workshop.source("beside/train.py", "import os, caffe\n");
    workshop.source("beside/other.py", "import train\n");
    let told = workshop.syncedmem(&["doctor", "python3", "-u", "beside/train.py", "--lr", "3"]).ok();
    assert_has(
        &told,
        &[
            "verdict      works:",
            "syncedmem run -- python3 -u beside/train.py --lr 3\n",
            "script       beside/train.py\n",
            "beside/caffe/_caffe.so",
        ],
    );
    let told = workshop.syncedmem(&["doctor", "python3", "beside/other.py"]).output;
    assert!(told.contains("which does not import caffe itself"), "{told}");
    workshop.source("beside/itself", "#!/usr/bin/env python3\nfrom caffe import layers\n");
    workshop.syncedmem(&["doctor", "beside/itself"]).ok();
    // In its working directory, Python finds another Caffe: here none.
    said(command().args(["doctor", "python3", "-c", "import caffe"]).env("PYTHONPATH", workshop.path("beside"))).ok();
}

#[test]
fn what_is_no_program_gets_an_error_that_says_so() {
    let workshop = Workshop::with_program();
    let whole = std::fs::read(workshop.path("program")).unwrap();
    // The first bytes of a 32-bit program for ARM.
    let mut arm = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 40, 0];
    arm.resize(64, 0);
    for (name, contents, wanted) in [
        ("text", &b"hello"[..], "neither a program, nor a shared library, nor a script"),
        ("arm", &arm, "it is for 32-bit ARM"),
        // A true beginning, and nothing behind it.
        ("half", &whole[..200], "cannot be read"),
    ] {
        std::fs::write(workshop.path(name), contents).unwrap();
        doctor(&workshop.path(name)).fails(1, &[wanted]);
    }
    doctor(Path::new("no-such-program")).fails(1, &["no-such-program is neither a program on PATH"]);
}

#[test]
fn this_machine_is_described_and_wrong_settings_are_named() {
    let set = [("SYNCEDMEM_PIN", "never"), ("SYNCEDMEM_MODE", "fast"), ("SYNCEDMEM_ONERROR", "throw")];
    let told = said(command().arg("doctor").envs(set)).ok();
    assert_has(
        &told,
        &[
            "syncedmem    version 0.",
            "libsyncedmem /",
            "system       glibc 2.",
            "GPU",
            "memory",
            "huge pages",
            "SYNCEDMEM_PIN=never\n",
            "SYNCEDMEM_MODE=fast: it is not one of auto cpu gpu; using auto\n",
            "SYNCEDMEM_ON_ERROR is perhaps meant",
        ],
    );
}

#[test]
fn a_file_that_another_process_truncates_meanwhile_ends_in_a_verdict_or_an_error() {
    let workshop = Workshop::new();
    let path = workshop.caffe(&["-Wl,-soname,libcaffe.so"]);
    let whole = std::fs::read(&path).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                File::create(&path).unwrap();
                std::fs::write(&path, &whole).unwrap();
            }
        });
        let said: Vec<_> = (0..100).map(|_| doctor(&path)).collect();
        is_over.store(true, Relaxed);
        let ends: BTreeSet<_> = said.iter().map(|said| (said.status, said.signal)).collect();
        assert!(ends.iter().all(|end| [(Some(0), None), (Some(1), None)].contains(end)), "{ends:?}");
    });
}
