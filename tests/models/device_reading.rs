//! Reading into objects of every state: the host is then the newest side, and a read that fails keeps the data of the other side.

use crate::opened::*;
use crate::reading_faults::{self, Fault};
use crate::support::gpu::{gpu, simulated_gpu};
use crate::support::states::*;
use crate::support::*;
use crate::wire::{self, f32_bytes, layer};

const VALUES: usize = 40_000;

fn numbers() -> Vec<f32> {
    (0..VALUES).map(|number| number as f32).collect()
}

/// A model stays open after its folder is removed.
fn model() -> Opened {
    opened(&Folder::new(), "a.caffemodel", &layer("a", "Scale", &[wire::blob(&[VALUES as i64], &numbers())]))
}

#[test]
fn the_host_is_the_newest_side_after_a_read_in_every_state() {
    let gpu = gpu();
    let (model, stream) = (model(), gpu.stream());
    for state in STATES {
        let mut object = state.object(&gpu, &stream, VALUES * 4);
        let address = object.host_address();
        assert_eq!(model.read(0, SYNCEDMEM_FLOAT32, &mut object), SYNCEDMEM_SUCCESS, "{state}: {}", last_error());
        assert_eq!(object.head(), 1, "{state}");
        assert_eq!(values::<f32>(&mut object), numbers(), "{state}");
        if address != 0 {
            assert_eq!(object.host_address(), address, "{state}: the address stays valid");
        }
        let device = object.gpu_data().unwrap();
        assert_eq!(gpu.read(device.addr(), VALUES * 4), f32_bytes(&numbers()), "{state}");
    }
}

#[test]
fn nothing_is_copied_from_the_device_to_be_overwritten() {
    let gpu = simulated_gpu();
    let (model, stream) = (model(), gpu.stream());
    let mut object = State::AtGpu.object(&gpu, &stream, VALUES * 4);
    let (status, calls) = gpu.watch(|| model.read(0, SYNCEDMEM_FLOAT32, &mut object));
    assert_eq!(status, SYNCEDMEM_SUCCESS);
    assert!(calls.iter().all(|call| !call.function.starts_with("cuMemcpy")), "{calls:?}");
}

#[test]
fn the_rest_of_a_larger_object_comes_from_the_device() {
    let gpu = gpu();
    let (model, stream) = (model(), gpu.stream());
    for state in STATES {
        let mut object = state.object(&gpu, &stream, VALUES * 4 + 6);
        assert_eq!(model.read(0, SYNCEDMEM_FLOAT32, &mut object), SYNCEDMEM_SUCCESS, "{state}: {}", last_error());
        let expected = [f32_bytes(&numbers()), state.contents(VALUES * 4 + 6)[VALUES * 4..].to_vec()].concat();
        assert_eq!(values::<u8>(&mut object), expected, "{state}");
    }
}

#[test]
fn a_read_that_breaks_off_loses_only_what_the_host_alone_had() {
    let gpu = gpu();
    let (model, stream) = (model(), gpu.stream());
    for state in STATES {
        let mut object = state.object(&gpu, &stream, VALUES * 4);
        let had_host = object.host_address() != 0;
        let status =
            reading_faults::with(Fault::Breaks { after: 100_000 }, || model.read(0, SYNCEDMEM_FLOAT32, &mut object));
        assert_eq!(status, SYNCEDMEM_ERROR_FILE, "{state}");
        assert!(last_error().contains("160000 bytes could not be read (Input/output error"), "{}", last_error());
        match state {
            State::AtCpu | State::AtCpuOverDevice => assert_eq!(object.head(), 1),
            State::Untouched => assert_eq!((object.head(), had_host, object.host_address()), (0, false, 0)),
            _ => {
                assert_eq!((object.head(), object.host_address() != 0), (2, had_host), "{state}");
                assert_eq!(values::<u8>(&mut object), state.contents(VALUES * 4), "{state}");
            }
        }
        assert_eq!(model.read(0, SYNCEDMEM_FLOAT32, &mut object), SYNCEDMEM_SUCCESS, "{state}: {}", last_error());
        assert_eq!(values::<f32>(&mut object), numbers(), "{state}");
    }
}
