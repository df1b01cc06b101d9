//! Workspaces.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use super::blob::syncedmem_typed_blob_t;
use super::held::{Held, destroy, handle_of, held, holder_of, retain};
use crate::abi::arguments::{OptionalOut, answer_for, string};
use crate::abi::opaque::{Opaque, ask, with};
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::error::Error;
use crate::caffe2::workspace::Workspace;

/// Named blobs, over those of a parent.
pub struct syncedmem_workspace_t(());

/// Visits a blob of a workspace: its name there, its handle, held during the call, and the bytes of its tensor's
/// memory, 0 where a blob visited before has that too.
pub type syncedmem_blob_visitor_t = Option<
    unsafe extern "C-unwind" fn(
        name: *const c_char,
        blob: *mut syncedmem_typed_blob_t,
        bytes: usize,
        context: *mut c_void,
    ),
>;

impl Held for syncedmem_workspace_t {
    type Counted = Workspace;
    const NULL: &'static str =
        "a workspace is NULL or misaligned; pass a handle that syncedmem_workspace_create has written";
}

impl Opaque for syncedmem_workspace_t {
    type Value = Workspace;
    type Error = Error;

    unsafe fn value<'a>(handle: *const Self) -> Result<&'a Workspace, Error> {
        // SAFETY: the caller guarantees it.
        unsafe { held(handle) }
    }
}

/// # Safety
/// As for `string`.
unsafe fn name_of<'a>(name: *const c_char) -> Result<&'a [u8], Error> {
    // SAFETY: the caller guarantees it.
    Ok(unsafe { string(name, "a name is NULL; pass a string") }?.to_bytes())
}

/// Creates an empty workspace and writes its handle to `*workspace`. It holds the parent, which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_create(
    parent: *mut syncedmem_workspace_t,
    workspace: *mut *mut syncedmem_workspace_t,
) -> syncedmem_status_t {
    let create = || {
        // SAFETY: the caller guarantees it.
        let parent = if parent.is_null() { None } else { Some(unsafe { holder_of(parent) }?) };
        Workspace::new(parent).map(handle_of)
    };
    // SAFETY: as above.
    unsafe { answer_for("syncedmem_workspace_create", workspace, create) }
}

/// Makes one more holder of the workspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_retain(workspace: *mut syncedmem_workspace_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { retain("syncedmem_workspace_retain", workspace) }
}

/// Ends one holder; the last one ends the workspace, but not blobs that are held elsewhere. Workspaces that map each
/// other's blobs hold each other until the process ends.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_workspace_destroy(workspace: *mut syncedmem_workspace_t) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    unsafe { destroy("syncedmem_workspace_destroy", workspace) }
}

/// Writes a handle of the blob of that name to `*blob`: this workspace's, a mapping's or a parent's, or else a new
/// empty one of this workspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_create_blob(
    workspace: *mut syncedmem_workspace_t,
    name: *const c_char,
    blob: *mut *mut syncedmem_typed_blob_t,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    let create = |workspace: &Workspace| workspace.create(unsafe { name_of(name) }?).map(handle_of);
    // SAFETY: as above.
    unsafe { ask("syncedmem_workspace_create_blob", workspace, blob, create) }
}

/// As `syncedmem_workspace_create_blob`, of this workspace itself: the blob hides a mapping's or a parent's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_create_local_blob(
    workspace: *mut syncedmem_workspace_t,
    name: *const c_char,
    blob: *mut *mut syncedmem_typed_blob_t,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    let create = |workspace: &Workspace| workspace.create_local(unsafe { name_of(name) }?).map(handle_of);
    // SAFETY: as above.
    unsafe { ask("syncedmem_workspace_create_local_blob", workspace, blob, create) }
}

/// As `syncedmem_workspace_create_blob`, but writes NULL if there is no such blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_get_blob(
    workspace: *const syncedmem_workspace_t,
    name: *const c_char,
    blob: *mut *mut syncedmem_typed_blob_t,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    let get = |workspace: &Workspace| Ok(workspace.get(unsafe { name_of(name) }?).map_or(null_mut(), handle_of));
    // SAFETY: as above.
    unsafe { ask("syncedmem_workspace_get_blob", workspace, blob, get) }
}

/// Writes to `*has` whether `syncedmem_workspace_get_blob` finds a blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_has_blob(
    workspace: *const syncedmem_workspace_t,
    name: *const c_char,
    has: *mut bool,
) -> syncedmem_status_t {
    // SAFETY: the caller guarantees it.
    let is_there = |workspace: &Workspace| Ok(workspace.get(unsafe { name_of(name) }?).is_some());
    // SAFETY: as above.
    unsafe { ask("syncedmem_workspace_has_blob", workspace, has, is_there) }
}

/// Removes a blob of this workspace itself, which other holders keep, and writes to `*removed`, which may be NULL,
/// whether there was one.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_workspace_remove_blob(
    workspace: *mut syncedmem_workspace_t,
    name: *const c_char,
    removed: *mut bool,
) -> syncedmem_status_t {
    let remove = |workspace: &Workspace| {
        // SAFETY: the caller guarantees it.
        let (name, out) = (unsafe { name_of(name) }?, unsafe { OptionalOut::new(removed) }?);
        let was_there = workspace.remove(name);
        out.set(|| was_there);
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_workspace_remove_blob", workspace, remove) }
}

/// Gives a blob of this workspace itself a new name, and writes a handle of it to `*blob`, which may be NULL.
///
/// Errors: `INVALID_ARGUMENT` (also no such blob, or a new name that is visible already).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_rename_blob(
    workspace: *mut syncedmem_workspace_t,
    name: *const c_char,
    new_name: *const c_char,
    blob: *mut *mut syncedmem_typed_blob_t,
) -> syncedmem_status_t {
    let rename = |workspace: &Workspace| {
        // SAFETY: the caller guarantees it.
        let (name, new) = (unsafe { name_of(name) }?, unsafe { name_of(new_name) }?);
        // SAFETY: as above.
        let out = unsafe { OptionalOut::new(blob) }?;
        let renamed = workspace.rename(name, new)?;
        out.set(|| handle_of(renamed));
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_workspace_rename_blob", workspace, rename) }
}

/// Makes the blob `name` of another workspace visible here as `new_name`. This workspace holds the other one. The name
/// is looked up there at each use. With `skip_defined` nothing is done if a blob is visible as `new_name` already.
///
/// Errors: `INVALID_ARGUMENT` (also the same workspace, no such blob, or a new name that is visible already).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_add_blob_mapping(
    workspace: *mut syncedmem_workspace_t,
    new_name: *const c_char,
    other: *mut syncedmem_workspace_t,
    name: *const c_char,
    skip_defined: bool,
) -> syncedmem_status_t {
    let map = |workspace: &Workspace| {
        // SAFETY: the caller guarantees it.
        let (new_name, name) = (unsafe { name_of(new_name) }?, unsafe { name_of(name) }?);
        // SAFETY: as above.
        workspace.map(new_name, &unsafe { holder_of(other) }?, name, skip_defined)
    };
    // SAFETY: as above.
    unsafe { with("syncedmem_workspace_add_blob_mapping", workspace, map) }
}

/// Calls `visitor` with each visible blob, or, if `local`, with each of this workspace itself, sorted by name. The
/// visitor may use the workspace: the list was made before.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_workspace_blobs(
    workspace: *const syncedmem_workspace_t,
    local: bool,
    visitor: syncedmem_blob_visitor_t,
    context: *mut c_void,
) -> syncedmem_status_t {
    let visit = |workspace: &Workspace| {
        let visitor = visitor.ok_or(Error::Argument("visitor is NULL; pass a function"))?;
        for each in workspace.list(local)? {
            let blob = each.blob.address().as_ptr().cast();
            // SAFETY: the caller gave it for this.
            unsafe { visitor(each.name.with_nul().as_ptr().cast(), blob, each.bytes, context) };
        }
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    unsafe { with("syncedmem_workspace_blobs", workspace, visit) }
}
