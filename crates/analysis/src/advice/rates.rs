//! The cost of copies: as measured, or, for copies in flight, estimated from the measured ones.

use syncedmem_trace::event::Path;
use syncedmem_trace::head::Side;

/// Smaller copies, in bytes, are neither reported as slow nor used to learn the speed of pinned copies: most of their
/// time is the call itself.
pub const LARGE: u64 = 64 << 10;

/// Number of pairs of direction and path.
const LANES: usize = 6;

/// Bytes, and the time that they took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub bytes: u64,
    pub time: Time,
}

impl Cost {
    pub const NOTHING: Cost = Cost { bytes: 0, time: Time::NONE };
}

/// Nanoseconds, or the reason why there are none. One word, because every object keeps some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(u64);

impl Time {
    /// The saving is not one of time.
    pub const NONE: Time = Time(u64::MAX);

    const LEAST_LANE: u64 = u64::MAX - LANES as u64;

    /// A measured time in nanoseconds.
    pub fn measured(nanoseconds: u64) -> Time {
        Time(nanoseconds.min(Self::LEAST_LANE - 1))
    }

    /// The time of a copy on a stream, which only the driver knows.
    pub fn on_stream(to: Side, path: Path) -> Time {
        Time(Self::LEAST_LANE + lane(to, path) as u64)
    }
}

fn lane(to: Side, path: Path) -> usize {
    to as usize * 3 + path as usize
}

/// Measured copies of one direction and path.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    bytes: u64,
    nanoseconds: u64,
}

impl Measured {
    const NONE: Measured = Measured { bytes: 0, nanoseconds: 0 };

    fn add(&mut self, bytes: u64, nanoseconds: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.nanoseconds = self.nanoseconds.saturating_add(nanoseconds);
    }

    /// Nanoseconds for `bytes` at the measured rate; `None` if nothing was measured.
    fn price(&self, bytes: u64) -> Option<u64> {
        let product = u128::from(bytes) * u128::from(self.nanoseconds);
        product.checked_div(u128::from(self.bytes)).map(|price| u64::try_from(price).unwrap_or(u64::MAX))
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Rates {
    all: [Measured; LANES],
    /// Copies of [`LARGE`] bytes and more.
    large: [Measured; LANES],
}

impl Rates {
    pub const NEW: Rates = Rates { all: [Measured::NONE; LANES], large: [Measured::NONE; LANES] };

    /// Adds a copy that its caller waited for.
    pub fn learn(&mut self, to: Side, path: Path, bytes: u64, nanoseconds: u64) {
        self.all[lane(to, path)].add(bytes, nanoseconds);
        if bytes >= LARGE {
            self.large[lane(to, path)].add(bytes, nanoseconds);
        }
    }

    /// Nanoseconds for a copy of `bytes` from or to pinned memory.
    pub fn pinned(&self, to: Side, bytes: u64) -> Option<u64> {
        self.large[lane(to, Path::Pinned)].price(bytes)
    }
}

/// Sum of several times.
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
            Time::NONE => self.is_none = true,
            Time(lane @ Time::LEAST_LANE..) => {
                let bytes = &mut self.on_stream[(lane - Time::LEAST_LANE) as usize];
                *bytes = bytes.saturating_add(cost.bytes);
            }
            Time(nanoseconds) => self.measured = self.measured.saturating_add(nanoseconds),
        }
    }

    /// The sum in nanoseconds; `None` if some of it is unknown.
    pub fn price(&self, rates: &Rates) -> Option<u64> {
        if self.is_none {
            return None;
        }
        self.on_stream
            .iter()
            .zip(&rates.all)
            .filter(|&(&bytes, _)| bytes > 0)
            .try_fold(self.measured, |sum, (&bytes, measured)| Some(sum.saturating_add(measured.price(bytes)?)))
    }
}
