//! Eight threads on one workspace, forks beside them, and the end of the process under them.

use std::sync::atomic::{AtomicUsize, Ordering};

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

/// One step of a thread. Whatever the other threads do, it returns a value of the right type or an error.
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
            // A tensor that only this thread changes; others may take it from the blob and read it.
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

/// Number of steps of all threads.
static STEPS: AtomicUsize = AtomicUsize::new(0);

/// Runs eight threads until `work` is done, and they have made at least so many steps.
fn beside_threads(workspace: &Workspace, child: &Workspace, at_least: usize, work: impl FnOnce()) {
    let one_step = |thread: usize, turn: usize| {
        step(workspace, child, &mut Random::new(turn as u64, thread as u64));
        STEPS.fetch_add(1, Ordering::Relaxed);
    };
    beside(8, one_step, || {
        work();
        pools::until(|| STEPS.load(Ordering::Relaxed) >= at_least);
    });
}

#[test(alone)]
fn eight_threads_use_one_workspace_and_the_last_holder_ends_each_value_once() {
    let workspace = Workspace::new();
    let child = Workspace::over(&workspace);
    beside_threads(&workspace, &child, 100_000, || ());
    drop((workspace, child));
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
}

#[test(alone)]
fn forks_beside_eight_threads_leave_the_workspace_usable_in_the_child() {
    let workspace = Workspace::new();
    let child = Workspace::over(&workspace);
    let tensor = Tensor::of(&[4]);
    unsafe { tensor.mutable::<f32>(&float()).unwrap().write(42.0) };
    workspace.create("kept").unwrap().set_tensor(&tensor).unwrap();
    let forks = || {
        for _ in 0..100 {
            in_a_child(|| {
                let kept = workspace.get("kept").unwrap().tensor().unwrap();
                assert_eq!(unsafe { kept.data::<f32>(&float()).unwrap().read() }, 42.0);
                workspace.create("new").unwrap().get_mutable::<u64>(&counted()).unwrap();
                assert!(child.names(false).contains(&"new".to_string()) && workspace.remove("new"));
            });
        }
    };
    beside_threads(&workspace, &child, 100, forks);
}

#[test(alone)]
fn a_process_may_end_under_threads_that_use_a_workspace() {
    let workspace: &'static Workspace = Box::leak(Box::new(Workspace::new()));
    let child: &'static Workspace = Box::leak(Box::new(Workspace::over(workspace)));
    for thread in 0..THREADS {
        std::thread::spawn(move || {
            let mut random = Random::new(2, thread);
            loop {
                step(workspace, child, &mut random);
                STEPS.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    pools::until(|| STEPS.load(Ordering::Relaxed) > 1000);
    // The threads run on until the process has ended.
    assert!(workspace.create("last").is_ok());
}
