//! Who held memory, as lists that the text and the page share.

use std::cmp::Reverse;

use crate::report::role::Role;
use syncedmem_core::kind::Kind;

use super::amount::{Count, Counted};
use super::facts::Process;
use super::layers::Group;
use super::rows::HolderRow;

/// Rows of a list; one more sums up the others.
pub const ROWS: usize = 10;

/// Names with bytes, the most first.
pub struct List {
    pub by: &'static str,
    pub rows: Vec<(String, u64)>,
}

/// What a holder of memory has.
pub struct Held {
    pub bytes: u64,
    pub blocks: u64,
}

impl List {
    fn new(by: &'static str, rows: impl Iterator<Item = (String, u64)>, most: usize) -> List {
        let mut rows: Vec<_> = rows.filter(|&(_, bytes)| bytes > 0).collect();
        rows.sort_by_key(|&(_, bytes)| Reverse(bytes));
        let others = rows.split_off(rows.len().min(most));
        if !others.is_empty() {
            rows.push((
                Counted(others.len() as u64, "other", "others").to_string(),
                others.iter().map(|(_, bytes)| bytes).sum(),
            ));
        }
        List { by, rows }
    }
}

/// Memory of a kind at its peak, in lists of at most so many rows.
pub fn at_peak(process: &Process, kind: Kind, most: usize) -> Vec<List> {
    let held = |at_peak: [u64; 3]| at_peak[kind as usize];
    let roles = process.roles.iter().map(|(role, at_peak)| (role.to_string(), held(*at_peak)));
    let group = |group: &Group| (group.words(), held(group.at_peak));
    let mut lists = vec![
        List::new("role", roles, most),
        List::new("type of layer", process.by_type.iter().map(group), most),
        List::new("the beginning of the layers' names", process.by_name.iter().map(group), most),
        holders(process, |holder| Held { bytes: held(holder.at_peak), blocks: held(holder.blocks_at_peak) }, most),
    ];
    // Where the first holders have less than half.
    let sum = |rows: &[(String, u64)]| rows.iter().map(|(_, bytes)| bytes).sum::<u64>();
    let holders = &lists[3].rows;
    if sum(&holders[..holders.len().min(ROWS)]) >= sum(holders) / 2 {
        lists.remove(2);
    }
    lists.retain(|list| !list.rows.is_empty());
    lists
}

pub fn holders(process: &Process, held: impl Fn(&HolderRow) -> Held, most: usize) -> List {
    let row = |holder: &HolderRow| {
        let Held { bytes, blocks } = held(holder);
        // Layers of one name in several nets have several, perhaps of nets that were kept by mistake. A place has any number, and so has
        // what is inside a layer.
        let is_plain = Role::of_name(&holder.who).is_none_or(|role| role == Role::Internal) || blocks < 2;
        let blocks = if is_plain { String::new() } else { format!(", {} blocks", Count(blocks)) };
        (format!("{}{blocks}", holder.who), bytes)
    };
    List::new("holder", process.holders.iter().map(row), most)
}
