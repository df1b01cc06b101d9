//! The calls of a net's functions that a thread is in.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::naming::naming;
use crate::net::Net;
use crate::nets::{self, Known};
use crate::{layout, record};

/// A call of one of the net's functions.
pub struct Call {
    pub net: Net,
    pub known: Arc<Known>,
    /// Whether it is `Init`.
    pub is_new: bool,
}

thread_local! {
    /// Whether this thread is in `Blob::Reshape`.
    static IS_RESHAPING: Cell<bool> = const { Cell::new(false) };
    /// The innermost call.
    static INSIDE: Cell<Option<NonNull<Call>>> = const { Cell::new(None) };
}

/// Sets [`INSIDE`] while it lives. An exception of Caffe's drops it too.
pub struct Inside {
    call: Box<Call>,
    before: Option<NonNull<Call>>,
    /// Whether the thread made another net before this `Init`; `None`: the call is another one.
    was_making: Option<bool>,
}

impl Inside {
    pub fn of(net: Net, known: Arc<Known>, is_new: bool) -> Inside {
        if is_new {
            layout::forget_pages();
        }
        let call = Box::new(Call { net, known, is_new });
        let before = INSIDE.replace(Some(NonNull::from(&*call)));
        Inside { call, before, was_making: is_new.then(|| record::making(true)) }
    }

    /// A call of a net that was made; `None` if nothing is known of it.
    pub fn again(net: Option<Net>) -> Option<Inside> {
        let net = net?;
        Some(Inside::of(net, naming(|| nets::find(net))?, false))
    }

    pub fn known(&self) -> (Net, Arc<Known>) {
        (self.call.net, Arc::clone(&self.call.known))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.before);
        self.was_making.into_iter().for_each(|was| _ = record::making(was));
    }
}

/// Sets [`IS_RESHAPING`] while it lives, and then what it was before. An exception of Caffe's drops it too.
pub struct Reshaping(bool);

impl Reshaping {
    pub fn begin() -> Reshaping {
        Reshaping(IS_RESHAPING.replace(true))
    }

    pub fn is_on() -> bool {
        IS_RESHAPING.get()
    }
}

impl Drop for Reshaping {
    fn drop(&mut self) {
        IS_RESHAPING.set(self.0);
    }
}

/// The innermost call that this thread is in.
pub fn inside<'a>() -> Option<&'a Call> {
    // SAFETY: `Inside` owns the call and takes it out of `INSIDE` before it ends; callers use it within one call of this library.
    INSIDE.get().map(|call| unsafe { call.as_ref() })
}
