//! Options of all commands that print a report.

use clap::Args;

#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Shown {
    /// Show everything: the account, all work, all advice.
    #[arg(long)]
    pub details: bool,
    /// Say which batch fits in this much memory, such as 8G [default: the narrowest of the process's limits].
    #[arg(long, value_name = "BYTES", value_parser = room)]
    pub fit: Option<u64>,
}

/// As the library's settings are written: digits, then K, M, G or T if wanted.
pub fn number_of_bytes(text: &str) -> Option<u64> {
    let unit =
        text.bytes().last().and_then(|letter| b"KMGT".iter().position(|unit| *unit == letter.to_ascii_uppercase()));
    let digits = &text[..text.len() - usize::from(unit.is_some())];
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(1 << (10 * unit.map_or(0, |unit| unit + 1)))
}

fn room(text: &str) -> Result<u64, String> {
    let bytes = number_of_bytes(text).filter(|&bytes| bytes > 0);
    bytes.ok_or_else(|| "give digits, and K, M, G or T if you like: 8G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_written_as_in_the_settings() {
        assert_eq!(["17", "4K", "2m", "8G", "1T"].map(room), [17, 4 << 10, 2 << 20, 8 << 30, 1 << 40].map(Ok));
        for bad in ["", "G", "0", "-1", "1.5G", "1GB", "8é", "99999999999T"] {
            assert!(room(bad).is_err(), "{bad}");
        }
    }
}
