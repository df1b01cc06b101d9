//! Writes jumps into the code of a loaded object.
#![expect(unsafe_code, reason = "mprotect(2), and code is written")]

use syncedmem_caffe_file::jump::Site;

use super::refusal::Refusal;
use crate::platform::file::result;
use crate::platform::limits;
use crate::platform::loaded::Object;
use crate::platform::text::warn;

#[cfg(target_arch = "aarch64")]
unsafe extern "C" {
    /// libgcc's function: the processor reads instructions through a cache that does not see writes of data by itself.
    fn __clear_cache(begin: usize, end: usize);
}

/// Writes all jumps, or none. The pages are writable and executable at once only while this function writes, because other
/// functions on them may be running.
pub fn write(object: &Object, sites: &[Site]) -> Result<(), Refusal> {
    let begin = sites.iter().map(|site| site.address).min().ok_or(Refusal::Scattered)?;
    let end = sites.iter().map(|site| site.address + site.jump.bytes().len()).max().unwrap_or(begin);
    let code = object.segment(begin).filter(|segment| segment.has(begin, end - begin) && segment.is_executable());
    let code = code.ok_or(Refusal::Scattered)?;
    let page = limits::system(libc::_SC_PAGESIZE).max(1);
    let (begin, end) = (begin / page * page, end.next_multiple_of(page));
    let protection = code.protection | checks_branches(object);
    protect(begin, end - begin, protection | libc::PROT_WRITE)?;
    for site in sites {
        let bytes = site.jump.bytes();
        let entry = std::ptr::with_exposed_provenance_mut::<u8>(site.address);
        // SAFETY: `protect` has made these bytes of a mapped segment writable. No thread executes them: see `takeover`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), entry, bytes.len()) };
        // SAFETY: these bytes are mapped.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            __clear_cache(site.address, site.address + bytes.len())
        };
    }
    if let Err(why) = protect(begin, end - begin, protection) {
        warn(format_args!("the code that was changed stays writable: {why}"));
    }
    Ok(())
}

/// The flag of mprotect(2) for code whose indirect branches the processor checks. If the processor checks them, the loader has
/// set it for an object whose note says that all of its code has landing marks.
fn checks_branches(object: &Object) -> i32 {
    const PROT_BTI: i32 = 0x10;
    const HWCAP2_BTI: u64 = 1 << 17;
    const NT_GNU_PROPERTY_TYPE_0: u32 = 5;
    // The note has a kind, a size of 4 bytes, the properties, and padding.
    const AARCH64_FEATURE_1_AND: u32 = 0xc000_0000;
    const BTI: u32 = 1;
    if !cfg!(target_arch = "aarch64") {
        return 0;
    }
    let note = object.note(c"GNU", NT_GNU_PROPERTY_TYPE_0, 16).map(std::ptr::with_exposed_provenance::<[u32; 4]>);
    // SAFETY: `note` found 16 bytes in a segment that stays mapped while the loader's list is locked.
    let has_marks = note
        .map(|note| unsafe { note.read_unaligned() })
        .is_some_and(|[kind, _, properties, _]| kind == AARCH64_FEATURE_1_AND && properties & BTI != 0);
    // SAFETY: getauxval has no preconditions.
    let checks = unsafe { libc::getauxval(libc::AT_HWCAP2) } & HWCAP2_BTI != 0;
    if has_marks && checks { PROT_BTI } else { 0 }
}

fn protect(begin: usize, bytes: usize, protection: i32) -> Result<(), Refusal> {
    let begin = std::ptr::with_exposed_provenance_mut(begin);
    // SAFETY: whole pages of a loaded segment, which stay readable and executable.
    let failed = unsafe { libc::mprotect(begin, bytes, protection) };
    result(failed.into()).map(drop).map_err(Refusal::Forbidden)
}
