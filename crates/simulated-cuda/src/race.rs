//! Races: a kernel and another operation that use the same bytes, one of which writes, in streams of which neither waits
//! for the other. Copies and fills of a program's own, which may write the same twice, are not compared with each other.
//!
//! A kernel is known to use the bytes at the addresses that its launch named, but not which other bytes of a block it
//! uses. Accesses of host code to page-locked memory are not seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::block::Block;
use crate::operation::{Action, Range};
use crate::stream::{Stream, Token};

/// A use that may not be over.
struct Pending {
    range: Range,
    token: Token,
    name: String,
    is_kernel: bool,
}

/// Uses by the block's id. Finished ones are removed when the block is used again or freed.
#[derive(Default)]
pub struct Uses(BTreeMap<u64, Vec<Pending>>);

impl Uses {
    pub fn forget(&mut self, block: &Block) {
        self.0.remove(&block.id);
    }

    /// Adds the uses of an operation that is being queued; returns a sentence for each pending use with which it races.
    pub fn add(&mut self, token: &Token, after: &[Token], action: &Action) -> Vec<String> {
        let ranges = action.ranges();
        let mut races = Vec::new();
        let mut before = None;
        let is_kernel = matches!(action, Action::Kernel(_));
        for range in &ranges {
            let pending = self.0.entry(range.block.id).or_default();
            pending.retain(|pending| !pending.token.is_done());
            for other in pending.iter().filter(|other| (is_kernel || other.is_kernel) && other.range.conflicts(range)) {
                let before = before.get_or_insert_with(|| everything_before(token, after));
                if before.get(&other.token.stream_key()).is_none_or(|number| *number < other.token.number) {
                    races.push((other.name.clone(), Arc::clone(&range.block)));
                }
            }
        }
        for range in ranges {
            let pending = self.0.entry(range.block.id).or_default();
            pending.push(Pending { range, token: token.clone(), name: action.name(), is_kernel });
        }
        let name = action.name();
        let sentence = |(other, block): (String, Arc<Block>)| {
            let (start, bytes) = (block.start, block.bytes);
            format!("{name} and {other} use 0x{start:x} ({bytes} bytes) in streams that do not wait for each other")
        };
        races.into_iter().map(sentence).collect()
    }
}

/// For each stream, the last operation that finishes before this one starts.
fn everything_before(token: &Token, after: &[Token]) -> BTreeMap<*const Stream, u64> {
    let mut before: BTreeMap<*const Stream, u64> = BTreeMap::new();
    let mut left: Vec<Token> = after.to_vec();
    left.push(token.before());
    while let Some(token) = left.pop() {
        let known = before.entry(token.stream_key()).or_insert(0);
        if *known < token.number {
            left.extend(token.waits_of_its_stream(*known));
            *known = token.number;
        }
    }
    before
}
