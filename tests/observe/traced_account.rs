//! The account that a process gives of itself against the sums of its trace: they tell of the same, to the nanosecond.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::support::bookkeeper::assert_same;
use crate::support::figures::*;
use crate::support::folder::Folder;
use crate::support::gpu::*;
use crate::support::object::*;
use crate::support::pools::*;
use crate::support::traced::figures_of;
use crate::support::*;

/// The trace of a test, which is gone when the test is over.
struct Trace {
    _folder: Option<Folder>,
    file: PathBuf,
}

impl Trace {
    fn new() -> Trace {
        // Inside, it is what this process was given.
        match std::env::var_os("SYNCEDMEM_TRACE") {
            Some(file) => Trace { _folder: None, file: file.into() },
            None => {
                let folder = Folder::new();
                let file = folder.path("trace");
                Trace { _folder: Some(folder), file }
            }
        }
    }

    fn setting(&self) -> (&str, &str) {
        ("SYNCEDMEM_TRACE", self.file.to_str().unwrap())
    }

    fn figures(&self) -> BTreeMap<u32, syncedmem_stats_t> {
        figures_of(&self.file)
    }
}

/// What a trace can tell of the figures: not what lies idle, nor what was the most.
fn told(stats: syncedmem_stats_t) -> syncedmem_stats_t {
    let mut told = syncedmem_stats_t { size: 0, ..stats };
    for memory in [&mut told.pageable, &mut told.pinned, &mut told.device] {
        (memory.idle, memory.budget, memory.peak) = (0, 0, 0);
    }
    told
}

/// Host work of several kinds, with blocks that come and go.
fn host_work(turns: usize) {
    let mut own = vec![0u8; 60_000];
    for turn in 0..turns {
        let mut objects = [100, 5_000, 60_000, 3 << 20].map(Object::new);
        for (at, object) in objects.iter_mut().enumerate() {
            match (turn + at) % 4 {
                0 => object.cpu_data(),
                1 => object.mutable_cpu_data(),
                _ => object.overwrite_cpu_data(),
            }
            .unwrap();
            object.cpu_data().unwrap();
        }
        assert_eq!(objects[2].set_cpu_data(own.as_mut_ptr()), SYNCEDMEM_SUCCESS);
    }
}

fn the_sums_of_a_trace_are_the_account() {
    let trace = Trace::new();
    alone_with_pools(&[ACCESSES, trace.setting(), ("SYNCEDMEM_STAGE_FROM", "64K")], |gpu| {
        let stream = gpu.stream();
        for turn in 0..40 {
            let _pinning = (turn % 2 == 0).then(Pinning::always);
            for bytes in [100, 60_000, 3 << 20] {
                let mut object = Object::new(bytes);
                object.mutable_cpu_data().unwrap();
                assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
                object.mutable_gpu_data().unwrap();
                assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS);
                object.mutable_cpu_data().unwrap();
                object.gpu_data().unwrap();
                let mut other = Object::new(bytes);
                other.gpu_data().unwrap();
                other.cpu_data().unwrap();
            }
        }
        host_work(20);
        gpu.control().simcuda_set_memory(0, 1 << 20);
        assert_eq!(Object::new(2 << 20).gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
        gpu.control().simcuda_set_memory(0, 256 << 20);
        let is = told(figures());
        assert!(is.to_device_staged.count > 0 && is.to_device_pinned.count > 0 && is.waits.count > 0, "{is:?}");
        assert!(is.device.pool_hits.count > 0 && is.synchronises.count > 0 && is.device_failures.count == 1, "{is:?}");
        let traced = trace.figures();
        assert_eq!(traced.len(), 1);
        assert_same(&traced[&std::process::id()], &is);
    });
}

fn what_many_threads_do_is_in_the_trace_as_it_is_in_the_account() {
    let trace = Trace::new();
    alone(&[ACCESSES, trace.setting()], || {
        std::thread::scope(|threads| (0..6).for_each(|_| _ = threads.spawn(|| host_work(30))));
        let traced = trace.figures();
        let (is, traced) = (told(figures()), &traced[&std::process::id()]);
        assert_eq!(is.pageable.live, 0);
        assert_same(traced, &is);
    });
}

fn a_forked_childs_events_are_its_own_in_the_trace_too() {
    let trace = Trace::new();
    alone(&[ACCESSES, trace.setting()], || {
        host_work(3);
        let mut shared = Object::new(60_000);
        shared.cpu_data().unwrap();
        let mut pipe = [0; 2];
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        let child = unsafe { libc::fork() };
        if child == 0 {
            shared.mutable_cpu_data().unwrap();
            host_work(5);
            let stats = figures();
            let bytes = size_of_val(&stats);
            let written = unsafe { libc::write(pipe[1], (&raw const stats).cast(), bytes) };
            unsafe { libc::_exit(i32::from(written != bytes as isize)) };
        }
        host_work(4);
        let mut childs = syncedmem_stats_t::default();
        let bytes = size_of_val(&childs);
        assert_eq!(unsafe { libc::read(pipe[0], (&raw mut childs).cast(), bytes) }, bytes as isize);
        let mut status = -1;
        assert_eq!((unsafe { libc::waitpid(child, &mut status, 0) }, status), (child, 0));
        let traced = trace.figures();
        assert_eq!(traced.len(), 2);
        assert_same(&traced[&std::process::id()], &told(figures()));
        let mut childs = told(childs);
        // The child's memory includes its parent's, which was allocated before the child's trace begins.
        assert_eq!(childs.pageable.live, 60_000);
        childs.pageable.live = 0;
        assert_same(&traced[&(child as u32)], &childs);
    });
}

crate::support::harness::tests![
    the_sums_of_a_trace_are_the_account,
    what_many_threads_do_is_in_the_trace_as_it_is_in_the_account,
    a_forked_childs_events_are_its_own_in_the_trace_too,
];
