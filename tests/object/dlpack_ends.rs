//! What ends when: deleters that call back into the library, and objects that hold one another's memory.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::tensor::*;
use crate::support::*;

const BYTES: usize = 96;

fn lend(mem: *mut syncedmem_t, tensor: *mut c_void) {
    assert_eq!(unsafe { syncedmem_set_dlpack(mem, tensor, true) }, SYNCEDMEM_SUCCESS, "{}", last_error());
}

#[test]
fn a_deleter_may_lend_to_its_object_anew_and_what_was_lent_last_stays() {
    let mut bytes = [[1u8; BYTES], [2; BYTES], [3; BYTES]];
    let mem = created(BYTES);
    let mut third = Theirs::of(bytes[2].as_mut_ptr(), BYTES);
    let last = std::ptr::from_mut(&mut *third.managed).cast::<c_void>();
    let handle = mem as usize;
    let mut first = Calling::new(bytes[0].as_mut_ptr(), BYTES, move || lend(handle as *mut syncedmem_t, last));
    let mut second = Theirs::of(bytes[1].as_mut_ptr(), BYTES);
    lend(mem, first.address());
    assert_eq!(second.lend(mem), SYNCEDMEM_SUCCESS);
    assert_eq!((cpu_data(mem), second.deleted(), third.deleted()), (bytes[2].as_ptr().cast(), 1, 0));
    assert_eq!(destroy(mem), SYNCEDMEM_SUCCESS);
    assert_eq!((second.deleted(), third.deleted()), (1, 1));
}

#[test]
fn a_deleter_may_end_its_object_and_what_was_just_lent_goes_with_it() {
    let mut bytes = [[1u8; BYTES], [2; BYTES]];
    let mem = created(BYTES);
    let handle = mem as usize;
    let ends = move || assert_eq!(destroy(handle as *mut syncedmem_t), SYNCEDMEM_SUCCESS);
    let mut first = Calling::new(bytes[0].as_mut_ptr(), BYTES, ends);
    let mut second = Theirs::of(bytes[1].as_mut_ptr(), BYTES);
    lend(mem, first.address());
    assert_eq!(second.lend(mem), SYNCEDMEM_SUCCESS);
    assert_eq!(second.deleted(), 1);
}

#[test]
fn a_deleter_at_its_objects_end_may_make_use_and_end_others() {
    static CALLED: AtomicUsize = AtomicUsize::new(0);
    let mut bytes = [1u8; BYTES];
    let mut object = Object::new(BYTES);
    let mut tensor = Calling::new(bytes.as_mut_ptr(), BYTES, || {
        let mem = created(BYTES);
        drop(export(mem, Ask { access: WRITE, ..FLOATS }).unwrap());
        assert_eq!(destroy(mem), SYNCEDMEM_SUCCESS);
        CALLED.fetch_add(1, Ordering::Relaxed);
    });
    lend(object.mem(), tensor.address());
    assert_eq!((CALLED.load(Ordering::Relaxed), object.destruct()), (0, SYNCEDMEM_SUCCESS));
    assert_eq!((CALLED.load(Ordering::Relaxed), object.construct(BYTES)), (1, SYNCEDMEM_SUCCESS));
}

#[test]
fn a_chain_of_objects_of_any_length_ends_on_a_small_stack() {
    const LINKS: usize = 2_000;
    let mut bytes = [7u8; BYTES];
    let mut tensor = Theirs::of(bytes.as_mut_ptr(), BYTES);
    let mut last = created(BYTES);
    assert_eq!(tensor.lend(last), SYNCEDMEM_SUCCESS);
    for _ in 0..LINKS {
        let next = created(BYTES);
        lend(next, export(last, Ask { access: WRITE, ..FLOATS }).unwrap().into_raw());
        assert_eq!(destroy(last), SYNCEDMEM_SUCCESS);
        last = next;
    }
    assert_eq!((cpu_data(last), tensor.deleted()), (bytes.as_ptr().cast(), 0));
    end_on_a_small_stack(last);
    assert_eq!(tensor.deleted(), 1);
}

fn end_on_a_small_stack(mem: *mut syncedmem_t) {
    let mem = mem as usize;
    let ends = move || assert_eq!(destroy(mem as *mut syncedmem_t), SYNCEDMEM_SUCCESS);
    std::thread::Builder::new().stack_size(128 << 10).spawn(ends).unwrap().join().unwrap();
}

#[test]
fn a_chain_of_deleters_that_each_end_another_object_ends_on_a_small_stack() {
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    let mut bytes = [7u8; BYTES];
    let (mut first, mut lent) = (created(BYTES), Vec::new());
    for _ in 0..2_000 {
        let (mem, next) = (created(BYTES), first as usize);
        lent.push(Calling::new(bytes.as_mut_ptr(), BYTES, move || {
            ENDED.fetch_add(1, Ordering::Relaxed);
            assert_eq!(destroy(next as *mut syncedmem_t), SYNCEDMEM_SUCCESS);
        }));
        lend(mem, lent.last_mut().unwrap().address());
        first = mem;
    }
    end_on_a_small_stack(first);
    assert_eq!(ENDED.load(Ordering::Relaxed), lent.len());
}

#[test]
fn many_threads_export_one_object_for_reading_and_delete_what_others_were_given() {
    const THREADS: usize = 6;
    for bytes in [BYTES, 50_000] {
        let shared = Shared(created(bytes));
        let (give, take) = std::sync::mpsc::channel();
        let deleter = std::thread::spawn(|| take.into_iter().for_each(drop));
        at_once(THREADS, |_| {
            for _ in 0..100 {
                let tensor = export({ shared }.0, FLOATS).unwrap();
                assert_eq!(unsafe { tensor.data::<u8>().read() }, 0);
                give.send(tensor).unwrap();
            }
        });
        drop(give);
        deleter.join().unwrap();
        assert_eq!((exports(shared.0), destroy(shared.0)), ((0, 0), SYNCEDMEM_SUCCESS));
    }
}
