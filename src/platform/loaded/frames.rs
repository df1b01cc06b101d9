//! Whether a loaded object has exception handlers, by its `.eh_frame` (Linux Standard Base), to which `PT_GNU_EH_FRAME`
//! points.
#![expect(unsafe_code, reason = "the tables of a mapped object are read")]

use libc::{Elf64_Phdr, PT_GNU_EH_FRAME};

use super::segment;

/// Handlers and destructors count, in any language. `None` if the tables are unreadable.
///
/// # Safety
/// The headers are those of an object that is mapped at `base`.
pub unsafe fn have_handlers(headers: &[Elf64_Phdr], base: usize) -> Option<bool> {
    // All linkers use this encoding: a signed 4-byte offset from its own position.
    const VERSION_AND_ENCODING: [u8; 2] = [1, 0x1b];
    // SAFETY: the caller of `have_handlers` guarantees the mapping, and only the loader ever writes to these tables.
    let read = |address, bytes| unsafe { segment::read(headers, base, address, bytes) };
    let section = headers.iter().find(|header| header.p_type == PT_GNU_EH_FRAME)?;
    let begin = base.wrapping_add(section.p_vaddr as usize);
    let place = begin.wrapping_add(4);
    if read(begin, 2)? != VERSION_AND_ENCODING {
        return None;
    }
    let mut at = place.wrapping_add_signed(i32::from_ne_bytes(*read(place, 4)?.first_chunk()?) as isize);
    loop {
        let bytes = u32::from_ne_bytes(*read(at, 4)?.first_chunk()?);
        if bytes == 0 {
            return Some(false);
        }
        // The marker of a 64-bit record (0xffffffff) exceeds any segment.
        let record = read(at.wrapping_add(4), bytes as usize)?;
        let (kind, rest) = record.split_first_chunk::<4>()?;
        // A record of kind 0 (CIE) begins with a version and letters; P stands for a personality routine.
        let mut letters = rest.iter().skip(1).take_while(|&&letter| letter != 0);
        if *kind == [0; 4] && letters.any(|&letter| letter == b'P') {
            return Some(true);
        }
        at = at.wrapping_add(4 + bytes as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::super::segment::header;
    use super::*;
    use libc::PT_LOAD;

    fn shared(letters: &[u8; 3]) -> Vec<u8> {
        let record = [&0u32.to_ne_bytes()[..], &[1], letters, &[0; 4]].concat();
        [&(record.len() as u32).to_ne_bytes()[..], &record].concat()
    }

    /// The loaded segment has `mapped` bytes of the tables.
    fn found(encoding: u8, records: &[u8], mapped: usize) -> bool {
        let object = [&[1, encoding, 0xff, 0xff][..], &4i32.to_ne_bytes(), records].concat();
        let base = object.as_ptr().expose_provenance();
        let headers = [header(PT_LOAD, mapped.min(object.len()), 4), header(PT_GNU_EH_FRAME, 8, 4)];
        // SAFETY: the loaded segment's bytes are those of `object`.
        unsafe { have_handlers(&headers, base) }.unwrap_or(true)
    }

    #[test]
    fn a_personality_routine_in_any_record_means_handlers() {
        let end = [0; 4];
        assert!(!found(0x1b, &end, usize::MAX));
        assert!(!found(0x1b, &[shared(b"zR\0"), shared(b"zRS"), end.to_vec()].concat(), usize::MAX));
        assert!(found(0x1b, &[shared(b"zR\0"), shared(b"zPR"), end.to_vec()].concat(), usize::MAX));
    }

    #[test]
    fn tables_that_are_not_readable_may_mean_handlers() {
        let records = [shared(b"zR\0"), vec![0; 4]].concat();
        assert!(!found(0x1b, &records, 8 + records.len()));
        assert!(found(0x1b, &records, 8 + records.len() - 1));
        assert!(found(0x1b, &records, 7));
        assert!(found(0x03, &records, usize::MAX));
        assert!(found(0x1b, &u32::MAX.to_ne_bytes(), usize::MAX));
        // SAFETY: there are no headers.
        assert_eq!(unsafe { have_handlers(&[], 0) }, None);
    }
}
