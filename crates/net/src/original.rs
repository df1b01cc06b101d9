//! The originals of the functions that this library wraps, and the choice between several Caffes.
//!
//! If this library were absent, the dynamic linker would have bound the caller to another definition: the first in the global scope when
//! the caller was loaded, or else the one in the caller's file or its dependencies. A Caffe that calls its own functions directly would
//! call its own.
#![expect(unsafe_code, reason = "Caffes that are never freed are referred to by address")]

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use syncedmem_caffe_file::names::HOOKS;

use crate::caffe::{self, Caffe};
use crate::layout::is_readable;
use crate::loaded::{self, File};
use crate::nets;

/// `SyncedMemory(size_t)`, which the C++ ABI has under two names: for complete objects and for base classes.
const CONSTRUCTORS: [&CStr; 2] = [c"_ZN5caffe12SyncedMemoryC1Em", c"_ZN5caffe12SyncedMemoryC2Em"];
const COUNT: usize = HOOKS.len() + CONSTRUCTORS.len();

fn symbol(number: usize) -> &'static CStr {
    if number < HOOKS.len() { HOOKS[number] } else { CONSTRUCTORS[number - HOOKS.len()] }
}

/// The number of a function that this library wraps.
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

/// An original, and the Caffe to which it belongs.
#[derive(Clone, Copy)]
pub struct Original {
    pub function: *const c_void,
    pub caffe: &'static Caffe,
}

// SAFETY: functions and Caffes are never freed, and any thread may use them.
unsafe impl Send for Original {}
// SAFETY: functions and Caffes are never freed, and any thread may use them.
unsafe impl Sync for Original {}

/// The original of one function, if it is the same for every caller. Read without a lock.
struct Only {
    /// A number of [`Valid`]; 0: none is known.
    valid: AtomicU64,
    function: AtomicPtr<c_void>,
    caffe: AtomicPtr<Caffe>,
}

static ONLY: [Only; COUNT] = [const {
    Only { valid: AtomicU64::new(0), function: AtomicPtr::new(null_mut()), caffe: AtomicPtr::new(null_mut()) }
}; COUNT];

/// The originals of one function, if there are several.
struct Several {
    valid: u64,
    found: Vec<Original>,
    /// The one in the global scope.
    global: Option<Original>,
    /// The file of that one, and those that were loaded before it: callers in these may be bound to another original.
    files: Vec<File>,
}

static SEVERAL: Mutex<[Option<Arc<Several>>; COUNT]> = Mutex::new([const { None }; COUNT]);

/// Numbers that change when an original may no longer be right: when another Caffe is taken over, and, without [`Valid::FOR_EVER`], when a
/// file is loaded or unloaded. Never 0.
struct Valid;

impl Valid {
    const FOR_EVER: u64 = 1 << 63;

    fn now() -> u64 {
        !Valid::FOR_EVER & (loaded::generation() << 8 | caffe::takes() & 0xff)
    }

    fn for_ever() -> u64 {
        Valid::FOR_EVER | caffe::takes()
    }

    fn is(valid: u64) -> bool {
        valid != 0 && valid == if valid & Valid::FOR_EVER == 0 { Valid::now() } else { Valid::for_ever() }
    }
}

impl Only {
    fn get(&self) -> Option<Original> {
        let valid = self.valid.load(Ordering::Acquire);
        if !Valid::is(valid) {
            return None;
        }
        let (function, caffe) = (self.function.load(Ordering::Acquire), self.caffe.load(Ordering::Acquire));
        // The second load detects a change by another thread.
        // SAFETY: a Caffe is never freed, and `set` stored one before `valid`.
        (self.valid.load(Ordering::Acquire) == valid).then(|| Original { function, caffe: unsafe { &*caffe } })
    }

    fn set(&self, valid: u64, original: Original) {
        // The lock admits one writer. In a forked child a thread that the child lacks may hold it.
        let Ok(_one) = SEVERAL.try_lock() else { return };
        self.valid.store(0, Ordering::Release);
        self.function.store(original.function.cast_mut(), Ordering::Release);
        self.caffe.store(std::ptr::from_ref(original.caffe).cast_mut(), Ordering::Release);
        self.valid.store(valid, Ordering::Release);
    }
}

/// The original for a call with this `this`. Ends the process if no loaded file has it, as the dynamic linker would.
pub fn of_caller(number: usize, this: *const c_void) -> Original {
    ONLY[number].get().or_else(|| find(number, this)).unwrap_or_else(|| {
        let symbol = symbol(number).to_string_lossy();
        eprintln!("libsyncedmem_net.so: {symbol} is in no other loaded file; run without names (--no-names)");
        std::process::abort()
    })
}

fn original(number: usize, file: &File, function: *const c_void) -> Option<Original> {
    let caffe = caffe::of(file)?;
    // If the entry was overwritten, a call of the function itself would lead here again.
    Some(Original { function: caffe.original(number).unwrap_or(function), caffe })
}

#[cold]
fn find(number: usize, this: *const c_void) -> Option<Original> {
    let valid = Valid::now();
    let known = SEVERAL.try_lock().ok().and_then(|several| several[number].clone());
    if let Some(several) = known.filter(|several| several.valid == valid) {
        return several.of_caller(number, this);
    }
    let several = Arc::new(Several::find(number, valid)?);
    if let [only] = several.found[..] {
        ONLY[number].set(if several.global.is_some() { Valid::for_ever() } else { valid }, only);
        return Some(only);
    }
    if let Ok(mut known) = SEVERAL.try_lock() {
        known[number] = Some(Arc::clone(&several));
    }
    several.of_caller(number, this)
}

impl Several {
    fn find(number: usize, valid: u64) -> Option<Several> {
        let symbol = symbol(number);
        let taken = caffe::taken().and_then(|caffe| Some(Original { function: caffe.original(number)?, caffe }));
        let next = loaded::next(symbol);
        let mut files = loaded::files();
        let is_global = |file: &File| next.is_some_and(|next| file.range.contains(&next.addr()));
        // Files that were loaded after the first one in the global scope are bound to it.
        files.truncate(files.iter().position(is_global).map_or(files.len(), |global| global + 1));
        let defined = |file: &File| if is_global(file) { next } else { file.defines(symbol) };
        let mut found: Vec<_> = files.iter().filter_map(|file| original(number, file, defined(file)?)).collect();
        let global =
            next.and_then(|next| found.iter().find(|known| known.caffe.range().contains(&next.addr())).copied());
        found.extend(taken.filter(|taken| !found.iter().any(|known| std::ptr::eq(known.caffe, taken.caffe))));
        Some(Several { valid, found, global, files })
    }

    fn of_caller(&self, number: usize, this: *const c_void) -> Option<Original> {
        let of = |address: usize| self.found.iter().find(|known| known.caffe.range().contains(&address)).copied();
        let caller = loaded::caller().and_then(loaded::file_at);
        let of_caller = caller.and_then(|caller| {
            let is_taken = |known: &Original| known.caffe.original(number) == Some(known.function);
            // A Caffe that calls its own functions directly.
            if let Some(own) = of(caller.range.start).filter(is_taken) {
                return Some(own);
            }
            let is_later = self.global.is_some() && !self.files.contains(&caller);
            let own = if is_later { None } else { caller.find(symbol(number)).and_then(|own| of(own.addr())) };
            own.or(self.global)
        });
        // A caller that made a tail call is not on the stack. Then the object tells its Caffe, or the call that this thread is in.
        let of_this = || {
            let net = nets::caffe_of(this).map(|caffe| caffe.range().start).and_then(of);
            let is_object = this.cast::<usize>().is_aligned() && is_readable(this.addr(), size_of::<usize>());
            // SAFETY: it is aligned and readable.
            let class = || is_object.then(|| unsafe { *this.cast::<usize>() }).and_then(of);
            net.or_else(class).or_else(|| of(crate::call::inside()?.net.caffe.range().start))
        };
        of_caller.or_else(of_this).or_else(|| self.found.first().copied())
    }
}
