//! The nets that live. One value for each owns all that is known of it, from `Net::Init` to the net's destructor.
//!
//! If the destructor is not called through its slot (a net on the stack, whose destructor the compiler has inlined), the value remains until
//! another net is made at the address.
#![expect(unsafe_code, reason = "a net's table of virtual functions is exchanged")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::caffe::Caffe;
use crate::net::Net;
use crate::{naming, sharing, table};

pub struct Known {
    /// Unique in the process.
    id: u64,
    caffe: &'static Caffe,
    /// Only the net's thread locks it. A forked child that finds it locked does not use this net.
    of: Mutex<OfNet>,
}

#[derive(Default)]
pub struct OfNet {
    pub names: naming::OfNet,
    pub sharing: sharing::OfNet,
}

pub type Nets = HashMap<usize, Arc<Known>>;

/// The nets that live, by address.
static NETS: Mutex<Option<Nets>> = Mutex::new(None);

/// A forking thread holds this lock during the fork. A panic does not poison it.
pub fn lock() -> MutexGuard<'static, Option<Nets>> {
    NETS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Known {
    pub fn lock(&self) -> MutexGuard<'_, OfNet> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None`: this thread or another one holds the lock.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, OfNet>> {
        match self.of.try_lock() {
            Ok(of) => Some(of),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Begins a net at the start of `Net::Init`; an earlier one at its address has ended.
pub fn begin(net: Net, is_inner: bool) -> Arc<Known> {
    static IDS: AtomicU64 = AtomicU64::new(0);
    let before = lock().as_mut().and_then(|nets| nets.remove(&net.address()));
    drop(before);
    let of = Mutex::new(OfNet { names: naming::OfNet::of(is_inner), ..OfNet::default() });
    Arc::new(Known { id: IDS.fetch_add(1, Ordering::Relaxed), caffe: net.caffe, of })
}

/// Keeps the value of a net at the end of `Net::Init`.
pub fn keep(net: Net, known: &Arc<Known>) {
    lock().get_or_insert_default().insert(net.address(), Arc::clone(known));
}

/// `None`: the net was made before this library was loaded, or by another Caffe.
pub fn find(net: Net) -> Option<Arc<Known>> {
    lock().as_ref()?.get(&net.address()).cloned()
}

/// The Caffe of the net at an address. `None` as for `find`, and in a forked child if another thread of the parent held the lock.
pub fn caffe_of(net: *const c_void) -> Option<&'static Caffe> {
    Some(NETS.try_lock().ok()?.as_ref()?.get(&net.addr())?.caffe)
}

/// Drops the value of a net, unless another net is at its address.
struct Ends {
    address: usize,
    id: u64,
}

impl Drop for Ends {
    fn drop(&mut self) {
        let mut nets = lock();
        let Some(nets) = nets.as_mut() else { return };
        let ended = nets.get(&self.address).is_some_and(|known| known.id == self.id);
        let ended = ended.then(|| nets.remove(&self.address));
        drop(ended);
    }
}

/// Makes the value of the net end with the net. Called at the end of `Net::Init`.
pub fn end_with(net: Net, known: &Known) -> Option<()> {
    let class = net.caffe.class_of(net.object())?;
    let ends = Ends { address: net.address(), id: known.id };
    // SAFETY: the net's thread is at the end of `Init`, so the net lives and no other thread calls it; no slot but the destructors' changes.
    unsafe { table::attach(net.object(), class, &[], ends) }
}
