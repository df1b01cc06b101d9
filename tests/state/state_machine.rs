//! The state machine, as pure functions: every state and operation against docs/caffe-abi.md's table, and every sequence of
//! operations against a model that knows nothing of heads.

use syncedmem_trace::head::{Access, Contents, Head, Side, Step};

use Contents::{Copy, Current, Undefined, Zeros};
use Head::{AtCpu, AtGpu, Synced, Uninitialized};

const HEADS: [Head; 4] = [Uninitialized, AtCpu, AtGpu, Synced];

/// One row of docs/caffe-abi.md's table: what the operation does from each head, in the order of [`HEADS`].
fn row(access: Access, side: Side, steps: [(Contents, Head); 4]) {
    for (head, (contents, next)) in HEADS.into_iter().zip(steps) {
        assert_eq!(head.on(access, side), Step { contents, head: next }, "{access:?} of {side:?} from {head:?}");
    }
}

#[test]
fn cpu_data_follows_the_table() {
    row(Access::Read, Side::Host, [(Zeros, AtCpu), (Current, AtCpu), (Copy, Synced), (Current, Synced)]);
}

#[test]
fn mutable_cpu_data_follows_the_table() {
    row(Access::Write, Side::Host, [(Zeros, AtCpu), (Current, AtCpu), (Copy, AtCpu), (Current, AtCpu)]);
}

#[test]
fn gpu_data_follows_the_table() {
    row(Access::Read, Side::Device, [(Zeros, AtGpu), (Copy, Synced), (Current, AtGpu), (Current, Synced)]);
}

#[test]
fn mutable_gpu_data_follows_the_table() {
    row(Access::Write, Side::Device, [(Zeros, AtGpu), (Copy, AtGpu), (Current, AtGpu), (Current, AtGpu)]);
}

#[test]
fn overwrite_cpu_data_neither_fills_nor_copies() {
    row(Access::Overwrite, Side::Host, [(Undefined, AtCpu), (Current, AtCpu), (Undefined, AtCpu), (Current, AtCpu)]);
}

#[test]
fn overwrite_gpu_data_neither_fills_nor_copies() {
    row(Access::Overwrite, Side::Device, [(Undefined, AtGpu), (Undefined, AtGpu), (Current, AtGpu), (Current, AtGpu)]);
}

#[test]
fn a_side_is_released_only_while_the_other_is_current() {
    let released = |side| HEADS.map(|head| head.on_release(side));
    assert_eq!(released(Side::Host), [None, None, Some(AtGpu), Some(AtGpu)]);
    assert_eq!(released(Side::Device), [None, Some(AtCpu), None, Some(AtCpu)]);
}

#[test]
fn a_push_is_taken_only_from_the_host() {
    assert_eq!(HEADS.map(Head::on_push), [None, Some(Synced), None, None]);
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

/// An operation of the sequences.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Access(Access, Side),
    Set(Side),
    Release(Side),
    Push,
}

/// What the pure functions say, carried out on two buffers of one byte.
#[derive(Clone, Copy, Debug)]
struct Machine {
    head: Head,
    buffers: [Option<u8>; 2],
}

/// The truth without heads: one value, and which sides have it.
#[derive(Clone, Copy, Debug)]
struct Truth {
    value: u8,
    has: [bool; 2],
}

const GARBAGE: u8 = 0xEE;
const BORROWED: u8 = 0xB0;

impl Machine {
    /// Does the operation; returns what an access found, or `None` if it was refused.
    fn apply(&mut self, operation: Operation, written: u8) -> Option<u8> {
        match operation {
            Operation::Access(access, side) => {
                let step = self.head.on(access, side);
                let other = self.buffers[side.other() as usize];
                let buffer = &mut self.buffers[side as usize];
                match step.contents {
                    Current => {}
                    Zeros => *buffer = Some(0),
                    Copy => *buffer = other,
                    Undefined => *buffer = buffer.or(Some(GARBAGE)),
                }
                self.head = step.head;
                // An accessed side has a buffer: none would differ from the truth.
                let found = (*buffer)?;
                if access != Access::Read {
                    *buffer = Some(written);
                }
                Some(found)
            }
            Operation::Set(side) => {
                self.buffers[side as usize] = Some(BORROWED);
                self.head = Head::only_at(side);
                Some(BORROWED)
            }
            Operation::Release(side) => {
                self.head = self.head.on_release(side)?;
                self.buffers[side as usize] = None;
                Some(0)
            }
            Operation::Push => {
                self.head = self.head.on_push()?;
                self.buffers[1] = self.buffers[0];
                Some(0)
            }
        }
    }
}

impl Truth {
    /// The data that the operation should find; `None` if it should be refused.
    fn apply(&mut self, operation: Operation, written: u8) -> Option<Option<u8>> {
        match operation {
            Operation::Access(access, side) => {
                let found = (access != Access::Overwrite).then_some(self.value);
                let nowhere = !self.has[0] && !self.has[1];
                if access == Access::Read {
                    self.has[side as usize] = true;
                } else {
                    self.has = [side == Side::Host, side == Side::Device];
                    self.value = written;
                }
                if nowhere {
                    self.has[side.other() as usize] = false;
                }
                Some(found)
            }
            Operation::Set(side) => {
                *self = Truth { value: BORROWED, has: [side == Side::Host, side == Side::Device] };
                Some(None)
            }
            Operation::Release(side) => {
                if !self.has[side.other() as usize] {
                    return None;
                }
                self.has[side as usize] = false;
                Some(None)
            }
            Operation::Push => {
                if self.has != [true, false] {
                    return None;
                }
                self.has = [true, true];
                Some(None)
            }
        }
    }

    fn head(&self) -> Head {
        match self.has {
            [false, false] => Uninitialized,
            [true, false] => AtCpu,
            [false, true] => AtGpu,
            [true, true] => Synced,
        }
    }
}

fn every_sequence(machine: Machine, truth: Truth, depth: u8, path: &mut Vec<Operation>) -> u64 {
    const OPERATIONS: [Operation; 11] = [
        Operation::Access(Access::Read, Side::Host),
        Operation::Access(Access::Write, Side::Host),
        Operation::Access(Access::Overwrite, Side::Host),
        Operation::Access(Access::Read, Side::Device),
        Operation::Access(Access::Write, Side::Device),
        Operation::Access(Access::Overwrite, Side::Device),
        Operation::Set(Side::Host),
        Operation::Set(Side::Device),
        Operation::Release(Side::Host),
        Operation::Release(Side::Device),
        Operation::Push,
    ];
    if depth == 0 {
        return 1;
    }
    let mut sequences = 0;
    for operation in OPERATIONS {
        let (mut machine, mut truth) = (machine, truth);
        path.push(operation);
        let found = machine.apply(operation, depth);
        let expected = truth.apply(operation, depth);
        assert_eq!(found.is_some(), expected.is_some(), "{path:?}");
        if let Some(Some(value)) = expected {
            assert_eq!(found, Some(value), "{path:?}");
        }
        assert_eq!(machine.head, truth.head(), "{path:?}");
        for side in [Side::Host, Side::Device] {
            if truth.has[side as usize] {
                assert_eq!(machine.buffers[side as usize], Some(truth.value), "{side:?} after {path:?}");
            }
        }
        sequences += every_sequence(machine, truth, depth - 1, path);
        path.pop();
    }
    sequences
}

#[test]
fn every_sequence_of_six_operations_agrees_with_a_model_that_knows_nothing_of_heads() {
    let machine = Machine { head: Uninitialized, buffers: [None, None] };
    let truth = Truth { value: 0, has: [false, false] };
    assert_eq!(every_sequence(machine, truth, 6, &mut Vec::new()), 11u64.pow(6));
}
