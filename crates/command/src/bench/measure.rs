//! Measures one action on both sides.

use std::fmt::Write;
use std::time::{Duration, Instant};

/// One run of an action. Returns the time of the measured part; `None` if memory is exhausted.
pub type Once = Box<dyn FnMut() -> Option<Duration>>;

/// Time and runs of one row.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    time: Duration,
    least: usize,
}

impl Effort {
    pub fn usual() -> Self {
        Effort { time: Duration::from_millis(900), least: 5 }
    }

    pub fn little() -> Self {
        Effort { time: Duration::ZERO, least: 2 }
    }
}

pub struct Row {
    pub name: String,
    /// The original's side, if it has that action.
    pub original: Option<Once>,
    pub library: Once,
    /// Size in bytes: the row then shows a rate instead of a time.
    pub bytes: Option<usize>,
}

impl Row {
    /// Runs both sides alternately; formats the medians.
    pub fn measure(mut self, effort: Effort) -> String {
        const MOST: usize = 20_000;
        let (mut original, mut library) = (Vec::new(), Vec::new());
        let begun = Instant::now();
        let mut failed = false;
        while !failed && library.len() < MOST && (library.len() < effort.least || begun.elapsed() < effort.time) {
            // The order alternates, because each side changes the state that the other one meets.
            let library_first = library.len() % 2 == 1;
            for is_library in [library_first, !library_first] {
                let (once, times) = match (is_library, &mut self.original) {
                    (true, _) => (&mut self.library, &mut library),
                    (false, Some(once)) => (once, &mut original),
                    (false, None) => continue,
                };
                once().map_or_else(|| failed = true, |time| times.push(time));
            }
        }
        let mut line = format!("{:<56}", self.name);
        if failed {
            line.push_str("  (there is not enough memory)");
            return line;
        }
        let (original, library) = (median(original), median(library));
        let tell = |time: Duration| match self.bytes {
            Some(bytes) => format!("{:.1} GB/s", bytes as f64 / time.as_secs_f64() / 1e9),
            None => in_words(time),
        };
        let told = [original, library].map(|time| time.map_or_else(String::new, tell));
        let _ = write!(line, "{:>12}{:>12}", told[0], told[1]);
        if let Some((original, library)) = original.zip(library) {
            line.push_str(&ratio(original, library));
        }
        line
    }
}

fn median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort();
    times.get(times.len() / 2).copied()
}

fn in_words(time: Duration) -> String {
    let nanoseconds = time.as_nanos() as f64;
    match nanoseconds {
        ..1e3 => format!("{nanoseconds:.0} ns"),
        ..1e6 => format!("{:.1} us", nanoseconds / 1e3),
        ..1e9 => format!("{:.1} ms", nanoseconds / 1e6),
        _ => format!("{:.2} s", nanoseconds / 1e9),
    }
}

/// The ratio of the times in words. A difference of up to a tenth counts as none.
fn ratio(original: Duration, library: Duration) -> String {
    let times = original.as_secs_f64() / library.as_secs_f64().max(1e-9);
    if (0.9..=1.1).contains(&times) {
        "   alike".to_owned()
    } else if times > 1.0 {
        format!("   {times:.1} times faster")
    } else {
        format!("   {:.1} times slower", 1.0 / times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_says_who_is_faster() {
        let ms = Duration::from_millis;
        assert_eq!(ratio(ms(30), ms(10)), "   3.0 times faster");
        assert_eq!(ratio(ms(10), ms(30)), "   3.0 times slower");
        assert_eq!(ratio(ms(100), ms(105)), "   alike");
    }

    #[test]
    fn both_sides_are_measured_and_the_medians_told() {
        let original: Once = Box::new(|| Some(Duration::from_micros(40)));
        let library: Once = Box::new(|| Some(Duration::from_micros(10)));
        let row = Row { name: "row".to_owned(), original: Some(original), library, bytes: None };
        let line = row.measure(Effort::little());
        assert!(line.ends_with("     40.0 us     10.0 us   4.0 times faster"), "{line}");
    }

    #[test]
    fn a_side_without_memory_is_said_and_gives_no_figure() {
        let row = Row { name: "row".to_owned(), original: None, library: Box::new(|| None), bytes: None };
        assert!(row.measure(Effort::little()).ends_with("(there is not enough memory)"));
    }
}
