//! Options of all commands that print a report.

use std::num::NonZero;

use clap::Args;
use syncedmem_limits as limits;

use crate::doctor::machine;

#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Shown {
    /// Show everything: the account, all work, all advice.
    #[arg(long)]
    pub details: bool,
    /// Say which batch fits in this much memory, such as 8G [default: the control group's limit, or the machine's memory].
    #[arg(long, value_name = "BYTES", value_parser = room)]
    pub fit: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub bytes: u64,
    pub whose: &'static str,
}

impl Shown {
    /// The memory that a batch shall fit in. A device's is known only from --fit.
    pub fn room(&self, is_device: bool) -> Option<Room> {
        if let Some(bytes) = self.fit {
            return Some(Room { bytes, whose: "" });
        }
        if is_device {
            return None;
        }
        let machine = machine::of_machine("MemTotal:");
        match limits::cgroup().map(NonZero::get).filter(|&limit| machine.is_none_or(|machine| limit < machine)) {
            Some(bytes) => Some(Room { bytes, whose: "the control group's " }),
            None => Some(Room { bytes: machine?, whose: "this machine's " }),
        }
    }
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

    #[test]
    fn the_memory_that_was_asked_for_goes_before_the_machines() {
        let asked = Shown { fit: Some(5), ..Shown::default() };
        assert_eq!([true, false].map(|device| asked.room(device)), [Some(Room { bytes: 5, whose: "" }); 2]);
        assert_eq!(Shown::default().room(true), None, "the memory of a device is not known");
    }
}
