//! Words that wait, in fewer bytes: as runs of equal words, as a bit for each word and the words that are not zero, or as the differences to
//! the smallest of 32 words. Words are compared as bits, so that -0 and every NaN come back as they were. Pure.

/// How words are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The word and the length of each run of equal words.
    Runs,
    /// A bit for each word, then each word that is not zero.
    Zeros,
    /// The bits of a difference in each block of 32 words, a byte each; then each block's smallest word and the differences to it.
    Small,
}

/// An encoding and the words that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub encoding: Encoding,
    pub words: usize,
}

/// Words in a block.
const BLOCK: usize = u32::BITS as usize;

/// The smallest encoding. `None` if none saves a fifth of the words.
pub fn choose(words: &[u32]) -> Option<Choice> {
    let promises = Promises::of(words);
    let bitmap = words.len().div_ceil(BLOCK);
    let runs = promises.runs.then(|| Choice { encoding: Encoding::Runs, words: 2 * count_runs(words) });
    // Nothing is much smaller than long runs.
    let are_long = runs.is_some_and(|runs| runs.words <= bitmap);
    let choices = [
        runs,
        (promises.zeros && !are_long)
            .then(|| Choice { encoding: Encoding::Zeros, words: bitmap + words.len() - count(words, 0) }),
        (promises.small && !are_long).then(|| Choice { encoding: Encoding::Small, words: count_small(words) }),
    ];
    let best = choices.into_iter().flatten().min_by_key(|choice| choice.words)?;
    (best.words < words.len() && best.words <= words.len() - words.len() / 5 && words.len() <= u32::MAX as usize)
        .then_some(best)
}

/// Which encodings may be worth it, by a few samples: a few reads show that most contents cannot be encoded.
struct Promises {
    zeros: bool,
    runs: bool,
    small: bool,
}

impl Promises {
    fn of(words: &[u32]) -> Promises {
        const SAMPLES: usize = 64;
        if words.len() < SAMPLES * BLOCK {
            return Promises { zeros: true, runs: true, small: true };
        }
        let samples = words.chunks(words.len() / SAMPLES).filter_map(|part| part.first_chunk::<BLOCK>());
        let (mut zeros, mut equals, mut small) = (0, 0, 0);
        for sample in samples {
            zeros += count(sample, 0);
            equals += BLOCK - count_runs(sample);
            small += BLOCK - count_small(sample).min(BLOCK);
        }
        let all = SAMPLES * BLOCK;
        Promises { zeros: zeros >= all / 8, runs: equals >= all * 2 / 5, small: small >= all / 8 }
    }
}

fn count(words: &[u32], wanted: u32) -> usize {
    // Sums of few words fit 32 bits, which the compiler vectorises better.
    words.chunks(1 << 16).map(|part| part.iter().map(|&word| u32::from(word == wanted)).sum::<u32>() as usize).sum()
}

fn count_runs(words: &[u32]) -> usize {
    let next = words.get(1..).unwrap_or_default();
    let changes = words.chunks(1 << 16).zip(next.chunks(1 << 16));
    let of_part =
        |(one, next): (&[u32], &[u32])| one.iter().zip(next).map(|(one, next)| u32::from(one != next)).sum::<u32>();
    usize::from(!words.is_empty()) + changes.map(|part| of_part(part) as usize).sum::<usize>()
}

fn count_small(words: &[u32]) -> usize {
    let widths = words.len().div_ceil(BLOCK).div_ceil(4);
    widths + words.chunks(BLOCK).map(|block| 1 + smallest_and_bits(block).1).sum::<usize>()
}

/// The smallest word, and the bits of the largest difference to it.
fn smallest_and_bits(block: &[u32]) -> (u32, usize) {
    let (smallest, largest) = block.iter().fold((u32::MAX, 0), |(low, high), &word| (low.min(word), high.max(word)));
    (smallest, (u32::BITS - largest.wrapping_sub(smallest).leading_zeros()) as usize)
}

/// Encodes `words` into `to`, which has the words of the choice.
pub fn encode(encoding: Encoding, words: &[u32], to: &mut [u32]) {
    let blocks = words.len().div_ceil(BLOCK);
    match encoding {
        Encoding::Runs => {
            let runs = words.chunk_by(|one, next| one == next);
            for (pair, run) in to.chunks_exact_mut(2).zip(runs) {
                pair.copy_from_slice(&[run[0], run.len() as u32]);
            }
        }
        Encoding::Zeros => {
            let (bitmap, others) = to.split_at_mut(blocks.min(to.len()));
            let mut others = others.iter_mut();
            for (bits, part) in bitmap.iter_mut().zip(words.chunks(BLOCK)) {
                let is_zero = |word| word == 0 || cfg!(syncedmem_fault = "-0 is taken for 0") && word == 1 << 31;
                *bits = part.iter().enumerate().fold(0, |bits, (at, &word)| bits | u32::from(!is_zero(word)) << at);
                for (at, other) in set_bits(*bits).zip(&mut others) {
                    *other = part[at];
                }
            }
        }
        Encoding::Small => {
            let (widths, mut rest) = to.split_at_mut(blocks.div_ceil(4).min(to.len()));
            widths.fill(0);
            for (number, block) in words.chunks(BLOCK).enumerate() {
                let (smallest, bits) = smallest_and_bits(block);
                let Some((head, others)) = rest.split_at_mut_checked(1 + bits) else { return };
                widths[number / 4] |= (bits as u32) << (number % 4 * 8);
                head.fill(0);
                head[0] = smallest;
                for (at, &word) in block.iter().enumerate() {
                    let (difference, first) = (u64::from(word.wrapping_sub(smallest)), at * bits);
                    let shifted = difference << (first % BLOCK);
                    for (word, part) in
                        head[1..].iter_mut().skip(first / BLOCK).zip([shifted as u32, (shifted >> 32) as u32])
                    {
                        *word |= part;
                    }
                }
                rest = others;
            }
        }
    }
}

/// Decodes words from the first to the last, a part at a time.
pub struct Decoder<'e> {
    encoding: Encoding,
    /// Bits or widths of the blocks.
    heads: &'e [u32],
    rest: &'e [u32],
    /// The number of the next block.
    block: usize,
    /// The words of the present block, of which those from `at` on are left.
    words: [u32; BLOCK],
    at: usize,
    /// The words of the present run that are left.
    run: (u32, usize),
}

impl<'e> Decoder<'e> {
    /// `encoded` has so many words.
    pub fn new(encoding: Encoding, encoded: &'e [u32], words: usize) -> Decoder<'e> {
        let blocks = words.div_ceil(BLOCK);
        let heads = match encoding {
            Encoding::Runs => 0,
            Encoding::Zeros => blocks,
            Encoding::Small => blocks.div_ceil(4),
        };
        let (heads, rest) = encoded.split_at(heads.min(encoded.len()));
        Decoder { encoding, heads, rest, block: 0, words: [0; BLOCK], at: BLOCK, run: (0, 0) }
    }

    /// The next words.
    pub fn fill(&mut self, words: &mut [u32]) {
        let mut rest = words;
        while !rest.is_empty() {
            let taken = match self.encoding {
                Encoding::Runs => self.fill_run(rest),
                _ if self.at == BLOCK && rest.len() >= BLOCK => {
                    // A whole block needs no copy.
                    let Some(block) = rest.first_chunk_mut::<BLOCK>() else { return };
                    self.next_block(block);
                    BLOCK
                }
                _ => {
                    if self.at == BLOCK {
                        let mut block = [0; BLOCK];
                        self.next_block(&mut block);
                        (self.words, self.at) = (block, 0);
                    }
                    let taken = rest.len().min(BLOCK - self.at);
                    rest[..taken].copy_from_slice(&self.words[self.at..self.at + taken]);
                    self.at += taken;
                    taken
                }
            };
            if taken == 0 {
                return;
            }
            rest = &mut rest[taken..];
        }
    }

    /// Whether the next words are these.
    pub fn are_next(&mut self, words: &[u32]) -> bool {
        let mut decoded = [0; 32 * BLOCK];
        words.chunks(decoded.len()).all(|part| {
            let decoded = &mut decoded[..part.len()];
            self.fill(decoded);
            decoded == part
        })
    }

    fn fill_run(&mut self, words: &mut [u32]) -> usize {
        if self.run.1 == 0 {
            let Some((&[word, length], rest)) = self.rest.split_first_chunk() else { return 0 };
            (self.run, self.rest) = ((word, length as usize), rest);
        }
        let taken = words.len().min(self.run.1);
        words[..taken].fill(self.run.0);
        self.run.1 -= taken;
        taken
    }

    fn next_block(&mut self, block: &mut [u32; BLOCK]) {
        let number = self.block;
        self.block += 1;
        block.fill(0);
        if self.encoding == Encoding::Zeros {
            let number = number + usize::from(cfg!(syncedmem_fault = "the bitmap is off by one"));
            let bits = self.heads.get(number).copied().unwrap_or(0);
            let (others, rest) = self.rest.split_at(self.rest.len().min(bits.count_ones() as usize));
            for (at, &other) in set_bits(bits).zip(others) {
                block[at] = other;
            }
            self.rest = rest;
            return;
        }
        let bits =
            self.heads.get(number / 4).map_or(0, |widths| (widths >> (number % 4 * 8) & 0xFF) as usize).min(BLOCK);
        let Some((head, rest)) = self.rest.split_at_checked(1 + bits) else { return };
        self.rest = rest;
        let (smallest, packed) = (head[0], &head[1..]);
        let mask = (1u64 << bits) - 1;
        for (at, word) in block.iter_mut().enumerate() {
            let first = at * bits;
            let part = |number: usize| u64::from(packed.get(first / BLOCK + number).copied().unwrap_or(0));
            let difference = (part(0) | part(1) << 32) >> (first % BLOCK) & mask;
            *word = smallest.wrapping_add(difference as u32);
        }
    }
}

/// The numbers of the bits that are set, from the lowest on.
fn set_bits(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(words: &[u32]) -> Option<(Choice, Vec<u32>)> {
        let choice = choose(words)?;
        let mut encoded = vec![0xAAAA_AAAA; choice.words];
        encode(choice.encoding, words, &mut encoded);
        let mut decoded = vec![0x5555_5555; words.len()];
        Decoder::new(choice.encoding, &encoded, words.len()).fill(&mut decoded);
        assert!(Decoder::new(choice.encoding, &encoded, words.len()).are_next(words));
        Some((choice, decoded))
    }

    /// xorshift
    fn random(mut state: u32) -> impl FnMut() -> u32 {
        move || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        }
    }

    #[test]
    fn words_come_back_as_they_were_whatever_their_number() {
        let special = [0, 0, 0, 0x8000_0000, 0x7FC0_0001, 0x7F80_0000, 1, u32::MAX];
        let mut next = random(7);
        for length in (1..130).chain([2047, 2048, 2049, 4096, 100_003]) {
            let words: Vec<u32> = (0..length).map(|_| special[next() as usize % special.len()]).collect();
            let small = (0..length as u32).map(|at| at.wrapping_sub(20).wrapping_add(next() % 300)).collect();
            for words in [words.clone(), small, vec![0; length], vec![0x8000_0000; length], vec![7; length]] {
                if let Some((choice, decoded)) = back(&words) {
                    assert_eq!(decoded, words, "{length} {choice:?}");
                }
            }
        }
    }

    #[test]
    fn the_smallest_encoding_is_chosen() {
        let mut next = random(3);
        let mostly_zeros: Vec<u32> = (0..32_000).map(|_| if next() % 2 == 0 { 0 } else { next() | 1 }).collect();
        let others = mostly_zeros.iter().filter(|&&word| word != 0).count();
        let mask: Vec<u32> = (0..32_000).map(|_| next() % 2).collect();
        // The largest of a block's 32 words is 31 + 3 * 31 more than the smallest.
        let indices: Vec<u32> = (0..32_000).map(|at| at + at % 32 * 3).collect();
        let constants: Vec<u32> = (0..32_000).map(|at| 0x3F80_0000 + at / 1000).collect();
        for (words, encoding, taken) in [
            (&mostly_zeros, Encoding::Zeros, 1000 + others),
            (&mask, Encoding::Small, 250 + 1000 * 2),
            (&indices, Encoding::Small, 250 + 1000 * 8),
            (&constants, Encoding::Runs, 64),
            (&vec![0; 32_000], Encoding::Runs, 2),
        ] {
            assert_eq!(back(words), Some((Choice { encoding, words: taken }, words.clone())));
        }
    }

    #[test]
    fn words_that_would_not_become_a_fifth_fewer_are_left_as_they_are() {
        let mut next = random(11);
        let mut words = move |zeros_in_100| -> Vec<u32> {
            (0..32_000).map(|_| if next() % 100 < zeros_in_100 { 0 } else { next() | 1 }).collect()
        };
        assert_eq!(choose(&words(0)), None);
        assert_eq!(choose(&words(20)), None);
        assert!(choose(&words(30)).is_some());
        assert_eq!(choose(&[]), None);
        assert_eq!(choose(&[0]), None);
    }

    #[test]
    fn words_are_decoded_in_parts_of_any_length() {
        let mut next = random(13);
        let mostly_zeros = (0..5000).map(|_| if next() % 3 == 0 { next() } else { 0 }).collect::<Vec<u32>>();
        for words in [mostly_zeros, (0..5000).map(|at| at * 3).collect(), (0..5000).map(|at| at / 100).collect()] {
            let choice = choose(&words).unwrap();
            let mut encoded = vec![0; choice.words];
            encode(choice.encoding, &words, &mut encoded);
            let mut decoder = Decoder::new(choice.encoding, &encoded, words.len());
            let (mut decoded, mut at) = (vec![0; words.len()], 0);
            while at < decoded.len() {
                let end = decoded.len().min(at + next() as usize % 100);
                decoder.fill(&mut decoded[at..end]);
                at = end;
            }
            assert_eq!(decoded, words, "{choice:?}");
            let mut decoder = Decoder::new(choice.encoding, &encoded, words.len());
            let mut other = words.clone();
            other[4000] ^= 0x8000_0000;
            assert!(decoder.are_next(&other[..4000]) && !decoder.are_next(&other[4000..]), "{choice:?}");
        }
    }

    #[test]
    fn damaged_bytes_decode_to_some_words_without_a_panic() {
        let mut next = random(5);
        for encoding in [Encoding::Runs, Encoding::Zeros, Encoding::Small] {
            for length in [0, 1, 3, 40, 300] {
                let from: Vec<u32> = (0..length).map(|_| next() % 100).collect();
                Decoder::new(encoding, &from, 100).fill(&mut [0; 100]);
            }
        }
    }
}
