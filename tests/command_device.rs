//! The command where there is a driver: the simulated one.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unwrap_used,
    reason = "what it shares with the device's suites plays the foreign caller, and answers for what it passes"
)]

#[path = "support/caffe_like.rs"]
mod caffe_like;
mod support;

use std::process::Command;

use caffe_like::{Workshop, command, said};
use support::driver::simulated;

/// The command, in a process that finds the simulated driver where the loader looks.
fn with_driver(workshop: &Workshop) -> Command {
    std::fs::copy(simulated(), workshop.path("libcuda.so.1")).unwrap();
    let mut command = command();
    command.env("LD_LIBRARY_PATH", &workshop.folder);
    command
}

#[test]
fn the_doctor_names_the_driver_and_its_devices() {
    let workshop = Workshop::new("driver");
    let told = said(with_driver(&workshop).arg("doctor"));
    let line = told.output.lines().find(|line| line.starts_with("GPU")).expect(&told.output);
    assert!(line.contains("CUDA driver") && line.contains("0 is Simulated GPU 0"), "{line}");
}

#[test]
fn without_a_driver_the_doctor_says_why_and_the_benchmark_that_it_measures_no_copies() {
    let workshop = Workshop::new("no-driver");
    // What is there by that name is no driver.
    workshop.source("libcuda.so.1", "nothing");
    let told = said(command().arg("doctor").env("LD_LIBRARY_PATH", &workshop.folder));
    let line = told.output.lines().find(|line| line.starts_with("GPU")).expect(&told.output);
    assert!(line.contains("no GPU: "), "{line}");
    let told = said(command().args(["bench", "--quick"]).env("LD_LIBRARY_PATH", &workshop.folder));
    assert!(told.output.contains("Copies were not measured: no GPU: "), "{}", told.output);
    assert!(!told.output.contains("GB/s"), "{}", told.output);
}

#[test]
fn the_benchmark_measures_copies_by_every_way() {
    let workshop = Workshop::new("copies");
    let told = said(with_driver(&workshop).args(["bench", "--quick"]));
    assert_eq!(told.status, Some(0), "{}", told.error);
    for way in ["pageable, as the driver does it", "pageable, through locked slots", "page-locked"] {
        for direction in ["to", "from"] {
            let name = format!("64 MiB {direction} the device: {way} ");
            let line = told.output.lines().find(|line| line.contains(&name)).expect(&told.output);
            assert!(line.ends_with("GB/s"), "{line}");
        }
    }
}
