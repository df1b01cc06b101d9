//! A small ring of page-locked slots for each context, made at the first copy that needs it and kept.
#![expect(unsafe_code, reason = "a ring that nobody uses is given back")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::cuda::blocks;
use crate::cuda::context::{Context, Within};
use crate::cuda::driver::Driver;
use crate::error::DriverFailure;
use crate::head::Side;
use crate::sync::Lock;

/// Bytes of a slot. Four slots of so many were the best ring in a published sweep.
pub const SLOT: usize = 4 << 20;
/// How many slots.
pub const SLOTS: usize = 4;
/// All of it.
pub const BYTES: usize = SLOT * SLOTS;

/// A ring that is kept, or the place for one that is just being made.
#[derive(Clone, Copy)]
struct Kept {
    context: Context,
    /// 0 while there is no memory yet.
    address: usize,
    /// Whether a thread copies through it.
    busy: bool,
}

/// More contexts than a process has; one beyond takes the place of another's idle ring.
const PLACES: usize = 16;
type Places = [Option<Kept>; PLACES];

#[cfg(not(loom))]
static PLACE: Lock<Places> = Lock::new([None; PLACES]);
#[cfg(loom)]
loom::lazy_static! { static ref PLACE: Lock<Places> = Lock::new([None; PLACES]); }

/// Who holds the rings, in the records of blocks: an address where no object is.
fn holder() -> usize {
    static HOLDER: u8 = 0;
    (&raw const HOLDER).addr()
}

/// How many bytes the rings have: page-locked memory that no object holds.
pub fn held() -> u64 {
    let count = PLACE.with(|places| places.iter().flatten().filter(|kept| kept.address != 0).count());
    (count * BYTES) as u64
}

/// A context's ring, for one copy.
pub struct Ring {
    place: usize,
    /// Its first slot.
    pub address: NonNull<c_void>,
}

impl Ring {
    /// The ring of the context that `within` made current. There is none while another thread copies through it, and
    /// where there is no page-locked memory for one.
    pub fn of(driver: &Driver, within: &Within<'_>) -> Option<Ring> {
        let claimed = Kept { context: within.context, address: 0, busy: true };
        let (place, before) = PLACE.with(|places| {
            let place = choose(places, within.context)?;
            Some((place, places[place].replace(claimed)))
        })?;
        let address = match before.and_then(|kept| Some((kept.context, address(kept.address)?))) {
            Some((context, address)) if context == within.context => match is_there(driver, address) {
                Ok(true) => Some(address),
                Ok(false) => {
                    free(address);
                    make(driver, within)
                }
                Err(_) => {
                    PLACE.with(|places| places[place] = before);
                    return None;
                }
            },
            Some((_, address)) => {
                free(address);
                make(driver, within)
            }
            None => make(driver, within),
        };
        let kept = address.map(|address| Kept { address: address.as_ptr().expose_provenance(), ..claimed });
        PLACE.with(|places| places[place] = kept);
        address.map(|address| Ring { place, address })
    }

    /// Leaves it alone for ever: nobody knows whether something is still in flight there.
    #[cold]
    pub fn abandon(self) {
        std::mem::forget(self);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        PLACE.with(|places| {
            if let Some(kept) = &mut places[self.place] {
                kept.busy = false;
            }
        });
    }
}

/// The place for a context's ring: where it is, or else a free one, or else another's whose ring is idle.
fn choose(places: &Places, context: Context) -> Option<usize> {
    let own = places.iter().position(|kept| kept.is_some_and(|kept| kept.context == context));
    let place = own.or_else(|| places.iter().position(Option::is_none));
    let idle = |place: &usize| places[*place].is_none_or(|kept| !kept.busy);
    place.or_else(|| (0..PLACES).find(idle)).filter(idle)
}

fn make(driver: &Driver, within: &Within<'_>) -> Option<NonNull<c_void>> {
    /// To be refused takes long: so many copies after it do not ask.
    const PAUSE: u32 = 64;
    static PAUSED: AtomicU32 = AtomicU32::new(0);
    if PAUSED.fetch_update(Relaxed, Relaxed, |paused| paused.checked_sub(1)).is_ok() {
        return None;
    }
    let request = blocks::Request { side: Side::Host, bytes: BYTES, holder: holder(), unsettled: false };
    let made = blocks::allocate(driver, within, request);
    if made.is_err() {
        PAUSED.store(PAUSE, Relaxed);
    }
    made.ok().map(|block| block.address)
}

/// Whether a ring is still there: a reset of its device takes it away.
fn is_there(driver: &Driver, address: NonNull<c_void>) -> Result<bool, DriverFailure> {
    blocks::find(address).map_or(Ok(false), |record| record.is_alive(driver, address))
}

fn free(address: NonNull<c_void>) {
    // SAFETY: rings are nobody else's, and nothing is in flight in an idle one.
    unsafe { blocks::free(address, holder()) };
}

fn address(address: usize) -> Option<NonNull<c_void>> {
    NonNull::new(std::ptr::with_exposed_provenance_mut(address))
}

/// Gives back every ring that no thread copies through.
pub fn give_back() {
    for place in 0..PLACES {
        let idle = PLACE.with(|places| places[place].take_if(|kept| !kept.busy));
        if let Some(address) = idle.and_then(|kept| address(kept.address)) {
            free(address);
        }
    }
}

/// Holds the rings still, until `release`: for fork.
pub fn acquire() {
    PLACE.acquire();
}

/// Ends `acquire`.
pub fn release() {
    PLACE.release();
}
