//! Text in fixed buffers. Nothing allocates, so an error can be reported when memory has run out.

use std::ffi::CStr;
use std::fmt::{self, Write};

/// Up to `N - 1` bytes of UTF-8 and a NUL. Longer text is cut at a character and ends in `...`.
#[derive(Clone, Copy)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

const CUT: &[u8] = b"...";

impl<const N: usize> Text<N> {
    pub const fn new() -> Self {
        Text { bytes: [0; N], len: 0 }
    }

    pub fn of(arguments: fmt::Arguments<'_>) -> Self {
        let mut text = Text::new();
        let _ = text.write_fmt(arguments);
        text
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub fn as_bytes_with_nul(&self) -> &[u8] {
        &self.bytes[..=self.len]
    }

    /// Up to its first NUL.
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(self.as_bytes_with_nul()).unwrap_or_default()
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = N - 1 - self.len;
        if more.len() <= room {
            self.bytes[self.len..self.len + more.len()].copy_from_slice(more.as_bytes());
            self.len += more.len();
            return Ok(());
        }
        let mut fits = room.saturating_sub(CUT.len());
        while !more.is_char_boundary(fits) {
            fits -= 1;
        }
        self.bytes[self.len..self.len + fits].copy_from_slice(&more.as_bytes()[..fits]);
        let end = (self.len + fits).min(N - 1 - CUT.len());
        self.bytes[end..end + CUT.len()].copy_from_slice(CUT);
        self.len = end + CUT.len();
        Err(fmt::Error)
    }
}

impl<const N: usize> AsRef<str> for Text<N> {
    fn as_ref(&self) -> &str {
        // Only whole characters are written, but `...` may replace part of one.
        let bytes = self.as_bytes();
        std::str::from_utf8(bytes).unwrap_or_else(|e| std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or(""))
    }
}

/// Whether a character steers a terminal, starts a line, or turns the order in which a line is shown (Bidi_Control of Unicode's
/// UAX 9): text with it may look like another.
pub fn is_steering(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

/// Foreign text, with steering characters and invalid bytes escaped as in C.
#[derive(Clone, Copy)]
pub struct Escaped<'t>(pub &'t [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\n' | '\r' | '\t' => write!(f, "{}", c.escape_default())?,
                    c if c.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(c))?,
                    c if is_steering(c) => write!(f, "\\u{:04x}", u32::from(c))?,
                    c => f.write_char(c)?,
                }
            }
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

/// For messages: `158297088 bytes (151.0 MiB)`.
#[derive(Clone, Copy)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match binary(self.0) {
            None => write!(f, "{} bytes", self.0),
            Some((tenths, unit)) => write!(f, "{} bytes ({}.{} {unit})", self.0, tenths / 10, tenths % 10),
        }
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_ref())
    }
}

/// For tables: `151.0 MiB`.
#[derive(Clone, Copy)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match binary(self.0) {
            None => write!(f, "{} B", self.0),
            Some((tenths, unit)) => write!(f, "{}.{} {unit}", tenths / 10, tenths % 10),
        }
    }
}

/// Nanoseconds, for tables: `3.2 ms`.
#[derive(Clone, Copy)]
pub struct Duration(pub u64);

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What rounds to 1 of the next unit has that one.
        let (scale, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..999_950 => (1_000, "us"),
            999_950..999_950_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let tenths = (u128::from(self.0) * 10 + scale / 2) / scale;
        write!(f, "{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

/// Tenths, rounded, of the largest binary unit that it reaches; `None` below 1024 bytes.
fn binary(bytes: u64) -> Option<(u128, &'static str)> {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let reached = (1..=UNITS.len()).rev().find(|power| bytes >> (10 * power) > 0)?;
    let tenths = |power: usize| ((u128::from(bytes) * 10) + (1 << (10 * power - 1))) >> (10 * power);
    let power = if tenths(reached) < 10240 { reached } else { (reached + 1).min(UNITS.len()) };
    Some((tenths(power), UNITS[power - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_does_not_fit_is_cut_at_a_character_and_says_so() {
        let text = Text::<12>::of(format_args!("{}{}", "1234567", "éééé"));
        assert_eq!(text.as_ref(), "1234567...");
        assert_eq!(text.as_bytes_with_nul().last(), Some(&0));
    }

    #[test]
    fn a_full_text_takes_no_more() {
        let mut text = Text::<8>::of(format_args!("1234567"));
        assert!(text.write_str("8").is_err());
        assert_eq!(text.as_ref(), "1234...");
    }

    #[test]
    fn text_of_anothers_begins_no_line_and_steers_no_terminal() {
        let escaped = |text: &[u8]| Text::<64>::of(format_args!("{}", Escaped(text))).as_ref().to_string();
        assert_eq!(escaped(b"conv1\n\x1b[2J\xc2\x9b\xc3\xa9\xff"), "conv1\\n\\x1b[2J\\u009b\u{e9}\\xff");
        assert_eq!(escaped(b"a\tb\x7f"), "a\\tb\\x7f");
        let turned = "fc6\u{202e}sthgiew\u{2069}\u{200f}\u{2028}";
        assert_eq!(escaped(turned.as_bytes()), "fc6\\u202esthgiew\\u2069\\u200f\\u2028");
    }

    #[test]
    fn times_and_sizes_in_tables_have_few_letters() {
        let time = |n| Text::<64>::of(format_args!("{}", Duration(n))).as_ref().to_string();
        assert_eq!(
            [0, 999, 1000, 999_949, 999_950, 1_949_999, 61_000_000_000].map(time),
            ["0 ns", "999 ns", "1.0 us", "999.9 us", "1.0 ms", "1.9 ms", "61.0 s"]
        );
        let size = |n| Text::<64>::of(format_args!("{}", Size(n))).as_ref().to_string();
        assert_eq!(
            [0, 1023, 1024, 158_297_088, (1 << 20) - 52, (1 << 20) - 51].map(size),
            ["0 B", "1023 B", "1.0 KiB", "151.0 MiB", "1023.9 KiB", "1.0 MiB"]
        );
    }

    #[test]
    fn sizes_are_told_in_bytes_and_in_readable_units() {
        let told = |n| Text::<64>::of(format_args!("{}", Bytes(n))).as_ref().to_string();
        assert_eq!(told(0), "0 bytes");
        assert_eq!(told(1023), "1023 bytes");
        assert_eq!(told(1024), "1024 bytes (1.0 KiB)");
        assert_eq!(told(158_297_088), "158297088 bytes (151.0 MiB)");
        assert_eq!(told(u64::MAX), "18446744073709551615 bytes (16.0 EiB)");
    }
}
