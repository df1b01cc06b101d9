//! `syncedmem doctor`: what it finds in an ELF file, for every way in which Caffe is linked.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::caffe_like::{LAYER, Said, Workshop, command, said};

fn doctor(subject: &Path) -> Said {
    said(command().arg("doctor").arg(subject))
}

/// The line of the verdict, and the exit status with it.
#[track_caller]
fn verdict(subject: &Path, wanted: &str, status: i32) -> String {
    let said = doctor(subject);
    let line = said.output.lines().find(|line| line.starts_with("verdict")).unwrap_or_else(|| {
        panic!("no verdict: {}{}", said.output, said.error);
    });
    assert!(line.contains(wanted), "{wanted:?} is not in: {line}");
    assert_eq!(said.status, Some(status), "{}", said.output);
    said.output
}

#[test]
fn a_libcaffe_that_calls_through_the_dynamic_linker_works() {
    let workshop = Workshop::new();
    let told = verdict(&workshop.caffe(&[]), "works: Caffe's calls go through the dynamic linker", 0);
    assert!(told.contains("a CPU_ONLY build"), "{told}");
    assert!(told.contains("BVLC rc4 to master"), "{told}");
    assert!(told.contains("defines 6 functions of SyncedMemory; calls 4 of them"), "{told}");
}

#[test]
fn a_program_is_judged_with_the_libraries_that_it_finds_beside_itself() {
    let workshop = Workshop::new();
    let caffe = workshop.caffe(&[]);
    let told = verdict(&workshop.program(&[]), "works:", 0);
    assert!(told.contains("libcaffe.so"), "{told}");
    std::fs::remove_file(caffe).unwrap();
    let told = verdict(&workshop.path("program"), "does not start:", 1);
    assert!(told.contains("missing      libcaffe.so"), "{told}");
}

#[test]
fn a_library_on_ld_library_path_is_found() {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    let program = workshop.program(&["-Wl,-rpath,/nowhere"]);
    std::fs::create_dir(workshop.path("elsewhere")).unwrap();
    std::fs::rename(workshop.path("libcaffe.so"), workshop.path("elsewhere/libcaffe.so")).unwrap();
    verdict(&program, "does not start:", 1);
    let told = said(command().arg("doctor").arg(&program).env("LD_LIBRARY_PATH", workshop.path("elsewhere")));
    assert_eq!(told.status, Some(0), "{}", told.output);
}

#[test]
fn bsymbolic_functions_binds_inside() {
    let workshop = Workshop::new();
    let caffe = workshop.caffe(&["-Wl,-Bsymbolic-functions"]);
    verdict(&caffe, "calls its own SyncedMemory directly", 1);
}

#[test]
fn bsymbolic_binds_inside() {
    let workshop = Workshop::new();
    verdict(&workshop.caffe(&["-Wl,-Bsymbolic"]), "calls its own SyncedMemory directly", 1);
}

#[test]
fn a_layer_of_another_library_on_a_libcaffe_that_is_bound_inside_would_be_mixed() {
    let workshop = Workshop::new();
    workshop.caffe(&["-Wl,-Bsymbolic-functions"]);
    workshop.source("layer.c", LAYER);
    let layer = workshop.compile("layer.so", &["-shared", "-fPIC", "layer.c", "-L.", "-lcaffe", "-Wl,-rpath,$ORIGIN"]);
    let told = verdict(&layer, "and the two would mix", 1);
    assert!(told.contains("SYNCEDMEM_HOST_BLOCKS=malloc"), "{told}");
}

#[test]
fn hidden_functions_are_found_by_name_and_once_stripped_by_the_text_of_their_checks() {
    let workshop = Workshop::new();
    let caffe = workshop.caffe(&["-fvisibility=hidden"]);
    let told = verdict(&caffe, "SyncedMemory is hidden inside", 1);
    assert!(told.contains("6 of them hidden"), "{told}");
    let stripped = workshop.caffe(&["-fvisibility=hidden", "-s"]);
    verdict(&stripped, "SyncedMemory is hidden inside", 1);
}

#[test]
fn caffe_inside_the_program_cannot_be_replaced_exported_or_not() {
    let workshop = Workshop::new();
    verdict(&workshop.program_with_caffe_inside(&[]), "linked statically into", 1);
    verdict(&workshop.program_with_caffe_inside(&["-rdynamic"]), "linked statically into", 1);
    verdict(&workshop.program_with_caffe_inside(&["-s"]), "linked statically into", 1);
    verdict(&workshop.program_with_caffe_inside(&["-no-pie"]), "linked statically into", 1);
}

#[test]
fn a_caffe_that_is_linked_with_the_static_library_needs_no_preload() {
    // A symbol and a text by which `doctor` knows the static library.
    let ours = "const char *syncedmem_version(void) { return \"libsyncedmem: \"; }";
    for options in [&["ours.c"][..], &["ours.c", "-s"], &["ours.c", "-static"], &["ours.c", "-static", "-s"]] {
        let workshop = Workshop::new();
        workshop.source("ours.c", ours);
        verdict(&workshop.program_with_caffe_inside(options), "it is linked with libsyncedmem", 0);
    }
}

#[test]
fn a_static_program_has_no_dynamic_linker() {
    let workshop = Workshop::new();
    verdict(&workshop.program_with_caffe_inside(&["-static"]), "the program is linked statically", 1);
    verdict(&workshop.program_with_caffe_inside(&["-static-pie", "-fPIE"]), "the program is linked statically", 1);
}

#[test]
fn a_program_with_other_rights_is_not_preloaded_into() {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    let program = workshop.program(&[]);
    verdict(&program, "works:", 0);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).unwrap();
    verdict(&program, "it is set-user-ID", 1);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o2755)).unwrap();
    verdict(&program, "it is set-group-ID", 1);
}

#[test]
fn other_layouts_are_told_by_their_functions() {
    let other = [
        ("void *_ZN5caffe12SyncedMemory8prv_dataEv(void) { return 0; }", "Intel's Caffe"),
        ("void *_ZN5caffe12SyncedMemory16mutable_cpu_dataEb(void) { return 0; }", "NVIDIA's fork from 0.16 on"),
        ("void _ZN5caffe12SyncedMemoryC1EmPNS_6deviceE(void) {}", "an OpenCL branch"),
    ];
    for (function, name) in other {
        let workshop = Workshop::new();
        workshop.source("more.c", function);
        verdict(&workshop.caffe(&["more.c"]), name, 1);
    }
}

#[test]
fn generations_of_the_same_layout_are_told_by_their_functions() {
    let push = "void _ZN5caffe12SyncedMemory14async_gpu_pushEv(void) {}";
    let resize = "void _ZN5caffe12SyncedMemory6ResizeEm(void) {}";
    for (function, name) in [(push, "NVIDIA's fork 0.15.12"), (resize, "yjxiong's fork")] {
        let workshop = Workshop::new();
        workshop.source("more.c", function);
        let told = verdict(&workshop.caffe(&["more.c"]), "works:", 0);
        assert!(told.contains(name), "{told}");
    }
}

#[test]
fn a_gpu_build_and_nvidias_fork_are_told_apart() {
    let workshop = Workshop::new();
    workshop.source("gpu.c", "void _ZN5caffe16caffe_gpu_memcpyEmPKvPv(void) {} int _ZN5caffe9GPUMemory4mgr_E;");
    let told = verdict(&workshop.caffe(&["gpu.c"]), "works:", 0);
    assert!(told.contains("a GPU build") && told.contains("NVIDIA's fork"), "{told}");
}

#[test]
fn a_function_that_the_library_does_not_have_is_named() {
    let workshop = Workshop::new();
    workshop.source("more.c", "void _ZN5caffe12SyncedMemory4swapERS0_(void) {}");
    let told = verdict(&workshop.caffe(&["more.c"]), "works:", 0);
    assert!(told.contains("not in libsyncedmem: _ZN5caffe12SyncedMemory4swapERS0_"), "{told}");
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

/// The `_caffe.so` that pycaffe has, in the package folder `caffe` there.
fn pycaffe(workshop: &Workshop, folder: &str) {
    workshop.caffe(&[]);
    workshop.source("layer.c", LAYER);
    std::fs::create_dir_all(workshop.path(&format!("{folder}/caffe"))).unwrap();
    let module = format!("{folder}/caffe/_caffe.so");
    let caffe = format!("-Wl,-rpath,{}", workshop.path("").display());
    workshop.compile(&module, &["-shared", "-fPIC", "layer.c", "-L.", "-lcaffe", &caffe]);
}

#[test]
fn a_script_of_python_is_judged_by_the_caffe_that_it_would_import() {
    let workshop = Workshop::new();
    pycaffe(&workshop, "beside");
    workshop.source("beside/train.py", "import os, caffe\n");
    workshop.source("beside/other.py", "import train\n");
    let doctor = |arguments: &[&str]| said(command().arg("doctor").args(arguments).current_dir(workshop.path("")));
    let told = doctor(&["python3", "-u", "beside/train.py", "--lr", "3"]);
    assert_eq!(told.status, Some(0), "{}{}", told.output, told.error);
    for wanted in [
        "verdict      works:",
        "syncedmem run -- python3 -u beside/train.py --lr 3\n",
        "script       beside/train.py\n",
        "beside/caffe/_caffe.so",
    ] {
        assert!(told.output.contains(wanted), "{wanted}: {}", told.output);
    }
    let told = doctor(&["python3", "beside/other.py"]);
    assert!(told.output.contains("which does not import caffe itself"), "{}", told.output);
    let script = workshop.source("beside/itself", "#!/usr/bin/env python3\nfrom caffe import layers\n");
    assert_eq!(doctor(&[script.to_str().unwrap()]).status, Some(0));
    // In its working directory, Python finds another Caffe: here none.
    let told =
        said(command().args(["doctor", "python3", "-c", "import caffe"]).env("PYTHONPATH", workshop.path("beside")));
    assert_eq!(told.status, Some(0), "{}", told.output);
}

#[test]
fn the_verdict_stands_first() {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    let script = workshop.source("train", "#!/bin/sh\ncaffe train\n");
    for subject in [workshop.program(&[]), workshop.path("libcaffe.so"), script] {
        let told = doctor(&subject).output;
        assert!(told.starts_with("verdict "), "{told}");
        assert!(told.contains("\nlibsyncedmem ") && told.contains("\nsystem "), "{told}");
    }
}

#[test]
fn what_is_no_program_gets_an_error_that_says_so() {
    let workshop = Workshop::new();
    let text = doctor(&workshop.source("text", "hello"));
    assert_eq!(text.status, Some(1));
    assert!(text.error.contains("neither a program, nor a shared library, nor a script"), "{}", text.error);
    let missing = doctor(Path::new("no-such-program"));
    assert_eq!(missing.status, Some(1));
    assert!(missing.error.contains("no-such-program is neither a program on PATH"), "{}", missing.error);
    // The first bytes of a 32-bit program for ARM.
    let mut arm = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 40, 0];
    arm.resize(64, 0);
    std::fs::write(workshop.path("arm"), arm).unwrap();
    let arm = doctor(&workshop.path("arm"));
    assert!(arm.error.contains("it is for 32-bit ARM"), "{}", arm.error);
    // A true beginning, and nothing behind it.
    let program = std::fs::read(workshop.compile("whole", &[workshop.source("m.c", "int main(){}").to_str().unwrap()]));
    std::fs::write(workshop.path("half"), &program.unwrap()[..200]).unwrap();
    let half = doctor(&workshop.path("half"));
    assert_eq!(half.status, Some(1));
    assert!(half.error.contains("cannot be read"), "{}", half.error);
}

#[test]
fn this_machine_is_described_and_misspelt_settings_are_told() {
    let told = said(command().arg("doctor").env("SYNCEDMEM_PIN", "never").env("SYNCEDMEM_ONERROR", "throw"));
    assert_eq!(told.status, Some(0));
    for wanted in ["syncedmem    version 0.", "libsyncedmem /", "system       glibc 2.", "GPU", "memory", "huge pages"]
    {
        assert!(told.output.contains(wanted), "{wanted}: {}", told.output);
    }
    assert!(told.output.contains("SYNCEDMEM_PIN=never\n"), "{}", told.output);
    assert!(told.output.contains("SYNCEDMEM_ON_ERROR is perhaps meant"), "{}", told.output);
}
