//! The 32-byte discipline of docs/caffe-abi.md: one binary serves every layout in its table because only the first 32 bytes
//! of an object are touched, and nothing in them is trusted before it was written.

use crate::support::*;

const BYTES: usize = 100;

/// A constructor of one of the layouts, in storage that holds other bytes.
type Constructor = (&'static str, fn(&mut Storage));

/// Sets what every constructor sets: no blocks, the size, UNINITIALIZED; and so many flags.
fn with_flags(storage: &mut Storage, flags: usize) {
    storage.put(0, &[0; 16]);
    storage.put(16, &BYTES.to_le_bytes());
    storage.put(24, &[0; 7][..4 + flags]);
}

const CONSTRUCTORS: [Constructor; 6] = [
    ("out of line: rc4 to master, through the C++ symbol", |storage| {
        let this = std::ptr::NonNull::from(&mut storage.0).cast();
        unsafe { syncedmem::abi::caffe::new(this, BYTES) }
    }),
    ("out of line: syncedmem_construct", |storage| assert_eq!(storage.construct(BYTES), SYNCEDMEM_SUCCESS)),
    ("inline, three flags: rc3", |storage| with_flags(storage, 3)),
    ("inline, two flags: faster-rcnn, NVIDIA 0.12, v0.999 to rc2 with a second flag", |storage| with_flags(storage, 2)),
    ("inline, one flag: v0.999 to rc2", |storage| with_flags(storage, 1)),
    ("inline, no flags: v0.9", |storage| with_flags(storage, 0)),
];

fn with_every_constructor(mut check: impl FnMut(&str, &mut Storage)) {
    for (name, construct) in CONSTRUCTORS {
        let mut storage = Storage::new();
        construct(&mut storage);
        check(name, &mut storage);
        assert!(
            storage.guard_is_whole(),
            "rule 1: bytes from 32 on are never touched, even where BVLC has a device number; {name}"
        );
    }
}

#[test]
fn rule_2_a_flag_without_its_pointer_is_not_read() {
    with_every_constructor(|name, storage| {
        // The flags claim blocks that do not exist.
        storage.put(24, &2u32.to_le_bytes());
        storage.put(28, &[1, 1, 1]);
        assert_eq!(storage.word(0), 0, "{name}");
        assert_eq!(storage.destruct(), SYNCEDMEM_SUCCESS, "{name}");
    });
    with_every_constructor(|name, storage| {
        // An untouched object has no blocks, whatever its pointers and flags are.
        storage.put(0, &[FILL; 16]);
        storage.put(28, &[1, 1, 1]);
        assert_eq!(storage.destruct(), SYNCEDMEM_SUCCESS, "{name}");
    });
}

#[test]
fn rule_4_garbage_in_byte_31_of_an_untouched_object_means_nothing() {
    for garbage in 0..=u8::MAX {
        let mut storage = Storage::new();
        with_flags(&mut storage, 0);
        storage.put(31, &[garbage]);
        let data = storage.cpu_data().unwrap();
        assert_eq!(storage.flags(), [1, 0, 0, 0]);
        assert_eq!(storage.cpu_data(), Ok(data));
        storage.destruct();
    }
}

#[test]
fn rule_4_a_slow_bit_that_nothing_stands_behind_is_cleared_at_the_next_access() {
    let mut storage = Storage::new();
    storage.construct(BYTES);
    let data = storage.cpu_data().unwrap();
    storage.put(31, &[0x80 | 5]);
    assert_eq!(storage.cpu_data(), Ok(data));
    assert_eq!(storage.flags(), [1, 0, 0, 5]);
    storage.destruct();
}

#[test]
fn rule_5_a_block_of_mallocs_that_an_object_owns_is_freed_so() {
    // An object as an inlined original leaves it, with malloc's block and its flags. valgrind and AddressSanitizer check the free.
    for bytes in [BYTES, 4 << 20] {
        let mut storage = Storage::new();
        storage.construct(bytes);
        let block = unsafe { libc::malloc(bytes) };
        storage.put(0, &block.addr().to_le_bytes());
        storage.put(24, &1u32.to_le_bytes());
        storage.put(28, &[1, 0, 0]);
        assert_eq!(storage.cpu_data(), Ok(block.cast()));
        assert_eq!(storage.destruct(), SYNCEDMEM_SUCCESS);
    }
}

#[test]
fn an_address_is_reused_with_the_destructor_bypassed() {
    let mut storage = Storage::new();
    storage.construct(BYTES);
    let old = storage.cpu_data().unwrap();
    unsafe { old.write_bytes(9, BYTES) };
    // The next object's constructor is inlined: the flags and byte 31 are the old object's.
    with_flags(&mut storage, 0);
    let new = storage.cpu_data().unwrap();
    assert_ne!(new, old);
    assert!(all_zero(new, BYTES));
    assert_eq!(storage.destruct(), SYNCEDMEM_SUCCESS);
    unsafe { libc::free(old.cast()) };
}
