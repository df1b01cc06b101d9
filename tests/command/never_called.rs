//! `syncedmem run` says why nothing was recorded, and that the library was never called only where the program's files show it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::caffe_like::*;

#[track_caller]
fn says(workshop: &Workshop, program: &Path, what: &str, why: &str) {
    let told = workshop.run(&[], &[program.to_str().unwrap()]);
    assert_eq!(told.status, Some(0), "the program runs all the same: {}", told.error);
    told.has(&[what, why]);
    assert!(!told.error.contains("of blobs"), "{}", told.error);
    workshop.leaves_nothing();
}

const NEVER_CALLED: &str = "never called the library: ";
const RECORDED_NOTHING: &str = "recorded nothing: ";

#[test]
fn a_program_that_never_called_the_library_is_told_why() {
    let workshop = Workshop::new();
    workshop.caffe(&["-Wl,-Bsymbolic-functions"]);
    says(&workshop, &workshop.program(&[]), NEVER_CALLED, "libcaffe.so calls its own SyncedMemory directly");
    says(&workshop, &workshop.program_with_caffe_inside(&[]), NEVER_CALLED, "Caffe is linked statically into");
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
fn a_caffe_of_another_layout_is_not_started() {
    let workshop = Workshop::new();
    workshop.source("more.c", "void *_ZN5caffe12SyncedMemory8prv_dataEv(void) { return 0; }");
    workshop.caffe(&["more.c"]);
    workshop.program(&[]);
    workshop.run(&[], &["./program"]).fails(125, &["was not started", "Intel's Caffe"]);
}
