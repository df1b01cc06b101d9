//! Workspaces.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use super::blob::syncedmem_typed_blob_t;
use super::held::{Held, handle_of, held, reference_of, taken};
use crate::abi::arguments::{optional_out, out, string};
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::error::Error;
use crate::caffe2::workspace::Workspace;
use crate::platform::fallible_arc::FallibleArc;

/// Named blobs, over those of a parent.
pub struct syncedmem_workspace_t(());

/// Visits a blob of a workspace: its name there, its handle, valid during the call, and the bytes of its tensor's memory,
/// 0 if a blob visited before shares that memory.
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

unsafe fn name_of<'a>(name: *const c_char) -> Result<&'a [u8], Error> {
    // SAFETY: the C caller passes a string.
    Ok(unsafe { string(name) }?.to_bytes())
}

unsafe fn optional_reference_of(parent: *mut syncedmem_workspace_t) -> Result<Option<FallibleArc<Workspace>>, Error> {
    // SAFETY: the C caller passes a live handle or NULL.
    Ok(if parent.is_null() { None } else { Some(unsafe { reference_of(parent) }?) })
}

/// Creates an empty workspace and writes its handle to `*workspace`. It has a reference to the parent, which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_create(
    parent: *mut syncedmem_workspace_t,
    workspace: *mut *mut syncedmem_workspace_t,
) -> syncedmem_status_t {
    entry!(out(workspace), optional_reference_of(parent), |workspace, parent| {
        workspace.set(handle_of(Workspace::new(parent)?));
    })
}

/// Adds a reference to the workspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_retain(workspace: *mut syncedmem_workspace_t) -> syncedmem_status_t {
    entry!(reference_of(workspace), |reference| std::mem::forget(reference))
}

/// Drops a reference; the last one ends the workspace, but not blobs with other references. Workspaces that map each
/// other's blobs keep each other until the process ends.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_workspace_destroy(workspace: *mut syncedmem_workspace_t) -> syncedmem_status_t {
    entry!(taken(workspace), |reference| drop(reference))
}

/// Writes a handle of the blob of that name to `*blob`: this workspace's, a mapping's or a parent's, or else a new
/// empty one of this workspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_create_blob(
    workspace: *mut syncedmem_workspace_t,
    name: *const c_char,
    blob: *mut *mut syncedmem_typed_blob_t,
) -> syncedmem_status_t {
    entry!(held(workspace), out(blob), name_of(name), |workspace, blob, name| {
        blob.set(handle_of(workspace.create(name)?));
    })
}

/// Works as `syncedmem_workspace_create_blob`, but for this workspace itself: the blob hides a mapping's or a parent's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_create_local_blob(
    workspace: *mut syncedmem_workspace_t,
    name: *const c_char,
    blob: *mut *mut syncedmem_typed_blob_t,
) -> syncedmem_status_t {
    entry!(held(workspace), out(blob), name_of(name), |workspace, blob, name| {
        blob.set(handle_of(workspace.create_local(name)?));
    })
}

/// Works as `syncedmem_workspace_create_blob`, but writes NULL if there is no such blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_get_blob(
    workspace: *const syncedmem_workspace_t,
    name: *const c_char,
    blob: *mut *mut syncedmem_typed_blob_t,
) -> syncedmem_status_t {
    entry!(held(workspace), out(blob), name_of(name), |workspace, blob, name| {
        blob.set(workspace.get(name).map_or(null_mut(), handle_of));
    })
}

/// Writes to `*has` whether `syncedmem_workspace_get_blob` finds a blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_workspace_has_blob(
    workspace: *const syncedmem_workspace_t,
    name: *const c_char,
    has: *mut bool,
) -> syncedmem_status_t {
    entry!(held(workspace), out(has), name_of(name), |workspace, has, name| has.set(workspace.get(name).is_some()))
}

/// Removes a blob of this workspace itself, which other references keep, and writes to `*removed`, which may be NULL,
/// whether there was one.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_workspace_remove_blob(
    workspace: *mut syncedmem_workspace_t,
    name: *const c_char,
    removed: *mut bool,
) -> syncedmem_status_t {
    entry!(held(workspace), name_of(name), optional_out(removed), |workspace, name, removed| {
        let was_there = workspace.remove(name);
        removed.set(|| was_there);
    })
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
    entry!(held(workspace), name_of(name), name_of(new_name), optional_out(blob), |workspace, name, new_name, blob| {
        let renamed = workspace.rename(name, new_name)?;
        blob.set(|| handle_of(renamed));
    })
}

/// Makes the blob `name` of another workspace visible here as `new_name`. This workspace has a reference to the
/// other one, where the name is looked up at each use. With `skip_defined` nothing is done if a blob is visible as `new_name` already.
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
    entry!(
        held(workspace),
        name_of(new_name),
        name_of(name),
        reference_of(other),
        |workspace, new_name, name, other| { workspace.map(new_name, &other, name, skip_defined)? }
    )
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
    entry!(held(workspace), |workspace| {
        let visitor = visitor.ok_or(Error::Argument("visitor is NULL; pass a function"))?;
        for each in workspace.list(local)? {
            let blob = each.blob.address().as_ptr().cast();
            // SAFETY: the C caller passes a visitor that may be called with this context during the call.
            unsafe { visitor(each.name.with_nul().as_ptr().cast(), blob, each.bytes, context) };
        }
    })
}
