//! Reading of Caffe2's saved weights into a workspace.

use std::ffi::c_char;

use super::held::held;
use super::workspace::syncedmem_workspace_t;
use crate::abi::call::entry;
use crate::abi::model::open::file;
use crate::abi::status::syncedmem_status_t;
use crate::caffe2::init_net;

/// Reads an `init_net.pb` into tensors of the host, without an intermediate copy: each becomes the value of the blob of
/// its name, which is created where the workspace has none.
///
/// Errors: `INVALID_ARGUMENT` (also another kind of file), `FILE`, `FORMAT`, `UNSUPPORTED` (a tensor of texts, or one
/// whose values are not in the file). Then no blob has another value, and new ones are empty.
#[unsafe(no_mangle)]
#[unsafe(link_section = "syncedmem_entry")]
pub unsafe extern "C" fn syncedmem_workspace_load_init_net(
    workspace: *mut syncedmem_workspace_t,
    path: *const c_char,
) -> syncedmem_status_t {
    entry!(held(workspace), file(path), |workspace, path| init_net::load(workspace, path)?)
}
