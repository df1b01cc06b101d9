//! Eight threads on one workspace, forks beside them, and the end of the process under them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::handles::*;

const THREADS: u64 = 8;
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Objects that live, of the type that threads put into blobs.
static ALIVE: AtomicUsize = AtomicUsize::new(0);
static ID: u8 = 0;

unsafe extern "C-unwind" fn construct(items: *mut std::ffi::c_void, count: usize) -> bool {
    ALIVE.fetch_add(count, Ordering::Relaxed);
    unsafe { items.cast::<u64>().write(0xA11E) };
    true
}

unsafe extern "C-unwind" fn destruct(items: *mut std::ffi::c_void, count: usize) {
    assert_eq!(unsafe { items.cast::<u64>().read() }, 0xA11E);
    unsafe { items.cast::<u64>().write(0) };
    ALIVE.fetch_sub(count, Ordering::Relaxed);
}

fn counted() -> TypeMeta {
    TypeMeta {
        id: (&raw const ID).cast(),
        name: c"Counted".as_ptr(),
        itemsize: 8,
        construct: Some(construct),
        destruct: Some(destruct),
        copy: None,
    }
}

/// One step of a thread: whatever the others do meanwhile, it leads to a value of a type or to an error, and never to a wrong one.
fn step(workspace: &Workspace, child: &Workspace, random: &mut Random) {
    let name = random.of(&NAMES);
    match random.below(9) {
        0 => drop(workspace.remove(name)),
        1 => drop(workspace.rename(name, random.of(&NAMES))),
        2 => drop(child.create_local(name).unwrap()),
        3 => drop(child.remove(name)),
        4 => drop(workspace.create(name).unwrap().get_mutable::<u64>(&counted()).unwrap()),
        5 => workspace.create(name).unwrap().swap(&child.create(random.of(&NAMES)).unwrap()),
        6 => {
            let all = child.blobs(false);
            assert!(all.is_sorted_by(|(one, _), (other, _)| one < other) && all.len() <= NAMES.len() + 1);
        }
        7 => {
            // A tensor of this thread's own, which others may take from the blob and read.
            let tensor = Tensor::of(&[16]);
            let data = tensor.mutable::<u8>(&float()).unwrap();
            unsafe { data.write_bytes(name.as_bytes()[0], 64) };
            workspace.create(name).unwrap().set_tensor(&tensor).unwrap();
        }
        _ => {
            let Some(Ok(tensor)) = child.get(name).map(|blob| blob.tensor()) else { return };
            let data = tensor.data::<[u8; 64]>(&float()).unwrap();
            let bytes = unsafe { data.read() };
            assert!(bytes.iter().all(|&byte| byte == bytes[0] && byte.is_ascii_lowercase()));
        }
    }
}

/// Runs eight threads until `work` is done. Returns how many steps they made.
fn beside_threads(workspace: &Workspace, child: &Workspace, work: impl FnOnce()) -> usize {
    let (stop, steps) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let (stop, steps) = (&stop, &steps);
            threads.spawn(move || {
                let mut random = Random::new(1, thread);
                while !stop.load(Ordering::Relaxed) {
                    step(workspace, child, &mut random);
                    steps.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        work();
        stop.store(true, Ordering::Relaxed);
    });
    steps.into_inner()
}

fn eight_threads_use_one_workspace_and_the_last_holder_ends_each_value_once() {
    alone(&[], || {
        let workspace = Workspace::new();
        let child = Workspace::over(&workspace);
        let steps = beside_threads(&workspace, &child, || std::thread::sleep(std::time::Duration::from_millis(1500)));
        println!("{steps} steps");
        assert!(steps > 1000);
        drop((workspace, child));
        assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
    });
}

fn a_tensor_made_on_one_thread_is_ended_by_the_last_that_holds_it() {
    let blob = Blob::new();
    let tensor = std::thread::scope(|threads| {
        let makes = || {
            let (tensor, _) = blob.mutable_tensor(HOST).unwrap();
            tensor.resize(&[4]).unwrap();
            unsafe { tensor.mutable::<f32>(&float()).unwrap().write(42.0) };
            tensor
        };
        threads.spawn(makes).join().unwrap()
    });
    drop(blob);
    std::thread::spawn(move || assert_eq!(unsafe { tensor.data::<f32>(&float()).unwrap().read() }, 42.0))
        .join()
        .unwrap();
}

fn forks_beside_eight_threads_leave_the_workspace_usable_in_the_child() {
    alone(&[], || {
        let workspace = Workspace::new();
        let child = Workspace::over(&workspace);
        let tensor = Tensor::of(&[4]);
        unsafe { tensor.mutable::<f32>(&float()).unwrap().write(42.0) };
        workspace.create("kept").unwrap().set_tensor(&tensor).unwrap();
        let forks = || {
            for number in 0..100 {
                let process = unsafe { libc::fork() };
                if process == 0 {
                    // A child that hangs is ended by a signal.
                    unsafe { libc::alarm(20) };
                    let kept = workspace.get("kept").and_then(|blob| blob.tensor().ok());
                    let read =
                        kept.and_then(|tensor| tensor.data::<f32>(&float()).ok()).map(|data| unsafe { data.read() });
                    workspace.create("new").unwrap().get_mutable::<u64>(&counted()).unwrap();
                    let listed = child.names(false).contains(&"new".to_string());
                    unsafe { libc::_exit(i32::from(!(read == Some(42.0) && listed && workspace.remove("new")))) };
                }
                let mut status = 0;
                assert_eq!(unsafe { libc::waitpid(process, &mut status, 0) }, process);
                assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "fork {number}: {status}");
            }
        };
        assert!(beside_threads(&workspace, &child, forks) > 100);
    });
}

fn a_process_may_end_under_threads_that_use_a_workspace() {
    alone(&[], || {
        let workspace: &'static Workspace = Box::leak(Box::new(Workspace::new()));
        let child: &'static Workspace = Box::leak(Box::new(Workspace::over(workspace)));
        for thread in 0..THREADS {
            std::thread::spawn(move || {
                let mut random = Random::new(2, thread);
                loop {
                    step(workspace, child, &mut random);
                }
            });
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        // The threads run on until the process has ended.
        assert!(workspace.create("last").is_ok());
    });
}

crate::support::harness::tests![
    eight_threads_use_one_workspace_and_the_last_holder_ends_each_value_once,
    a_tensor_made_on_one_thread_is_ended_by_the_last_that_holds_it,
    forks_beside_eight_threads_leave_the_workspace_usable_in_the_child,
    a_process_may_end_under_threads_that_use_a_workspace,
];
