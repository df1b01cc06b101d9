//! Events as words and numbers.

use syncedmem_trace::event::{Cause, Changed, Noticed, Origin, Path, Since, What};
use syncedmem_trace::head::{Access, Side};
use syncedmem_trace::kind::Kind;

/// A value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Number(u64),
    /// An address, written in hexadecimal.
    Address(u64),
    /// One of a few words.
    Word(&'static str),
    Flag(bool),
}

pub type Field = (&'static str, Value);

/// An event as a word and its fields.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The word of the event.
    pub what: &'static str,
    /// Its fields.
    pub fields: [Option<Field>; 4],
}

/// A type whose values have words.
trait Word {
    fn word(self) -> &'static str;
}

/// Gives each value its word. A value without one does not compile.
macro_rules! words {
    ($type:ty: $([$($value:tt)+] $word:literal)+) => {
        impl Word for $type {
            fn word(self) -> &'static str {
                match self {
                    $($($value)+ => $word,)+
                }
            }
        }
    };
}

words!(Side: [Side::Host] "host" [Side::Device] "device");
words!(Kind: [Kind::Pageable] "pageable" [Kind::Pinned] "pinned" [Kind::Device] "device");
words!(Access: [Access::Read] "read" [Access::Write] "write" [Access::Overwrite] "overwrite");
words!(Path: [Path::Pinned] "pinned" [Path::Staged] "staged" [Path::Pageable] "pageable");
words!(Origin: [Origin::Fresh] "fresh" [Origin::Pool] "pool");
words!(Noticed: [Noticed::Construction] "construction" [Noticed::FirstAccess] "first access");
words!(Cause:
    [Cause::Access(Access::Read)] "read"
    [Cause::Access(Access::Write)] "write"
    [Cause::Access(Access::Overwrite)] "overwrite"
    [Cause::Eviction] "eviction"
    [Cause::Stream] "stream"
);
words!(Since: [Since::Fill] "fill" [Since::Copy] "copy");
words!(Changed: [Changed::Nothing] "nothing" [Changed::Part] "part" [Changed::Everything] "everything");

fn word(key: &'static str, value: impl Word) -> Option<Field> {
    Some((key, Value::Word(value.word())))
}

fn number(key: &'static str, value: u64) -> Option<Field> {
    Some((key, Value::Number(value)))
}

fn address(key: &'static str, value: u64) -> Option<Field> {
    Some((key, Value::Address(value)))
}

fn flag(key: &'static str, value: bool) -> Option<Field> {
    Some((key, Value::Flag(value)))
}

/// Splits an event into its word and fields.
pub fn parts(what: &What) -> Parts {
    let (what, fields) = match *what {
        What::Made { bytes, noticed } => ("made", [number("bytes", bytes), word("noticed", noticed), None, None]),
        What::Ended => ("ended", [None; 4]),
        What::Resized { bytes } => ("resized", [number("bytes", bytes), None, None, None]),
        What::Accessed { side, access, ready } => {
            ("accessed", [word("side", side), word("access", access), flag("ready", ready), None])
        }
        What::Allocated { kind, bytes, block, origin } => {
            ("allocated", [word("kind", kind), number("bytes", bytes), address("block", block), word("origin", origin)])
        }
        What::Freed { kind, bytes, block } => {
            ("freed", [word("kind", kind), number("bytes", bytes), address("block", block), None])
        }
        What::Filled { side, bytes } => ("filled", [word("side", side), number("bytes", bytes), None, None]),
        What::Copied { to, bytes, path, cause } => {
            ("copied", [word("to", to), number("bytes", bytes), word("path", path), word("cause", cause)])
        }
        What::Started { to, bytes, path, copy } => {
            ("started", [word("to", to), number("bytes", bytes), word("path", path), number("copy", copy)])
        }
        What::Completed { to, copy } => ("completed", [word("to", to), number("copy", copy), None, None]),
        What::Compared { side, since, changed } => {
            ("compared", [word("side", side), word("since", since), word("changed", changed), None])
        }
        What::Lent { side } => ("lent", [word("side", side), None, None, None]),
        What::Released { side } => ("released", [word("side", side), None, None, None]),
        What::Evicted { side, bytes, newest } => {
            ("evicted", [word("side", side), number("bytes", bytes), flag("newest", newest), None])
        }
        What::Registered { bytes } => ("registered", [number("bytes", bytes), None, None, None]),
        What::Synchronised => ("synchronised", [None; 4]),
        What::TurnedAway { kind, bytes } => ("turned away", [word("kind", kind), number("bytes", bytes), None, None]),
        What::Failed { side, bytes } => ("failed", [word("side", side), number("bytes", bytes), None, None]),
    };
    Parts { what, fields }
}

/// The title in a viewer.
pub fn title(what: &What) -> &'static str {
    match *what {
        What::Made { .. } => "object made",
        What::Ended => "object destroyed",
        What::Resized { .. } => "object resized",
        What::Accessed { side: Side::Host, .. } => "access to host side",
        What::Accessed { side: Side::Device, .. } => "access to device side",
        What::Allocated { kind, origin: Origin::Fresh, .. } => {
            by_kind(kind, ["allocate pageable", "allocate pinned", "allocate device"])
        }
        What::Allocated { kind, origin: Origin::Pool, .. } => {
            by_kind(kind, ["pageable from pool", "pinned from pool", "device from pool"])
        }
        What::Freed { kind, .. } => by_kind(kind, ["free pageable", "free pinned", "free device"]),
        What::Filled { side: Side::Host, .. } => "fill host side",
        What::Filled { side: Side::Device, .. } => "fill device side",
        What::Copied { to: Side::Host, .. } => "copy to host",
        What::Copied { to: Side::Device, .. } => "copy to device",
        What::Started { to: Side::Host, .. } => "start copy to host",
        What::Started { to: Side::Device, .. } => "start copy to device",
        What::Completed { to: Side::Host, .. } => "wait for copy to host",
        What::Completed { to: Side::Device, .. } => "wait for copy to device",
        What::Compared { .. } => "host side compared",
        What::Lent { side: Side::Host } => "host memory lent",
        What::Lent { side: Side::Device } => "device memory lent",
        What::Released { side: Side::Host } => "host side released",
        What::Released { side: Side::Device } => "device side released",
        What::Evicted { side: Side::Host, .. } => "evict host side",
        What::Evicted { side: Side::Device, .. } => "evict device side",
        What::Registered { .. } => "page-lock",
        What::Synchronised => "synchronise context",
        What::TurnedAway { .. } => "turned away by a budget",
        What::Failed { .. } => "allocation failed",
    }
}

fn by_kind(kind: Kind, titles: [&'static str; 3]) -> &'static str {
    titles[kind as usize]
}
