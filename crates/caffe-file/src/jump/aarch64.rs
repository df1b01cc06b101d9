use super::Jump;

type Instruction = [u8; 4];

/// Landing marks of branch target identification.
const BTI_C: Instruction = 0xd503_245f_u32.to_le_bytes();
const BTI_JC: Instruction = 0xd503_24df_u32.to_le_bytes();
/// These are landing marks, too, and sign the return address, which the library's function would not check: `bti c` replaces them.
const PACIASP: Instruction = 0xd503_233f_u32.to_le_bytes();
const PACIBSP: Instruction = 0xd503_237f_u32.to_le_bytes();
const NOP: Instruction = 0xd503_201f_u32.to_le_bytes();
const RET: Instruction = 0xd65f_03c0_u32.to_le_bytes();
/// The address follows these two. Any code between functions may change x16, and a branch through it arrives at `bti c`.
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

pub const REACH: usize = 1 << 27;

/// `b` with an offset.
pub fn near(old: &[u8], at: usize, to: usize) -> Option<Jump> {
    let offset = (to as i64).wrapping_sub((at + mark(old).len()) as i64);
    let reaches = (-(REACH as i64)..REACH as i64).contains(&offset) && offset % 4 == 0;
    let branch = 0x1400_0000 | ((offset >> 2) as u32 & 0x03ff_ffff);
    reaches.then(|| Jump::of([mark(old), &branch.to_le_bytes(), &[]]))
}

/// `nop`, or zeros, which are no instruction.
pub fn is_padding(bytes: &[u8]) -> bool {
    bytes.len() % 4 == 0 && bytes.chunks_exact(4).all(|instruction| instruction == NOP || instruction == [0; 4])
}

/// Padding does not matter: a near jump is as long as `ret`.
pub fn only_returns(bytes: &[u8]) -> bool {
    let rest = bytes.strip_prefix(&BTI_C).unwrap_or(bytes);
    rest.starts_with(&RET)
}

/// One instruction, and a landing mark in front of it.
#[cfg(feature = "hooks")]
pub fn moved(code: &[u8]) -> Option<usize> {
    let mark = mark(code).len();
    let first = u32::from_le_bytes(*code.get(mark..)?.first_chunk()?);
    // Branches, system instructions and exceptions; adr; a load of a literal.
    let is_fixed = [(0x1c00_0000, 0x1400_0000), (0x9f00_0000, 0x1000_0000), (0x3b00_0000, 0x1800_0000)]
        .iter()
        .any(|(mask, value)| first & mask == *value);
    // A branch back to the first byte calls the function again.
    let mut branches = code.chunks_exact(4).enumerate().filter_map(|(at, bytes)| Some(at as i64 + branch(bytes)?));
    (!is_fixed && (mark == 0 || !branches.any(|to| to == 1))).then_some(mark + 4)
}

/// Only adrp depends on its address: it adds an offset, in pages of 4 KiB, to the instruction's own.
#[cfg(feature = "hooks")]
pub fn fit(code: &mut [u8], from: usize, to: usize) -> Option<()> {
    let mark = mark(code).len();
    let first = code.get_mut(mark..)?.first_chunk_mut()?;
    let old = u32::from_le_bytes(*first);
    if old & 0x9f00_0000 == 0x9000_0000 {
        let page = |at: usize| ((at + mark) >> 12) as i64;
        // Bits 2 to 20 of the offset lie in bits 5 to 23, and bits 0 and 1 in bits 29 and 30.
        let pages = i64::from((old << 8) as i32 >> 13 << 2 | (old >> 29 & 3) as i32) + page(from) - page(to);
        (-(1 << 20)..1 << 20).contains(&pages).then_some(())?;
        let pages = pages as u32;
        *first = (old & 0x9f00_001f | (pages & 3) << 29 | (pages >> 2 & 0x7_ffff) << 5).to_le_bytes();
    }
    Some(())
}

/// The distance of a direct branch to its target, in instructions.
#[cfg(feature = "hooks")]
fn branch(instruction: &[u8]) -> Option<i64> {
    let instruction = u32::from_le_bytes(*instruction.first_chunk()?);
    let is = |mask: u32, value: u32| instruction & mask == value;
    let (lowest, bits) = if is(0x7c00_0000, 0x1400_0000) {
        (0, 26) // b, bl
    } else if is(0xfe00_0000, 0x5400_0000) || is(0x7e00_0000, 0x3400_0000) {
        (5, 19) // b.cond; cbz, cbnz
    } else if is(0x7e00_0000, 0x3600_0000) {
        (5, 14) // tbz, tbnz
    } else {
        return None;
    };
    let offset = (instruction << (32 - lowest - bits)) as i32 >> (32 - bits);
    Some(offset.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instructions(jump: Jump) -> Vec<u32> {
        jump.bytes().chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }

    #[test]
    fn a_landing_mark_stays_before_the_jump_and_nothing_signs_the_return_address() {
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
        assert!(is_padding(&[NOP, NOP, [0; 4]].concat()) && is_padding(&NOP) && is_padding(&[]));
        assert!(!is_padding(&[NOP, RET, NOP].concat()), "another function follows");
    }

    #[test]
    fn the_linkers_function_for_debuggers_is_recognised_and_no_other() {
        assert!(only_returns(&RET) && only_returns(&[BTI_C, RET].concat()) && only_returns(&[RET, PACIASP].concat()));
        assert!(!only_returns(&[]) && !only_returns(&BTI_C) && !only_returns(&[PACIASP, RET].concat()));
    }

    #[cfg(feature = "hooks")]
    #[test]
    fn one_instruction_that_works_anywhere_is_moved_and_its_landing_mark_with_it() {
        let code = |instructions: &[u32]| instructions.iter().flat_map(|each| each.to_le_bytes()).collect::<Vec<u8>>();
        let [paciasp, bti_c] = [PACIASP, BTI_C].map(u32::from_le_bytes);
        // stp x29, x30, [sp, #-64]!
        const STP: u32 = 0xa9bc_7bfd;
        assert_eq!(moved(&code(&[STP])), Some(4));
        assert_eq!(moved(&code(&[paciasp, STP])), Some(8));
        assert_eq!(moved(&code(&[paciasp])), None, "the function ends");
        for (fixed, why) in [
            (0x1400_0001, "b"),
            (0x9400_0001, "bl"),
            (0x5400_0041, "b.ne"),
            (0xb400_0040, "cbz x0"),
            (0x3640_0040, "tbz w0, #8"),
            (0xd65f_03c0, "ret"),
            (0x1000_0040, "adr"),
            (0x5800_0041, "ldr x1"),
            (0x1c00_0041, "ldr s1"),
            (0xd400_0001, "svc"),
        ] {
            assert_eq!(moved(&code(&[fixed, STP])), None, "{why}");
            assert_eq!(moved(&code(&[bti_c, fixed])), None, "{why} after a mark");
        }
        // add x0, x0, #1; then back to it, which is the second instruction after a mark.
        for back in [0x17ff_ffff, 0x54ff_ffe1, 0xb5ff_ffe0, 0x3747_ffe0] {
            assert_eq!(moved(&code(&[bti_c, 0x9100_0400, back])), None, "{back:x}");
            assert_eq!(moved(&code(&[0x9100_0400, back])), Some(4), "{back:x} to the entry");
            assert_eq!(moved(&code(&[bti_c, STP, 0x9100_0400, back])), Some(8), "{back:x} after it");
        }
    }

    #[cfg(feature = "hooks")]
    #[test]
    fn an_address_in_pages_stays_the_same_elsewhere() {
        let fits = |instruction: u32, from: usize, to: usize| {
            let mut code = [BTI_C, instruction.to_le_bytes()].concat();
            assert_eq!(moved(&code), Some(8));
            fit(&mut code, from, to).map(|()| u32::from_le_bytes(code[4..].try_into().unwrap()))
        };
        // adrp x3, and 0x1000, -0x3000, and nearly 4 GiB.
        assert_eq!(fits(0xb000_0003, 0x40_0000, 0x30_0000), Some(0xb000_0803));
        assert_eq!(fits(0xb000_0003, 0x40_0ffc, 0x40_1000), Some(0xb000_0003), "the mark lies before the page");
        assert_eq!(fits(0xb000_0003, 0x40_0000, 0x40_4000), Some(0xb0ff_ffe3));
        assert_eq!(fits(0xb0ff_ffe3, 0x40_4000, 0x40_0000), Some(0xb000_0003));
        assert_eq!(fits(0xf07f_ffe3, 0x40_0000, 0x30_0000), None);
        assert_eq!(fits(0xa9bc_7bfd, 0x40_0000, 0x30_0000), Some(0xa9bc_7bfd), "stp");
    }
}
