//! The text area. An entry is a word with topic and length, a word with a number, and bytes.
//!
//! The length is stored first and the topic last. An entry that was not begun is zeros, which readers skip; one that was not
//! finished has a length and no topic.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Bytes before an entry's text.
const HEAD: usize = 16;

/// The topic of an entry. Readers skip topics that they do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The text of a call site, with its number.
    Site = 1,
    /// The name of an object. Records refer to the place of the entry.
    Name = 2,
    /// The name of a thread, with the kernel's thread id.
    Thread = 3,
    /// The return addresses of a call site, the innermost first, with its number.
    Frames = 4,
    /// A loaded file: its load address; the length of the build id in a byte, the build id, the path.
    Module = 5,
    /// The layers of one of Caffe's nets. A layer is a line of words with tabs between them: type, name, number of bottoms, the
    /// names of the bottoms, the names of the tops. A net within a layer has no blobs here.
    Net = 6,
    /// The beginning of the command line: each argument ends with a NUL.
    Command = 7,
    /// The machine's name.
    Host = 8,
    /// `NAME=VALUE` of one of the library's environment variables.
    Setting = 9,
    /// The name of a limit of memory, with the number of bytes.
    Limit = 10,
    /// The file of a Caffe in the process. The number is 1 if its calls can reach the library, and 0 if it calls its own functions
    /// directly. Otherwise it counts the functions that the library has replaced at their entries; the upper half counts those for
    /// the names of layers.
    Caffe = 11,
}

const TOPICS: [Topic; 11] = {
    use Topic::*;
    [Site, Name, Thread, Frames, Module, Net, Command, Host, Setting, Limit, Caffe]
};

/// Bytes of an entry for a text of `length` bytes.
pub const fn entry_bytes(length: usize) -> usize {
    HEAD + length.next_multiple_of(8)
}

/// Writes an entry to words of [`entry_bytes`] bytes.
pub fn write(words: &[AtomicU64], topic: Topic, number: u64, text: &[u8]) {
    let [head, second, rest @ ..] = words else { return };
    let length = (text.len() as u64) << 32;
    // Release: a reader of later entries knows this one's length.
    head.store(length, Release);
    second.store(number, Relaxed);
    for (word, part) in rest.iter().zip(text.chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        word.store(u64::from_le_bytes(bytes), Relaxed);
    }
    // Release: the topic comes after all bytes.
    head.store(length | topic as u64, Release);
}

/// Whether the words begin with this entry, and it is finished.
pub fn is(words: &[AtomicU64], topic: Topic, text: &[u8]) -> bool {
    let [head, _, rest @ ..] = words else { return false };
    // Acquire: pairs with the end of `write`.
    head.load(Acquire) == (text.len() as u64) << 32 | topic as u64
        && rest.len() * 8 >= text.len()
        && text.chunks(8).zip(rest).all(|(part, word)| word.load(Relaxed).to_le_bytes().starts_with(part))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    pub place: u32,
    pub topic: Topic,
    pub number: u64,
    pub text: &'a [u8],
}

/// The finished entries, by place. `area` is the used part of the text area.
pub fn entries(area: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let place = at;
            let head = word(area, place)?;
            if head == 0 {
                at += 8;
                continue;
            }
            let length = (head >> 32) as usize;
            at = place.checked_add(entry_bytes(length))?;
            let text = area.get(place + HEAD..place + HEAD + length)?;
            let Some(&topic) = TOPICS.iter().find(|&&topic| topic as u32 == head as u32) else { continue };
            return Some(Entry { place: place as u32, topic, number: word(area, place + 8)?, text });
        }
    })
}

fn word(area: &[u8], at: usize) -> Option<u64> {
    area.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area<const N: usize>() -> [AtomicU64; N] {
        [const { AtomicU64::new(0) }; N]
    }

    fn bytes(words: &[AtomicU64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect()
    }

    #[test]
    fn an_entry_is_compared_with_a_topic_and_the_whole_text() {
        let words = area::<5>();
        write(&words, Topic::Name, 0, b"conv1_data");
        assert!(is(&words, Topic::Name, b"conv1_data"));
        assert!(!is(&words, Topic::Site, b"conv1_data") && !is(&words, Topic::Name, b"conv1_diff"));
        assert!(!is(&words, Topic::Name, b"conv1_dat") && !is(&words, Topic::Name, b"conv1_data1"));
        assert!(!is(&words[..3], Topic::Name, b"conv1_data") && !is(&area::<5>(), Topic::Name, b""));
    }

    #[test]
    fn entries_after_one_that_was_not_finished_or_not_begun_are_read() {
        for head in [0, 5 << 32] {
            let words = area::<8>();
            words[0].store(head, Relaxed);
            write(&words[3..6], Topic::Name, 0, b"conv1");
            let bytes = bytes(&words);
            let read: Vec<Entry> = entries(&bytes).collect();
            assert_eq!(read, [Entry { place: 24, topic: Topic::Name, number: 0, text: b"conv1" }]);
        }
    }

    #[test]
    fn an_unknown_topic_is_skipped_and_a_damaged_length_ends_the_area() {
        let words = area::<8>();
        write(&words[..3], Topic::Name, 0, b"conv1");
        words[0].store(5 << 32 | 99, Relaxed);
        write(&words[3..6], Topic::Name, 1, b"conv2");
        assert_eq!(entries(&bytes(&words)).map(|entry| entry.number).collect::<Vec<_>>(), [1]);
        words[3].store(u64::from(u32::MAX) << 32 | 2, Relaxed);
        assert_eq!(entries(&bytes(&words)).count(), 0);
    }
}
