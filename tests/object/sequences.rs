//! Every sequence of operations on a real object, from every state, against a naive model: state, contents,
//! ownership and pointers. There is no GPU here, so what needs one must be refused and change nothing; with one,
//! `device_sequences.rs` does the same.

use crate::support::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    CpuData,
    MutableCpuData,
    OverwriteCpuData,
    SetFirst,
    SetSecond,
    ReleaseCpu,
    GpuData,
    MutableGpuData,
    OverwriteGpuData,
    SetGpu,
    Push,
    Pull,
    ReleaseGpu,
    Wait,
    IsReady,
}

const OPERATIONS: [Operation; 15] = [
    Operation::CpuData,
    Operation::MutableCpuData,
    Operation::OverwriteCpuData,
    Operation::SetFirst,
    Operation::SetSecond,
    Operation::ReleaseCpu,
    Operation::GpuData,
    Operation::MutableGpuData,
    Operation::OverwriteGpuData,
    Operation::SetGpu,
    Operation::Push,
    Operation::Pull,
    Operation::ReleaseGpu,
    Operation::Wait,
    Operation::IsReady,
];

/// Where a sequence starts. The last two are objects whose device side another implementation filled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    Uninitialized,
    AtGpu,
    Synced,
}

const BYTES: usize = 8;
/// An address that nothing here follows.
const DEVICE: usize = 0x7000_0000_0000;

/// The naive model: which sides have the newest data, what it is, whose the host block is and where.
struct Model {
    host: bool,
    device: bool,
    contents: Option<[u8; BYTES]>,
    owned: bool,
    /// 0: no host block.
    address: usize,
}

impl Model {
    fn head(&self) -> u32 {
        u32::from(self.host) | u32::from(self.device) << 1
    }
}

fn start(storage: &mut Storage, start: Start) -> Model {
    assert_eq!(storage.construct(BYTES), SYNCEDMEM_SUCCESS);
    let mut model = Model { host: false, device: false, contents: Some([0; BYTES]), owned: false, address: 0 };
    if start == Start::Uninitialized {
        return model;
    }
    model.device = true;
    storage.put(8, &DEVICE.to_le_bytes());
    storage.put(24, &2u32.to_le_bytes());
    // The device's memory is not ours to free.
    storage.put(28, &[0, 0, 0, 0]);
    if start == Start::Synced {
        let block = unsafe { libc::malloc(BYTES) };
        unsafe { block.cast::<[u8; BYTES]>().write([7; BYTES]) };
        model = Model { host: true, contents: Some([7; BYTES]), owned: true, address: block.addr(), ..model };
        storage.put(0, &block.addr().to_le_bytes());
        storage.put(24, &3u32.to_le_bytes());
        storage.put(28, &[1, 0, 0, 0]);
    }
    model
}

fn run(sequence: &[Operation], from: Start, storage: &mut Storage) {
    let mut model = start(storage, from);
    let (mut first, mut second) = ([1u8; BYTES], [2u8; BYTES]);
    for (number, &operation) in sequence.iter().enumerate() {
        let context = || format!("{from:?} {:?}", &sequence[..=number]);
        let written = [10 + number as u8; BYTES];
        match operation {
            Operation::CpuData | Operation::MutableCpuData | Operation::OverwriteCpuData => {
                let reads = operation != Operation::OverwriteCpuData;
                let result = match operation {
                    Operation::CpuData => storage.cpu_data(),
                    Operation::MutableCpuData => storage.mutable_cpu_data(),
                    _ => storage.overwrite_cpu_data(),
                };
                if reads && model.device && !model.host {
                    assert_eq!(result, Err(SYNCEDMEM_ERROR_NO_GPU), "{}", context());
                } else {
                    let data = result.unwrap_or_else(|status| panic!("{status:?} {}", context())).cast::<[u8; BYTES]>();
                    if model.address == 0 {
                        model.owned = true;
                    } else {
                        assert_eq!(data.addr(), model.address, "{}", context());
                    }
                    model.address = data.addr();
                    if reads {
                        assert_eq!(Some(unsafe { data.read() }), model.contents, "{}", context());
                    }
                    if operation == Operation::CpuData {
                        model.host = true;
                    } else {
                        unsafe { data.write(written) };
                        (model.host, model.device, model.contents) = (true, false, Some(written));
                    }
                }
            }
            Operation::SetFirst | Operation::SetSecond => {
                let buffer = if operation == Operation::SetFirst { &mut first } else { &mut second };
                assert_eq!(storage.set_cpu_data(buffer.as_mut_ptr()), SYNCEDMEM_SUCCESS, "{}", context());
                let (contents, address) = (Some(*buffer), buffer.as_ptr().addr());
                model = Model { host: true, device: false, contents, owned: false, address };
            }
            Operation::ReleaseCpu => {
                let status = storage.release_cpu();
                if model.device {
                    assert_eq!(status, SYNCEDMEM_SUCCESS, "{}", context());
                    (model.host, model.owned, model.address) = (false, false, 0);
                } else {
                    assert_eq!(status, SYNCEDMEM_ERROR_INVALID_STATE, "{}", context());
                }
            }
            Operation::GpuData | Operation::MutableGpuData | Operation::OverwriteGpuData => {
                let result = match operation {
                    Operation::GpuData => storage.gpu_data(),
                    Operation::MutableGpuData => storage.mutable_gpu_data(),
                    _ => storage.overwrite_gpu_data(),
                };
                // Data that is already there is handed out: only what needs a driver asks for one.
                let ready = model.device && (operation == Operation::GpuData || !model.host);
                let address = result.map(|data| data.addr());
                assert_eq!(address, if ready { Ok(DEVICE) } else { Err(SYNCEDMEM_ERROR_NO_GPU) }, "{}", context());
            }
            Operation::SetGpu | Operation::Push | Operation::Pull | Operation::ReleaseGpu => {
                let status = match operation {
                    Operation::SetGpu => storage.set_gpu_data(std::ptr::without_provenance_mut(DEVICE)),
                    Operation::Push => storage.push(std::ptr::null_mut()),
                    Operation::Pull => storage.pull(std::ptr::null_mut()),
                    _ => storage.release_gpu(),
                };
                // What the head forbids is refused before a driver is asked for.
                let refused_first = match operation {
                    Operation::Push => model.device || !model.host,
                    Operation::Pull => !model.device && !model.host,
                    Operation::ReleaseGpu => !model.host,
                    _ => false,
                };
                let expected = match refused_first {
                    true => SYNCEDMEM_ERROR_INVALID_STATE,
                    false if operation == Operation::Pull && model.host => SYNCEDMEM_SUCCESS,
                    false => SYNCEDMEM_ERROR_NO_GPU,
                };
                assert_eq!(status, expected, "{}", context());
            }
            Operation::Wait => assert_eq!(storage.wait(), SYNCEDMEM_SUCCESS, "{}", context()),
            Operation::IsReady => assert_eq!(storage.is_ready(), Ok(true), "{}", context()),
        }
        assert_eq!(storage.head(), model.head(), "{}", context());
        assert_eq!(storage.word(0), model.address, "{}", context());
        assert_eq!(storage.word(16), BYTES, "{}", context());
        if model.head() != 0 {
            assert_eq!(storage.flags()[..3], [u8::from(model.owned), 0, 0], "{}", context());
        }
    }
    assert!(storage.guard_is_whole());
    assert_eq!(storage.destruct(), SYNCEDMEM_SUCCESS);
}

fn every_sequence(depth: u32, from: Start) {
    driver::hide_devices();
    let mut storage = Storage::new();
    for number in 0..OPERATIONS.len().pow(depth) {
        let mut rest = number;
        let sequence: [Operation; 5] = std::array::from_fn(|_| {
            let operation = OPERATIONS[rest % OPERATIONS.len()];
            rest /= OPERATIONS.len();
            operation
        });
        run(&sequence[..depth as usize], from, &mut storage);
    }
}

fn every_sequence_of_five_operations_on_a_new_object_agrees_with_the_model() {
    every_sequence(5, Start::Uninitialized);
}

fn every_sequence_of_five_operations_on_an_object_at_the_device_agrees_with_the_model() {
    every_sequence(5, Start::AtGpu);
}

fn every_sequence_of_five_operations_on_a_synced_object_agrees_with_the_model() {
    every_sequence(5, Start::Synced);
}

crate::support::harness::tests![
    every_sequence_of_five_operations_on_a_new_object_agrees_with_the_model,
    every_sequence_of_five_operations_on_an_object_at_the_device_agrees_with_the_model,
    every_sequence_of_five_operations_on_a_synced_object_agrees_with_the_model,
];
