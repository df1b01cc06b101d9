//! `syncedmem run` says why nothing was recorded, and that the library was never called only where the program's files show it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::caffe_like::*;

#[track_caller]
fn says(workshop: &Workshop, program: &Path, what: &str, why: &str) {
    let result = workshop.run(&[], &[program.to_str().unwrap()]);
    assert_eq!(result.status, Some(0), "the program runs all the same: {}", result.error);
    // A long folder moves the ends of lines.
    let error = result.error.replace('\n', " ");
    assert!(error.contains(what) && error.contains(why), "{what:?} and {why:?} are not in: {error}");
    assert!(!result.error.contains("of blobs"), "{}", result.error);
    workshop.leaves_nothing();
}

const NEVER_CALLED: &str = "never called the library: ";
const RECORDED_NOTHING: &str = "recorded nothing: ";

#[test]
fn a_program_that_never_called_the_library_is_told_why() {
    let workshop = Workshop::new();
    workshop.caffe(&TOO_SHORT);
    says(&workshop, &workshop.program(&[]), NEVER_CALLED, "libcaffe.so calls its own SyncedMemory directly");
    says(&workshop, &workshop.program_with_caffe_inside(&["-s"]), NEVER_CALLED, "Caffe is linked statically into");
    says(
        &workshop,
        &workshop.program_with_caffe_inside(&["-static"]),
        NEVER_CALLED,
        "the program is linked statically",
    );
    says(&workshop, Path::new("true"), NEVER_CALLED, "it contains no Caffe");
    let script = workshop.source("script", "#!/bin/sh\n");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    says(&workshop, &script, RECORDED_NOTHING, "it is a script, run by /bin/sh");
}

#[test]
fn a_caffe_that_made_no_object_is_not_blamed() {
    let source = "#include \"caffe.h\"\nint main(int n, char **v) { return n > 9 && sum_of_ones(1); }";
    let workshop = Workshop::with("early", source);
    let why = "its Caffe can use the library. Either it ended before it made an object";
    says(&workshop, Path::new("./early"), RECORDED_NOTHING, why);
}

#[test]
fn a_program_that_may_have_loaded_a_caffe_is_told_no_more_than_its_files_show() {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    workshop.source("later.c", "#include <dlfcn.h>\nint main(int n, char **v) { return n > 9 && dlopen(v[9], 1); }");
    let later = workshop.compile("later", &["later.c", "-ldl"]);
    says(&workshop, &later, RECORDED_NOTHING, "If it loaded one, either it ended before it made an object, or");
    std::fs::create_dir_all(workshop.path("caffe")).unwrap();
    workshop.link("caffe/_caffe.so", LAYER, &["-shared", "-fPIC", "-Wl,-rpath,$ORIGIN/.."]);
    workshop.source("spec.py", "# As a script does that imports caffe for its protobuf alone.\n");
    for option in ["--no-names", "--take-over"] {
        let result = workshop.run(&[option], &["python3", "spec.py"]);
        let error = result.error.replace('\n', " ");
        assert!(error.contains("its Caffe can use the library. Either it ended before it made an object"), "{error}");
        assert!(!error.contains("directly"), "{error}");
    }
}

/// Loads a Caffe as pycaffe does: some calls reach the library, but with memory that is not the library's.
#[test]
fn a_caffe_that_is_loaded_later_and_calls_itself_is_the_first_line() {
    let workshop = Workshop::new();
    let blob = "#include \"caffe.h\"\nstruct memory *blob(void) { static struct memory m; construct(&m, 4096); mutable_cpu_data(&m); return &m; }";
    workshop.source("more.c", blob);
    workshop.caffe(&["-Wl,-Bsymbolic", "-Wl,-soname,libcaffe.so.1", "more.c"]);
    std::os::unix::fs::symlink("libcaffe.so", workshop.path("libcaffe.so.1")).unwrap();
    workshop.source("layer.c", LAYER);
    workshop.compile("layer.so", &["-shared", "-fPIC", "layer.c", "-L.", "-lcaffe", "-Wl,-rpath,$ORIGIN"]);
    workshop.source(
        "later.c",
        r#"
        #include "caffe.h"
        #include <dlfcn.h>
        int main(int arguments, char **argument) {
          void *python = dlopen("./layer.so", RTLD_NOW);
          struct memory *(*blob)(void) = dlsym(python, "blob");
          const void *(*layer)(struct memory *) = dlsym(python, "layer");
          struct memory *memory = blob();
          return arguments > 1 ? !layer(memory) : !memory->cpu;
        }
        "#,
    );
    workshop.compile("later", &["later.c", "-ldl"]);
    for arguments in [&["./later"][..], &["./later", "reach into it"]] {
        let result = workshop.run(&["--trace", "t", "--report"], arguments);
        assert_eq!(result.status, Some(0), "{}", result.error);
        let first = result.error.trim_start().replace('\n', " ");
        assert!(first.starts_with("later never called the library: /"), "{first}");
        assert!(first.contains("/libcaffe.so calls its own SyncedMemory directly"), "the link is followed: {first}");
        assert!(first.contains(" Link that library without -Bsymbolic"), "{first}");
        assert!(first.contains(" Or let the library take it over: syncedmem run --take-over."), "{first}");
        assert!(!first.contains("of blobs") && !first.contains("nothing worth doing"), "{first}");
        let again = workshop.syncedmem(&["report", "t", "--text"]).ok().replace('\n', " ");
        assert!(again.starts_with("later never called the library: /"), "{again}");
    }
    workshop.leaves_nothing();
}

#[test]
fn a_caffe_of_another_layout_is_not_started() {
    let workshop = Workshop::new();
    workshop.source("more.c", "void *_ZN5caffe12SyncedMemory8prv_dataEv(void) { return 0; }");
    workshop.caffe(&["more.c"]);
    workshop.program(&[]);
    workshop.run(&[], &["./program"]).fails(125, &["was not started", "Intel's Caffe"]);
}
