//! The last allocation that failed: who asked for how much, what refused it, and who held the memory then.

use syncedmem_core::head::Side;
use syncedmem_core::text::Size;
use syncedmem_trace::event::{Refusal, What};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// Failures in all, of which this is the last.
    pub count: u64,
    /// The object's name, or the place that made it.
    pub who: String,
    pub on_device: bool,
    /// Bytes that were asked for.
    pub bytes: u64,
    pub refusal: Refusal,
    /// Bytes; 0: not known.
    pub limit: u64,
    /// Bytes on this side at that moment, the largest first.
    pub holders: Vec<(String, u64)>,
    /// Its thread asked for no memory after it.
    pub is_last: bool,
}

/// Holders that a line names.
const HOLDERS: usize = 4;

impl Failure {
    /// `fc6 weights asked for 144.0 MiB, which the limit on the address space (ulimit -v, 400.0 MiB) does not allow`
    pub fn sentence(&self) -> String {
        let (who, bytes, bound) = (&self.who, Size(self.bytes), self.bound());
        let asked = format!("{who} asked for {bytes}");
        match self.refusal {
            Refusal::System => format!("{asked}, which the system did not have"),
            Refusal::Size => {
                format!("{asked}, which no address space holds: a negative number may have been taken for a size")
            }
            Refusal::Device => format!("{asked}, which {bound} did not have left"),
            _ => format!("{asked}, which {bound} does not allow"),
        }
    }

    /// The limit in words, and in bytes if they are known.
    pub fn bound(&self) -> String {
        let (words, how) = match self.refusal {
            Refusal::AddressSpace => ("the limit on the address space", "ulimit -v"),
            Refusal::Data => ("the limit on data", "ulimit -d"),
            Refusal::Mappings => ("the limit on the number of mappings", "sysctl vm.max_map_count"),
            Refusal::Commit => ("the commit limit", "sysctl vm.overcommit_memory is 2"),
            Refusal::HostLimit => ("the library's limit", "SYNCEDMEM_HOST_LIMIT"),
            Refusal::Device => ("the device", ""),
            Refusal::System | Refusal::Size => ("the system's memory", ""),
        };
        let bytes = (self.limit > 0).then(|| Size(self.limit).to_string());
        let more: Vec<String> = [how.to_string()].into_iter().filter(|how| !how.is_empty()).chain(bytes).collect();
        if more.is_empty() { words.to_string() } else { format!("{words} ({})", more.join(", ")) }
    }

    /// `at that moment blobs held 27.0 MiB: conv1 output 9.0 MiB, …`
    pub fn held(&self) -> String {
        let all: u64 = self.holders.iter().map(|(_, bytes)| bytes).sum();
        let on_device = if self.on_device { " on the device" } else { "" };
        let held = format!("at that moment blobs held {}{on_device}", Size(all));
        let (named, others) = self.holders.split_at(self.holders.len().min(HOLDERS));
        let mut parts: Vec<String> = named.iter().map(|(who, bytes)| format!("{who} {}", Size(*bytes))).collect();
        if !others.is_empty() {
            let bytes = others.iter().map(|(_, bytes)| bytes).sum();
            parts.push(format!("{} others {}", others.len(), Size(bytes)));
        }
        if parts.is_empty() { held } else { format!("{held}: {}", parts.join(", ")) }
    }
}

/// Whether a thread asks for memory or uses it, and so goes on.
pub fn goes_on(what: What) -> bool {
    matches!(
        what,
        What::Made { .. }
            | What::Resized { .. }
            | What::Accessed { .. }
            | What::Allocated { .. }
            | What::Filled { .. }
            | What::Copied { .. }
            | What::Started { .. }
            | What::Lent { .. }
    )
}

/// The kinds of memory on a side.
pub fn on_side(by_kind: [u64; 3], side: Side) -> u64 {
    let [pageable, pinned, device] = by_kind;
    if side == Side::Device { device } else { pageable + pinned }
}
