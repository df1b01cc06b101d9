//! Pairs what two lists have of one name, the first with the first, the second with the second.

use std::collections::{HashMap, VecDeque};

/// Places in the lists.
pub struct Pairs {
    pub both: Vec<(usize, usize)>,
    pub only_in_a: Vec<usize>,
    pub only_in_b: Vec<usize>,
}

pub fn by_name<'n>(a: impl Iterator<Item = &'n str>, b: impl Iterator<Item = &'n str>) -> Pairs {
    let mut left: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (place, name) in b.enumerate() {
        left.entry(name).or_default().push_back(place);
    }
    let (mut both, mut only_in_a) = (Vec::new(), Vec::new());
    for (place, name) in a.enumerate() {
        match left.get_mut(name).and_then(VecDeque::pop_front) {
            Some(other) => both.push((place, other)),
            None => only_in_a.push(place),
        }
    }
    let mut only_in_b: Vec<usize> = left.into_values().flatten().collect();
    only_in_b.sort_unstable();
    Pairs { both, only_in_a, only_in_b }
}
