//! The instructions that are written over the entry of a function.

/// `endbr64`, where a processor with indirect branch tracking lets a call by pointer arrive.
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
const FAR: usize = 14;

/// A jump with the landing mark that the function had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Jump {
    bytes: [u8; ENDBR64.len() + FAR],
    length: usize,
}

/// Where a jump is written: libsyncedmem_names.so gives libsyncedmem its own.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Site {
    pub address: usize,
    /// Of the entry in the file.
    pub offset: usize,
    /// Bytes that must be those of the file.
    pub room: usize,
    pub jump: Jump,
}

impl Jump {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn behind(old: &[u8]) -> Jump {
        let mut jump = Jump { bytes: [0; ENDBR64.len() + FAR], length: 0 };
        if old.starts_with(&ENDBR64) {
            jump.push(&ENDBR64);
        }
        jump
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// `jmp *(%rip)`, and the address behind it: it reaches any address and changes no register.
    pub fn far(old: &[u8], to: usize) -> Jump {
        let mut jump = Jump::behind(old);
        jump.push(&[0xff, 0x25, 0, 0, 0, 0]);
        jump.push(&(to as u64).to_le_bytes());
        jump
    }

    /// `jmp` with an offset; `None` beyond 2 GiB.
    pub fn near(old: &[u8], at: usize, to: usize) -> Option<Jump> {
        let mut jump = Jump::behind(old);
        let next = at + jump.length + 5;
        let offset = i32::try_from((to as i64).wrapping_sub(next as i64)).ok()?;
        jump.push(&[0xe9]);
        jump.push(&offset.to_le_bytes());
        Some(jump)
    }
}

/// Bytes from the entry that no other function uses: the function's own, and the padding behind it up to the next multiple of 16,
/// to which compilers align functions. `code` begins at the entry.
pub fn room(code: &[u8], address: u64, size: usize) -> usize {
    let padded = (address + size as u64).next_multiple_of(16) - address;
    let is_padded = code.get(size..padded as usize).is_some_and(is_padding);
    if is_padded { padded as usize } else { size.min(code.len()) }
}

/// `nop` in all its lengths, or `int3`.
pub fn is_padding(bytes: &[u8]) -> bool {
    let begins = bytes.first().is_none_or(|first| [0x90, 0xcc, 0x66, 0x0f, 0x2e].contains(first));
    let is_part = |byte: &u8| [0x90, 0xcc, 0x66, 0x0f, 0x2e, 0x1f, 0x00, 0x40, 0x44, 0x80, 0x84].contains(byte);
    begins && bytes.iter().all(is_part)
}

/// Whether a function that begins with these bytes does nothing but return, and padding follows: such is the function that a dynamic
/// linker calls for debuggers. `bytes` ends with the padding.
pub fn only_returns(bytes: &[u8]) -> bool {
    let rest = bytes.strip_prefix(&ENDBR64).unwrap_or(bytes);
    // With the prefix that older compilers give it.
    let rest = rest.strip_prefix(&[0xf3]).unwrap_or(rest);
    rest.strip_prefix(&[0xc3]).is_some_and(is_padding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_landing_mark_stays_before_the_jump() {
        let plain = Jump::far(&[0x53], 0x1122_3344_5566_7788);
        assert_eq!(plain.bytes(), [0xff, 0x25, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
        let marked = Jump::far(&[0xf3, 0x0f, 0x1e, 0xfa, 0x53], 0x1122_3344_5566_7788);
        assert_eq!((&marked.bytes()[..4], &marked.bytes()[4..]), (&ENDBR64[..], plain.bytes()));
    }

    #[test]
    fn a_near_jump_reaches_two_gigabytes_in_both_directions() {
        let offset = |at: usize, to: usize| Some(Jump::near(&[0xc3], at, to)?.bytes()[1..].to_vec());
        assert_eq!(offset(0x1000, 0x1005), Some(vec![0, 0, 0, 0]));
        assert_eq!(offset(0x1000, 0x1000), Some(vec![0xfb, 0xff, 0xff, 0xff]));
        assert_eq!(offset(0x1000, 0x1004 + (1 << 31)), Some(vec![0xff, 0xff, 0xff, 0x7f]));
        assert_eq!(offset(0x1000, 0x1005 + (1 << 31)), None);
        assert_eq!(offset(0x7f00_0000_0000, 0x5500_0000_0000), None);
    }

    #[test]
    fn only_padding_makes_more_room() {
        let returns = |rest: &[u8]| [&[0xc3][..], rest].concat();
        let nops = [0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0x00];
        assert_eq!(room(&returns(&nops), 0x40, 1), 16);
        assert_eq!(room(&returns(&[0xcc; 15]), 0x40, 1), 16);
        assert_eq!(room(&returns(&[0x53; 15]), 0x40, 1), 1, "another function follows");
        assert_eq!(room(&[0x53; 16], 0x40, 16), 16);
        assert_eq!(room(&[0x53; 8], 0x40, 16), 8, "the file ends");
    }

    #[test]
    fn the_linkers_function_for_debuggers_is_recognised_and_no_other() {
        for good in [&[0xc3][..], &[0xf3, 0xc3, 0x90], &[0xf3, 0x0f, 0x1e, 0xfa, 0xc3, 0x66, 0x90]] {
            assert!(only_returns(good), "{good:x?}");
        }
        for bad in [&[][..], &[0xcc, 0xc3], &[0xe9, 0, 0, 0, 0], &[0xc3, 0x53], &[0x31, 0xc0, 0xc3]] {
            assert!(!only_returns(bad), "{bad:x?}");
        }
    }
}
