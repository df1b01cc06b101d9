//! What copies cost: as measured, or, where they went on in the background, at the rate of those that were measured.

use crate::observe::event::Path;
use crate::state::head::Side;

/// Copies below this many bytes are not spoken of as slow, nor looked at to learn how fast pinned ones are: what they take
/// is mostly the call.
pub const LARGE: u64 = 64 << 10;

/// Directions and paths.
const LANES: usize = 6;

/// Bytes and the time that they took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Bytes.
    pub bytes: u64,
    /// Time.
    pub time: Time,
}

impl Cost {
    /// None at all.
    pub const NOTHING: Cost = Cost { bytes: 0, time: Time::NONE };
}

/// Nanoseconds, or why there are none: in one word, since every object keeps some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(u64);

impl Time {
    /// It is not time that would be saved.
    pub const NONE: Time = Time(u64::MAX);

    const LEAST_LANE: u64 = u64::MAX - LANES as u64;

    /// That many nanoseconds.
    pub fn measured(nanoseconds: u64) -> Time {
        Time(nanoseconds.min(Self::LEAST_LANE - 1))
    }

    /// That of a copy on a stream, which only the driver knows.
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

    /// The nanoseconds that `bytes` take; `None` if nothing was measured.
    fn price(&self, bytes: u64) -> Option<u64> {
        let product = u128::from(bytes) * u128::from(self.nanoseconds);
        product.checked_div(u128::from(self.bytes)).map(|price| u64::try_from(price).unwrap_or(u64::MAX))
    }
}

/// How fast this run's copies were.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    all: [Measured; LANES],
    /// Those of [`LARGE`] and more.
    large: [Measured; LANES],
}

impl Rates {
    /// Nothing was measured yet.
    pub const NEW: Rates = Rates { all: [Measured::NONE; LANES], large: [Measured::NONE; LANES] };

    /// Learns from a copy that was waited for.
    pub fn learn(&mut self, to: Side, path: Path, bytes: u64, nanoseconds: u64) {
        self.all[lane(to, path)].add(bytes, nanoseconds);
        if bytes >= LARGE {
            self.large[lane(to, path)].add(bytes, nanoseconds);
        }
    }

    /// What `bytes` take from or to pinned memory.
    pub fn pinned(&self, to: Side, bytes: u64) -> Option<u64> {
        self.large[lane(to, Path::Pinned)].price(bytes)
    }
}

/// The time of many.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    measured: u64,
    /// Bytes on streams.
    on_stream: [u64; LANES],
    is_none: bool,
}

impl Times {
    /// One more.
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

    /// In nanoseconds; `None` if some of it is not known.
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
