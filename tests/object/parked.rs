//! Contents that are parked: what may be, and that every operation brings them back bit for bit.

use std::ptr::NonNull;

use super::given_up::{LAYER, discard, inner, place, shared, within};
use crate::support::tensor::{Ask, FLOATS, WRITE, export};
use crate::support::*;
use syncedmem::abi::net;
use syncedmem::object::SyncedMemory;

pub const LAYER_WITHOUT_READS: u32 = 3;

/// Returns the bytes that the parked contents take.
pub fn park(object: &mut Object) -> Option<usize> {
    park_as(object, &[], 0)
}

pub fn park_as(object: &mut Object, twins: &[NonNull<SyncedMemory>], rows: usize) -> Option<usize> {
    let taken = unsafe { net::park(inner(object), twins.as_ptr(), twins.len(), rows) };
    usize::try_from(taken).ok()
}

/// A shared object that a layer wrote.
pub fn holding(contents: &[u8]) -> Object {
    let mut object = shared(contents.len());
    write(&mut object, contents);
    object
}

pub fn write(object: &mut Object, contents: &[u8]) {
    within(LAYER, || object.fill_host(contents));
}

pub fn read(object: &mut Object, bytes: usize) -> Vec<u8> {
    within(LAYER, || object.host_bytes(bytes))
}

#[track_caller]
pub fn assert_parked(object: &mut Object) {
    assert_eq!((object.head(), object.host_address(), object.owns_cpu()), (1, 0, false));
}

pub fn bytes(words: impl Iterator<Item = u32>) -> Vec<u8> {
    words.flat_map(u32::to_le_bytes).collect()
}

/// Contents that no encoding makes smaller.
pub fn dense(seed: u64, words: usize) -> Vec<u8> {
    let mut random = Random::new(seed, 42);
    bytes((0..words).map(|_| random.next() as u32 | 1 << 20))
}

pub fn half_zeros(seed: u64, words: usize) -> Vec<u8> {
    let mut random = Random::new(seed, 43);
    bytes((0..words).map(|_| if random.below(2) == 0 { 0 } else { random.next() as u32 | 1 }))
}

/// Whether the object still gives up its contents, as shared objects do.
fn is_shared(object: &mut Object) -> bool {
    discard(object);
    object.host_address() == 0
}

#[test]
fn special_values_come_back_bit_for_bit() {
    // 0, -0, NaN with a payload, a signaling NaN, -NaN, both infinities, the smallest and largest denormals.
    let special = [0, 0x8000_0000, 0x7FC1_2345, 0x7F80_0001, u32::MAX, 0x7F80_0000, 0xFF80_0000, 1, 0x807F_FFFF];
    let mut random = Random::new(1, 0);
    for words in [256, 271, 2048, 25_001, 1 << 18] {
        let mixed = |values: &[u32], random: &mut Random| {
            bytes((0..words).map(|_| if random.below(3) > 0 { 0 } else { random.of(values) }))
        };
        let mut cases = vec![
            mixed(&special, &mut random),
            mixed(&[0x8000_0000], &mut random),
            bytes((0..words as u32).map(|at| at * 3)),
            bytes((0..words).map(|_| random.below(10) as u32)),
            half_zeros(words as u64, words),
        ];
        cases.extend(special.map(|word| bytes(std::iter::repeat_n(word, words))));
        for (case, contents) in cases.iter().enumerate() {
            let mut object = holding(contents);
            let taken = park(&mut object).unwrap_or_else(|| panic!("{words} words, case {case}"));
            assert!(taken <= contents.len() * 4 / 5, "{taken} of {} bytes, case {case}", contents.len());
            assert_parked(&mut object);
            assert_bytes(&read(&mut object, contents.len()), contents, &format_args!("{words} words, case {case}"));
            assert_eq!((object.head(), object.owns_cpu()), (1, true));
        }
    }
}

#[test]
fn contents_that_no_encoding_makes_smaller_stay_in_their_block() {
    for words in [256, 5000, 1 << 18] {
        let contents = dense(7, words);
        let mut object = holding(&contents);
        let address = object.host_address();
        assert_eq!(park(&mut object), None);
        assert_eq!((object.host_address(), object.head()), (address, 1));
        assert_bytes(&read(&mut object, contents.len()), &contents, &words);
    }
}

#[test]
fn only_whole_words_of_at_least_a_kibibyte_are_parked() {
    for size in 1000..1100 {
        let contents = vec![0x41; size];
        let mut object = holding(&contents);
        assert_eq!(park(&mut object).is_some(), size >= 1024 && size % 4 == 0, "{size} bytes");
        assert_bytes(&read(&mut object, size), &contents, &size);
    }
}

#[test]
fn a_layer_s_access_brings_the_contents_back_and_the_object_stays_shared() {
    let contents = half_zeros(1, 3000);
    for access in [Storage::cpu_data, Storage::mutable_cpu_data, Storage::overwrite_cpu_data] {
        let mut object = holding(&contents);
        park(&mut object).unwrap();
        within(LAYER, || access(&mut object).unwrap());
        assert_bytes(&read(&mut object, contents.len()), &contents, &"the first access");
        let other = half_zeros(2, 3000);
        write(&mut object, &other);
        park(&mut object).unwrap();
        assert_bytes(&read(&mut object, contents.len()), &other, &"parked once more");
        assert!(is_shared(&mut object));
    }
}

#[test]
fn an_access_from_outside_brings_the_contents_back_and_ends_the_sharing() {
    let contents = half_zeros(3, 3000);
    for access in [Storage::cpu_data, Storage::mutable_cpu_data, Storage::overwrite_cpu_data] {
        let mut object = holding(&contents);
        park(&mut object).unwrap();
        let address = access(&mut object).unwrap();
        assert_eq!(park(&mut object), None, "the address may have been kept");
        assert!(!is_shared(&mut object));
        assert_eq!(object.cpu_data(), Ok(address));
        assert_bytes(&object.host_bytes(contents.len()), &contents, &"from outside");
    }
}

#[test(alone_with_driver)]
fn the_device_gets_the_contents_from_a_layer_and_from_outside() {
    let gpu = gpu();
    let contents = half_zeros(4, 3000);
    for by_layer in [true, false] {
        for access in [Storage::gpu_data, Storage::mutable_gpu_data, Storage::overwrite_gpu_data] {
            let mut object = holding(&contents);
            park(&mut object).unwrap();
            let access = |object: &mut Object| access(object).unwrap();
            let address = if by_layer { within(LAYER, || access(&mut object)) } else { access(&mut object) };
            let writes = object.head() == 2;
            assert!(writes || object.head() == 3);
            if !writes {
                assert_bytes(&object.host_bytes(contents.len()), &contents, &"the host");
                assert_bytes(&gpu.read(address.addr(), contents.len()), &contents, &"the device");
            } else {
                gpu.write(address.addr(), &contents);
                assert_bytes(&object.host_bytes(contents.len()), &contents, &"the host, after a write on the device");
            }
            assert_eq!(park(&mut object), None, "there is a device block");
        }
    }
}

#[test(alone_with_driver)]
fn copies_on_a_stream_and_releases_keep_the_contents() {
    let gpu = gpu();
    let contents = half_zeros(5, 3000);
    let parked = || {
        let mut object = holding(&contents);
        park(&mut object).unwrap();
        object
    };
    let stream = std::ptr::null_mut();
    let mut pushed = parked();
    assert_eq!((pushed.push(stream), pushed.wait()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
    assert_bytes(&gpu.read(pushed.device_address(), contents.len()), &contents, &"pushed");

    let mut pulled = parked();
    assert_eq!((pulled.pull(stream), pulled.wait()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS), "the host is current");
    assert_eq!(pulled.is_ready(), Ok(true));
    assert_parked(&mut pulled);

    let mut released = parked();
    assert_ne!(released.release_cpu(), SYNCEDMEM_SUCCESS, "the host alone is current");
    assert_eq!(released.release_gpu(), SYNCEDMEM_SUCCESS);
    for object in [&mut pushed, &mut pulled, &mut released] {
        assert_bytes(&object.host_bytes(contents.len()), &contents, &"the host");
    }

    let device = gpu.block(contents.len());
    let mut set = parked();
    assert_eq!(set.set_gpu_data(device.pointer()), SYNCEDMEM_SUCCESS);
    gpu.write(device.pointer().addr(), &contents);
    assert_bytes(&set.host_bytes(contents.len()), &contents, &"borrowed on the device");
}

#[test(alone_with_driver)]
fn page_locked_contents_come_back_page_locked() {
    let _gpu = gpu();
    let _pinning = Pinning::always();
    let contents = half_zeros(6, 3000);
    let mut object = holding(&contents);
    assert!(object.is_pinned());
    park(&mut object).unwrap();
    assert!(!object.is_pinned());
    assert_bytes(&read(&mut object, contents.len()), &contents, &"page-locked");
    assert!(object.is_pinned());
}

#[test]
fn borrowed_memory_takes_the_place_of_parked_contents_and_is_never_parked() {
    let mut object = holding(&[0; 4096]);
    park(&mut object).unwrap();
    let mut memory = vec![5u8; 4096];
    assert_eq!(object.set_cpu_data(memory.as_mut_ptr()), SYNCEDMEM_SUCCESS);
    assert_eq!(object.cpu_data().map(|data| data.cast_const()), Ok(memory.as_ptr()));
    assert_eq!(park(&mut object), None);
    assert!(object.host_bytes(4096) == [5; 4096]);
}

#[test]
fn a_partial_fill_and_a_smaller_size_keep_the_rest_and_a_larger_size_begins_with_zeros() {
    let contents = half_zeros(7, 3000);
    let parked = || {
        let mut object = holding(&contents);
        park(&mut object).unwrap();
        object
    };
    let of = |object: &mut Object| unsafe { inner(object).as_ref() };
    for filled in [100, contents.len()] {
        let mut object = parked();
        let fill = |bytes: &mut [u8]| {
            bytes.fill(9);
            Ok::<(), syncedmem::error::Error>(())
        };
        unsafe { of(&mut object).fill(filled, fill) }.unwrap();
        let expected = [&vec![9; filled], &contents[filled..]].concat();
        assert_bytes(&object.host_bytes(contents.len()), &expected, &filled);
    }
    for size in [100, 12_000, 20_000] {
        let mut object = parked();
        unsafe { of(&mut object).resize(size) }.unwrap();
        let expected = if size > contents.len() { vec![0; size] } else { contents.clone() };
        assert_bytes(&object.host_bytes(expected.len()), &expected, &size);
    }
}

#[test]
fn parked_contents_can_be_given_up_and_can_end_with_their_object() {
    let mut object = holding(&[3; 4096]);
    park(&mut object).unwrap();
    discard(&mut object);
    within(LAYER, || assert_refused(object.cpu_data().unwrap_err(), SYNCEDMEM_ERROR_INVALID_STATE, "gone"));
    write(&mut object, &[4; 4096]);
    park(&mut object).unwrap();
    assert!(read(&mut object, 4096) == [4; 4096]);
    park(&mut object).unwrap();
    drop(object);
}

#[test]
fn tensors_are_made_of_parked_contents_and_keep_them_from_being_parked() {
    let contents = half_zeros(8, 3000);
    let ask = Ask { shape: &[3000], ..FLOATS };
    for access in [FLOATS.access, WRITE] {
        let mut object = holding(&contents);
        park(&mut object).unwrap();
        let tensor = within(LAYER, || export(object.mem(), Ask { access, ..ask }).unwrap());
        let are = unsafe { std::slice::from_raw_parts(tensor.data::<u8>(), contents.len()) };
        assert_bytes(are, &contents, &"the tensor");
        assert_eq!(park(&mut object), None, "the tensor needs the block");
        assert_bytes(are, &contents, &"the tensor");
        drop(tensor);
        assert!(park(&mut object).is_some(), "a layer made the tensor, so the object is still shared");
        assert_bytes(&read(&mut object, contents.len()), &contents, &"after the tensor");
    }
}

#[cfg(feature = "blob")]
#[test]
fn a_blob_copies_and_sums_parked_contents() {
    use crate::support::blob::{Blob, DATA};
    let values: Vec<f32> = (0..3000).map(|at| if at % 3 == 0 { at as f32 } else { 0.0 }).collect();
    let (mut source, mut copy) = (Blob::new(&[3000]), Blob::new(&[3000]));
    let memory = NonNull::new(source.memory(DATA).unwrap().cast::<SyncedMemory>()).unwrap();
    assert!(unsafe { net::share(memory, super::given_up::GONE.as_ptr()) });
    within(LAYER, || source.write(DATA, &values));
    let sum = within(LAYER, || source.asum(DATA).unwrap());
    let park = || assert!(unsafe { net::park(memory, std::ptr::null(), 0, 0) } > 0);
    park();
    assert_eq!(within(LAYER, || source.asum(DATA)), Ok(sum));
    park();
    within(LAYER, || copy.copy_from(DATA, &source, false).unwrap());
    park();
    assert!(copy.read::<f32>(DATA) == values && source.read::<f32>(DATA) == values);
}

#[test]
fn parked_contents_are_not_parked_again_and_what_has_no_contents_is_not_parked() {
    let mut object = holding(&[1; 4096]);
    park(&mut object).unwrap();
    assert_eq!(park(&mut object), None);
    assert!(read(&mut object, 4096) == [1; 4096]);
    discard(&mut object);
    assert_eq!(park(&mut object), None, "given up");
    assert_eq!(park(&mut shared(4096)), None, "untouched");
    assert_eq!(park(&mut Object::holding(&[1; 4096])), None, "not shared");
}

#[test(alone)]
fn encoded_contents_lie_in_their_place_of_the_arena_until_they_come_back() {
    let (mut object, mut other) = (shared(1 << 20), shared(4096));
    const STORED: usize = 2 << 20;
    let mut numbers = [0, 0, STORED, 4096, 4 << 20];
    unsafe { net::place(inner(&mut object), NonNull::from(&mut numbers)) };
    write(&mut object, &vec![0; 1 << 20]);
    let base = object.host_address();
    assert_eq!(park(&mut object), Some(8), "one run");
    place(&mut other, STORED, 4 << 20);
    write(&mut other, &[1; 4096]);
    assert_ne!(other.host_address() - base, STORED, "the place is taken");
    assert!(read(&mut object, 1 << 20) == vec![0; 1 << 20]);
    discard(&mut other);
    place(&mut other, STORED, 4 << 20);
    write(&mut other, &[1; 4096]);
    assert_eq!(other.host_address() - base, STORED, "the place is free again");
    assert!(park(&mut object).is_some(), "in another place");
    assert!(read(&mut object, 1 << 20) == vec![0; 1 << 20] && read(&mut other, 4096) == [1; 4096]);
}

#[test(alone)]
fn contents_come_back_to_the_second_place() {
    let (mut first, mut object) = (shared(4096), shared(4096));
    let mut numbers = [1 << 16, 3 << 16, 5 << 16, 4096, 1 << 20];
    unsafe { net::place(inner(&mut object), NonNull::from(&mut numbers)) };
    write(&mut first, &[2; 4096]);
    write(&mut object, &[1; 4096]);
    let base = first.host_address();
    assert_eq!(object.host_address() - base, 1 << 16);
    park(&mut object).unwrap();
    assert!(read(&mut object, 4096) == [1; 4096]);
    assert_eq!(object.host_address() - base, 3 << 16);
}

/// The bytes of the object for a layer that asks for them and does not read them.
fn unread(object: &mut Object, bytes: usize) -> &'static [u8] {
    let data = within(LAYER_WITHOUT_READS, || object.cpu_data().unwrap());
    assert_eq!((object.head(), object.host_address()), (1, 0), "the contents did not come back");
    unsafe { std::slice::from_raw_parts(data, bytes) }
}

#[test]
fn a_layer_that_does_not_read_gets_nans_for_parked_and_given_up_contents() {
    for size in [1024, 3 << 20, 100 << 20] {
        let contents = vec![3; size];
        let (mut parked, mut given_up) = (holding(&contents), holding(&contents));
        park(&mut parked).unwrap();
        discard(&mut given_up);
        for object in [&mut parked, &mut given_up] {
            let are_nans = |part: &[u8]| part.chunks(4).all(|word| word == [0xFF; 4]);
            assert!(unread(object, size).chunks(1 << 20).all(|piece| are_nans(&piece[..1024])), "{size} bytes");
            assert!(are_nans(&unread(object, size)[size - 1024..]), "{size} bytes");
        }
        assert!(read(&mut parked, size) == contents);
    }
}

#[test]
fn a_layer_that_does_not_read_gets_the_contents_that_have_a_block_and_writes_as_any_other() {
    let mut object = holding(&[5; 4096]);
    let address = object.host_address();
    assert_eq!(within(LAYER_WITHOUT_READS, || object.cpu_data().unwrap().addr()), address);
    park(&mut object).unwrap();
    let data = within(LAYER_WITHOUT_READS, || object.mutable_cpu_data().unwrap());
    assert!(unsafe { std::slice::from_raw_parts(data, 4096) } == [5; 4096], "a write may read");
    discard(&mut object);
    within(LAYER_WITHOUT_READS, || object.fill_host(&[6; 4096]));
    assert!(read(&mut object, 4096) == [6; 4096]);
}

#[test(alone)]
fn threads_that_do_not_read_get_their_addresses_at_once() {
    at_once(8, |thread| {
        for pieces in 1..10 {
            let size = (thread + pieces) << 20;
            let mut object = holding(&[1; 1024].repeat(size / 1024));
            park(&mut object).unwrap();
            assert!(unread(&mut object, size)[size - 4..] == [0xFF; 4]);
        }
    });
}

#[test(alone)]
fn layers_that_do_not_read_growing_contents_take_few_mappings() {
    let mappings = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    let before = mappings();
    for pieces in 1..=100 {
        let size = pieces << 20;
        let mut object = shared(size);
        within(LAYER, || object.overwrite_cpu_data().unwrap());
        discard(&mut object);
        unread(&mut object, size);
    }
    assert!(mappings() < before + 400, "{} and {before}", mappings());
}
