//! Takes over a Caffe that is bound within itself. `LD_PRELOAD` and the search for symbols do not reach such a Caffe's calls
//! of its own `SyncedMemory`. So each of these functions gets a jump to this library's at its entry, and nothing of the
//! original runs afterwards.
//!
//! The jumps are written while no other thread can be inside: when this library is loaded, before the program begins, and in
//! `dlopen`, before that returns. All functions of a file are replaced, or none, under the lock of the loader's list.
//!
//! libsyncedmem_net.so gets all of its jumps in nets and solvers, written with them ([`net_library`]), or none.
//!
//! `SYNCEDMEM_TAKE_OVER=1` turns this on; `syncedmem run` sets it where it is needed.

mod code;
mod file;
mod loader;
mod net_library;
mod refusal;

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use syncedmem_caffe_file::entries::{self, Entry};
use syncedmem_caffe_file::jump::{Jump, Site};
use syncedmem_caffe_file::limit::Limit;
use syncedmem_caffe_file::names::{FUNCTIONS, HOOKS};
use syncedmem_core::text::{Escaped, Text};

use crate::platform::loaded::{self, Object};
use crate::platform::{limits, text::warn};
use crate::settings;
use file::File;
use net_library::NetLibrary;
use refusal::Refusal;

/// Takes over what is loaded, and watches for later objects. Called when this library is loaded.
pub fn begin() {
    if !settings::takes_over() {
        return;
    }
    if loader::is_alone() {
        take_new();
    } else {
        warn(format_args!("SYNCEDMEM_TAKE_OVER=1: nothing that is loaded now is taken over: {}", Refusal::Threads));
        count_objects();
    }
    if let Err(why) = loader::watch(take_new) {
        warn(format_args!("SYNCEDMEM_TAKE_OVER=1: what is loaded from now on is not taken over: {why}"));
    }
}

/// How many functions of a loaded object were replaced.
#[derive(Clone, Copy)]
pub struct Count {
    /// Functions of `SyncedMemory`.
    pub memory: usize,
    /// Functions that give layers their names.
    pub names: usize,
}

/// Counts for the object that is loaded at `base`, if it is taken over.
pub fn functions(base: usize) -> Option<Count> {
    let of = |taken: &&Taken| taken.base.load(Relaxed) == base + 1;
    let count = |taken: &Taken| Count { memory: taken.memory.load(Relaxed), names: taken.names.load(Relaxed) };
    TAKEN.iter().find(of).map(count)
}

/// A slot of the table for `functions`. Relaxed: the loader's lock orders the writes, and a reader finds an object by the
/// loader's list.
struct Taken {
    /// Base address plus 1: 0 marks a free slot, and a program's own base is 0.
    base: AtomicUsize,
    memory: AtomicUsize,
    names: AtomicUsize,
}

/// Further objects of a process are taken over too, but are not in reports.
const PLACES: usize = 8;
static TAKEN: [Taken; PLACES] =
    [const { Taken { base: AtomicUsize::new(0), memory: AtomicUsize::new(0), names: AtomicUsize::new(0) } }; PLACES];

/// How many objects the loader had loaded at the last look.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Returns how many objects are in the list, and how many of these are new, which are the last ones.
fn count_objects() -> (usize, usize) {
    let (mut count, mut loaded) = (0, 0);
    loaded::each(|object| {
        (count, loaded) = (count + 1, object.loaded_so_far());
        ControlFlow::Continue(())
    });
    (count, loaded.saturating_sub(SEEN.swap(loaded, Relaxed)) as usize)
}

/// Takes over the Caffes that were loaded since the last call, and forgets those that were unloaded.
fn take_new() {
    let Some(own) = Own::find() else { return };
    let (count, new) = count_objects();
    let (mut index, mut is_there) = (0, [false; PLACES]);
    loaded::each(|object| {
        index += 1;
        if let Some(place) = TAKEN.iter().position(|taken| taken.base.load(Relaxed) == object.base() + 1) {
            is_there[place] = true;
        } else if index + new > count {
            take_reporting(object, &own, &mut is_there);
        }
        ControlFlow::Continue(())
    });
    let gone = TAKEN.iter().zip(is_there).filter(|(_, is_there)| !is_there);
    gone.for_each(|(taken, _)| taken.base.store(0, Relaxed));
}

fn take_reporting(object: &Object, own: &Own, is_there: &mut [bool; PLACES]) {
    if object.contains(own.address) {
        return;
    }
    match take(object, own) {
        Ok(count) => {
            if let Some(place) = is_there.iter().position(|is_there| !is_there) {
                is_there[place] = true;
                TAKEN[place].memory.store(count.memory, Relaxed);
                TAKEN[place].names.store(count.names, Relaxed);
                TAKEN[place].base.store(object.base() + 1, Relaxed);
            }
        }
        // The object is any library, or one that contains libsyncedmem.
        Err(Refusal::File(Limit::Ours)) => {}
        Err(Refusal::File(Limit::NoNames | Limit::Broken) | Refusal::Unreadable(_)) if !exports_memory(object) => {}
        Err(why) => {
            let path = path(object);
            warn(format_args!("{} is not taken over: {why}", Escaped(path.as_c_str().to_bytes())));
        }
    }
}

fn exports_memory(object: &Object) -> bool {
    object.symbols().is_some_and(|symbols| symbols.find(FUNCTIONS[0]).is_some())
}

pub fn path(object: &Object) -> Text<400> {
    let mut buffer = [0; 400];
    let name = match object.name().to_bytes() {
        b"" => limits::program(&mut buffer),
        name => name,
    };
    Text::of(format_args!("{}", std::str::from_utf8(name).unwrap_or_default()))
}

/// Returns how many functions were replaced.
fn take(object: &Object, own: &Own) -> Result<Count, Refusal> {
    let name = if object.name().is_empty() { c"/proc/self/exe" } else { object.name() };
    let file = File::open(name).map_err(Refusal::Unreadable)?;
    let entries = entries::find(file.bytes()).map_err(Refusal::File)?;
    // `Option`s would not do: a compiler reads the site before it reads that there is none, which memcheck reports.
    let (mut sites, mut memory) = ([Site::default(); FUNCTIONS.len() + HOOKS.len()], 0);
    for (entry, target) in entries.iter().zip(own.functions) {
        if let Some(entry) = entry {
            sites[memory] = site(object, &file, entry, target)?;
            memory += 1;
        }
    }
    let append = |net: &NetLibrary| net.append(object, &file, &mut sites[memory..], path(object).as_c_str());
    let names = own.net_library.as_ref().map_or(0, append);
    code::write(object, &sites[..memory + names])?;
    Ok(Count { memory, names })
}

fn site(object: &Object, file: &File, entry: &Entry, target: usize) -> Result<Site, Refusal> {
    let code = file.bytes().get(entry.offset..).unwrap_or_default();
    let address = object.base().wrapping_add(entry.address as usize);
    let site = Site { address, offset: entry.offset, room: entry.room, jump: Jump::far(code, target) };
    if is_unchanged(object, file, &site) { Ok(site) } else { Err(Refusal::Changed(entry.name)) }
}

/// Whether the code in memory is that of the file. It is not if another library or a debugger has changed it, or if the file
/// was replaced.
fn is_unchanged(object: &Object, file: &File, site: &Site) -> bool {
    let in_file = file.bytes().get(site.offset..).and_then(|code| code.get(..site.room));
    in_file.is_some() && in_file == object.bytes(site.address, site.room)
}

/// This library, and libsyncedmem_net.so if it is loaded.
struct Own {
    address: usize,
    /// The addresses of `FUNCTIONS`.
    functions: [usize; FUNCTIONS.len()],
    net_library: Option<NetLibrary>,
}

impl Own {
    /// `None` for a program that contains the static library.
    fn find() -> Option<Own> {
        let own = begin as fn() as usize;
        let functions = loaded::find_map(|object| {
            let symbols = object.symbols().filter(|_| object.contains(own))?;
            let find = |name: &CStr| symbols.find(name).map_or(0, |function| function.addr().get());
            Some(FUNCTIONS.map(find)).filter(|functions| functions.iter().all(|&function| function != 0))
        });
        let (mut functions, net_library) = (functions?, NetLibrary::find());
        // The constructors of libsyncedmem_net.so call those of this library.
        for (function, first) in functions.iter_mut().zip(net_library.iter().flat_map(|net| net.functions)) {
            *function = if first != 0 { first } else { *function };
        }
        Some(Own { address: own, functions, net_library })
    }
}
