//! Runs each fuzz target on its corpus, and for seconds on damaged files of it: the part of fuzzing that every run of the tests has.
//! `SYNCEDMEM_TEST_FUZZ` says how many seconds each target has, by default 3, and `SYNCEDMEM_TEST_SEED` which damage.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs::{self, File};
use std::io::Write;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::stdio::{dup2_stderr, dup2_stdout};

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound.max(1)
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let from = self.below(length + 1);
        from..from + self.below((length - from).min(600) + 1)
    }

    /// Changes a few places of a file. Most of what can go wrong is near its begin.
    fn damage(&mut self, file: &mut Vec<u8>, other: &[u8]) {
        const BYTES: [u8; 13] = [0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x2a, 0x3a, 0x08, 0x28, 0x0b, 0x0c];
        for _ in 0..=self.below(4) {
            let end = if self.below(2) == 0 { file.len().min(2048) } else { file.len() };
            let at = self.below(end);
            let part = match self.below(8) {
                0 => vec![file.get(at).unwrap_or(&0) ^ 1 << self.below(8)],
                1 => vec![BYTES[self.below(BYTES.len())]],
                2 => (u64::MAX >> self.below(64)).to_le_bytes().to_vec(),
                3 => vec![0; self.below(600)],
                4 => file[self.range(file.len())].to_vec(),
                5 => other[self.range(other.len())].to_vec(),
                6 => file.drain(at..).take(0).collect(),
                _ => file.drain(self.range(file.len())).take(0).collect(),
            };
            let at = at.min(file.len());
            // The part is inserted, or takes the place of as many bytes.
            let replaced = if self.below(3) == 0 { 0 } else { part.len() };
            drop(file.splice(at..(at + replaced).min(file.len()), part));
        }
    }
}

fn main() -> ExitCode {
    let variable = |name, default| std::env::var(name).map_or(default, |number| number.parse().unwrap());
    let (seconds, seed) = (variable("SYNCEDMEM_TEST_FUZZ", 3), variable("SYNCEDMEM_TEST_SEED", 1));
    let mut report = File::from(rustix::io::fcntl_dupfd_cloexec(std::io::stdout(), 3).unwrap());
    let silence = File::options().write(true).open("/dev/null").unwrap();
    dup2_stdout(&silence).and_then(|()| dup2_stderr(&silence)).unwrap();
    // Beyond what the program has at its start.
    let limit = Rlimit { current: Some(1 << 30), ..getrlimit(Resource::As) };
    setrlimit(Resource::As, limit).unwrap();
    let targets = [
        ("model", syncedmem_fuzz::model as fn(&[u8])),
        ("arrays", syncedmem_fuzz::arrays),
        ("recording", syncedmem_fuzz::recording),
        ("program", syncedmem_fuzz::program),
        ("encoding", syncedmem_fuzz::encoding),
    ];
    let mut failed = 0;
    for (name, target) in targets {
        let folder = fs::read_dir(format!("{}/corpus/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let corpus: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        let (mut random, start, mut files, mut slowest) = (Random(seed), Instant::now(), 0, Duration::ZERO);
        while files < corpus.len() || start.elapsed() < Duration::from_secs(seconds) {
            let mut file = corpus[if files < corpus.len() { files } else { random.below(corpus.len()) }].clone();
            if files >= corpus.len() {
                let other = random.below(corpus.len());
                random.damage(&mut file, &corpus[other]);
            }
            let begin = Instant::now();
            if catch_unwind(|| target(&file)).is_err() {
                let found = std::env::temp_dir().join(format!("fuzz-{name}-{files}"));
                fs::write(&found, &file).unwrap();
                writeln!(report, "{name}: file {files} fails: {}", found.display()).unwrap();
                failed += 1;
                break;
            }
            slowest = slowest.max(begin.elapsed());
            files += 1;
        }
        writeln!(report, "{name}: {files} files, at most {slowest:?} each").unwrap();
        failed += usize::from(slowest > Duration::from_secs(20));
    }
    writeln!(report, "test result: {} passed; {failed} failed", targets.len() - failed.min(targets.len())).unwrap();
    ExitCode::from(u8::from(failed > 0))
}
