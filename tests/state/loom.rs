//! The protocol of an object's word and the table of work in progress, in every interleaving that matters.
//!
//! Run by `tests/state/run`, which also checks that a model fails when any ordering is weakened.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "a test plays the foreign caller, and answers for what it passes"
)]

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use syncedmem::object::SyncedMemory;
use syncedmem::object::table::{Blocking, Claim, Identity, Table};
use syncedmem::platform::owners::Owners;
use syncedmem_core::head::{Access, Head, Side};

/// Filled without a claim: of two threads, one frees its block.
const BRIEF: usize = 8;
/// Filled under a claim.
const CLAIMED: usize = 70_000;

/// An object on the heap, ended when the last thread is done with it.
struct Object(Box<MaybeUninit<SyncedMemory>>);

impl Object {
    fn new(bytes: usize) -> Arc<Object> {
        let mut storage = Box::new(MaybeUninit::uninit());
        unsafe { SyncedMemory::construct(NonNull::new(storage.as_mut_ptr()).unwrap(), bytes) };
        Arc::new(Object(storage))
    }

    fn read(&self) -> usize {
        let data = self.data(Access::Read, Side::Host).unwrap();
        assert!(!data.is_null(), "a word that says ready leads to a pointer");
        assert_eq!(unsafe { data.cast::<u8>().read() }, 0);
        data.addr()
    }
}

impl std::ops::Deref for Object {
    type Target = SyncedMemory;
    fn deref(&self) -> &SyncedMemory {
        unsafe { self.0.assume_init_ref() }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        unsafe { self.destruct() }.unwrap();
    }
}

fn readers_agree(bytes: usize) {
    let object = Object::new(bytes);
    let other = thread::spawn({
        let object = object.clone();
        move || object.read()
    });
    let here = object.read();
    assert_eq!(other.join().unwrap(), here);
    assert_eq!(object.head(), Ok(Head::AtCpu));
}

#[test]
fn two_readers_of_a_small_object_get_one_block() {
    loom::model(|| readers_agree(BRIEF));
}

#[test]
fn two_readers_of_a_large_object_get_one_block() {
    loom::model(|| readers_agree(CLAIMED));
}

#[test]
fn what_is_ready_has_its_pointer_and_its_contents() {
    loom::model(|| {
        let object = Object::new(CLAIMED);
        let other = thread::spawn({
            let object = object.clone();
            move || object.ready(Access::Read, Side::Host)
        });
        let data = object.data(Access::Read, Side::Host).unwrap();
        if let Some(seen) = other.join().unwrap() {
            assert_eq!(seen, data);
        }
    });
}

#[test]
fn a_writer_beside_a_reader_leaves_the_object_whole() {
    for bytes in [BRIEF, CLAIMED] {
        loom::model(move || {
            let object = Object::new(bytes);
            let mut own = vec![0u8; bytes];
            let address = own.as_mut_ptr().addr();
            let other = thread::spawn({
                let object = object.clone();
                move || object.data(Access::Read, Side::Host).map(|data| data.addr())
            });
            unsafe { object.set_data(Side::Host, own.as_mut_ptr().cast()) }.unwrap();
            other.join().unwrap().unwrap();
            assert_eq!(object.head(), Ok(Head::AtCpu));
            assert_eq!(object.read(), address, "set_cpu_data was the last to change it");
        });
    }
}

#[test]
fn objects_that_share_a_shard_do_not_wait_for_each_others_work() {
    loom::model(|| {
        let (first, second) = (Object::new(CLAIMED), Object::new(CLAIMED));
        let other = thread::spawn({
            let first = first.clone();
            move || first.read()
        });
        let here = second.read();
        assert_ne!(other.join().unwrap(), here);
    });
}

/// A copy in flight is a number here.
type Numbers = Table<u32>;
const IDENTITY: Identity = Identity { object: 0x1000, host: 1, device: 2, size: 8, is_slow: true };

fn claim(table: &Numbers, owner: usize) -> Claim<'_, u32> {
    table.claim(IDENTITY.object, owner, Blocking::Yes, || IDENTITY).unwrap()
}

#[test]
fn what_is_parked_is_taken_over_by_one_claim_after_the_other_and_never_lost() {
    loom::model(|| {
        let table = Arc::new(Numbers::new());
        let mut first = claim(&table, 1);
        first.in_flight = Some(7);
        let other = thread::spawn({
            let table = table.clone();
            // Comes before or after it is parked; takes it, and leaves it.
            move || claim(&table, 2).in_flight
        });
        first.publish(|_| (), || IDENTITY);
        let here = claim(&table, 1).in_flight;
        assert_eq!((here, other.join().unwrap()), (Some(7), Some(7)));
        assert_eq!(table.remove(IDENTITY.object).and_then(|entry| entry.in_flight), Some(7));
    });
}

/// Of two owners one reads the value and leaves; the other writes it, if it finds no other owner.
#[test]
fn an_owner_that_finds_no_other_has_the_value_for_itself() {
    loom::model(|| {
        let value = Arc::new((Owners::one(), UnsafeCell::new(7)));
        value.0.join();
        let other = thread::spawn({
            let value = value.clone();
            move || {
                value.1.with(|value| assert_eq!(unsafe { *value }, 7));
                value.0.leave();
            }
        });
        if !value.0.are_several() {
            value.1.with_mut(|value| unsafe { *value = 8 });
        }
        other.join().unwrap();
    });
}

/// Two owners, each of which uses the object once more and leaves: the last one ends it, after both.
#[test]
fn the_last_owner_ends_an_object_after_the_others_have_used_it() {
    loom::model(|| {
        let object = Arc::new((Owners::one(), UnsafeCell::new(7)));
        object.0.join();
        let leave = |object: &(Owners, UnsafeCell<i32>)| {
            object.1.with(|storage| assert_eq!(unsafe { *storage }, 7));
            let is_last = object.0.leave();
            if is_last {
                object.1.with_mut(|storage| unsafe { *storage = 0 });
            }
            is_last
        };
        let other = thread::spawn({
            let object = object.clone();
            move || leave(&object)
        });
        let here = leave(&object);
        assert_ne!(here, other.join().unwrap(), "one of them is the last");
    });
}
