//! Compares every copy of the library with what the driver itself reads and writes: kinds of memory, both directions, sizes,
//! misaligned starts, threads. Also ends a process with objects alive.

use std::sync::Mutex;

use crate::support::driver::Address;
use crate::support::pools::*;
use crate::support::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    OwnPageable,
    OwnPinned,
    /// Pushed and pulled on a stream that does not block.
    Pushed,
    Lent,
    LentPushed,
    LentPinned,
    /// Page-locked by the caller's own `cuMemHostRegister`.
    Registered,
    /// The caller's own memory, which on the device is managed memory.
    Managed,
}

use Kind::*;

const KINDS: [Kind; 8] = [OwnPageable, OwnPinned, Pushed, Lent, LentPushed, LentPinned, Registered, Managed];

/// Bytes before and after a caller's range that a copy must not touch.
const GUARD: usize = 64;
const POISON: u8 = 0xEE;
/// The offset of an aligned range in its memory.
const START: usize = 256;
const SLACK: usize = 1024;

/// Pseudo-random bytes. Each case begins at another byte, so that stale bytes are wrong.
struct Noise(Vec<u8>, usize);

/// A prime: the beginnings repeat after this many cases.
const SHIFTS: usize = 65521;

impl Noise {
    fn new(bytes: usize) -> Noise {
        let mut random = Random::new(1, 0);
        Noise((0..(bytes + SHIFTS).div_ceil(8)).flat_map(|_| random.next().to_ne_bytes()).collect(), 0)
    }

    fn next(&mut self, bytes: usize) -> &[u8] {
        self.1 = (self.1 + 4099) % SHIFTS;
        &self.0[self.1..][..bytes]
    }
}

/// The caller's memory of a kind; nothing for an object's own memory.
struct Memory<'g> {
    gpu: &'g Gpu,
    host: Vec<u8>,
    is_registered: bool,
    pinned: Option<Foreign<'g>>,
    device: Option<Foreign<'g>>,
    managed: Address,
}

impl<'g> Memory<'g> {
    fn new(gpu: &'g Gpu, kind: Kind, bytes: usize) -> Memory<'g> {
        let is_own = matches!(kind, OwnPageable | OwnPinned | Pushed);
        let room = bytes + SLACK;
        let mut managed = 0;
        if kind == Managed {
            const GLOBAL: u32 = 1;
            assert_eq!(gpu.within(0, || gpu.cuMemAllocManaged(&mut managed, room, GLOBAL)), 0);
        }
        let mut host = if is_own || kind == LentPinned { Vec::new() } else { vec![0; room] };
        let is_registered = kind == Registered && register(gpu, &mut host);
        Memory {
            gpu,
            host,
            is_registered,
            pinned: (kind == LentPinned).then(|| gpu.pinned(room)),
            device: (!is_own && kind != Managed).then(|| gpu.block(room)),
            managed,
        }
    }

    /// Offsets of ranges that are misaligned by so many bytes, on the host and on the device.
    fn lend(&mut self, misaligned: [usize; 2]) -> Option<[*mut u8; 2]> {
        let host = self.pinned.as_ref().map_or(self.host.as_mut_ptr(), Foreign::pointer);
        let device = self.device.as_ref().map(Foreign::pointer);
        let managed = std::ptr::with_exposed_provenance_mut(self.managed as usize);
        let device = device.or((self.managed != 0).then_some(managed))?;
        Some([host.wrapping_add(START + misaligned[0]), device.wrapping_add(START + misaligned[1])])
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        if self.managed != 0 {
            assert_eq!(self.gpu.within(0, || self.gpu.cuMemFree_v2(self.managed)), 0);
        }
        if self.is_registered {
            assert_eq!(self.gpu.within(0, || self.gpu.cuMemHostUnregister(self.host.as_mut_ptr().cast())), 0);
        }
    }
}

/// Some machines register no host memory: there the case is one of pageable memory.
fn register(gpu: &Gpu, host: &mut [u8]) -> bool {
    const PORTABLE: u32 = 1;
    let status = gpu.within(0, || gpu.cuMemHostRegister_v2(host.as_mut_ptr().cast(), host.len(), PORTABLE));
    assert!(status == 0 || !gpu.is_simulated(), "{status}");
    status == 0
}

/// The memory has a guard of poison around it.
fn guarded(data: &[u8], guard: usize) -> Vec<u8> {
    [&vec![POISON; guard], data, &vec![POISON; guard]].concat()
}

/// Both directions of one object.
fn compare(gpu: &Gpu, kind: Kind, memory: &mut Memory, bytes: usize, misaligned: [usize; 2], noise: &mut Noise) {
    let what = format!("{kind:?}, {bytes} bytes, misaligned by {misaligned:?}");
    let mut object = Object::new(bytes);
    let (stream, is_pushed) = (gpu.stream(), matches!(kind, Pushed | LentPushed));
    let (guard, [host, device]) = match memory.lend(misaligned) {
        Some([host, device]) => {
            assert_eq!(
                (object.set_gpu_data(device), object.set_cpu_data(host)),
                (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS)
            );
            (GUARD, [host, device])
        }
        None => (0, [object.overwrite_cpu_data().unwrap(), object.overwrite_gpu_data().unwrap()]),
    };
    let around_the_host = || unsafe { std::slice::from_raw_parts_mut(host.sub(guard), bytes + 2 * guard) };

    let expected = noise.next(bytes);
    assert_eq!(object.mutable_cpu_data(), Ok(host));
    unsafe { host.copy_from_nonoverlapping(expected.as_ptr(), bytes) };
    gpu.write(device.addr() - guard, &vec![POISON; bytes + 2 * guard]);
    if is_pushed {
        assert_eq!((object.push(stream.handle()), object.wait()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS), "{what}");
    }
    assert_eq!(object.gpu_data(), Ok(device), "{what}: {}", last_error());
    let there = gpu.read(device.addr() - guard, bytes + 2 * guard);
    assert_bytes(&there, &guarded(expected, guard), &format_args!("{what}, to the device"));

    let expected = noise.next(bytes);
    assert_eq!(object.mutable_gpu_data(), Ok(device));
    gpu.write(device.addr(), expected);
    around_the_host().fill(POISON);
    if is_pushed {
        assert_eq!((object.pull(stream.handle()), object.wait()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS), "{what}");
    }
    assert_eq!(object.cpu_data(), Ok(host.cast()), "{what}: {}", last_error());
    assert_bytes(around_the_host(), &guarded(expected, guard), &format_args!("{what}, to the host"));
}

/// What page-locks an object's own memory.
fn pinning(kind: Kind) -> Option<Pinning> {
    matches!(kind, OwnPinned | Pushed).then(Pinning::always)
}

fn around(sizes: &[usize]) -> Vec<usize> {
    sizes.iter().flat_map(|size| [size - 1, *size, size + 1]).collect()
}

/// Whether the device has memory for large blocks. The simulated one has none.
fn is_large(gpu: &Gpu) -> bool {
    let (mut free, mut total) = (0, 0);
    assert_eq!(gpu.within(0, || gpu.cuMemGetInfo_v2(&mut free, &mut total)), 0);
    free > 4 << 30
}

#[test]
fn copies_of_every_kind_of_memory_have_the_bytes_that_the_driver_reads() {
    let gpu = &gpu();
    let small = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 255, 256, 257, 1000, 4095, 4096, 4097];
    let everywhere: Vec<_> = [0, 1, 3, 63].iter().flat_map(|host| [0, 1, 4].map(|device| [*host, device])).collect();
    let mut phases = vec![
        (small.to_vec(), everywhere),
        (around(&[64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB]), vec![[0, 0], [1, 0], [0, 1], [3, 5]]),
        (around(&[MIB, 2 * MIB]), vec![[0, 0], [3, 5]]),
    ];
    if is_large(gpu) {
        phases.push((around(&[4 * MIB, 16 * MIB, 64 * MIB]), vec![[0, 0], [1, 1]]));
        phases.push((vec![1 << 30], vec![[0, 0]]));
    }
    let mut compared = 0;
    for (sizes, starts) in phases {
        let most = *sizes.iter().max().unwrap();
        let mut noise = Noise::new(most);
        for kind in KINDS {
            gpu.goes_on();
            let _pinning = pinning(kind);
            let mut memory = Memory::new(gpu, kind, most);
            let starts = if memory.lend([0, 0]).is_some() { &starts[..] } else { &starts[..1] };
            for bytes in &sizes {
                for start in starts {
                    compare(gpu, kind, &mut memory, *bytes, *start, &mut noise);
                    compared += 2;
                }
            }
        }
    }
    println!("{compared} copies compared");
}

#[test]
fn copies_on_several_threads_have_the_bytes_that_the_driver_reads() {
    let gpu = &gpu();
    let sizes = if is_large(gpu) { [64 * KIB, MIB + 1, 32 * MIB] } else { [4097, 64 * KIB, 300_000] };
    for kind in [Lent, LentPinned, LentPushed, OwnPageable] {
        std::thread::scope(|threads| {
            for thread in 0..4 {
                threads.spawn(move || {
                    let (mut noise, mut memory) = (Noise::new(sizes[2]), Memory::new(gpu, kind, sizes[2]));
                    for bytes in sizes {
                        compare(gpu, kind, &mut memory, bytes, [thread, 0], &mut noise);
                    }
                });
            }
        });
    }
}

/// Blocks are alive on both sides, pageable and page-locked, in objects and idle.
#[test(in_silence, POOLS)]
fn a_process_may_end_with_objects_alive() {
    static KEPT: Mutex<Vec<Object>> = Mutex::new(Vec::new());
    extern "C" fn end_them() {
        KEPT.lock().unwrap().clear();
    }
    // Registered before the driver is used, this handler runs after the driver's.
    assert_eq!(unsafe { libc::atexit(end_them) }, 0);
    std::mem::forget(gpu());
    let both = || {
        let mut object = filled(MIB, 1);
        object.gpu_data().unwrap();
        object
    };
    let pageable = both();
    let _pinning = Pinning::always();
    drop(both());
    KEPT.lock().unwrap().extend([pageable, both()]);
}
