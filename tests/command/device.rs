//! The command where there is a driver: the simulated one.

use std::process::Command;

use crate::caffe_like::{Workshop, command, said};
use crate::support::driver::simulated;

/// The command, in a process that finds the simulated driver where the loader looks.
fn with_driver(workshop: &Workshop) -> Command {
    std::fs::copy(simulated(), workshop.path("libcuda.so.1")).unwrap();
    let mut command = command();
    command.env("LD_LIBRARY_PATH", workshop.path(""));
    command
}

#[test]
fn the_doctor_names_the_driver_and_its_devices() {
    let workshop = Workshop::new();
    let told = said(with_driver(&workshop).arg("doctor"));
    let line = told.output.lines().find(|line| line.starts_with("GPU")).expect(&told.output);
    assert!(line.contains("CUDA driver") && line.contains("0 is Simulated GPU 0"), "{line}");
}

#[test]
fn without_a_driver_the_doctor_says_why() {
    let workshop = Workshop::new();
    // A file with the driver's name that is no library.
    workshop.source("libcuda.so.1", "nothing");
    let told = said(command().arg("doctor").env("LD_LIBRARY_PATH", workshop.path("")));
    let line = told.output.lines().find(|line| line.starts_with("GPU")).expect(&told.output);
    assert!(line.contains("no GPU: "), "{line}");
}
