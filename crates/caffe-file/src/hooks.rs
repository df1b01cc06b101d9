//! The functions of nets, blobs and solvers that the names of layers need, where no symbol reaches them: a jump at the entry of each leads
//! to another function, which calls the original. So the first instructions, which the jump replaces, are executed elsewhere.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};

use crate::entries::{Entry, functions, index_of};
use crate::jump::Jump;
use crate::limit::Limit;
use crate::names::HOOKS;

/// Functions by which a net is read, which are looked up when the program runs.
const ACCESSORS: [&str; 2] = ["_ZNK5caffe3NetIfE6layersEv", "_ZNK5caffe3NetIdE6layersEv"];

#[derive(Clone, Copy, Debug)]
pub struct Hook {
    pub entry: Entry,
    /// Bytes of the first instructions, at least those of a near jump.
    pub moved: usize,
}

/// By the function's index in `HOOKS`: those that the file defines, all of which can be hooked.
pub fn find(file: &[u8]) -> Result<[Option<Hook>; HOOKS.len()], Limit> {
    // `e_machine`, EM_X86_64: the decoder is of its instructions.
    if file.get(18..20) != Some(&[62, 0]) {
        return Err(Limit::OtherMachine);
    }
    let (mut entries, mut can_be_read) = ([None; HOOKS.len()], false);
    functions(file, |function| {
        can_be_read |= function.is_exported && ACCESSORS.contains(&function.name);
        match index_of(function.name, &HOOKS)? {
            Some(index) => function.enter(HOOKS[index], &mut entries[index]),
            None => Ok(()),
        }
    })?;
    if entries[..2].iter().all(Option::is_none) {
        return Err(Limit::Missing(HOOKS[0]));
    }
    if !can_be_read {
        return Err(Limit::Unexported);
    }
    let mut hooks = [None; HOOKS.len()];
    for (hook, entry) in hooks.iter_mut().zip(entries) {
        let Some(entry) = entry else { continue };
        let is_folded = |other: &&Entry| other.address == entry.address && other.name != entry.name;
        if let Some(other) = entries.iter().flatten().find(is_folded) {
            return Err(Limit::Folded(entry.name, other.name));
        }
        let code = file.get(entry.offset..).and_then(|code| code.get(..entry.size)).ok_or(Limit::Broken)?;
        *hook = Some(Hook { entry, moved: moved(code).ok_or(Limit::Fixed(entry.name))? });
    }
    Ok(hooks)
}

/// Bytes of the first instructions of a function that can be executed elsewhere, and that a near jump fits over. `None` if one of them is
/// relative to its address or goes elsewhere, or if the function jumps back into them.
fn moved(code: &[u8]) -> Option<usize> {
    let needed = Jump::near(code, 0, 0)?.bytes().len();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_instructions_that_a_jump_fits_over_are_moved() {
        // push rbp; mov rbp, rsp; push r15; ret
        assert_eq!(moved(&[0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0xc3]), Some(6));
        // endbr64 stays in front of the jump, and is moved, too.
        assert_eq!(moved(&[0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0xc3]), Some(10));
        // mov rdx, [rdi + 0x30]; cmp [rdi + 0x38], rdx; je +2
        assert_eq!(moved(&[0x48, 0x8b, 0x57, 0x30, 0x48, 0x39, 0x57, 0x38, 0x74, 0x02, 0xc3]), Some(8));
    }

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
