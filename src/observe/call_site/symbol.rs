//! Frames as text: the name of the function, and the library that contains it.
#![expect(unsafe_code, reason = "names are demangled by the process's own C++ library")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Write;
use std::mem::transmute;
use std::ptr::{null, null_mut};

use syncedmem_core::text::Text;

use crate::platform::{loaded, thread};

use super::Place;
type Name = Text<200>;

/// The target of a return address.
struct Found {
    function: Option<Name>,
    /// The object's name without its folder, and the address within the object.
    object: Text<80>,
    offset: usize,
}

/// The caller's function and, if there is one, the function that called it: `caffe::Blob<float>::Reshape, from
/// caffe::Layer<float>::SetUp (libcaffe.so.1)`.
pub fn text_of(frames: &[usize]) -> Place {
    /// The functions of this library wrap Caffe's.
    const NET_LIBRARY: &str = "libsyncedmem_net.";
    let mut found = frames
        .iter()
        .filter_map(|&address| find(address))
        .filter(|found| !found.object.as_ref().starts_with(NET_LIBRARY));
    let Some(innermost) = found.next() else { return Place::of(format_args!("code that no loaded file has")) };
    let mut rest = found;
    let caller = if innermost.is_glue() { rest.find(|found| !found.is_glue()) } else { None };
    // If all frames are glue, the innermost one is used.
    let caller = caller.unwrap_or(innermost);
    let Some(name) = &caller.function else {
        return Place::of(format_args!("{}+{:#x}", caller.object, caller.offset));
    };
    let outer = rest.filter(|found| !found.is_glue()).filter_map(|found| found.function);
    match outer.into_iter().find(|outer| outer.as_ref() != name.as_ref()) {
        Some(outer) => Place::of(format_args!("{name}, from {outer} ({})", caller.object)),
        None => Place::of(format_args!("{name} ({})", caller.object)),
    }
}

impl Found {
    /// Whether the function only passes a call on: by its name, or without one by its library.
    fn is_glue(&self) -> bool {
        const FILES: [&str; 4] = ["libstdc++.", "libboost_python", "libpython", "libffi."];
        match &self.function {
            Some(name) => is_glue(name.as_ref()),
            None => FILES.iter().any(|file| self.object.as_ref().starts_with(file)),
        }
    }
}

/// Whether the function belongs to a standard library, or to Caffe's classes around memory, which every layer and solver calls.
fn is_glue(name: &str) -> bool {
    // A template's name begins with its return type.
    let name = name.split_once(' ').filter(|(first, _)| !first.contains('<')).map_or(name, |(_, rest)| rest);
    let glue = [
        "std::",
        "boost::",
        "__gnu_cxx::",
        "operator new",
        "__libc_start",
        "_start",
        "caffe::Blob<",
        "caffe::SyncedMemory::",
    ];
    glue.iter().any(|glue| name.starts_with(glue))
}

fn find(address: usize) -> Option<Found> {
    // If the call is the last instruction of its function, the return address lies after the function.
    let address = address - 1;
    let mut mangled = Text::<1000>::new();
    let found = loaded::find_map(|object| {
        if !object.contains(address) {
            return None;
        }
        let path = object.name().to_str().unwrap_or_default();
        let file = path.rsplit('/').next().filter(|file| !file.is_empty()).unwrap_or("the program");
        if let Some(name) = object.symbols().and_then(|symbols| symbols.function_at(address)) {
            let _ = mangled.write_str(name.to_str().unwrap_or_default());
        }
        Some((Text::of(format_args!("{file}")), address.wrapping_sub(object.base())))
    });
    let (object, offset) = found?;
    // Demangled after the walk: demangling may load a library and allocate.
    let function = (!mangled.as_bytes().is_empty()).then(|| demangled(mangled.as_c_str()));
    Some(Found { function, object, offset })
}

/// `char* __cxa_demangle(const char* mangled, char* buffer, size_t* length, int* status)`
type Demangle = unsafe extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char;

/// Bytes of stack that `__cxa_demangle` needs for a name: 72 for each letter for its tables (libiberty's
/// `d_demangle_callback`), and as much again for its output, which also recurses.
fn demangler_needs(name: &CStr) -> usize {
    (16 << 10) + 144 * name.count_bytes()
}

/// The demangled name without parameters. A name that is not C++, or too long for the rest of the thread's stack, is unchanged.
fn demangled(name: &CStr) -> Name {
    let plain = || Name::of(format_args!("{}", name.to_str().unwrap_or_default()));
    if !name.to_bytes().starts_with(b"_Z") || thread::stack_left() < demangler_needs(name) {
        return plain();
    }
    let Some(demangle) = loaded::find(c"__cxa_demangle") else { return plain() };
    // SAFETY: the Itanium C++ ABI (3.4) gives this name this signature.
    let demangle = unsafe { transmute::<*mut c_void, Demangle>(demangle.as_ptr()) };
    // SAFETY: `name` is NUL-terminated. The function allocates the buffer by malloc; length and status may be
    // null.
    let text = unsafe { demangle(name.as_ptr(), null_mut(), null_mut(), null::<c_int>().cast_mut()) };
    if text.is_null() {
        return plain();
    }
    // SAFETY: the ABI says that the text is NUL-terminated.
    let whole = unsafe { CStr::from_ptr(text) };
    let short = Name::of(format_args!("{}", without_parameters(whole.to_str().unwrap_or_default())));
    // SAFETY: the text came from malloc, and is not used again.
    unsafe { libc::free(text.cast()) };
    short
}

/// The part before the last parenthesis that opens outside of every other bracket.
fn without_parameters(name: &str) -> &str {
    let mut depth = 0;
    let mut end = name.len();
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'(' if depth == 0 && at > 0 && !name[..at].ends_with("operator") => {
                // Goes on: in `(anonymous namespace)::f(int)` the first parenthesis is part of the name.
                end = at;
                depth += 1;
            }
            b'(' | b'<' | b'[' => depth += 1,
            b')' | b'>' | b']' => depth -= 1,
            _ => {}
        }
    }
    name[..end].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_left_out_of_a_functions_name() {
        for (whole, short) in [
            (
                "caffe::Blob<float>::Reshape(std::vector<int, std::allocator<int> > const&)",
                "caffe::Blob<float>::Reshape",
            ),
            ("(anonymous namespace)::make(int)", "(anonymous namespace)::make"),
            ("Functor::operator()(int) const", "Functor::operator()"),
            ("f(void (*)(int))", "f"),
            ("main", "main"),
        ] {
            assert_eq!(without_parameters(whole), short);
        }
    }

    #[test]
    fn functions_of_the_standard_libraries_pass_a_call_on() {
        assert!(is_glue("std::make_shared<caffe::SyncedMemory>"));
        assert!(is_glue("void boost::shared_ptr<caffe::SyncedMemory>::reset<caffe::SyncedMemory>"));
        assert!(!is_glue("void caffe::caffe_set<float>"));
    }

    #[test]
    fn caffes_blob_and_synced_memory_pass_a_call_on() {
        assert!(is_glue("caffe::Blob<float>::Reshape"));
        assert!(is_glue("caffe::SyncedMemory::mutable_cpu_data"));
        assert!(!is_glue("caffe::SGDSolver<float>::PreSolve"));
        assert!(!is_glue("void caffe::BlobUser<float>::use"));
    }

    #[test]
    fn a_function_of_a_loaded_library_is_named_and_its_library_too() {
        let address = (libc::getenv as *const ()).addr() + 4;
        let text = text_of(&[address]);
        assert!(text.as_ref().starts_with("getenv (libc."), "{}", text.as_ref());
    }

    #[test]
    fn a_function_without_a_name_is_given_by_its_place_unless_its_library_only_passes_calls_on() {
        let found = |object| Found { function: None, object: Text::of(format_args!("{object}")), offset: 1 };
        assert!(found("libboost_python311.so.1.74.0").is_glue());
        assert!(!found("libcaffe.so.1.0.0").is_glue());
    }

    #[test]
    fn an_address_of_no_file_has_a_text_that_says_so() {
        assert_eq!(text_of(&[16]).as_ref(), "code that no loaded file has");
    }
}
