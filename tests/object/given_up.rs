//! Objects that gave up their contents, and objects that share memory as libsyncedmem_net.so has them do it.

use std::ffi::CStr;
use std::ptr::NonNull;

use crate::support::*;
use syncedmem::abi::net;
use syncedmem::object::SyncedMemory;

const BYTES: [usize; 3] = [100, 50_000, 3 << 20];
pub const GONE: &CStr = c"the data of blob pool1 is gone; keep it apart: --keep pool1";
const NOTHING: u32 = 0;
pub const LAYER: u32 = 1;
pub const LAYER_WITH_ZEROS: u32 = 2;

pub fn inner(object: &mut Object) -> NonNull<SyncedMemory> {
    NonNull::new(object.mem().cast()).unwrap()
}

pub fn share(object: &mut Object) -> bool {
    unsafe { net::share(inner(object), GONE.as_ptr()) }
}

pub fn shared(bytes: usize) -> Object {
    let mut object = Object::new(bytes);
    assert!(share(&mut object));
    object
}

/// What a layer that writes the object is lent.
fn lend(object: &mut Object) -> *mut u8 {
    within(LAYER, || object.mutable_cpu_data().unwrap())
}

pub fn discard(object: &mut Object) {
    unsafe { net::discard(inner(object)) };
}

pub fn place(object: &mut Object, offset: usize, whole: usize) {
    let mut numbers = [offset, offset, 0, 0, whole];
    unsafe { net::place(inner(object), NonNull::from(&mut numbers)) };
}

pub fn within<R>(what: u32, work: impl FnOnce() -> R) -> R {
    let before = net::executing(what, 0);
    let result = work();
    assert_eq!(net::executing(before, 0), what);
    result
}

fn is_filled(data: *const u8, bytes: usize, with: u8) -> bool {
    unsafe { std::slice::from_raw_parts(data, bytes) }.iter().all(|&byte| byte == with)
}

#[test]
fn a_discarded_object_frees_its_memory_and_begins_with_zeros_at_the_next_write() {
    for bytes in BYTES {
        let mut object = Object::new(bytes);
        assert_eq!(object.discard(), SYNCEDMEM_SUCCESS);
        assert_eq!(object.head(), 0, "an untouched object has nothing to give up");
        let data = object.mutable_cpu_data().unwrap();
        unsafe { data.write_bytes(7, bytes) };
        assert_eq!(object.discard(), SYNCEDMEM_SUCCESS);
        assert_eq!((object.head(), object.owns_cpu()), (1, false), "{bytes} bytes");
        assert_eq!(object.discard(), SYNCEDMEM_SUCCESS);
        let data = object.mutable_cpu_data().unwrap();
        assert!(is_filled(data, bytes, 0) && object.owns_cpu(), "{bytes} bytes");
        assert_eq!(object.cpu_data(), Ok(data.cast_const().cast_mut()));
    }
}

#[test]
fn a_read_of_a_discarded_object_is_an_error_that_says_what_to_do() {
    let mut object = Object::new(100);
    object.mutable_cpu_data().unwrap();
    assert_eq!(object.discard(), SYNCEDMEM_SUCCESS);
    for _ in 0..2 {
        assert_refused(object.cpu_data().unwrap_err(), SYNCEDMEM_ERROR_INVALID_STATE, "write the object first");
    }
    assert!(object.overwrite_cpu_data().is_ok() && object.cpu_data().is_ok());
}

#[test]
fn a_discarded_object_takes_memory_that_is_lent_and_ends_like_any_other() {
    let mut object = Object::new(100);
    object.mutable_cpu_data().unwrap();
    assert_eq!(object.discard(), SYNCEDMEM_SUCCESS);
    let mut memory = [5u8; 100];
    assert_eq!(object.set_cpu_data(memory.as_mut_ptr()), SYNCEDMEM_SUCCESS);
    assert_eq!(object.cpu_data().map(|data| data.cast_const()), Ok(memory.as_ptr()));
    assert_eq!(object.discard(), SYNCEDMEM_SUCCESS);
    assert!(memory.iter().all(|&byte| byte == 5), "borrowed memory stays the caller's");
}

#[test(alone_with_driver)]
fn a_device_side_is_given_up_too() {
    let _gpu = gpu();
    let mut object = Object::new(100);
    object.gpu_data().unwrap();
    assert_eq!((object.head(), object.discard()), (2, SYNCEDMEM_SUCCESS));
    assert_eq!((object.head(), object.owns_gpu()), (1, false));
    assert_refused(object.gpu_data().unwrap_err(), SYNCEDMEM_ERROR_INVALID_STATE, "write the object first");
    assert_refused(object.push(std::ptr::null_mut()), SYNCEDMEM_ERROR_INVALID_STATE, "write the object first");
    assert!(object.mutable_gpu_data().is_ok());
}

#[test(alone_with_driver)]
fn a_discarded_object_has_nothing_to_wait_for() {
    let _gpu = gpu();
    let mut object = Object::new(100);
    object.mutable_gpu_data().unwrap();
    assert_eq!(object.discard(), SYNCEDMEM_SUCCESS);
    assert_eq!((object.wait(), object.is_ready()), (SYNCEDMEM_SUCCESS, Ok(true)));

    let stream = std::ptr::null_mut();
    assert_eq!(unsafe { syncedmem_record_stream(object.mem(), stream) }, SYNCEDMEM_SUCCESS);
    assert_eq!(unsafe { syncedmem_stream_wait(object.mem(), stream) }, SYNCEDMEM_SUCCESS);
}

#[test(alone, ("SYNCEDMEM_CHECK_DEVICE", "1"))]
fn the_check_of_the_device_lets_a_discarded_object_go_on() {
    let mut object = Object::touched(Storage::mutable_cpu_data, 100);
    assert_eq!((object.discard(), object.discard()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
    assert!(object.mutable_cpu_data().is_ok());
}

#[test(alone)]
fn shared_objects_with_lives_one_after_the_other_take_the_same_block() {
    for bytes in BYTES {
        let (mut first, mut second) = (shared(bytes), shared(bytes));
        let of_first = lend(&mut first);
        assert_eq!(of_first.addr() % 64, 16, "as glibc's large blocks");
        unsafe { of_first.write_bytes(1, bytes) };
        assert_eq!(within(LAYER, || first.cpu_data()), Ok(of_first));
        discard(&mut first);
        let of_second = lend(&mut second);
        assert_eq!(of_second, of_first, "{bytes} bytes");
        let again = lend(&mut first);
        assert!(again.addr().abs_diff(of_second.addr()) >= bytes, "both are alive");
    }
}

#[test(alone)]
fn a_read_from_outside_is_an_error_if_the_contents_are_gone_and_keeps_them_if_not() {
    let (mut gone, mut alive) = (shared(5000), shared(5000));
    for object in [&mut gone, &mut alive] {
        let data = lend(object);
        unsafe { data.write_bytes(3, 5000) };
    }
    discard(&mut gone);
    for access in [Storage::cpu_data, Storage::mutable_cpu_data, Storage::overwrite_cpu_data] {
        assert_refused(access(&mut gone).unwrap_err(), SYNCEDMEM_ERROR_INVALID_STATE, GONE.to_str().unwrap());
    }
    within(LAYER, || {
        assert_refused(gone.cpu_data().unwrap_err(), SYNCEDMEM_ERROR_INVALID_STATE, GONE.to_str().unwrap());
    });
    let view = alive.mutable_cpu_data().unwrap();
    discard(&mut alive);
    assert!(lend(&mut gone) != view, "the view's memory is kept apart");
    assert_eq!(alive.cpu_data(), Ok(view));
    assert!(is_filled(view, 5000, 3));
}

#[test]
fn what_was_touched_or_is_read_first_is_not_shared() {
    let mut touched = Object::new(100);
    let data = touched.cpu_data().unwrap();
    assert!(!share(&mut touched));
    discard(&mut touched);
    assert_eq!(touched.cpu_data(), Ok(data));
    let mut read_first = shared(100);
    let data = within(LAYER, || read_first.cpu_data().unwrap());
    discard(&mut read_first);
    assert_eq!(read_first.cpu_data(), Ok(data));
    assert!(is_filled(data, 100, 0));
}

#[test]
fn a_layer_that_needs_zeros_is_lent_zeros() {
    let (mut first, mut second) = (shared(100), shared(100));
    let data = lend(&mut first);
    unsafe { data.write_bytes(9, 100) };
    discard(&mut first);
    let data = within(LAYER_WITH_ZEROS, || second.mutable_cpu_data().unwrap());
    assert!(is_filled(data, 100, 0));
}

#[test(alone)]
fn a_block_lies_where_it_is_planned() {
    let (mut first, mut second) = (shared(1000), shared(1000));
    place(&mut second, 1 << 16, 1 << 17);
    let first = lend(&mut first);
    let second = lend(&mut second);
    assert_eq!(second.addr() - first.addr(), 1 << 16);
}

#[test(alone)]
fn an_object_that_ends_gives_its_block_back_on_any_thread() {
    // With the last one the arena ends.
    let _last = shared(100);
    let data = {
        let mut object = shared(1 << 20);
        let data = lend(&mut object).addr();
        std::thread::scope(|scope| scope.spawn(move || drop(object)).join().unwrap());
        data
    };
    let mut next = shared(1 << 20);
    assert_eq!(lend(&mut next).addr(), data);
}

#[test(alone)]
fn threads_have_arenas_of_their_own() {
    let lend = || {
        let mut object = shared(1 << 20);
        let data = lend(&mut object).addr();
        (object, data)
    };
    let (_first, here) = lend();
    let there = std::thread::scope(|scope| scope.spawn(|| lend().1).join().unwrap());
    for block in [here, there] {
        assert_eq!(block % 4096, 16, "each is the first of a range");
    }
}

/// A block that another object filled with nines is lent to an object of which layers write the first 1000 bytes, with ones.
fn partly_written() -> (Object, *mut u8) {
    let (mut before, mut object) = (shared(5000), shared(5000));
    let old = lend(&mut before);
    unsafe { old.write_bytes(9, 5000) };
    discard(&mut before);
    unsafe { net::written(inner(&mut object), 1000) };
    let data = lend(&mut object);
    assert_eq!(data, old);
    unsafe { data.write_bytes(1, 1000) };
    (object, data)
}

#[test(alone)]
fn what_layers_did_not_write_is_zeros_once_the_blob_has_more_or_is_read_from_outside() {
    let has_zeros = |data: *mut u8| is_filled(data, 1000, 1) && is_filled(unsafe { data.add(1000) }, 4000, 0);
    let (mut object, data) = partly_written();
    assert!(is_filled(unsafe { data.add(1000) }, 4000, 9), "no one can see it yet");
    unsafe { net::written(inner(&mut object), 4000) };
    assert!(has_zeros(data), "the blob has a larger shape");
    unsafe { data.add(1000).write_bytes(1, 3000) };
    unsafe { net::written(inner(&mut object), 500) };
    unsafe { net::written(inner(&mut object), 4000) };
    assert!(is_filled(data, 4000, 1), "what was written stays");
    let (mut object, data) = partly_written();
    assert_eq!(object.cpu_data(), Ok(data));
    assert!(has_zeros(data), "a read from outside of layers");
}

#[test]
fn where_free_is_to_take_each_block_nothing_is_shared_and_a_line_says_so_once() {
    let said = alone(&[("SYNCEDMEM_HOST_BLOCKS", "malloc")], || {
        for bytes in BYTES {
            let mut object = Object::new(bytes);
            assert!(!share(&mut object));
            let data = lend(&mut object);
            discard(&mut object);
            assert_eq!(object.cpu_data(), Ok(data), "its contents are kept");
        }
    });
    if !inside() {
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_has(&said, &["nothing is shared", "SYNCEDMEM_HOST_BLOCKS is malloc"]);
    }
}

#[test(alone_with_driver)]
fn where_host_memory_is_page_locked_no_arena_lends_any() {
    let _gpu = gpu();
    let _pinning = Pinning::always();
    let mut object = shared(5000);
    lend(&mut object);
    assert!(object.is_pinned());
    discard(&mut object);
    assert_refused(object.cpu_data().unwrap_err(), SYNCEDMEM_ERROR_INVALID_STATE, GONE.to_str().unwrap());
}

#[test]
fn nothing_is_executed_unless_it_is_said() {
    assert_eq!(net::executing(LAYER, 0), NOTHING);
    assert_eq!(net::executing(99, 0), LAYER);
    assert_eq!(net::executing(NOTHING, 0), NOTHING, "an unknown number is no layer");
}

#[test(alone)]
fn a_thread_ends_with_its_arena_free_for_the_next() {
    let there = || {
        let mut object = shared(1 << 20);
        lend(&mut object).addr()
    };
    let addresses: Vec<usize> =
        (0..5).map(|_| std::thread::scope(|scope| scope.spawn(there).join().unwrap())).collect();
    assert!(addresses.iter().all(|&address| address == addresses[0]), "{addresses:x?}");
}

#[test(alone, ("SYNCEDMEM_JUNK_FILL", "on"))]
fn junk_fills_a_block_of_an_arena_when_it_is_taken_and_when_it_is_free() {
    let mut object = shared(100);
    let data = lend(&mut object);
    let is_junk = || unsafe { data.cast::<[f32; 25]>().read_unaligned() }.iter().all(|value| value.is_nan());
    assert!(is_junk());
    unsafe { data.write_bytes(0, 100) };
    assert!(!is_junk());
    discard(&mut object);
    // The arena stays mapped while an object is shared.
    assert!(is_junk());
}
