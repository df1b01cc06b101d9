//! The state machine, as pure functions: every state and operation against docs/caffe-abi.md's table. Sequences of operations are
//! run on real objects, against a model that knows nothing of heads, in `tests/object/device_sequences.rs`.

use syncedmem::state::step::{Contents, Fill, Operation, Refusal, Step, step, waits};
use syncedmem_core::head::{Access, Head, Side};

use Access::{Overwrite, Read, Write};
use Contents::{At, Both, GivenUp, Parked, Untouched};
use Fill::{Copy, Nothing, Undefined, Zeros};
use Operation::{Discard, Park, Pull, Push, Release, Set};
use Side::{Device, Host};

const CONTENTS: [Contents; 5] = [Untouched, At(Host), At(Device), Both, GivenUp];

type Answer = Result<(Fill, Contents), Refusal>;

const GONE: Answer = Err(Refusal::GivenUp);
const HEAD: Answer = Err(Refusal::Head);

fn access(access: Access, side: Side) -> Operation {
    Operation::Access(access, side)
}

#[test]
fn every_operation_on_all_contents_follows_the_table_of_caffe_abi_md() {
    // In the order of CONTENTS.
    let table: [(Operation, [Answer; 5]); 14] = [
        (
            access(Read, Host),
            [Ok((Zeros, At(Host))), Ok((Nothing, At(Host))), Ok((Copy, Both)), Ok((Nothing, Both)), GONE],
        ),
        (
            access(Write, Host),
            [(Zeros, At(Host)), (Nothing, At(Host)), (Copy, At(Host)), (Nothing, At(Host)), (Zeros, At(Host))].map(Ok),
        ),
        (access(Overwrite, Host), [Undefined, Nothing, Undefined, Nothing, Undefined].map(|fill| Ok((fill, At(Host))))),
        (
            access(Read, Device),
            [Ok((Zeros, At(Device))), Ok((Copy, Both)), Ok((Nothing, At(Device))), Ok((Nothing, Both)), GONE],
        ),
        (access(Write, Device), [Zeros, Copy, Nothing, Nothing, Zeros].map(|fill| Ok((fill, At(Device))))),
        (
            access(Overwrite, Device),
            [Undefined, Undefined, Nothing, Nothing, Undefined].map(|fill| Ok((fill, At(Device)))),
        ),
        (Push, [HEAD, Ok((Copy, Both)), HEAD, HEAD, GONE]),
        (Pull, [HEAD, Ok((Nothing, At(Host))), Ok((Copy, Both)), Ok((Nothing, Both)), Ok((Nothing, GivenUp))]),
        (Release(Host), [HEAD, HEAD, Ok((Nothing, At(Device))), Ok((Nothing, At(Device))), GONE]),
        (Release(Device), [HEAD, Ok((Nothing, At(Host))), HEAD, Ok((Nothing, At(Host))), GONE]),
        (Set(Host), [Ok((Nothing, At(Host))); 5]),
        (Set(Device), [Ok((Nothing, At(Device))); 5]),
        (Discard, [Untouched, GivenUp, GivenUp, GivenUp, GivenUp].map(|next| Ok((Nothing, next)))),
        (Park, [Untouched, Parked, At(Device), Both, GivenUp].map(|next| Ok((Nothing, next)))),
    ];
    for (operation, answers) in table {
        for (now, answer) in CONTENTS.into_iter().zip(answers) {
            let expected = answer.map(|(fill, next)| Step { fill, next });
            assert_eq!(step(now, operation), expected, "{operation:?} on {now:?}");
        }
        let of_parked = match operation {
            Discard => Ok(Step { fill: Nothing, next: GivenUp }),
            Park => Ok(Step { fill: Nothing, next: Parked }),
            _ => step(At(Host), operation),
        };
        assert_eq!(step(Parked, operation), of_parked, "parked contents come back to the host first: {operation:?}");
    }
}

/// A copy in flight reads the block of one side and writes that of the other, which is therefore not current before its end; a
/// push's device counts as current at once, as in Caffe.
#[test]
fn an_operation_waits_for_a_copy_in_flight_unless_it_touches_neither_of_its_blocks_unordered() {
    let goes_on = |now, to, operation| !waits(now, to, operation);
    for to in [Host, Device] {
        for now in CONTENTS {
            for side in [Host, Device] {
                assert_eq!(goes_on(now, to, access(Read, side)), now.are_current(side), "{now:?}");
                assert!([Release(side), Set(side)].iter().all(|&operation| waits(now, to, operation)));
            }
            for write in [Write, Overwrite] {
                assert!(waits(now, to, access(write, Host)));
                let is_behind_a_push = to == Device && now.are_current(Device);
                assert_eq!(goes_on(now, to, access(write, Device)), is_behind_a_push, "{now:?}");
            }
            assert!(waits(now, to, Push) && waits(now, to, Discard));
            assert_eq!(goes_on(now, to, Pull), to == Host);
        }
    }
}

#[test]
fn contents_without_a_block_are_current_on_no_side() {
    assert!([Host, Device].iter().all(|&side| !GivenUp.are_current(side) && !Parked.are_current(side)));
}

#[test]
fn heads_have_caffes_numbers_and_no_others() {
    for (number, head) in [Head::Uninitialized, Head::AtCpu, Head::AtGpu, Head::Synced].into_iter().enumerate() {
        assert_eq!(head as usize, number);
        assert_eq!(Head::from_number(number as u32), Some(head));
    }
    assert_eq!(Head::from_number(4), None);
    assert_eq!(Head::from_number(u32::MAX), None);
}
