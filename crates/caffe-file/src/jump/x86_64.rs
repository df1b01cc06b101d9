use super::Jump;

/// `endbr64`, the landing mark of indirect branch tracking.
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

fn mark(old: &[u8]) -> &[u8] {
    if old.starts_with(&ENDBR64) { &ENDBR64 } else { &[] }
}

/// `jmp *(%rip)` and the address: 14 bytes.
pub fn far(old: &[u8], to: usize) -> Jump {
    Jump::of([mark(old), &[0xff, 0x25, 0, 0, 0, 0], &(to as u64).to_le_bytes()])
}

pub const REACH: usize = 1 << 31;

/// `jmp` with an offset.
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
    // Older compilers give it this prefix.
    let rest = rest.strip_prefix(&[0xf3]).unwrap_or(rest);
    rest.strip_prefix(&[0xc3]).is_some_and(is_padding)
}

#[cfg(all(feature = "hooks", not(target_arch = "aarch64")))]
pub fn moved(code: &[u8]) -> Option<usize> {
    use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};

    let needed = near(code, 0, 0)?.bytes().len();
    // Any address: it is out of the way of small numbers.
    const ENTRY: u64 = 1 << 40;
    let mut decoder = Decoder::with_ip(64, code, ENTRY, DecoderOptions::NONE);
    let (mut moved, mut instruction) = (0, Instruction::default());
    while moved < needed {
        if !decoder.can_decode() {
            return None;
        }
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid()
            || instruction.is_ip_rel_memory_operand()
            || instruction.flow_control() != FlowControl::Next
        {
            return None;
        }
        moved += instruction.len();
    }
    let inside = ENTRY + 1..ENTRY + moved as u64;
    let comes_back = decoder.into_iter().any(|instruction| inside.contains(&instruction.near_branch_target()));
    (!comes_back).then_some(moved)
}

/// Moved instructions need no change: `moved` refuses those that depend on their address.
#[cfg(all(feature = "hooks", not(target_arch = "aarch64")))]
pub fn fit(_: &mut [u8], _: usize, _: usize) -> Option<()> {
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let nops = [0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0x00];
        assert!(is_padding(&nops) && is_padding(&[0xcc; 15]) && is_padding(&[]));
        assert!(!is_padding(&[0x53; 15]), "another function follows");
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

    #[cfg(all(feature = "hooks", not(target_arch = "aarch64")))]
    #[test]
    fn whole_instructions_that_a_jump_fits_over_are_moved() {
        // push rbp; mov rbp, rsp; push r15; ret
        assert_eq!(moved(&[0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0xc3]), Some(6));
        // endbr64 stays in front of the jump, and is moved, too.
        assert_eq!(moved(&[0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0xc3]), Some(10));
        // mov rdx, [rdi + 0x30]; cmp [rdi + 0x38], rdx; je +2
        assert_eq!(moved(&[0x48, 0x8b, 0x57, 0x30, 0x48, 0x39, 0x57, 0x38, 0x74, 0x02, 0xc3]), Some(8));
    }

    #[cfg(all(feature = "hooks", not(target_arch = "aarch64")))]
    #[test]
    fn instructions_that_work_only_where_they_are_stay() {
        for (code, why) in [
            (&[0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc3][..], "mov rax, [rip]"),
            (&[0x50, 0xe8, 0, 0, 0, 0, 0xc3], "push rax; call"),
            (&[0x48, 0x85, 0xff, 0x74, 0x02, 0x90, 0x90, 0xc3], "test rdi, rdi; je"),
            (&[0x31, 0xc0, 0xc3], "xor eax, eax; ret"),
            (&[0x06, 0x90, 0x90, 0x90, 0x90, 0x90], "no instruction"),
            (&[0x55, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xfa], "a jump to the second instruction"),
            (&[0x55], "the function ends"),
        ] {
            assert_eq!(moved(code), None, "{why}");
        }
        assert_eq!(moved(&[0x55, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xf9]), Some(5), "a jump to the entry");
    }
}
