//! Objects that are parked as the contents of others, their twins.

use std::ptr::NonNull;

use super::given_up::{LAYER, discard, inner, place, shared, within};
use super::parked::{assert_parked, bytes, dense, half_zeros, holding, park, park_as, read, write};
use crate::support::figures::{ON, counts};
use crate::support::*;
use syncedmem::object::SyncedMemory;

const WORDS: usize = 5000;
const BYTES: usize = 4 * WORDS;

/// Two objects with contents that can only be parked as each other's: the twin, and one that is parked as it.
fn pair() -> (Object, Object, Vec<u8>) {
    let contents = dense(1, WORDS);
    let (mut twin, mut object) = (holding(&contents), holding(&contents));
    assert_eq!(park_as(&mut object, &[inner(&mut twin)], 1), Some(0), "no bytes");
    assert_parked(&mut object);
    (twin, object, contents)
}

#[track_caller]
fn assert_holds(object: &mut Object, contents: &[u8]) {
    assert_bytes(&read(object, contents.len()), contents, &"the contents");
}

#[test]
fn equal_contents_are_read_from_the_twin_s_block() {
    let (mut twin, mut object, contents) = pair();
    let address = twin.host_address();
    assert_holds(&mut object, &contents);
    assert_ne!(object.host_address(), address);
    write(&mut twin, &half_zeros(2, WORDS));
    assert_eq!(twin.host_address(), address, "its block was needed by no other object any more");
    assert_holds(&mut object, &contents);
}

/// What may happen to a twin, and what it holds then; `None`: nothing, or it has ended.
type Change = fn(&mut Object) -> Option<Vec<u8>>;

#[test]
fn a_twin_that_changes_leaves_its_contents_to_the_parked_object() {
    let changes: [(&str, Change); 9] = [
        ("a layer writes it", |twin| {
            write(twin, &half_zeros(3, WORDS));
            Some(half_zeros(3, WORDS))
        }),
        ("a layer overwrites it", |twin| {
            let data = within(LAYER, || twin.overwrite_cpu_data().unwrap());
            unsafe { data.write_bytes(7, BYTES) };
            Some(vec![7; BYTES])
        }),
        ("it is written from outside", |twin| {
            twin.fill_host(&[8; BYTES]);
            Some(vec![8; BYTES])
        }),
        ("it is read from outside, and then written", |twin| {
            let data = twin.cpu_data().unwrap();
            assert_eq!(twin.mutable_cpu_data(), Ok(data));
            unsafe { data.write_bytes(9, BYTES) };
            Some(vec![9; BYTES])
        }),
        ("it borrows memory", |twin| {
            let memory = Box::leak(Box::new([4u8; BYTES]));
            assert_eq!(twin.set_cpu_data(memory.as_mut_ptr()), SYNCEDMEM_SUCCESS);
            Some(vec![4; BYTES])
        }),
        ("it is filled", |twin| {
            let fill = |bytes: &mut [u8]| {
                bytes.fill(5);
                Ok::<(), syncedmem::error::Error>(())
            };
            unsafe { inner(twin).as_ref().fill(BYTES, fill) }.unwrap();
            Some(vec![5; BYTES])
        }),
        ("it grows", |twin| {
            unsafe { inner(twin).as_ref().resize(BYTES + 4) }.unwrap();
            Some(vec![0; BYTES + 4])
        }),
        ("it is given up", |twin| {
            discard(twin);
            assert_eq!(twin.host_address(), 0);
            None
        }),
        ("it ends", |twin| {
            drop(std::mem::replace(twin, Object::new(4)));
            None
        }),
    ];
    for (what, change) in changes {
        let (mut twin, mut object, contents) = pair();
        let expected = change(&mut twin);
        // Takes the memory that the twin had, if it was freed.
        let others: Vec<_> = (0..4).map(|_| holding(&[0xEE; BYTES])).collect();
        assert_bytes(&object.host_bytes(BYTES), &contents, &what);
        if let Some(expected) = expected {
            assert_bytes(&twin.host_bytes(expected.len()), &expected, &what);
        }
        drop(others);
    }
}

#[test]
fn a_twin_is_not_parked_while_another_object_needs_its_block() {
    let contents = half_zeros(4, WORDS);
    let (mut twin, mut object) = (holding(&contents), holding(&contents));
    assert_eq!(park_as(&mut object, &[inner(&mut twin)], 1), Some(0));
    assert_eq!(park(&mut twin), None);
    assert_holds(&mut twin, &contents);
    assert_holds(&mut object, &contents);
    assert!(park(&mut twin).is_some());
    assert_holds(&mut twin, &contents);
}

#[test]
fn a_parked_twin_shares_its_encoded_contents_whatever_comes_after() {
    let contents = half_zeros(5, WORDS);
    let changes: [fn(Object); 5] = [
        drop,
        |mut twin| discard(&mut twin),
        |mut twin| write(&mut twin, &[1; BYTES]),
        |mut twin| twin.fill_host(&[1; BYTES]),
        |mut twin| {
            read(&mut twin, BYTES);
            write(&mut twin, &[0; BYTES]);
            park(&mut twin).unwrap();
        },
    ];
    for change in changes {
        let (mut twin, mut object) = (holding(&contents), holding(&contents));
        park(&mut twin).unwrap();
        assert_eq!(park_as(&mut object, &[inner(&mut twin)], 1), Some(0));
        change(twin);
        assert_holds(&mut object, &contents);
    }
}

#[test]
fn two_objects_with_one_twin_come_back_in_any_order() {
    for later in [false, true] {
        let (mut twin, mut first, contents) = pair();
        let mut second = holding(&contents);
        assert_eq!(park_as(&mut second, &[inner(&mut twin)], 1), Some(0));
        write(&mut twin, &half_zeros(6, WORDS));
        if later {
            assert_holds(&mut first, &contents);
        } else {
            drop(first);
        }
        assert_holds(&mut second, &contents);
        assert_holds(&mut twin, &half_zeros(6, WORDS));
    }
}

/// In each of so many rows, a row of each of these.
fn rows_of(parts: &[Vec<u8>], rows: usize) -> Vec<u8> {
    let row =
        |at: usize| parts.iter().flat_map(move |part| &part[part.len() / rows * at..part.len() / rows * (at + 1)]);
    (0..rows).flat_map(row).copied().collect()
}

#[test]
fn rows_of_several_twins_some_of_them_parked_come_back() {
    for rows in [1, 2, 8, 40] {
        let lengths = [40 * 33, 40 * 7, 40 * 71, 40 * 7];
        let parts: Vec<_> = lengths.iter().map(|&words| half_zeros(words as u64, words)).collect();
        let whole = rows_of(&parts, rows);
        for are_parked in 0..8 {
            let mut twins: Vec<_> = parts.iter().map(|part| holding(part)).collect();
            for (at, twin) in twins.iter_mut().enumerate() {
                assert!(are_parked >> at & 1 == 0 || park(twin).is_some());
            }
            let mut object = holding(&whole);
            let mut of: Vec<_> = twins.iter_mut().map(inner).collect();
            // The last twin has the contents of the second.
            of[3] = of[1];
            assert_eq!(park_as(&mut object, &of, rows), Some(0), "{rows} rows, {are_parked:b}");
            write(&mut twins[0], &half_zeros(99, lengths[0]));
            drop(twins);
            assert_holds(&mut object, &whole);
        }
    }
}

fn word_at(contents: &[u8], at: usize, word: u32) -> Vec<u8> {
    let mut contents = contents.to_vec();
    contents[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
    contents
}

#[test]
fn contents_that_differ_in_one_bit_are_no_twins() {
    let other_bits = [[0, 0x8000_0000], [0x7FC0_0000, 0x7FC0_0001], [1, 0], [0x7F80_0001, 0x7FC0_0001]];
    for at in [0, 1, 31, 32, 1023, 1024, WORDS - 1] {
        for [wanted, is] in other_bits {
            for is_parked in [false, true] {
                let contents = if is_parked { half_zeros(7, WORDS) } else { dense(7, WORDS) };
                let of = |word| word_at(&contents, at, word);
                let (mut twin, mut object) = (holding(&of(is)), holding(&of(wanted)));
                assert_eq!(park(&mut twin).is_some(), is_parked);
                assert_ne!(park_as(&mut object, &[inner(&mut twin)], 1), Some(0), "word {at}");
                assert_holds(&mut object, &of(wanted));
                assert_holds(&mut twin, &of(is));
            }
        }
    }
}

#[test]
fn sizes_and_rows_that_do_not_fit_and_objects_without_a_block_are_no_twins() {
    let contents = dense(8, WORDS);
    let mut object = holding(&contents);
    let mut twins = [holding(&contents), holding(&contents[..4000]), holding(&contents[4000..])];
    let [whole, first, second] = twins.each_mut().map(inner);
    let (mut untouched, mut given_up, mut own) = (shared(BYTES), holding(&contents), Object::holding(&contents));
    discard(&mut given_up);
    let [untouched, given_up, own] = [&mut untouched, &mut given_up, &mut own].map(inner);
    let itself = inner(&mut object);
    let wrong: [(&[NonNull<SyncedMemory>], usize); 11] = [
        (&[], 1),
        (&[whole], 0),
        (&[whole], 3),
        (&[first], 1),
        (&[second, first], 1),
        (&[first, second, first], 1),
        (&[whole, first], 1),
        (&[untouched], 1),
        (&[given_up], 1),
        (&[own], 1),
        (&[itself], 1),
    ];
    for (number, (of, rows)) in wrong.into_iter().enumerate() {
        assert_eq!(park_as(&mut object, of, rows), None, "case {number}");
        assert_holds(&mut object, &contents);
    }
    assert_eq!(park_as(&mut object, &[first, second], 1), Some(0));
    let mut odd = holding(&[7; 1023]);
    let mut small = holding(&[7; 1024]);
    assert_ne!(park_as(&mut small, &[inner(&mut odd)], 1), Some(0), "no whole words");
    assert!(read(&mut small, 1024) == [7; 1024] && read(&mut odd, 1023) == [7; 1023]);
}

#[test]
fn contents_that_are_a_twin_s_are_no_twin_themselves() {
    let (mut twin, mut object, contents) = pair();
    let mut third = holding(&contents);
    assert_eq!(park_as(&mut third, &[inner(&mut object)], 1), None);
    write(&mut twin, &bytes(0..WORDS as u32));
    assert_holds(&mut third, &contents);
    assert_holds(&mut object, &contents);
}

#[test(alone, ON)]
fn a_twin_costs_no_memory_and_the_last_object_frees_the_block() {
    let live = || counts().pageable.live as usize;
    let before = live();
    let (mut twin, mut object, contents) = pair();
    assert_eq!(live() - before, BYTES, "two objects have one block");
    write(&mut twin, &[1; BYTES]);
    assert_eq!(live() - before, 2 * BYTES, "the twin has a new block");
    assert_holds(&mut object, &contents);
    assert_eq!(live() - before, 2 * BYTES, "the former block is freed");
    park(&mut twin).unwrap();
    assert!((1..100).contains(&(live() - before - BYTES)), "one run");
    discard(&mut object);
    drop((twin, object));
    assert_eq!(live(), before);
    let (twin, object, _) = pair();
    drop(twin);
    assert_eq!(live() - before, BYTES);
    drop(object);
    assert_eq!(live(), before);
}

#[test(alone_with_driver)]
fn a_twin_that_loses_its_place_on_the_device_keeps_the_parked_contents() {
    let gpu = simulated_gpu();
    let (mut twin, mut object, contents) = pair();
    // The device has memory for the twin's block, and not for the thread's arena.
    place(&mut twin, 0, 64 << 20);
    gpu.set_memory(2 << 20);
    within(LAYER, || twin.gpu_data().unwrap());
    write(&mut twin, &[1; BYTES]);
    let others: Vec<_> = (0..4).map(|_| holding(&[0xEE; BYTES])).collect();
    assert_holds(&mut object, &contents);
    drop(others);
}

#[test(alone_with_driver)]
fn a_twin_whose_block_was_released_lends_its_new_one() {
    let _gpu = gpu();
    let (mut twin, mut object, contents) = pair();
    assert_holds(&mut object, &contents);
    within(LAYER, || twin.gpu_data().unwrap());
    assert_eq!(twin.release_cpu(), SYNCEDMEM_SUCCESS);
    let others: Vec<_> = (0..4).map(|_| holding(&[0xEE; BYTES])).collect();
    within(LAYER, || twin.cpu_data().unwrap());
    assert_eq!(twin.release_gpu(), SYNCEDMEM_SUCCESS);
    assert_eq!(park_as(&mut object, &[inner(&mut twin)], 1), Some(0));
    assert_holds(&mut object, &contents);
    drop(others);
}
