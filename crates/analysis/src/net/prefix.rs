//! Groups of layers whose names begin alike: `res4`, `inception_3a`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Groups of a hundredth of the whole or more.
const GROUPS: usize = 10;
/// A smaller part of the whole is not divided.
const LARGE: u64 = 4;

struct Group<'n, T> {
    beginning: &'n str,
    bytes: u64,
    members: Vec<&'n (&'n str, u64, T)>,
}

/// Of names with bytes and more, the groups with the most bytes first. Large ones are divided as long as there are few,
/// where letters, digits and other characters meet.
pub fn by_beginning<'n, T>(names: &'n [(&'n str, u64, T)]) -> Vec<(&'n str, Vec<&'n T>)> {
    let all: u64 = names.iter().map(|(_, bytes, _)| bytes).sum();
    let is_large = |group: &Group<T>| group.bytes.saturating_mul(LARGE) > all;
    let count = |groups: &[Group<T>]| groups.iter().filter(|group| group.bytes.saturating_mul(100) >= all).count();
    let (_, parts) = divided(Group { beginning: "", bytes: all, members: names.iter().collect() });
    let (mut large, mut small): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_large);
    let mut done = Vec::new();
    while let Some(largest) = (0..large.len()).max_by_key(|&at| large[at].bytes) {
        let (group, parts) = divided(large.swap_remove(largest));
        if parts.len() > 1 && count(&large) + count(&small) + count(&done) + count(&parts) <= GROUPS {
            let (larger, smaller): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_large);
            large.extend(larger);
            small.extend(smaller);
        } else {
            done.push(group);
        }
    }
    done.extend(small.into_iter().map(|group| divided(group).0));
    done.sort_by_key(|group| (Reverse(group.bytes), group.beginning));
    let members = |group: Group<'n, T>| group.members.into_iter().map(|(.., more)| more).collect();
    done.into_iter().map(|group| (group.beginning, members(group))).collect()
}

/// The group with all that its names have in common as its beginning, and its parts behind that.
fn divided<'n, T>(mut group: Group<'n, T>) -> (Group<'n, T>, Vec<Group<'n, T>>) {
    loop {
        let mut parts: BTreeMap<&str, Group<T>> = BTreeMap::new();
        for member in &group.members {
            let (name, bytes, _) = member;
            let beginning = &name[..end_of_word(name, group.beginning.len())];
            let part = parts.entry(beginning).or_insert(Group { beginning, bytes: 0, members: Vec::new() });
            part.bytes = part.bytes.saturating_add(*bytes);
            part.members.push(member);
        }
        match parts.first_key_value() {
            Some((only, _)) if parts.len() == 1 && only.len() > group.beginning.len() => group.beginning = only,
            _ => return (group, parts.into_values().collect()),
        }
    }
}

/// Of the letters, the digits or the one other character at `from`.
fn end_of_word(name: &str, from: usize) -> usize {
    let sort = |letter: char| (letter.is_alphabetic(), letter.is_numeric());
    let rest = &name[from..];
    let Some(first) = rest.chars().next() else { return from };
    let is_other =
        |(at, letter): &(usize, char)| *at > 0 && (sort(*letter) != sort(first) || sort(first) == (false, false));
    from + rest.char_indices().find(is_other).map_or(rest.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(names: &[(&str, u64)]) -> Vec<String> {
        let names: Vec<_> = names.iter().map(|&(name, bytes)| (name, bytes, name)).collect();
        by_beginning(&names).iter().map(|(beginning, members)| format!("{beginning} {}", members.len())).collect()
    }

    #[test]
    fn the_largest_group_is_divided_where_its_names_differ() {
        let names: Vec<String> = (2..6)
            .flat_map(|stage| ["a", "b", "c"].map(|block| (stage, block)))
            .flat_map(|(stage, block)| ["_branch1", "_branch2a"].map(|branch| format!("res{stage}{block}{branch}")))
            .collect();
        let mut names: Vec<_> = names.iter().map(|name| (name.as_str(), 10)).collect();
        names.push(("conv1", 1));
        assert_eq!(told(&names), ["res2 6", "res3 6", "res4 6", "res5 6", "conv1 1"]);
    }

    #[test]
    fn few_layers_are_groups_of_their_own() {
        assert_eq!(told(&[("conv1", 5), ("conv2", 7), ("ip é", 3)]), ["conv2 1", "conv1 1", "ip é 1"]);
        assert_eq!(told(&[("a", 1), ("a", 1)]), ["a 2"]);
        assert!(told(&[]).is_empty());
    }

    #[test]
    fn many_layers_without_a_common_beginning_stay_apart() {
        let names: Vec<String> = ('a'..='z').map(String::from).collect();
        assert_eq!(told(&names.iter().map(|name| (name.as_str(), 1)).collect::<Vec<_>>()).len(), 26);
    }
}
