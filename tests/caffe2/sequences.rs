//! Every sequence of operations on a tensor, beside another that it shares and copies with, against the naive model: status,
//! dimensions, type, capacity, contents of both, living objects and the caller's memory after every step.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::Rc;

use crate::handles::*;
use crate::model::{Kind, Model, Refused};
use crate::objects::{ALIVE, object};
use crate::support::sequences::every_sequence;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Move {
    Resize(&'static [i64]),
    Reshape(&'static [i64]),
    Shrink(i64),
    Extend(i64, i64),
    Reserve(&'static [i64]),
    Mutable(Kind),
    Free,
    ShareOther,
    OtherShares,
    CopyOther,
    External,
}

use Move::*;

const MOVES: [Move; 14] = [
    Resize(&[2, 3]),
    Resize(&[4, 3]),
    Resize(&[0, 3]),
    Reshape(&[3, 2]),
    Shrink(1),
    Extend(2, 50),
    Reserve(&[5, 3]),
    Mutable(Kind::Float),
    Mutable(Kind::Double),
    Mutable(Kind::Object),
    Free,
    OtherShares,
    CopyOther,
    External,
];

thread_local! {
    /// Memory that the caller has lent and not got back.
    static LENT: Cell<isize> = const { Cell::new(0) };
}

fn meta_of(kind: Kind) -> TypeMeta {
    match kind {
        Kind::Float => meta(SYNCEDMEM_FLOAT32),
        Kind::Double => meta(SYNCEDMEM_FLOAT64),
        Kind::Object => object(),
    }
}

unsafe extern "C-unwind" fn take_back(pointer: *mut c_void, bytes: *mut c_void) {
    LENT.set(LENT.get() - 1);
    drop(unsafe { Vec::from_raw_parts(pointer.cast::<u8>(), 0, bytes.addr()) });
}

/// A real tensor and its model, each beside another.
struct World {
    real: [Tensor; 2],
    model: [Model; 2],
}

impl World {
    fn new(keep: (bool, i64)) -> World {
        World { real: [Tensor::new(), Tensor::new()], model: [Model::new(keep), Model::new(keep)] }
    }

    /// Does a move, the `number`th, on the real tensors and on the models. Both refuse it, or neither.
    fn step(&mut self, number: usize, step: Move) {
        let ([real, other], [model, beside]) = (&self.real, &mut self.model);
        let (done, expected) = match step {
            Resize(dims) => {
                model.resize(dims);
                (real.resize(dims), Ok(()))
            }
            Reshape(dims) => (real.reshape(dims), model.reshape(dims)),
            Shrink(outer) => (real.shrink(outer), model.shrink(outer)),
            Extend(more, percent) => (real.extend(more, percent as f64), model.extend(more, percent)),
            Reserve(dims) => {
                model.reserve(dims);
                (real.reserve(dims), Ok(()))
            }
            Free => {
                model.free();
                real.free_memory();
                (Ok(()), Ok(()))
            }
            ShareOther => (real.share_data(other), model.share(beside)),
            OtherShares => {
                // The other one takes part with whatever the first has, in a shape of its own.
                if model.size >= 0 {
                    other.resize(&[model.size]).unwrap();
                    beside.resize(&[model.size]);
                }
                (other.share_data(real), beside.share(model))
            }
            CopyOther => (real.copy_from(other), model.copy(beside)),
            Mutable(kind) => {
                let done = real.mutable::<u8>(&meta_of(kind));
                let expected = model.mutable(kind);
                if let (Ok(data), Ok(true)) = (done, &expected) {
                    // Written through the real one, and by hand in the model.
                    let bytes = model.nbytes();
                    let pattern = |at: usize| (16 * number + at) as u8 | 1;
                    (0..bytes).for_each(|at| unsafe { data.add(at).write(pattern(at)) });
                    let block = model.block.clone().unwrap();
                    (0..bytes).for_each(|at| block.borrow_mut().bytes[at] = pattern(at));
                }
                assert_eq!(done.is_ok_and(|data| !data.is_null()), expected == Ok(true));
                (done.map(drop), expected.map(drop))
            }
            External => {
                let contents = 0xE0 | number as u8;
                let bytes = model.size.max(0) as usize * 4;
                let mut memory = std::mem::ManuallyDrop::new(vec![contents; bytes]);
                let context = std::ptr::without_provenance_mut(memory.capacity());
                let (pointer, meta) = (memory.as_mut_ptr(), meta_of(Kind::Float));
                LENT.set(LENT.get() + 1);
                let done = real.share_external(pointer, &meta, 0, Some(take_back), context);
                if done.is_err() {
                    // Without success the memory is the caller's.
                    unsafe { take_back(pointer.cast(), context) };
                }
                (done, model.external(Kind::Float, contents))
            }
        };
        assert_eq!(done.map_err(|_| Refused), expected);
    }

    /// Compares all that can be seen.
    fn look(&self) {
        for (real, model) in self.real.iter().zip(&self.model) {
            let info = real.info();
            assert_eq!((real.dims(), info.size), (model.dims.clone(), model.size));
            assert_eq!((info.capacity_nbytes, info.nbytes), (model.capacity(), model.nbytes()), "{model:?}");
            assert_eq!(info.shares_data, model.shares);
            assert!(info.meta == model.kind.map_or(TypeMeta::NONE, meta_of));
            let data = real.raw_data();
            match &model.block {
                None => assert_eq!(data.is_ok(), model.size == 0),
                Some(block) => {
                    // All of the memory: what a later extend brings back is seen too.
                    let all = unsafe { std::slice::from_raw_parts(data.unwrap(), model.capacity()) };
                    assert_eq!(all, block.borrow().bytes, "{model:?}");
                    assert!(block.borrow().external || data.unwrap().addr() % 64 == 0);
                }
            }
        }
        let mut blocks: Vec<_> = self.model.iter().filter_map(|model| model.block.clone()).collect();
        blocks.dedup_by(|one, other| Rc::ptr_eq(one, other));
        let count = |bytes: fn(&RefCell<crate::model::Block>) -> usize| -> isize {
            blocks.iter().map(|block| bytes(block) as isize).sum()
        };
        let objects =
            count(|block| if block.borrow().kind == Kind::Object { block.borrow().bytes.len() / 4 } else { 0 });
        let lent = count(|block| usize::from(block.borrow().external));
        assert_eq!((ALIVE.get(), LENT.get()), (objects, lent));
    }
}

fn every_sequence_agrees(moves: &[Move], depth: usize, keep: (bool, i64)) {
    assert_eq!(syncedmem_tensor_set_keep_on_shrink(keep.0, keep.1), SYNCEDMEM_SUCCESS);
    let run = |sequence: &[Move]| {
        let done = std::panic::catch_unwind(|| {
            let mut world = World::new(keep);
            for (number, &step) in sequence.iter().enumerate() {
                world.step(number, step);
            }
            world.look();
        });
        assert!(done.is_ok(), "after {sequence:?} the tensor and its model differ");
        assert_eq!((ALIVE.get(), LENT.get()), (0, 0), "after the end of both tensors: {sequence:?}");
    };
    let count = every_sequence(moves, depth, run);
    println!("{count} sequences of up to {depth}");
    assert!(count >= moves.len().pow(depth as u32));
}

fn every_sequence_of_five_operations_agrees_with_the_model() {
    alone(&[], || every_sequence_agrees(&MOVES, 5, (true, i64::MAX)));
}

fn without_keep_on_shrink_every_sequence_of_four_operations_agrees_with_the_model() {
    alone(&[], || every_sequence_agrees(&MOVES, 4, (false, i64::MAX)));
}

fn with_a_limit_on_what_is_kept_every_sequence_of_four_operations_agrees_with_the_model() {
    alone(&[], || every_sequence_agrees(&MOVES, 4, (true, 24)));
}

fn every_sequence_of_four_operations_around_sharing_agrees_with_the_model() {
    let moves = [ShareOther, OtherShares, CopyOther, Extend(1, 0), Shrink(1), Resize(&[4]), Resize(&[2, 3])];
    let types = [Mutable(Kind::Object), Mutable(Kind::Float), Mutable(Kind::Double), External, Free];
    alone(&[], || every_sequence_agrees(&[&moves[..], &types].concat(), 4, (true, i64::MAX)));
}

crate::support::harness::tests![
    every_sequence_of_five_operations_agrees_with_the_model,
    without_keep_on_shrink_every_sequence_of_four_operations_agrees_with_the_model,
    with_a_limit_on_what_is_kept_every_sequence_of_four_operations_agrees_with_the_model,
    every_sequence_of_four_operations_around_sharing_agrees_with_the_model,
];
