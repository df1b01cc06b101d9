//! How much waited encoded or as other objects' contents, and the sentence about it.

use std::fmt;

/// The number of contents, their bytes, and the bytes that they took: of duplicates, of those encoded by small differences (runs of equal words
/// are such), and of those encoded by their zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Waited(pub [[u64; 3]; 3]);

impl Waited {
    /// The ways of one and of several contents.
    pub const WAYS: [[&'static str; 2]; 3] = [
        ["duplicate", "duplicates"],
        ["by its small differences", "by their small differences"],
        ["by its zeros", "by their zeros"],
    ];

    pub fn bytes(self) -> u64 {
        self.0.iter().fold(0, |sum, way| sum.saturating_add(way[1]))
    }

    /// The bytes that all took.
    pub fn taken(self) -> u64 {
        self.0.iter().fold(0, |sum, way| sum.saturating_add(way[2]))
    }
}

/// `61 duplicates, 53 by their small differences, 1 by its zeros`
impl fmt::Display for Waited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        for ([number, ..], [one, several]) in self.0.into_iter().zip(Waited::WAYS) {
            if number > 0 {
                write!(f, "{before}{number} {}", if number == 1 { one } else { several })?;
                before = ", ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_in_which_nothing_waited_is_left_out() {
        let waited = Waited([[61, 500, 0], [0; 3], [1, 100, u64::MAX]]);
        assert_eq!(waited.to_string(), "61 duplicates, 1 by its zeros");
        assert_eq!((waited.bytes(), waited.taken()), (600, u64::MAX));
        let waited = Waited([[1, 2, 0], [53, 7, 3], [2, 5, 4]]);
        assert_eq!(waited.to_string(), "1 duplicate, 53 by their small differences, 2 by their zeros");
    }
}
