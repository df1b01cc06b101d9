//! The memory that --share saved, or would save, from the notes that libsyncedmem_net.so writes after passes.

use std::collections::HashMap;

use syncedmem_core::waited::Waited;

/// Bytes of the memory of a net.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Each blob has a separate block.
    own: u64,
    /// All blobs are in one arena.
    needed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Net {
    thread: u64,
    items: u64,
    /// The plans of `gradients`, `all` and `parked`; now, and with twice the items.
    plans: [[Plan; 2]; 3],
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Nets by their address, with the most memory that each had.
    nets: HashMap<u64, Net>,
    /// `Some` if the run shared memory: bytes that the arenas needed, and that the blobs would have needed, on the host and on devices.
    pub shared: Option<[(u64, u64); 2]>,
    /// What waited, when most bytes did.
    pub waited: Waited,
}

/// Bytes that a value of `--share` would save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saving {
    pub bytes: u64,
    /// Bytes for each additional item.
    pub each: u64,
    /// The batch that would save most.
    pub items: u64,
}

impl Sharing {
    /// Takes a note. Returns whether it was about sharing.
    pub fn take(&mut self, text: &str) -> bool {
        let mut words = text.trim_end().split('\t').skip(1);
        let kind = words.next();
        if !text.starts_with('\t') || !matches!(kind, Some("sharing" | "shared")) {
            return false;
        }
        let numbers: Option<Vec<u64>> = words.skip(1).map(|word| word.parse().ok()).collect();
        match (kind, numbers.as_deref()) {
            (Some("shared"), Some(&[a, _, b, c, _, d, ref parked @ ..])) => {
                self.shared = Some([(a, b), (c, d)]);
                if let &[a, b, c, d, e, f, g, h, i] = parked {
                    self.waited = Waited([[a, b, c], [d, e, f], [g, h, i]]);
                }
            }
            (Some("sharing"), Some(&[net, thread, items, a, b, c, d, e, f, g, h, ref parked @ ..])) => {
                let plan = |own, needed| Plan { own, needed };
                let all = [plan(e, f), plan(g, h)];
                // A recording of an earlier version has no plan for `parked`.
                let parked = if let &[i, j, k, l] = parked { [plan(i, j), plan(k, l)] } else { all };
                self.nets.insert(net, Net { thread, items, plans: [[plan(a, b), plan(c, d)], all, parked] });
            }
            _ => {}
        }
        true
    }

    /// Returns the savings of `gradients`, `all` and `parked`. `most` is the bytes at the peak: nets that exceed it did not exist at once.
    pub fn savings(&self, most: u64) -> [Saving; 3] {
        let mut nets: Vec<&Net> = self.nets.values().collect();
        let own = |net: &Net| net.plans[1][0].own;
        nets.sort_by_key(|net| std::cmp::Reverse(own(net)));
        let mut sum = 0u64;
        nets.retain(|net| {
            let with = sum.saturating_add(own(net));
            let fits = with <= most;
            sum = if fits { with } else { sum };
            fits
        });
        let items = nets.first().map_or(0, |net| net.items);
        [0, 1, 2].map(|at| {
            let saved = |twice: usize| {
                // Nets of one thread share an arena.
                let mut arenas: HashMap<u64, u64> = HashMap::new();
                let mut own = 0;
                for net in &nets {
                    let plan = net.plans[at][if net.items == items { twice } else { 0 }];
                    let arena = arenas.entry(net.thread).or_default();
                    *arena = plan.needed.max(*arena);
                    own += plan.own;
                }
                own.saturating_sub(arenas.values().sum())
            };
            let each = saved(1).saturating_sub(saved(0)).checked_div(items).unwrap_or(0);
            Saving { bytes: saved(0), each, items }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nets_of_a_thread_share_an_arena_and_nets_that_did_not_exist_at_once_do_not_add_up() {
        let mut sharing = Sharing::default();
        assert!(!sharing.take("ReLU\tr\t1\ta\ta\n"));
        assert!(sharing.take("\tsharing\t-\t1\t7\t4\t100\t60\t200\t110\t300\t50\t580\t90"));
        assert!(sharing.take("\tsharing\t-\t2\t7\t2\t0\t0\t0\t0\t100\t40\t200\t80"));
        let [gradients, all, parked] = sharing.savings(1000);
        assert_eq!(all, parked, "an earlier version has no plan for it");
        assert_eq!((gradients.bytes, gradients.each), (40, 12));
        assert_eq!((all.bytes, all.each, all.items), (350, 60, 4));
        assert_eq!(sharing.savings(350)[1].bytes, 250, "the second net was not there at the same time");
        assert!(sharing.take("\tshared\t-\t10\t9\t50\t7\t6\t20") && sharing.shared == Some([(10, 50), (7, 20)]));
        assert!(sharing.take("\tshared\t-\t10\t9\t50\t7\t6\t20\t1\t80\t0\t2\t90\t9\t3\t70\t40"));
        assert_eq!(sharing.waited, Waited([[1, 80, 0], [2, 90, 9], [3, 70, 40]]));
        assert!(sharing.take("\tsharing\t-\t1\t7\t4\t100\t60\t200\t110\t300\t50\t580\t90\t300\t40\t580\t70"));
        assert_eq!(sharing.savings(300)[2].bytes, 260);
        assert!(sharing.take("\tsharing\t-\tdamaged"));
    }
}
