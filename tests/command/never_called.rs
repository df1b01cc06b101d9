//! `syncedmem run` says why nothing was recorded, and that the library was never called only where the program's files show it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::caffe_like::*;
use crate::run::*;

#[track_caller]
fn never_called(workshop: &Workshop, program: &Path, why: &str) {
    says(workshop, program, "never called the library: ", why);
}

#[track_caller]
fn recorded_nothing(workshop: &Workshop, program: &Path, why: &str) {
    says(workshop, program, "recorded nothing: ", why);
}

#[track_caller]
fn says(workshop: &Workshop, program: &Path, what: &str, why: &str) {
    let told = said(&mut run(workshop, &[], &[program.to_str().unwrap()]));
    assert_eq!(told.status, Some(0), "the program runs all the same: {}", told.error);
    assert!(told.error.contains(what), "{what}: {}", told.error);
    assert!(told.error.contains(why), "{why:?} is not in: {}", told.error);
    assert!(!told.error.contains("of blobs"), "{}", told.error);
    leaves_nothing(workshop);
}

#[test]
fn a_caffe_that_is_bound_inside_is_named_as_the_reason() {
    let workshop = Workshop::new();
    workshop.caffe(&["-Wl,-Bsymbolic-functions"]);
    never_called(&workshop, &workshop.program(&[]), "libcaffe.so calls its own SyncedMemory directly");
}

#[test]
fn caffe_in_the_program_is_named_as_the_reason() {
    let workshop = Workshop::new();
    never_called(&workshop, &workshop.program_with_caffe_inside(&[]), "Caffe is linked statically into");
    never_called(&workshop, &workshop.program_with_caffe_inside(&["-static"]), "the program is linked statically");
}

#[test]
fn other_reasons_are_named_too() {
    let workshop = Workshop::new();
    never_called(&workshop, Path::new("true"), "it contains no Caffe");
    let script = workshop.source("script", "#!/bin/sh\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    recorded_nothing(&workshop, &script, "it is a script, run by /bin/sh");
}

#[test]
fn a_caffe_that_made_no_object_is_not_blamed() {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    workshop.source(
        "program.c",
        "int _ZN5caffe4BlobIfE3sumEv(long); int main(int n, char **v) { return n > 9 && _ZN5caffe4BlobIfE3sumEv(1); }",
    );
    let program = workshop.compile("early", &["program.c", "-L.", "-lcaffe", "-Wl,-rpath,$ORIGIN"]);
    recorded_nothing(&workshop, &program, "its Caffe can use the library. Either it ended before it made an object");
}

#[test]
fn a_caffe_of_another_layout_is_not_started() {
    let workshop = Workshop::new();
    workshop.source("more.c", "void *_ZN5caffe12SyncedMemory8prv_dataEv(void) { return 0; }");
    workshop.caffe(&["more.c"]);
    let told = said(&mut run(&workshop, &[], &[workshop.program(&[]).to_str().unwrap()]));
    assert_eq!(told.status, Some(125), "{}", told.error);
    assert!(told.error.contains("was not started") && told.error.contains("Intel's Caffe"), "{}", told.error);
}
