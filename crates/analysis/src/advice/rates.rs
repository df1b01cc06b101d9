//! The cost of copies; of copies in flight it is estimated from the measured ones.

use syncedmem_trace::account::Sum;
use syncedmem_trace::event::Path;
use syncedmem_trace::head::Side;

/// Bytes. Most of a smaller copy's time is the call itself.
pub const LARGE: u64 = 64 << 10;

/// Pairs of direction and path.
const LANES: usize = 6;

fn lane(to: Side, path: Path) -> usize {
    to as usize * 3 + path as usize
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub bytes: u64,
    pub time: Time,
}

impl Cost {
    pub const NOTHING: Cost = Cost { bytes: 0, time: Time::None };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Memory is saved.
    None,
    /// Nanoseconds.
    Measured(u64),
    /// Only the driver knows it.
    OnStream(Side, Path),
}

/// Nanoseconds for `bytes` at the rate of measured copies; `None` if nothing was measured.
fn price(bytes: u64, measured: &Sum) -> Option<u64> {
    let product = u128::from(bytes) * u128::from(measured.nanoseconds);
    product.checked_div(u128::from(measured.bytes)).map(|price| u64::try_from(price).unwrap_or(u64::MAX))
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    all: [Sum; LANES],
    /// Copies of [`LARGE`] bytes and more.
    large: [Sum; LANES],
}

impl Rates {
    pub fn learn(&mut self, to: Side, path: Path, bytes: u64, nanoseconds: u64) {
        self.all[lane(to, path)].add(bytes, nanoseconds);
        if bytes >= LARGE {
            self.large[lane(to, path)].add(bytes, nanoseconds);
        }
    }

    /// Nanoseconds for a copy from or to pinned memory.
    pub fn pinned(&self, to: Side, bytes: u64) -> Option<u64> {
        price(bytes, &self.large[lane(to, Path::Pinned)])
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    measured: u64,
    /// Bytes on streams.
    on_stream: [u64; LANES],
    is_none: bool,
}

impl Times {
    pub fn add(&mut self, cost: Cost) {
        match cost.time {
            Time::None => self.is_none = true,
            Time::Measured(nanoseconds) => self.measured = self.measured.saturating_add(nanoseconds),
            Time::OnStream(to, path) => {
                let bytes = &mut self.on_stream[lane(to, path)];
                *bytes = bytes.saturating_add(cost.bytes);
            }
        }
    }

    /// The sum in nanoseconds; `None` if some of it is unknown.
    pub fn price(&self, rates: &Rates) -> Option<u64> {
        if self.is_none {
            return None;
        }
        let on_stream = self.on_stream.iter().zip(&rates.all).filter(|&(&bytes, _)| bytes > 0);
        on_stream
            .map(|(&bytes, measured)| price(bytes, measured))
            .try_fold(self.measured, |sum, price| Some(sum.saturating_add(price?)))
    }
}
