//! Finds notes of a loaded object, which need no exports.
#![expect(unsafe_code, reason = "the segments of a mapped object are read")]

use libc::{Elf64_Phdr, PT_NOTE};

use super::segment;

/// Bytes of a note's header: the sizes of the owner's name and of the descriptor, and the type.
const HEADER: usize = 3 * size_of::<u32>();

/// Implements [`Object::note`](super::Object::note). The address is a multiple of 4; `owner` ends with NUL.
///
/// # Safety
/// The headers are those of an object that is mapped at `base`.
pub unsafe fn find(headers: &[Elf64_Phdr], base: usize, owner: &[u8], kind: u32, bytes: usize) -> Option<usize> {
    headers.iter().filter(|header| header.p_type == PT_NOTE).find_map(|segment| {
        // Any alignment but 8 means 4, whatever the header says.
        let alignment = if segment.p_align == 8 { 8 } else { 4 };
        let begin = base.wrapping_add(segment.p_vaddr as usize);
        // SAFETY: the caller of `find` guarantees the mapping, and notes are read-only.
        let notes = unsafe { segment::read(headers, base, begin, segment.p_memsz as usize) }?;
        let descriptor = find_in(notes, alignment, owner, kind, bytes)?;
        (begin % alignment == 0).then_some(begin + descriptor)
    })
}

/// A name follows its header directly; descriptors and notes are aligned.
fn find_in(notes: &[u8], alignment: usize, owner: &[u8], kind: u32, bytes: usize) -> Option<usize> {
    let mut at = 0;
    loop {
        let word = |index: usize| Some(u32::from_ne_bytes(*notes.get(at + 4 * index..)?.first_chunk()?));
        let (name_bytes, descriptor_bytes, own_kind) = (word(0)? as usize, word(1)? as usize, word(2)?);
        let name = at + HEADER;
        let descriptor = (name + name_bytes).next_multiple_of(alignment);
        let end = descriptor + descriptor_bytes;
        if end > notes.len() {
            return None;
        }
        if (own_kind, descriptor_bytes) == (kind, bytes) && notes[name..name + name_bytes] == *owner {
            return Some(descriptor);
        }
        at = end.next_multiple_of(alignment);
    }
}

#[cfg(test)]
mod tests {
    use super::super::segment::header;
    use super::*;
    use libc::PT_LOAD;

    const OWNER: &[u8] = b"Us\0";
    const KIND: u32 = 7;

    fn note(alignment: usize, owner: &[u8], kind: u32, descriptor: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [owner.len() as u32, descriptor.len() as u32, kind] {
            note.extend(word.to_ne_bytes());
        }
        note.extend(owner);
        note.resize(note.len().next_multiple_of(alignment), 0);
        note.extend(descriptor);
        note.resize(note.len().next_multiple_of(alignment), 0);
        note
    }

    /// The loaded segment has `mapped` bytes of the notes.
    fn found(notes: &[u8], alignment: u64, mapped: usize) -> Option<usize> {
        let words: Vec<u64> = vec![0; notes.len().div_ceil(8)];
        let base = words.as_ptr().expose_provenance();
        // SAFETY: `words` has that many bytes, and nothing else refers to them meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(notes.as_ptr(), base as *mut u8, notes.len()) };
        let headers = [header(PT_LOAD, mapped, alignment), header(PT_NOTE, notes.len(), alignment)];
        // SAFETY: the loaded segment's bytes are those of `words`.
        unsafe { find(&headers, base, OWNER, KIND, 4) }.map(|address| address - base)
    }

    #[test]
    fn descriptors_and_notes_are_aligned_as_their_segment_is() {
        for alignment in [4, 8] {
            let mut notes = note(alignment, b"Them\0", KIND, b"them");
            notes.extend(note(alignment, OWNER, KIND + 1, b"kind"));
            notes.extend(note(alignment, OWNER, KIND, b"size "));
            notes.extend(note(alignment, OWNER, KIND, b"this"));
            let expected = notes.windows(4).position(|four| four == b"this");
            assert!(expected.is_some());
            assert_eq!(found(&notes, alignment as u64, notes.len()), expected, "{alignment}");
        }
    }

    #[test]
    fn notes_that_no_loaded_segment_has_are_passed_over() {
        let notes = note(4, OWNER, KIND, b"this");
        assert_eq!(found(&notes, 4, notes.len()), Some(16));
        assert_eq!(found(&notes, 4, notes.len() - 1), None);
        assert_eq!(found(&notes, 4, 0), None);
    }

    #[test]
    fn a_note_that_claims_more_than_there_is_ends_the_search() {
        for size in [0, 1] {
            let mut notes = note(4, OWNER, KIND, b"this");
            notes[4 * size..][..4].copy_from_slice(&u32::MAX.to_ne_bytes());
            assert_eq!(found(&notes, 4, notes.len()), None);
        }
        assert_eq!(found(&note(4, OWNER, KIND, b"this")[..11], 4, 11), None);
    }
}
