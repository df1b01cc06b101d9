//! The advice that the command gives from a trace is what the process itself gave.

use std::process::Command;

use crate::support::command_file::command_file;
use crate::support::gpu::*;
use crate::support::object::*;
use crate::support::*;

const BYTES: usize = 64 << 10;

/// A little of everything that is advised against.
fn work(gpu: &Gpu) {
    let stream = gpu.stream();
    let mut objects = [Object::new(BYTES), Object::new(BYTES), Object::new(BYTES)];
    for object in &mut objects {
        object.fill_host(&pattern(3, BYTES));
        for _ in 0..3 {
            object.mutable_gpu_data().unwrap();
            object.mutable_cpu_data().unwrap();
        }
        assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
        object.overwrite_cpu_data().unwrap();
    }
    let _pinning = Pinning::always();
    let mut pinned = Object::new(BYTES);
    pinned.mutable_gpu_data().unwrap();
    assert_eq!(pinned.pull(stream.handle()), SYNCEDMEM_SUCCESS);
    pinned.mutable_gpu_data().unwrap();
}

/// A report from its advice on.
fn advice_in(report: &str) -> &str {
    let at = report.find("\nadvice").unwrap_or_else(|| panic!("no advice in {report}"));
    &report[at..]
}

fn the_advice_from_a_trace_is_that_of_the_process() {
    let certain = ["ping-pong", "unread-copy"];
    let ways = [("on", "off", ["overwritten-copy"; 2]), ("accesses", "on", ["unchanged-copy", "overwritten-fill"])];
    for (account, compare, rules) in ways {
        let folder = std::env::temp_dir().join(format!("syncedmem-advice-{}-{account}", std::process::id()));
        if !inside() {
            // Skips here or not at all: the folder stays where the test does not reach its end.
            drop(simulated_gpu());
            std::fs::create_dir(&folder).unwrap();
        }
        let (trace, report) = (folder.join("trace.json"), folder.join("report.txt"));
        let environment = [
            ("SYNCEDMEM_ACCOUNT", account),
            ("SYNCEDMEM_COMPARE", compare),
            ("SYNCEDMEM_TRACE", trace.to_str().unwrap()),
            ("SYNCEDMEM_REPORT", report.to_str().unwrap()),
        ];
        in_a_process_with_a_driver(&environment, || {
            work(&simulated_gpu());
        });
        if inside() {
            // It was all that this process is for.
            return;
        }
        let of_process = std::fs::read_to_string(&report).unwrap();
        let command = Command::new(command_file());
        let output = { command }.args(["report", "--text", "-o", "-"]).arg(&trace).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let of_trace = String::from_utf8(output.stdout).unwrap();
        assert_eq!(advice_in(&of_trace), advice_in(&of_process));
        for rule in certain.into_iter().chain(rules) {
            assert!(advice_in(&of_process).contains(rule), "{rule}: {of_process}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

crate::support::harness::tests![the_advice_from_a_trace_is_that_of_the_process,];
