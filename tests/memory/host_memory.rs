//! Host blocks: alignment, zeros, sizes at the edges, limits, and whose `free()` takes them.

use crate::support::pools::{PAGEABLE, give_back, idle, resident};
use crate::support::*;

const HUGE_PAGE: usize = 2 << 20;
const SIZES: [usize; 12] =
    [1, 2, 63, 64, 65, 1032, 4096, 100_000, HUGE_PAGE - 1, HUGE_PAGE, HUGE_PAGE + 1, 3 * HUGE_PAGE + 4097];

/// Touches an object of `bytes`, lets `check` look at its data, and ends it.
fn touched(bytes: usize, check: impl FnOnce(*mut u8)) {
    check(Object::new(bytes).cpu_data().unwrap_or_else(|status| panic!("{status:?}: {}", last_error())));
}

#[test]
fn blocks_of_more_than_4_kib_are_aligned_to_64_and_all_read_zeros_whatever_was_there_before() {
    for _ in 0..3 {
        for bytes in SIZES {
            touched(bytes, |data| {
                let alignment = if bytes > 4096 { 64 } else { align_of::<libc::max_align_t>() };
                assert_eq!(data.addr() % alignment, 0, "{bytes}");
                assert!(all_zero(data, bytes), "{bytes}");
                // For the next one that gets this memory.
                unsafe { data.write_bytes(0xFF, bytes) };
            });
        }
    }
}

#[test(alone)]
fn untouched_pages_of_a_large_block_are_not_paid_for() {
    let before = resident();
    touched(1 << 30, |data| {
        unsafe { data.write(1) };
        let paid = resident() - before;
        assert!(paid <= HUGE_PAGE + (1 << 20), "{paid} bytes for one byte touched");
    });
}

#[test]
fn size_zero_gives_an_address_and_nothing_to_free() {
    touched(0, |data| {
        assert!(!data.is_null());
        assert_eq!(data.addr() % 64, 0);
    });
    let mut storage = Object::new(0);
    assert_eq!(storage.cpu_data(), storage.mutable_cpu_data());
    assert_eq!((storage.head(), storage.flags()[0]), (1, 0));
    let mut own = [0u8; 1];
    assert_eq!(storage.set_cpu_data(own.as_mut_ptr()), SYNCEDMEM_SUCCESS);
}

#[test]
fn sizes_that_cannot_exist_are_an_error_not_an_overflow() {
    for bytes in [(1 << 56) + 1, isize::MAX as usize, isize::MAX as usize + 1, usize::MAX - 4096, usize::MAX] {
        let mut storage = Storage::new();
        assert_refused(storage.construct(bytes), SYNCEDMEM_ERROR_OUT_OF_MEMORY, "no address space holds that");
        assert_eq!(storage.0, [FILL; 64], "nothing is written");
        // A C++ constructor cannot refuse; the first touch does.
        unsafe { syncedmem::abi::caffe::new(std::ptr::NonNull::from(&mut storage.0).cast(), bytes) };
        assert_eq!(storage.cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
        assert_eq!((storage.head(), storage.word(0)), (0, 0));
    }
}

#[test]
fn the_error_of_a_size_that_the_system_refuses_says_what_is_known() {
    for bytes in [1 << 56, 1 << 50] {
        assert_eq!(Object::new(bytes).cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
        let message = last_error();
        assert_has(
            &message,
            &["syncedmem_cpu_data", &bytes.to_string(), "iB)", "the system has no pageable memory", "holds"],
        );
    }
}

#[test(alone)]
fn the_sentence_says_which_blocks_its_figure_counts() {
    let _counted = [4096, 4097].map(|bytes| Object::touched(Storage::cpu_data, bytes));
    assert_eq!(Object::new(1 << 50).cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    let message = last_error();
    let part = "holds 4097 bytes (4.0 KiB) of pageable host memory in blocks of more than 4 KiB";
    assert!(message.contains(part), "{message}");
}

#[test(alone)]
fn the_error_names_the_limit_on_the_address_space() {
    const LIMIT: u64 = 1 << 30;
    let limit = libc::rlimit { rlim_cur: LIMIT, rlim_max: LIMIT };
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    assert_eq!(Object::new(2 << 30).cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    let message = last_error();
    assert!(message.contains("ulimit -v) is 1073741824 bytes (1.0 GiB)"), "{message}");
}

#[test(alone)]
fn the_limit_on_the_number_of_mappings_is_named_where_it_is_reached_and_only_there() {
    const LIMIT: &str = "vm.max_map_count";
    let mut storage = Storage::new();
    storage.construct(1 << 50);
    assert_eq!(storage.cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert!(!last_error().contains(LIMIT), "{}", last_error());
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let count: usize = limit.trim().parse().unwrap();
    if count > 1 << 22 {
        skip(format!("{LIMIT} is so large that the mappings would take minutes"));
    }
    // Neighbours with other protections are never merged.
    for access in [libc::PROT_NONE, libc::PROT_READ].into_iter().cycle() {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, access, kind, -1, 0) };
        if page == libc::MAP_FAILED {
            break;
        }
    }
    storage.construct(4 << 20);
    assert_eq!(storage.cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    let message = last_error();
    let words = format!("memory mappings, and the limit (sysctl {LIMIT}) is {}", limit.trim());
    assert!(message.contains(&words) && message.contains("raise"), "{message}");
}

#[test(alone, ("SYNCEDMEM_HOST_LIMIT", "64K"))]
fn the_host_limit_holds_under_many_threads() {
    let objects = at_once(8, |_| {
        let mut objects = Vec::from([(); 100].map(|()| Object::new(1000)));
        objects.retain_mut(|object| object.cpu_data().is_ok());
        objects
    });
    assert_eq!(objects.iter().flatten().count(), 65536 / 1000);
}

#[test(alone, ("SYNCEDMEM_HOST_BLOCKS", "malloc"))]
fn every_block_is_mallocs_and_none_is_kept_where_that_is_asked_for() {
    for bytes in SIZES {
        give_back(bytes, 0xFF);
        assert_eq!(idle(PAGEABLE), 0, "{bytes}");
        let mut storage = Storage::new();
        storage.construct(bytes);
        let data = storage.cpu_data().unwrap();
        assert!(all_zero(data, bytes), "{bytes}");
        unsafe { data.write_bytes(0xFF, bytes) };
        // The original's destructor, inlined elsewhere, does this.
        unsafe { libc::free(data.cast()) };
    }
}

#[test]
fn small_blocks_are_mallocs_by_default() {
    for bytes in SIZES.into_iter().filter(|&bytes| (1..HUGE_PAGE).contains(&bytes)) {
        let mut storage = Storage::new();
        storage.construct(bytes);
        unsafe { libc::free(storage.cpu_data().unwrap().cast()) };
    }
}

#[test]
fn caffe_malloc_host_and_free_agree_with_malloc_and_free() {
    for bytes in SIZES.into_iter().chain([0]) {
        let (mut data, mut pinned) = (std::ptr::null_mut(), true);
        let allocate = |data: &mut _, pinned: &mut _| unsafe { CaffeMallocHost(data, bytes, pinned) };
        assert_eq!(allocate(&mut data, &mut pinned), SYNCEDMEM_SUCCESS);
        assert!(!data.is_null() && data.addr() % 64 == 0 && !pinned);
        unsafe { data.write_bytes(1, bytes) };
        unsafe { libc::free(data) };
        assert_eq!(allocate(&mut data, &mut pinned), SYNCEDMEM_SUCCESS);
        assert_eq!(unsafe { CaffeFreeHost(data, pinned) }, SYNCEDMEM_SUCCESS);
        assert_eq!(unsafe { CaffeFreeHost(libc::malloc(bytes), false) }, SYNCEDMEM_SUCCESS);
    }
    assert_eq!(unsafe { CaffeFreeHost(std::ptr::null_mut(), false) }, SYNCEDMEM_SUCCESS);
}

#[test(alone, ("SYNCEDMEM_JUNK_FILL", "on"))]
fn junk_fills_memory_whose_contents_are_undefined_and_no_other() {
    const JUNK: [u8; 4] = 0x7fed_beef_u32.to_ne_bytes();
    assert!(f32::from_ne_bytes(JUNK).is_nan());
    for bytes in SIZES.into_iter().chain(1..10) {
        let mut object = Object::new(bytes);
        let data = object.overwrite_cpu_data().unwrap();
        let contents = unsafe { std::slice::from_raw_parts(data, bytes) };
        assert!(contents.chunks(4).all(|word| word == &JUNK[..word.len()]), "{bytes}");
        for access in [Storage::cpu_data, Storage::mutable_cpu_data] {
            let mut object = Object::new(bytes);
            assert!(all_zero(access(&mut object).unwrap(), bytes), "{bytes}: Caffe expects zeros");
        }
        unsafe { data.write_bytes(7, bytes) };
        assert_eq!(object.overwrite_cpu_data(), Ok(data));
        assert_eq!(unsafe { data.read() }, 7, "its contents are current");
        let mut lent = vec![8; bytes];
        object.set_cpu_data(lent.as_mut_ptr());
        object.cpu_data().unwrap();
        assert_eq!(lent, vec![8; bytes]);
    }
}
