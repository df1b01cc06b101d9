//! The random walks of all suites: numbers that follow from a seed. Each suite has its own oracle.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators"). Where a test panics, its seed and the
/// count of numbers drawn are printed.
pub struct Random {
    state: u64,
    seed: u64,
    drawn: u64,
}

impl Random {
    pub fn new(seed: u64, stream: u64) -> Random {
        let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03);
        Random { state, seed, drawn: 0 }
    }

    pub fn next(&mut self) -> u64 {
        self.drawn += 1;
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("random walk from seed {}, after {} numbers", self.seed, self.drawn);
        }
    }
}
