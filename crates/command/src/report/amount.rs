//! Amounts for the page.

use std::fmt;

use syncedmem_core::text::Size;
use syncedmem_trace::account::Sum;

/// `101,486`
#[derive(Clone, Copy)]
pub struct Count(pub u64);

/// `1 copy`, `2 copies`
#[derive(Clone, Copy)]
pub struct Counted(pub u64, pub &'static str, pub &'static str);

/// `11.3 GiB/s`; a dash if no time was measured, or nothing has bytes.
#[derive(Clone, Copy)]
pub struct Rate {
    pub bytes: u64,
    pub nanoseconds: u64,
}

/// `48.1 %`
#[derive(Clone, Copy)]
pub struct Percent {
    pub part: u64,
    pub of: u64,
}

impl Rate {
    pub fn of(Sum { bytes, nanoseconds, .. }: Sum) -> Rate {
        Rate { bytes, nanoseconds: if bytes == 0 { 0 } else { nanoseconds } }
    }

    /// Bytes; 0: not measured.
    pub fn each_second(self) -> u64 {
        if self.nanoseconds == 0 { 0 } else { (self.bytes as f64 * 1e9 / self.nanoseconds as f64) as u64 }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} %", self.part as f64 / self.of.max(1) as f64 * 100.0)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.char_indices() {
            if place > 0 && (digits.len() - place) % 3 == 0 {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Count(self.0), if self.0 == 1 { self.1 } else { self.2 })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nanoseconds {
            0 => f.write_str("–"),
            _ => write!(f, "{}/s", Size(self.each_second())),
        }
    }
}
