use super::Jump;

/// `endbr64`, where a processor with indirect branch tracking lets a call by pointer arrive.
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

fn mark(old: &[u8]) -> &[u8] {
    if old.starts_with(&ENDBR64) { &ENDBR64 } else { &[] }
}

/// `jmp *(%rip)`, and the address behind it: 14 bytes.
pub fn far(old: &[u8], to: usize) -> Jump {
    Jump::of([mark(old), &[0xff, 0x25, 0, 0, 0, 0], &(to as u64).to_le_bytes()])
}

/// `jmp` with an offset of up to 2 GiB.
pub fn near(old: &[u8], at: usize, to: usize) -> Option<Jump> {
    let next = at + mark(old).len() + 5;
    let offset = i32::try_from((to as i64).wrapping_sub(next as i64)).ok()?;
    Some(Jump::of([mark(old), &[0xe9], &offset.to_le_bytes()]))
}

/// `nop` in all its lengths, or `int3`.
pub fn is_padding(bytes: &[u8]) -> bool {
    let begins = bytes.first().is_none_or(|first| [0x90, 0xcc, 0x66, 0x0f, 0x2e].contains(first));
    let is_part = |byte: &u8| [0x90, 0xcc, 0x66, 0x0f, 0x2e, 0x1f, 0x00, 0x40, 0x44, 0x80, 0x84].contains(byte);
    begins && bytes.iter().all(is_part)
}

/// `bytes` ends with the padding.
pub fn only_returns(bytes: &[u8]) -> bool {
    let rest = bytes.strip_prefix(&ENDBR64).unwrap_or(bytes);
    // With the prefix that older compilers give it.
    let rest = rest.strip_prefix(&[0xf3]).unwrap_or(rest);
    rest.strip_prefix(&[0xc3]).is_some_and(is_padding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jump::room_with;

    #[test]
    fn a_landing_mark_stays_before_the_jump() {
        let plain = far(&[0x53], 0x1122_3344_5566_7788);
        assert_eq!(plain.bytes(), [0xff, 0x25, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
        let marked = far(&[0xf3, 0x0f, 0x1e, 0xfa, 0x53], 0x1122_3344_5566_7788);
        assert_eq!((&marked.bytes()[..4], &marked.bytes()[4..]), (&ENDBR64[..], plain.bytes()));
    }

    #[test]
    fn a_near_jump_reaches_two_gigabytes_in_both_directions() {
        let offset = |at: usize, to: usize| Some(near(&[0xc3], at, to)?.bytes()[1..].to_vec());
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
        assert_eq!(room_with(is_padding, &returns(&nops), 0x40, 1), 16);
        assert_eq!(room_with(is_padding, &returns(&[0xcc; 15]), 0x40, 1), 16);
        assert_eq!(room_with(is_padding, &returns(&[0x53; 15]), 0x40, 1), 1, "another function follows");
        assert_eq!(room_with(is_padding, &[0x53; 16], 0x40, 16), 16);
        assert_eq!(room_with(is_padding, &[0x53; 8], 0x40, 16), 8, "the file ends");
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
