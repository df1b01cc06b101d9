//! Programs whose malloc is not glibc's: another one is preloaded, as many programs' users do.

use crate::support::pools::*;
use crate::support::*;

/// Their file names, and the Debian package that has each.
const MALLOCS: [(&str, &str); 3] = [
    ("libjemalloc.so.2", "libjemalloc2"),
    ("libmimalloc.so.2", "libmimalloc2.0"),
    ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
];

/// A race for what is done once in a process: so many processes run it with each malloc.
const PROCESSES: usize = 12;

/// Does `work` on eight threads at once, in processes of their own, with each malloc preloaded.
fn at_once_with_each_malloc(work: fn()) {
    let race = |malloc: &str, package: &str| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(maps.contains(malloc), "{malloc} is not preloaded: install the package {package}");
        at_once(8, |_| work());
    };
    for (malloc, package) in MALLOCS {
        for _ in 0..if inside() { 1 } else { PROCESSES } {
            // The process inside runs this, too: once, with the malloc that it has.
            if inside() && std::env::var("LD_PRELOAD").as_deref() != Ok(malloc) {
                continue;
            }
            alone(&[("LD_PRELOAD", malloc)], || race(malloc, package));
        }
    }
}

fn eight_threads_trim_at_once_with_another_malloc() {
    at_once_with_each_malloc(|| trim(ALL));
}

fn eight_threads_run_out_of_memory_at_once_with_another_malloc() {
    at_once_with_each_malloc(|| {
        // More than any machine has, and less than what is refused without a try.
        let refused = Object::new(1 << 50).cpu_data();
        assert_eq!(refused, Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    });
}

fn objects_work_with_another_malloc() {
    at_once_with_each_malloc(|| {
        for bytes in [100, 3000, 30_000, 300_000, 3 << 20] {
            drop([filled(bytes, 1), filled(bytes, 2)]);
            let mut object = Object::new(bytes);
            assert!(all_zero(object.cpu_data().unwrap(), bytes));
        }
        trim(ALL);
    });
}

crate::support::harness::tests![
    eight_threads_trim_at_once_with_another_malloc,
    eight_threads_run_out_of_memory_at_once_with_another_malloc,
    objects_work_with_another_malloc,
];
