//! What a record of a trace costs: a measurement, not a test. docs/trace.md says what it came to.
//! `cargo test --release --test observe trace_cost -- --ignored`

use std::path::Path;

use crate::trace::{Folder, c_path, events};
use syncedmem::observe::trace as writer;

const RECORDS: u64 = 200_000;

/// Nanoseconds of processor time that this process has used, the system's part included: what else the machine does
/// matters less to it than to the time that passes.
fn used() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Nanoseconds of a processor that each record took, with so many threads at once.
fn cost(path: &Path, threads: u32) -> f64 {
    writer::start(&c_path(path)).unwrap();
    let run = events::a_run(1, 8);
    let begun = used();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                (0..RECORDS as usize).for_each(|number| writer::record(&run[number % run.len()], 4096));
            });
        }
    });
    let took = used() - begun;
    writer::stop();
    took / (RECORDS * u64::from(threads)) as f64
}

fn a_record_takes_so_long() {
    let folder = Folder::new();
    for (what, threads) in [("one thread", 1), ("two threads at once", 2)] {
        let mut samples: Vec<f64> = (0..7).map(|_| cost(&folder.path("t"), threads)).collect();
        samples.sort_by(f64::total_cmp);
        println!("{what}: {:.0} ns [{:.0} - {:.0}]", samples[3], samples[0], samples[6]);
    }
    let (begun, event) = (used(), &events::a_run(1, 1)[0]);
    (0..RECORDS * 100).for_each(|_| writer::record(std::hint::black_box(event), 0));
    println!("without a trace: {:.2} ns", (used() - begun) / (RECORDS * 100) as f64);
}

crate::support::harness::tests![ignored(&[]): a_record_takes_so_long];
