//! The calls of nets' functions that each thread is in.
#![expect(unsafe_code, reason = "a thread-local refers to the call")]

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::net::Net;
use crate::nets::{self, Known};
use crate::{guarded, layout, library};

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

/// Sets [`INSIDE`] while it lives. An exception drops it, too.
pub struct Inside {
    call: Box<Call>,
    before: Option<NonNull<Call>>,
    /// Whether the thread was making another net before this `Init`.
    was_making: Option<bool>,
}

impl Inside {
    pub fn of(net: Net, known: Arc<Known>, is_new: bool) -> Inside {
        if is_new {
            layout::forget_pages();
        }
        let call = Box::new(Call { net, known, is_new });
        let before = INSIDE.replace(Some(NonNull::from(&*call)));
        Inside { call, before, was_making: is_new.then(|| library::making(true)) }
    }

    /// A call of a net after its `Init`. `None` if the net is not known.
    pub fn again(net: Option<Net>) -> Option<Inside> {
        let net = net?;
        Some(Inside::of(net, guarded(|| nets::find(net))?, false))
    }

    pub fn known(&self) -> (Net, Arc<Known>) {
        (self.call.net, Arc::clone(&self.call.known))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.before);
        self.was_making.into_iter().for_each(|was| _ = library::making(was));
    }
}

/// Sets [`IS_RESHAPING`] while it lives, and restores the previous value. An exception drops it, too.
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
    // SAFETY: `Inside` owns the call and removes it from `INSIDE` before it drops it; callers drop the reference before they return to Caffe.
    INSIDE.get().map(|call| unsafe { call.as_ref() })
}
