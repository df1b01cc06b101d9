//! The state machine, as pure functions: every state and operation against docs/caffe-abi.md's table. Sequences of operations are
//! run on real objects, against a model that knows nothing of heads, in `tests/object/device_sequences.rs`.

use syncedmem::state::step::{Contents, Step, on_access, on_push, on_release};
use syncedmem_core::head::{Access, Head, Side};

use Contents::{Copy, Current, Undefined, Zeros};
use Head::{AtCpu, AtGpu, Synced, Uninitialized};

const HEADS: [Head; 4] = [Uninitialized, AtCpu, AtGpu, Synced];

#[test]
fn every_access_from_every_head_follows_the_table_of_caffe_abi_md() {
    use Access::{Overwrite, Read, Write};
    use Side::{Device, Host};
    // From each head, in the order of HEADS.
    let table = [
        ("cpu_data", Read, Host, [(Zeros, AtCpu), (Current, AtCpu), (Copy, Synced), (Current, Synced)]),
        ("mutable_cpu_data", Write, Host, [(Zeros, AtCpu), (Current, AtCpu), (Copy, AtCpu), (Current, AtCpu)]),
        ("gpu_data", Read, Device, [(Zeros, AtGpu), (Copy, Synced), (Current, AtGpu), (Current, Synced)]),
        ("mutable_gpu_data", Write, Device, [(Zeros, AtGpu), (Copy, AtGpu), (Current, AtGpu), (Current, AtGpu)]),
        (
            "overwrite_cpu_data",
            Overwrite,
            Host,
            [(Undefined, AtCpu), (Current, AtCpu), (Undefined, AtCpu), (Current, AtCpu)],
        ),
        (
            "overwrite_gpu_data",
            Overwrite,
            Device,
            [(Undefined, AtGpu), (Undefined, AtGpu), (Current, AtGpu), (Current, AtGpu)],
        ),
    ];
    for (name, access, side, steps) in table {
        for (head, (contents, next)) in HEADS.into_iter().zip(steps) {
            assert_eq!(on_access(head, access, side), Step { contents, head: next }, "{name} from {head:?}");
        }
    }
}

#[test]
fn a_side_is_released_only_while_the_other_is_current() {
    let released = |side| HEADS.map(|head| on_release(head, side));
    assert_eq!(released(Side::Host), [None, None, Some(AtGpu), Some(AtGpu)]);
    assert_eq!(released(Side::Device), [None, Some(AtCpu), None, Some(AtCpu)]);
}

#[test]
fn a_push_is_taken_only_from_the_host() {
    assert_eq!(HEADS.map(on_push), [None, Some(Synced), None, None]);
}

#[test]
fn heads_have_caffes_numbers_and_no_others() {
    for (number, head) in HEADS.into_iter().enumerate() {
        assert_eq!(head as usize, number);
        assert_eq!(Head::from_number(number as u32), Some(head));
    }
    assert_eq!(Head::from_number(4), None);
    assert_eq!(Head::from_number(u32::MAX), None);
}
