//! Pairs the entries of two lists by name: the first of a name with the first, the second with the second.

use std::collections::{HashMap, VecDeque};

pub struct Pairs<'n> {
    /// Places in the lists.
    pub both: Vec<(usize, usize)>,
    /// Names without a counterpart.
    pub only_in: [Vec<&'n str>; 2],
}

pub fn by_name<'n>(a: impl Iterator<Item = &'n str>, b: impl Iterator<Item = &'n str>) -> Pairs<'n> {
    let mut left: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (place, name) in b.enumerate() {
        left.entry(name).or_default().push_back(place);
    }
    let (mut both, mut only_in_a) = (Vec::new(), Vec::new());
    for (place, name) in a.enumerate() {
        match left.get_mut(name).and_then(VecDeque::pop_front) {
            Some(other) => both.push((place, other)),
            None => only_in_a.push(name),
        }
    }
    let mut left: Vec<_> =
        left.into_iter().flat_map(|(name, left)| left.into_iter().map(move |at| (at, name))).collect();
    left.sort_unstable();
    Pairs { both, only_in: [only_in_a, left.into_iter().map(|(_, name)| name).collect()] }
}
