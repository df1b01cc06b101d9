//! The nets that live: one value for each owns all that is known of it, begins in `Net::Init` and ends with the net.
//!
//! A net that ends without its destructor's slot being called (one on a stack, whose destructor a compiler has inlined) leaves its value,
//! until another net is made at its address.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::caffe::Caffe;
use crate::net::Net;
use crate::{record, sharing, table};

pub struct Known {
    /// Never that of another net.
    id: u64,
    caffe: &'static Caffe,
    /// Locked by the net's thread alone. A child of fork that finds it locked does not use this net.
    of: Mutex<OfNet>,
}

#[derive(Default)]
pub struct OfNet {
    pub names: record::OfNet,
    pub sharing: sharing::OfNet,
}

pub type Nets = HashMap<usize, Arc<Known>>;

/// The nets that live, by address.
static NETS: Mutex<Option<Nets>> = Mutex::new(None);

/// A fork takes this lock before it begins. A panic in the midst of a change does not keep others out.
pub fn lock() -> MutexGuard<'static, Option<Nets>> {
    NETS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Known {
    pub fn lock(&self) -> MutexGuard<'_, OfNet> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None`: this thread, or another one, is in the midst of a change.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, OfNet>> {
        match self.of.try_lock() {
            Ok(of) => Some(of),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A net that is being made: what was at its address has ended.
pub fn begin(net: Net, is_inner: bool) -> Arc<Known> {
    static IDS: AtomicU64 = AtomicU64::new(0);
    let before = lock().as_mut().and_then(|nets| nets.remove(&net.address()));
    drop(before);
    let of = Mutex::new(OfNet { names: record::OfNet::of(is_inner), ..OfNet::default() });
    Arc::new(Known { id: IDS.fetch_add(1, Ordering::Relaxed), caffe: net.caffe, of })
}

/// A net that was made.
pub fn keep(net: Net, known: &Arc<Known>) {
    lock().get_or_insert_default().insert(net.address(), Arc::clone(known));
}

/// `None`: the net was made before this library was loaded, or by another Caffe.
pub fn find(net: Net) -> Option<Arc<Known>> {
    lock().as_ref()?.get(&net.address()).cloned()
}

/// The Caffe of the net at an address. `None`, as `find`, and in a child of fork while another thread was making or ending a net.
pub fn caffe_of(net: *const c_void) -> Option<&'static Caffe> {
    Some(NETS.try_lock().ok()?.as_ref()?.get(&net.addr())?.caffe)
}

/// Drops what is known of a net, unless another one is at its address by now.
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

/// Makes what is known of the net end with it. Called at the end of `Net::Init`.
pub fn end_with(net: Net, known: &Known) -> Option<()> {
    let class = net.caffe.class_of(net.object())?;
    let ends = Ends { address: net.address(), id: known.id };
    // SAFETY: Caffe's thread is at the end of the net's `Init`, so the net lives; no other slot is exchanged.
    unsafe { table::attach(net.object(), class, &[], ends) }
}
