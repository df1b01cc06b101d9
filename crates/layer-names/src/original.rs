//! The functions of Caffe's that this library stands in front of, and which of several Caffes a call is for.
//!
//! Without this library, a call goes to the first definition in the global scope, or else to that of the caller's file or of a file that
//! it needs. A Caffe that is bound within itself calls its own.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use syncedmem_caffe_file::names::HOOKS;

use crate::caffe::{self, Caffe};
use crate::loaded::{self, File};

/// `SyncedMemory(size_t)`. The C++ ABI has it under two names, for complete objects and for base classes.
const CONSTRUCTORS: [&CStr; 2] = [c"_ZN5caffe12SyncedMemoryC1Em", c"_ZN5caffe12SyncedMemoryC2Em"];
const COUNT: usize = HOOKS.len() + CONSTRUCTORS.len();

fn symbol(number: usize) -> &'static CStr {
    if number < HOOKS.len() { HOOKS[number] } else { CONSTRUCTORS[number - HOOKS.len()] }
}

/// The number of a function that this library stands in front of.
pub const fn number(name: &str) -> usize {
    let mut number = 0;
    while number < COUNT {
        let known =
            if number < HOOKS.len() { HOOKS[number].to_bytes() } else { CONSTRUCTORS[number - HOOKS.len()].to_bytes() };
        let (name, mut at) = (name.as_bytes(), 0);
        while at < known.len() && at < name.len() && known[at] == name[at] {
            at += 1;
        }
        if at == known.len() && at == name.len() {
            return number;
        }
        number += 1;
    }
    panic!("no function of this library has that name");
}

/// A function, and the Caffe that it belongs to.
#[derive(Clone, Copy)]
pub struct Original {
    pub function: *const c_void,
    pub caffe: &'static Caffe,
}

/// The original for every caller.
struct Only {
    /// The generation of loaded files for which there is one, or [`FOR_EVER`]; 0: not known.
    valid: AtomicU64,
    function: AtomicPtr<c_void>,
    caffe: AtomicPtr<Caffe>,
}

const FOR_EVER: u64 = u64::MAX;

static ONLY: [Only; COUNT] = [const {
    Only { valid: AtomicU64::new(0), function: AtomicPtr::new(null_mut()), caffe: AtomicPtr::new(null_mut()) }
}; COUNT];

impl Only {
    fn get(&self) -> Option<Original> {
        let valid = self.valid.load(Ordering::Acquire);
        if valid == 0 || valid != FOR_EVER && valid != loaded::generation() {
            return None;
        }
        let (function, caffe) = (self.function.load(Ordering::Acquire), self.caffe.load(Ordering::Acquire));
        // Another thread may have exchanged them meanwhile.
        // SAFETY: a Caffe is never freed, and `set` stored one before `valid`.
        (self.valid.load(Ordering::Acquire) == valid).then(|| Original { function, caffe: unsafe { &*caffe } })
    }

    fn set(&self, valid: u64, original: Original) {
        self.valid.store(0, Ordering::Release);
        self.function.store(original.function.cast_mut(), Ordering::Release);
        self.caffe.store(std::ptr::from_ref(original.caffe).cast_mut(), Ordering::Release);
        self.valid.store(valid, Ordering::Release);
    }
}

/// A Caffe was taken over: its callers have another original than the rest.
pub fn forget() {
    ONLY.iter().for_each(|only| only.valid.store(0, Ordering::Release));
}

/// The original of the function of this library that was called. Ends the process if no loaded file has it, as the dynamic linker would.
pub fn of_caller(number: usize) -> Original {
    ONLY[number].get().or_else(|| find(number)).unwrap_or_else(|| {
        let symbol = symbol(number).to_string_lossy();
        eprintln!("libsyncedmem_names.so: {symbol} is in no other loaded file; run without names (--no-names)");
        std::process::abort()
    })
}

fn original(number: usize, file: &File, function: *const c_void) -> Original {
    let caffe = caffe::of(file);
    // A jump at the entry would lead here again.
    Original { function: caffe.original(number).unwrap_or(function), caffe }
}

#[cold]
fn find(number: usize) -> Option<Original> {
    let (symbol, generation) = (symbol(number), loaded::generation());
    let taken = caffe::taken().and_then(|caffe| Some(Original { function: caffe.original(number)?, caffe }));
    let next =
        loaded::next(symbol).and_then(|function| Some(original(number, &loaded::file_at(function.addr())?, function)));
    let mut found = match next {
        Some(next) => vec![next],
        None => {
            let files = loaded::files();
            let defines = files.iter().filter_map(|file| Some((file, file.defines(symbol)?)));
            defines.map(|(file, function)| original(number, file, function)).collect()
        }
    };
    let is_known = |caffe: &Caffe| found.iter().any(|known| std::ptr::eq(known.caffe, caffe));
    if let Some(taken) = taken.filter(|taken| !is_known(taken.caffe)) {
        found.push(taken);
    }
    if let [only] = found[..] {
        ONLY[number].set(if next.is_some() { FOR_EVER } else { generation }, only);
        return Some(only);
    }
    let caller = loaded::caller().and_then(loaded::file_at);
    let of_caller = caller.and_then(|file| {
        let is_its = |known: &&Original| known.caffe.range().contains(&file.range.start);
        // The global scope comes before the caller's own.
        if let Some(taken) = taken.as_ref().filter(is_its) {
            return Some(*taken);
        }
        let own = next.is_none().then(|| file.find(symbol)).flatten()?;
        found.iter().find(|known| known.caffe.range().contains(&own.addr())).copied()
    });
    of_caller.or(found.first().copied())
}
