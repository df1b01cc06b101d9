//! A second suite, for the tests of the first: run there, with `--ignored`.

use crate::support::*;

fn probe_says_its_process() {
    println!("process={}", std::process::id());
}

fn probe_is_skipped_in_one_suite() {
    skip("as asked");
}

crate::support::harness::tests![ignored(&[]): probe_says_its_process, probe_is_skipped_in_one_suite];
