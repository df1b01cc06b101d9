//! The files of call sites, for the trace: the command finds names of functions in them.

use crate::observe::trace;
use crate::platform::{limits, loaded};

/// Records the file of `address`: the length of its build id, the build id, and its path.
pub fn record(address: usize) {
    let mut file = [0; 512];
    let found = loaded::find_map(|object| {
        if !object.contains(address) {
            return None;
        }
        let id = object.build_id().unwrap_or_default();
        let (head, rest) = file.split_at_mut(1 + id.len());
        head[0] = id.len() as u8;
        head[1..].copy_from_slice(id);
        let path = object.name().to_bytes();
        let path = &path[..path.len().min(rest.len())];
        rest[..path.len()].copy_from_slice(path);
        Some((object.base(), 1 + id.len(), path.len()))
    });
    let Some((base, id, path)) = found else { return };
    // The loader has no name for the program itself.
    let path = if path == 0 { limits::program(&mut file[id..]).len() } else { path };
    trace::module(base, &file[..id + path]);
}
