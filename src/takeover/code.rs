//! Writes jumps into the code of a loaded object.
#![expect(unsafe_code, reason = "mprotect(2), and code is written")]

use syncedmem_caffe_file::jump::Site;

use super::refusal::Refusal;
use crate::platform::file::result;
use crate::platform::limits;
use crate::platform::loaded::Object;
use crate::platform::text::warn;

/// Writes all jumps, or none. The pages are writable and executable at once only while this function writes: other functions that lie on them
/// may be running.
pub fn write(object: &Object, sites: &[Site]) -> Result<(), Refusal> {
    let begin = sites.iter().map(|site| site.address).min().ok_or(Refusal::Scattered)?;
    let end = sites.iter().map(|site| site.address + site.jump.bytes().len()).max().unwrap_or(begin);
    let code = object.segment(begin).filter(|segment| segment.has(begin, end - begin) && segment.is_executable());
    let code = code.ok_or(Refusal::Scattered)?;
    let page = limits::system(libc::_SC_PAGESIZE).max(1);
    let (begin, end) = (begin / page * page, end.next_multiple_of(page));
    protect(begin, end - begin, code.protection | libc::PROT_WRITE)?;
    for site in sites {
        let bytes = site.jump.bytes();
        let entry = std::ptr::with_exposed_provenance_mut::<u8>(site.address);
        // SAFETY: `mprotect` has made these bytes of a mapped segment writable. No thread executes them: see `takeover`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), entry, bytes.len()) };
    }
    if let Err(why) = protect(begin, end - begin, code.protection) {
        warn(format_args!("the code that was changed stays writable: {why}"));
    }
    Ok(())
}

fn protect(begin: usize, bytes: usize, protection: i32) -> Result<(), Refusal> {
    let begin = std::ptr::with_exposed_provenance_mut(begin);
    // SAFETY: whole pages of a loaded segment, which stay readable and executable.
    let failed = unsafe { libc::mprotect(begin, bytes, protection) };
    result(failed.into()).map(drop).map_err(Refusal::Forbidden)
}
