use super::Jump;

type Instruction = [u8; 4];

/// Where a processor that checks branch targets lets a call by pointer arrive.
const BTI_C: Instruction = 0xd503_245f_u32.to_le_bytes();
const BTI_JC: Instruction = 0xd503_24df_u32.to_le_bytes();
/// They are such marks, too, and sign the address of return, which the library's function would not check: `bti c` takes their place.
const PACIASP: Instruction = 0xd503_233f_u32.to_le_bytes();
const PACIBSP: Instruction = 0xd503_237f_u32.to_le_bytes();
const NOP: Instruction = 0xd503_201f_u32.to_le_bytes();
const RET: Instruction = 0xd65f_03c0_u32.to_le_bytes();
/// The address lies behind these two. Any code between functions may change x16, and a branch through it arrives at `bti c`.
const LDR_X16: Instruction = 0x5800_0050_u32.to_le_bytes();
const BR_X16: Instruction = 0xd61f_0200_u32.to_le_bytes();

fn mark(old: &[u8]) -> &'static [u8] {
    match old.first_chunk() {
        Some(&BTI_JC) => &BTI_JC,
        Some(&(BTI_C | PACIASP | PACIBSP)) => &BTI_C,
        _ => &[],
    }
}

/// A branch through a register: 16 bytes.
pub fn far(old: &[u8], to: usize) -> Jump {
    let mut code = [0; 8];
    code[..4].copy_from_slice(&LDR_X16);
    code[4..].copy_from_slice(&BR_X16);
    Jump::of([mark(old), &code, &(to as u64).to_le_bytes()])
}

/// `b` with an offset of up to 128 MiB.
pub fn near(old: &[u8], at: usize, to: usize) -> Option<Jump> {
    let offset = (to as i64).wrapping_sub((at + mark(old).len()) as i64);
    let reaches = (-(1 << 27)..1 << 27).contains(&offset) && offset % 4 == 0;
    let branch = 0x1400_0000 | ((offset >> 2) as u32 & 0x03ff_ffff);
    reaches.then(|| Jump::of([mark(old), &branch.to_le_bytes(), &[]]))
}

/// `nop`, or zeros, which are no instruction.
pub fn is_padding(bytes: &[u8]) -> bool {
    bytes.len() % 4 == 0 && bytes.chunks_exact(4).all(|instruction| instruction == NOP || instruction == [0; 4])
}

/// Without padding: a near jump is as long as `ret`.
pub fn only_returns(bytes: &[u8]) -> bool {
    let rest = bytes.strip_prefix(&BTI_C).unwrap_or(bytes);
    rest.starts_with(&RET)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jump::room_with;

    fn instructions(jump: Jump) -> Vec<u32> {
        jump.bytes().chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }

    #[test]
    fn a_landing_mark_stays_before_the_jump_and_nothing_signs_the_address_of_return() {
        let plain = instructions(far(&RET, 0x1122_3344_5566_7788));
        assert_eq!(plain, [0x5800_0050, 0xd61f_0200, 0x5566_7788, 0x1122_3344]);
        for (mark, kept) in [(BTI_C, BTI_C), (BTI_JC, BTI_JC), (PACIASP, BTI_C), (PACIBSP, BTI_C)] {
            let marked = instructions(far(&mark, 0x1122_3344_5566_7788));
            assert_eq!((marked[0], &marked[1..]), (u32::from_le_bytes(kept), &plain[..]));
        }
    }

    #[test]
    fn a_near_jump_reaches_128_megabytes_in_both_directions() {
        let near = |to: usize| near(&RET, 1 << 40, to).map(instructions);
        assert_eq!(near((1 << 40) + 4), Some(vec![0x1400_0001]));
        assert_eq!(near((1 << 40) - 4), Some(vec![0x17ff_ffff]));
        assert_eq!(near((1 << 40) + (1 << 27) - 4), Some(vec![0x15ff_ffff]));
        assert_eq!(near((1 << 40) - (1 << 27)), Some(vec![0x1600_0000]));
        assert_eq!(near((1 << 40) + (1 << 27)), None);
        assert_eq!(near(0x55_5555_0000), None);
    }

    #[test]
    fn only_padding_makes_more_room() {
        let room = |behind: &[u8], address| room_with(is_padding, &[&RET, behind].concat(), address, 4);
        assert_eq!(room(&[NOP, NOP, [0; 4]].concat(), 0x40), 16);
        assert_eq!(room(&NOP, 0x48), 8);
        assert_eq!(room(&[NOP, RET, NOP].concat(), 0x40), 4, "another function follows");
        assert_eq!(room(&[], 0x4c), 4);
    }

    #[test]
    fn the_linkers_function_for_debuggers_is_recognised_and_no_other() {
        assert!(only_returns(&RET) && only_returns(&[BTI_C, RET].concat()) && only_returns(&[RET, PACIASP].concat()));
        assert!(!only_returns(&[]) && !only_returns(&BTI_C) && !only_returns(&[PACIASP, RET].concat()));
    }
}
