//! The rule about fills.

use syncedmem_analysis::advice::{Certainty::*, Rule::*, Subject};
use syncedmem_trace::event::{Changed, Path::*, Since};
use syncedmem_trace::head::{Access, Side};

use super::found::*;
use super::story::*;

const SIZE: u64 = 4096;

/// The first access, which fills.
fn first(side: Side, access: Access) -> Vec<Told> {
    vec![made(SIZE), asked(side, access).at(2), filled(side, SIZE).at(2).taking(11)]
}

fn zeros_of_which_everything_has_changed_were_for_nothing() {
    let look =
        |changed| vec![asked(Device, Read), compared(Since::Fill, changed), copied(Device, Read, SIZE, Pageable)];
    let expected = advice(OverwrittenFill, Compared, Subject::Memory(Host), 2).sums(1, SIZE, 11);
    for between in [vec![], vec![ready(Host, Read)]] {
        let story = [first(Host, Write), between, look(Changed::Everything)].concat();
        assert_eq!(with_every_access(OverwrittenFill, &story), [expected]);
        let possible = syncedmem_analysis::advice::Advice { certainty: Possible, ..expected };
        assert_eq!(without(OverwrittenFill, &story), [possible], "others may have written unseen");
        let added = [first(Host, Write), vec![ready(Host, Write)], look(Changed::Everything)].concat();
        assert_eq!(with_every_access(OverwrittenFill, &added), [possible], "the second may have added to the zeros");
    }
    for changed in [Changed::Part, Changed::Nothing] {
        assert_eq!(both(OverwrittenFill, &[first(Host, Write), look(changed)].concat()), [], "{changed:?}");
    }
    let story = [first(Host, Read), look(Changed::Everything)].concat();
    assert_eq!(both(OverwrittenFill, &story), [], "the zeros were read");
}

fn zeros_that_end_with_the_object_or_are_copied_are_not_spoken_of() {
    let ends: [&[Told]; 4] = [
        &[ended()],
        &[resized(2 * SIZE), ended()],
        &[started(Device, SIZE, Pinned), ready(Host, Overwrite)],
        &[asked(Device, Read), copied(Device, Read, SIZE, Pageable), asked(Host, Overwrite)],
    ];
    for end in ends {
        let story = [first(Host, Write), end.to_vec()].concat();
        assert_eq!(with_every_access(OverwrittenFill, &story), [], "{end:?}");
    }
    let fails = vec![asked(Device, Overwrite), failed(Device, SIZE), ended()];
    assert_eq!(with_every_access(OverwrittenFill, &[first(Host, Write), fails].concat()), []);
}

crate::support::harness::tests![
    zeros_of_which_everything_has_changed_were_for_nothing,
    zeros_that_end_with_the_object_or_are_copied_are_not_spoken_of,
];
