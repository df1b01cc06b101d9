//! The instructions that are written over the entry of a function.

#[cfg(any(test, target_arch = "aarch64"))]
mod aarch64;
#[cfg(any(test, not(target_arch = "aarch64")))]
mod x86_64;

use object::elf::{EM_AARCH64, EM_X86_64};

#[cfg(target_arch = "aarch64")]
use aarch64 as here;
#[cfg(not(target_arch = "aarch64"))]
use x86_64 as here;

/// `e_machine` of the files whose functions these jumps are for.
pub const MACHINE: u16 = if cfg!(target_arch = "aarch64") { EM_AARCH64 } else { EM_X86_64 };

/// Bytes from a near jump to its target, at most, in both directions.
pub const REACH: usize = here::REACH;

/// Bytes of the longest jump with its mark.
const LONGEST: usize = 20;

/// A jump with the landing mark that the function had, which a processor that checks indirect branches requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Jump {
    bytes: [u8; LONGEST],
    length: usize,
}

/// The place of a jump. libsyncedmem_net.so passes its own to libsyncedmem.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Site {
    pub address: usize,
    /// Offset of the entry in the file.
    pub offset: usize,
    /// Bytes that must be those of the file.
    pub room: usize,
    pub jump: Jump,
}

impl Jump {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn of(parts: [&[u8]; 3]) -> Jump {
        let mut jump = Jump::default();
        for part in parts {
            jump.bytes[jump.length..jump.length + part.len()].copy_from_slice(part);
            jump.length += part.len();
        }
        jump
    }

    /// Reaches any address and changes no register that matters at an entry. `old` begins with the function's first instruction.
    pub fn far(old: &[u8], to: usize) -> Jump {
        here::far(old, to)
    }

    /// A jump by an offset. `None`: the target is farther than [`REACH`].
    pub fn near(old: &[u8], at: usize, to: usize) -> Option<Jump> {
        here::near(old, at, to)
    }
}

/// Bytes from the end of a function up to the next multiple of 16, to which compilers align functions.
pub fn padding(end: u64) -> Option<u64> {
    Some(end.checked_next_multiple_of(16)? - end)
}

/// Whether these are what compilers put between functions.
pub use here::is_padding;

/// Whether a function that begins with these bytes does nothing but return, and has room for a near jump: such is the function that
/// a dynamic linker calls for debuggers.
pub use here::only_returns;

/// Bytes of the first instructions of a function that can be executed elsewhere, and that a near jump fits over. `None` if one of them
/// works only at its address or goes elsewhere, or if the function jumps back into them.
#[cfg(feature = "hooks")]
pub use here::moved;

/// Changes these instructions, those that `moved` has counted, so that they do at `to` what they do at `from`. `None` if they cannot.
#[cfg(feature = "hooks")]
pub use here::fit;

#[cfg(test)]
mod tests {
    use super::padding;

    #[test]
    fn functions_are_aligned_to_16_bytes() {
        assert_eq!([0x40, 0x41, 0x4f].map(padding), [Some(0), Some(15), Some(1)]);
        assert_eq!(padding(u64::MAX), None);
    }
}
