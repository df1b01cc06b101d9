//! The command where there is a driver: the simulated one.

use crate::caffe_like::{Workshop, command, said};
use crate::support::driver::simulated;

/// The doctor's line on the GPU, in a process that finds this folder's `libcuda.so.1` where the loader looks.
fn line(workshop: &Workshop) -> String {
    let result = said(command().arg("doctor").env("LD_LIBRARY_PATH", workshop.path("")));
    result.output.lines().find(|line| line.starts_with("GPU")).expect(&result.output).to_string()
}

#[test]
fn the_doctor_names_the_driver_and_its_devices_or_says_why_there_is_none() {
    let workshop = Workshop::new();
    std::fs::copy(simulated(), workshop.path("libcuda.so.1")).unwrap();
    let with = line(&workshop);
    assert!(with.contains("CUDA driver") && with.contains("0 is Simulated GPU 0"), "{with}");
    // A file with the driver's name that is no library.
    workshop.source("libcuda.so.1", "nothing");
    let without = line(&workshop);
    assert!(without.contains("no GPU: "), "{without}");
}
