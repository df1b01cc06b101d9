//! The places of an array's values in the file: packed, or with a tag before each.

use crate::allocate;
use crate::error::Error;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    /// Number of the first value.
    first: u64,
    /// Offset of the first value in the file.
    at: u64,
    /// Bytes from one value to the next.
    step: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks {
    runs: Vec<Chunk>,
    count: u64,
}

/// Values that are evenly spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub at: u64,
    pub count: u64,
    pub step: u64,
}

impl Chunks {
    pub fn of(run: Run) -> Result<Self, Error> {
        let mut chunks = Self::default();
        chunks.push(run)?;
        Ok(chunks)
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn push(&mut self, run: Run) -> Result<(), Error> {
        if run.count == 0 {
            return Ok(());
        }
        if !self.continues(run) {
            allocate::reserve_one(&mut self.runs)?;
            self.runs.push(Chunk { first: self.count, at: run.at, step: run.step });
        }
        self.count += run.count;
        Ok(())
    }

    /// Whether `push` adds the run to the last chunk, without an allocation.
    pub fn continues(&self, run: Run) -> bool {
        let expected = |last: &Chunk| last.at.checked_add((self.count - last.first).checked_mul(last.step)?);
        self.runs.last().is_some_and(|last| last.step == run.step && expected(last) == Some(run.at))
    }

    /// The longest run of at most `most` values from `first` on.
    pub fn run(&self, first: u64, most: u64) -> Option<Run> {
        if first >= self.count {
            return None;
        }
        let next = self.runs.partition_point(|chunk| chunk.first <= first);
        let chunk = self.runs.get(next.checked_sub(1)?)?;
        let end = self.runs.get(next).map_or(self.count, |next| next.first);
        let skipped = first - chunk.first;
        Some(Run { at: chunk.at + skipped * chunk.step, count: most.min(end - first), step: chunk.step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(runs: &[Run]) -> Chunks {
        let mut chunks = Chunks::default();
        runs.iter().for_each(|run| assert!(chunks.push(*run).is_ok()));
        chunks
    }

    #[test]
    fn runs_that_follow_each_other_become_one_and_any_value_is_found() {
        let chunks = of(&[
            Run { at: 10, count: 3, step: 4 },
            Run { at: 22, count: 2, step: 4 },
            Run { at: 40, count: 1, step: 5 },
            Run { at: 45, count: 1, step: 5 },
            Run { at: 99, count: 0, step: 4 },
            Run { at: 60, count: 2, step: 4 },
        ]);
        assert_eq!((chunks.count(), chunks.runs.len()), (9, 3));
        assert_eq!(chunks.run(1, 10), Some(Run { at: 14, count: 4, step: 4 }));
        assert_eq!(chunks.run(4, 10), Some(Run { at: 26, count: 1, step: 4 }));
        assert_eq!(chunks.run(6, 10), Some(Run { at: 45, count: 1, step: 5 }));
        assert_eq!(chunks.run(7, 1), Some(Run { at: 60, count: 1, step: 4 }));
        assert_eq!(chunks.run(9, 1), None);
        // The next value follows at once, but with another step.
        let chunks = of(&[Run { at: 10, count: 1, step: 6 }, Run { at: 16, count: 2, step: 4 }]);
        assert_eq!(chunks.run(2, 1), Some(Run { at: 20, count: 1, step: 4 }));
    }
}
