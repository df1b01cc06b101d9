//! The functions of nets, blobs and solvers that libsyncedmem_net.so wraps, in a Caffe that calls its own functions directly: a jump at the
//! entry of each leads to the wrapper, which calls the original. The instructions that the jump overwrites are executed elsewhere.

use std::ffi::CStr;

use object::ReadRef;

use crate::entries::{Entry, index_of, judge, jump, symbols};
use crate::jump::moved;
use crate::limit::Limit;
use crate::names::{FUNCTIONS, HOOKS};

/// Functions by which a net is read, which are looked up when the program runs.
const ACCESSORS: [&CStr; 2] = [c"_ZNK5caffe3NetIfE6layersEv", c"_ZNK5caffe3NetIdE6layersEv"];

#[derive(Clone, Copy, Debug)]
pub struct Hook {
    pub entry: Entry,
    /// Bytes of the first instructions, those of a near jump or more.
    pub moved: usize,
}

/// The hooks of the functions that the file defines, by index in `HOOKS`. None in a file without nets. An error if one cannot be hooked.
pub fn find<'f>(file: impl ReadRef<'f>) -> Result<[Option<Hook>; HOOKS.len()], Limit> {
    let (mut entries, mut can_be_read, mut memory) = ([None; HOOKS.len()], false, [None; FUNCTIONS.len()]);
    symbols(file, |function| {
        can_be_read |= ACCESSORS.iter().any(|accessor| accessor.to_bytes() == function.name.as_bytes());
        if let Some(index) = index_of(function.name, &FUNCTIONS)? {
            return function.enter(FUNCTIONS[index], &mut memory[index]);
        }
        match index_of(function.name, &HOOKS)? {
            Some(index) => function.enter(HOOKS[index], &mut entries[index]),
            None => Ok(()),
        }
    })?;
    let mut hooks = [None; HOOKS.len()];
    if entries[..2].iter().all(Option::is_none) {
        return Ok(hooks);
    }
    if !can_be_read {
        return Err(Limit::Missing(ACCESSORS[0]));
    }
    for (hook, entry) in hooks.iter_mut().zip(entries) {
        let Some(entry) = entry else { continue };
        let code = file.read_bytes_at(entry.offset as u64, entry.size as u64).map_err(|()| Limit::Broken)?;
        *hook = Some(Hook { entry, moved: moved(code).ok_or(Limit::Fixed(entry.name))? });
    }
    let memory = memory.iter().flatten().map(|entry| (entry, jump(file, entry)));
    judge(file, hooks.iter().flatten().map(|hook| (&hook.entry, hook.moved)).chain(memory))?;
    Ok(hooks)
}
