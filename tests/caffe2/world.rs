//! Tensors beside their naive models.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::Rc;

use crate::handles::*;
use crate::model::{Kind, Model, Refused};
use crate::objects::{ALIVE, object};

/// A move of the first tensor, which may use the second one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
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
    /// The capacity has so many bytes more than the items need.
    External(usize),
    /// The tensor is also the source.
    CopySelf,
    ShareSelf,
    SwapSelf,
    Swap,
}

use Move::*;

thread_local! {
    /// The caller's memory that is still in use.
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

/// Real tensors and their models.
pub struct World {
    real: Vec<Tensor>,
    model: Vec<Model>,
}

impl World {
    pub fn new(tensors: usize, keep: (bool, i64)) -> World {
        assert_eq!(syncedmem_tensor_set_keep_on_shrink(keep.0, keep.1), SYNCEDMEM_SUCCESS);
        World { real: (0..tensors).map(|_| Tensor::new()).collect(), model: vec![Model::new(keep); tensors] }
    }

    /// Does a move, the `number`th, on the real tensors and on the models. Both refuse it, or neither.
    pub fn step(&mut self, number: usize, step: Move) {
        let ([real, other, ..], [model, beside, ..]) = (&mut self.real[..], &mut self.model[..]) else {
            unreachable!()
        };
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
                // The other tensor first gets as many items, in its own shape.
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
                    // Writes through the real tensor, and by hand in the model.
                    let pattern: Vec<u8> = (0..model.nbytes()).map(|at| (16 * number + at) as u8 | 1).collect();
                    // A memcpy, because a sanitizer checks it.
                    unsafe { data.copy_from(pattern.as_ptr(), pattern.len()) };
                    model.block.clone().unwrap().borrow_mut().bytes[..pattern.len()].copy_from_slice(&pattern);
                }
                assert_eq!(done.is_ok_and(|data| !data.is_null()), expected == Ok(true));
                (done.map(drop), expected.map(drop))
            }
            External(more) => {
                let contents = 0xE0 | number as u8;
                let bytes = model.size.max(0) as usize * 4 + more;
                let mut memory = std::mem::ManuallyDrop::new(vec![contents; bytes]);
                let context = std::ptr::without_provenance_mut(memory.capacity());
                let (pointer, meta) = (memory.as_mut_ptr(), meta_of(Kind::Float));
                LENT.set(LENT.get() + 1);
                let done =
                    real.share_external(pointer, &meta, if more == 0 { 0 } else { bytes }, Some(take_back), context);
                if done.is_err() {
                    // After an error the memory stays the caller's.
                    unsafe { take_back(pointer.cast(), context) };
                }
                (done, model.external(Kind::Float, more, contents))
            }
            CopySelf => (real.copy_from(real), Ok(())),
            ShareSelf => (real.share_data(real), Ok(())),
            SwapSelf => (real.swap(real), Ok(())),
            Swap => {
                std::mem::swap(model, beside);
                (real.swap(other), Ok(()))
            }
        };
        assert_eq!(done.map_err(|_| Refused), expected);
    }

    /// Compares everything that the C API shows.
    pub fn look(&self) {
        for (real, model) in self.real.iter().zip(&self.model) {
            let info = real.info();
            assert_eq!((real.dims(), info.size), (model.dims.clone(), model.size));
            assert_eq!((info.capacity_nbytes, info.nbytes), (model.capacity(), model.nbytes()), "{model:?}");
            assert!(model.block.is_none() || info.nbytes <= info.capacity_nbytes, "{model:?}");
            assert_eq!(info.shares_data, model.shares);
            assert!(info.meta == model.kind.map_or(TypeMeta::NONE, meta_of));
            let data = real.raw_data();
            match &model.block {
                None => assert_eq!(data.is_ok(), model.size == 0),
                Some(block) => {
                    // Compares all of the memory, because a later extend may bring items back.
                    let all = unsafe { std::slice::from_raw_parts(data.unwrap(), model.capacity()) };
                    assert_eq!(all, block.borrow().bytes, "{model:?}");
                    assert!(block.borrow().external || data.unwrap().addr() % 64 == 0);
                }
            }
        }
        let mut blocks: Vec<_> = self.model.iter().filter_map(|model| model.block.clone()).collect();
        blocks.sort_unstable_by_key(Rc::as_ptr);
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

/// The state after the last tensor has ended.
pub fn nothing_is_left() {
    assert_eq!((ALIVE.get(), LENT.get()), (0, 0), "living objects, and lent memory");
}
