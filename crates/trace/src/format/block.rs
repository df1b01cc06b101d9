//! Gathers the records of a trace into blocks of 512 bytes. Each block is written by one call.
//!
//! In a file that grows by whole blocks, no block crosses the border of a page of its cache, or of a sector. So a write
//! is complete or absent, even if the disk is full or the process is killed during it: Linux checks for a pending
//! SIGKILL between pages, and file systems allocate whole sectors. The rest of a block is filled with spaces before the
//! last record's closing brace, where JSON permits them.

use std::fmt::{self, Write};

/// Size of a block in bytes.
pub const BLOCK: usize = 512;

/// The first block of a file: the bracket that opens the array.
pub static OPENING: [u8; BLOCK] = {
    let mut bytes = [b' '; BLOCK];
    (bytes[0], bytes[1], bytes[BLOCK - 1]) = (b'[', b'\n', b'\n');
    bytes
};

/// The end of a record.
const END: &str = "},\n";

/// The records of one event, one on each line. Aligned, so that the kernel reads all of it from one page.
#[repr(C, align(512))]
pub struct Block {
    bytes: [u8; BLOCK],
    length: usize,
}

impl Block {
    pub const fn new() -> Block {
        Block { bytes: [b' '; BLOCK], length: 0 }
    }

    /// Empties the block in place: a new one would need its own 512 bytes of stack.
    pub fn clear(&mut self) {
        self.bytes.fill(b' ');
        self.length = 0;
    }

    /// Adds a record, up to its closing brace. Returns `false`, and leaves the block as it was, if there is no room.
    pub fn add(&mut self, record: impl FnOnce(&mut Block) -> fmt::Result) -> bool {
        let before = self.length;
        let added = record(self).is_ok() && self.write_str(END).is_ok();
        if !added {
            self.length = before;
        }
        added
    }

    /// Adds text, in a tenth of the time of `write!`. Apart from the system call, formatting is most of a record's cost.
    pub fn text(&mut self, text: &str) -> Result<&mut Block, fmt::Error> {
        self.write_str(text)?;
        Ok(self)
    }

    pub fn number(&mut self, number: u64) -> Result<&mut Block, fmt::Error> {
        self.digits::<10>(number, 1)
    }

    /// Adds an address, in hexadecimal and quoted.
    pub fn address(&mut self, address: u64) -> Result<&mut Block, fmt::Error> {
        self.text("\"0x")?.digits::<16>(address, 1)?.text("\"")
    }

    /// Adds a time: nanoseconds, written as microseconds.
    pub fn time(&mut self, nanoseconds: u64) -> Result<&mut Block, fmt::Error> {
        self.number(nanoseconds / 1000)?.text(".")?.digits::<10>(nanoseconds % 1000, 3)
    }

    fn digits<const BASE: u64>(&mut self, mut number: u64, least: usize) -> Result<&mut Block, fmt::Error> {
        // The digits of u64::MAX.
        let mut digits = [b'0'; 20];
        let mut first = digits.len();
        while number > 0 || digits.len() - first < least {
            first -= 1;
            digits[first] = b"0123456789abcdef"[(number % BASE) as usize];
            number /= BASE;
        }
        self.add_bytes(&digits[first..])?;
        Ok(self)
    }

    fn add_bytes(&mut self, more: &[u8]) -> fmt::Result {
        let end = self.length + more.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(more);
        self.length = end;
        Ok(())
    }

    /// Whether it holds no record.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The whole block, with the last record's end moved to its end.
    pub fn whole(&mut self) -> &[u8] {
        if let Some(end) = self.length.checked_sub(END.len()) {
            self.bytes[end..].fill(b' ');
            self.bytes[BLOCK - END.len()..].copy_from_slice(END.as_bytes());
        }
        &self.bytes
    }
}

impl Write for Block {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.add_bytes(more.as_bytes())
    }
}

/// Text inside a JSON string, in at most that many bytes. Longer text loses its middle, because the end of a place
/// names its library.
pub struct Quoted<'t>(pub &'t str, pub usize);

/// Stands for the omitted middle.
const CUT: &str = "...";

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quoted(text, room) = *self;
        if text.chars().map(length).sum::<usize>() <= room {
            return text.chars().try_for_each(|c| escape(c, f));
        }
        let room = room.saturating_sub(CUT.len());
        let tail = fitting(text.chars().rev(), room / 3);
        let head = fitting(text.chars(), room - room / 3);
        text[..head].chars().try_for_each(|c| escape(c, f))?;
        f.write_str(CUT)?;
        text[text.len() - tail..].chars().try_for_each(|c| escape(c, f))
    }
}

/// Bytes of the longest prefix whose escaped form fits into `room` bytes.
fn fitting(text: impl Iterator<Item = char>, mut room: usize) -> usize {
    let mut bytes = 0;
    for c in text {
        let Some(left) = room.checked_sub(length(c)) else { break };
        (room, bytes) = (left, bytes + c.len_utf8());
    }
    bytes
}

/// Bytes of a character's escaped form.
fn length(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        // Control characters become one `?`: no viewer shows them.
        c if c.is_control() => 1,
        c => c.len_utf8(),
    }
}

fn escape(c: char, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match c {
        '"' | '\\' => {
            f.write_char('\\')?;
            f.write_char(c)
        }
        c if c.is_control() => f.write_char('?'),
        c => f.write_char(c),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_with_the_end_of_its_last_record() {
        let mut block = Block::new();
        assert!(block.add(|b| b.write_str("{\"a\":1")));
        assert!(block.add(|b| b.write_str("{\"b\":2")));
        let whole = std::str::from_utf8(block.whole()).unwrap();
        assert_eq!(whole.len(), BLOCK);
        let lines: Vec<&str> = whole.lines().collect();
        assert_eq!(lines[0], "{\"a\":1},");
        assert!(lines[1].starts_with("{\"b\":2   ") && lines[1].ends_with("  },"), "{lines:?}");
    }

    #[test]
    fn numbers_addresses_and_times_are_written_in_full() {
        let mut block = Block::new();
        let mut add = |write: &dyn Fn(&mut Block) -> fmt::Result| assert!(write(&mut block).is_ok());
        for number in [0, 9, 10, u64::MAX] {
            add(&|b| b.number(number)?.text(" ")?.address(number)?.text(" ")?.time(number)?.text("\n").map(drop));
        }
        assert_eq!(
            std::str::from_utf8(&block.bytes[..block.length]).unwrap(),
            "0 \"0x0\" 0.000\n9 \"0x9\" 0.009\n10 \"0xa\" 0.010\n\
             18446744073709551615 \"0xffffffffffffffff\" 18446744073709551.615\n"
        );
    }

    #[test]
    fn a_record_without_room_leaves_the_block_as_it_was() {
        let mut block = Block::new();
        assert!(block.add(|b| b.write_str("{\"a\":1")));
        let long = "x".repeat(BLOCK - "{\"a\":1},\n".len() - END.len() + 1);
        assert!(!block.add(|b| b.write_str(&long)));
        assert!(block.add(|b| b.write_str(&long[1..])), "one byte less fits");
    }

    #[test]
    fn text_is_escaped_and_loses_its_middle_where_it_is_too_long() {
        let quoted = |text: &str, room| format!("{}", Quoted(text, room));
        assert_eq!(quoted("a\"b\\c\nd", 20), "a\\\"b\\\\c?d");
        assert_eq!(quoted("abcdefghijklmno", 15), "abcdefghijklmno");
        assert_eq!(quoted("abcdefghijklmnop", 15), "abcdefgh...mnop");
        assert_eq!(quoted("ääääääääää", 13), "äää...ä");
        assert!(quoted(&"\"".repeat(100), 33).len() <= 33);
    }
}
