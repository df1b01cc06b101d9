//! Why the functions of a file cannot be replaced.

use std::ffi::CStr;
use std::fmt;

/// Functions are indices in `names::FUNCTIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Broken,
    /// No table has a name of `SyncedMemory`.
    NoNames,
    /// The file has this library in it.
    Ours,
    OtherLayout(&'static str),
    Missing(&'static CStr),
    /// A compiler has divided it, and functions elsewhere may call the parts.
    Divided(&'static CStr),
    /// The linker has folded two functions into one.
    Folded(&'static CStr, &'static CStr),
    Overlap(&'static CStr, &'static CStr),
    /// Another function begins within so many first bytes, which a jump replaces.
    Entered(&'static CStr, usize),
    /// Bytes: of the function with its padding, and of the jump.
    TooShort {
        function: &'static CStr,
        room: usize,
        jump: usize,
    },
    /// A jump would replace instructions that work only where they are.
    Fixed(&'static CStr),
    OtherMachine,
}

fn text(name: &'static CStr) -> &'static str {
    name.to_str().unwrap_or_default()
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Limit::Broken => formatter.write_str("its ELF tables cannot be read"),
            Limit::NoNames => formatter
                .write_str("its functions have no names: it is stripped, or was linked with -flto, which inlines them"),
            Limit::Ours => formatter.write_str("libsyncedmem is linked into it"),
            Limit::OtherLayout(of) => write!(formatter, "it is {of}"),
            Limit::Missing(name) => write!(formatter, "it has no {} (the compiler may have inlined it)", text(name)),
            Limit::Divided(name) => {
                write!(formatter, "the compiler has divided {}, and parts may be called elsewhere", text(name))
            }
            Limit::Folded(one, other) => {
                write!(formatter, "the linker has folded {} and {} into one function", text(one), text(other))
            }
            Limit::Overlap(one, other) => {
                write!(formatter, "{} and {} overlap: a jump in one would change the other", text(one), text(other))
            }
            Limit::Entered(name, bytes) => {
                let name = text(name);
                write!(
                    formatter,
                    "another function begins within the first {bytes} bytes of {name}, which a jump replaces"
                )
            }
            Limit::TooShort { function, room, jump } => {
                write!(formatter, "{} has {room} bytes, and a jump needs {jump}", text(function))
            }
            Limit::Fixed(name) => {
                write!(formatter, "the first instructions of {} work only where they are", text(name))
            }
            Limit::OtherMachine => formatter.write_str("functions are replaced only on x86-64 and 64-bit ARM"),
        }
    }
}
