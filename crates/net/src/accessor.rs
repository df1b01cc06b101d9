//! Accessors of Caffe's nets, solvers and blobs, found by their mangled names.
#![expect(unsafe_code, reason = "functions of Caffe's are called")]

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::layout::{Bits, NewString, OldString, Shared, Vector, elements};

/// Looks up a function of one Caffe by its mangled name.
pub type Find<'f> = &'f dyn Fn(&str) -> Option<*mut c_void>;

/// A member function `const vector<T>& f() const`; for the memory of a blob, `const T& f() const`.
#[derive(Clone, Copy)]
pub struct Accessor<T>(Get, PhantomData<T>);
pub type Get = unsafe extern "C" fn(*const c_void) -> *const c_void;
/// `Phase phase() const` and `int iter() const`
pub type Number = unsafe extern "C" fn(*const c_void) -> c_int;

impl<T: Copy> Accessor<T> {
    fn find(find: Find, symbol: &str) -> Option<Accessor<T>> {
        // SAFETY: Caffe's headers declare each function that is asked for here with this signature; references and `this` are pointers.
        find(symbol).map(|found| Accessor(unsafe { transmute::<*mut c_void, Get>(found) }, PhantomData))
    }

    /// The address of what the accessor refers to.
    ///
    /// # Safety
    /// `of` is of the accessor's class, and no other thread changes it.
    pub unsafe fn get(self, of: *const c_void) -> *const c_void {
        // SAFETY: `of` is of the accessor's class, by this function's contract.
        unsafe { (self.0)(of) }
    }

    /// # Safety
    /// `of` is of the accessor's class, and no other thread changes it.
    pub unsafe fn read<'a>(self, of: *const c_void) -> Option<&'a [T]> {
        // SAFETY: `of` is of the accessor's class, by this function's contract.
        let vector = unsafe { self.get(of) };
        // SAFETY: the accessor returns a vector of `T`, which no thread changes, by this function's contract.
        unsafe { elements(vector) }
    }
}

fn number(find: Find, symbol: &str) -> Option<Number> {
    // SAFETY: Caffe's headers declare each function that is asked for here with this signature.
    find(symbol).map(|found| unsafe { transmute::<*mut c_void, Number>(found) })
}

pub type Blobs = Vector<*const c_void>;

/// Accessors of nets and solvers of an element type.
pub struct NetAccessors {
    pub letter: &'static str,
    pub layer_names: Names,
    pub layers: Accessor<Shared>,
    pub bottoms: Accessor<Blobs>,
    pub tops: Accessor<Blobs>,
    pub layer_blobs: Accessor<Shared>,
    pub learnable: Option<Accessor<*const c_void>>,
    pub history: Option<Accessor<Shared>>,
    pub blob_names: Option<Names>,
    pub blobs: Option<Accessor<Shared>>,
    pub propagates: Option<Accessor<Bits>>,
}

/// Accessors that give a pass its kind and its iteration.
pub struct PassAccessors {
    pub phase: Option<Number>,
    pub iteration: Option<Number>,
}

impl PassAccessors {
    pub fn find(find: Find, letter: &'static str) -> PassAccessors {
        PassAccessors {
            phase: number(find, &format!("_ZNK5caffe3NetI{letter}E5phaseEv")),
            iteration: number(find, &format!("_ZNK5caffe6SolverI{letter}E4iterEv")),
        }
    }
}

/// Strings of the C++ ABI since GCC 5, whose accessors have `cxx11` in their names, or of the one before.
pub enum Names {
    New(Accessor<NewString>),
    Old(Accessor<OldString>),
}

impl Names {
    /// `accessor` is its name with the length before it, as in the mangled name.
    fn find(find: Find, letter: &str, accessor: &str) -> Option<Names> {
        let symbol = format!("_ZNK5caffe3NetI{letter}E{accessor}");
        let new = Accessor::find(find, &format!("{symbol}B5cxx11Ev")).map(Names::New);
        new.or_else(|| Accessor::find(find, &format!("{symbol}Ev")).map(Names::Old))
    }
}

impl NetAccessors {
    pub fn find(find: Find, letter: &'static str) -> Option<NetAccessors> {
        let net = |name: &str| format!("_ZNK5caffe3NetI{letter}E{name}Ev");
        Some(NetAccessors {
            letter,
            layer_names: Names::find(find, letter, "11layer_names")?,
            layers: Accessor::find(find, &net("6layers"))?,
            bottoms: Accessor::find(find, &net("11bottom_vecs"))?,
            tops: Accessor::find(find, &net("8top_vecs"))?,
            layer_blobs: Accessor::find(find, &format!("_ZN5caffe5LayerI{letter}E5blobsEv"))?,
            learnable: Accessor::find(find, &net("16learnable_params")),
            history: Accessor::find(find, &format!("_ZN5caffe9SGDSolverI{letter}E7historyEv")),
            blob_names: Names::find(find, letter, "10blob_names"),
            blobs: Accessor::find(find, &net("5blobs")),
            propagates: Accessor::find(find, &net("20bottom_need_backward")),
        })
    }
}

/// Accessors of blobs of an element type.
pub struct BlobAccessors {
    pub memory: [Accessor<Shared>; 2],
    /// Blobs before Caffe's rc2 have no such function.
    pub shape: Option<Accessor<c_int>>,
    /// Bytes of an element.
    pub element: usize,
}

impl BlobAccessors {
    pub fn find(find: Find, letter: &'static str) -> Option<BlobAccessors> {
        let blob = |name: &str| format!("_ZNK5caffe4BlobI{letter}E{name}Ev");
        let memory = [Accessor::find(find, &blob("4data"))?, Accessor::find(find, &blob("4diff"))?];
        let element = if letter == "d" { 8 } else { 4 };
        Some(BlobAccessors { memory, shape: Accessor::find(find, &blob("5shape")), element })
    }
}

/// Accessors of one Caffe, by the letter of the element type.
pub struct Found<T>([AtomicPtr<Option<T>>; 4]);

impl<T> Found<T> {
    pub const fn new() -> Found<T> {
        Found([const { AtomicPtr::new(null_mut()) }; 4])
    }

    /// Looks them up at the first call. Not a `OnceLock`: a forked child would block if another thread of the parent was looking them up.
    /// Two threads at once find the same; one result is leaked.
    pub fn of(&self, letter: &str, find: impl FnOnce() -> Option<T>) -> Option<&T> {
        let place = &self.0[["f", "d", "i", "j"].iter().position(|&known| known == letter)?];
        let mut found = place.load(Ordering::Acquire);
        if found.is_null() {
            found = Box::into_raw(Box::new(find()));
            place.store(found, Ordering::Release);
        }
        // SAFETY: the box was leaked above or by another thread, and is never freed.
        unsafe { &*found }.as_ref()
    }
}
