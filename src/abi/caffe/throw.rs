//! C++ exceptions, thrown with the caller's C++ runtime. The library links and loads none.
//!
//! A process may have several runtimes: libstdc++ and libc++, shared, or linked into programs and libraries. A caller catches
//! only exceptions of its own runtime, which has the personality routine that the loader bound to the caller's references.
//! A caller whose runtime is linked in and not exported has no such reference. A caller without handlers and destructors has
//! none either: exceptions only pass its frames, and its runtime is the first among the objects that it needs.

use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;
use std::ops::ControlFlow;
use std::ptr::NonNull;

use syncedmem_core::text::Text;

use crate::abi::per_thread::{self, Sentence};
use crate::error::Error;
use crate::observe::call_site;
use crate::platform::loaded;

/// Throws `std::bad_alloc` if memory ran out, else `std::runtime_error` with `sentence`. Returns the name of the
/// calling object's file if its runtime is not found.
pub fn throw(error: Error, sentence: &Sentence) -> FileName {
    let caller = match Caller::find() {
        Some(caller) => caller,
        None => return FileName::of(format_args!("code that no loaded file has")),
    };
    let thrower = caller.personality.and_then(Runtime::of).and_then(|runtime| Thrower::find(&runtime, error));
    match thrower {
        Some(thrower) => thrower.throw(sentence.as_c_str()),
        None => caller.file,
    }
}

/// The name of a file without its folder.
type FileName = Text<80>;

const PERSONALITY: &CStr = c"__gxx_personality_v0";

/// The object that called the failed entry point.
struct Caller {
    file: FileName,
    /// Address of the personality routine in its references.
    personality: Option<usize>,
}

impl Caller {
    fn find() -> Option<Caller> {
        // The return address may lie after the object's last instruction, so look at the byte before.
        let address = call_site::caller(per_thread::caller_of_callbacks())? - 1;
        let (file, bound, passes) = loaded::find_map(|object| {
            if !object.contains(address) {
                return None;
            }
            let path = object.name().to_str().unwrap_or_default();
            let file = path.rsplit('/').next().filter(|file| !file.is_empty()).unwrap_or("the program");
            let bound = object.bound(PERSONALITY);
            let passes = bound.is_none() && !object.may_have_handlers();
            Some((FileName::of(format_args!("{file}")), bound, passes.then(|| object.identity())))
        })?;
        let personality = bound.or_else(|| {
            // The runtime's own references may be bound to a program's entry too.
            let exported = |object: &loaded::Object| {
                object.symbols()?.find(PERSONALITY)?;
                object.bound(PERSONALITY)
            };
            loaded::needed::find(passes?, exported)
        });
        Some(Caller { file, personality })
    }
}

struct Runtime {
    /// Address of the personality routine in the caller's references.
    personality: usize,
    /// Address of the routine itself, which differs from `personality` if that is a program's PLT entry.
    routine: usize,
}

impl Runtime {
    fn of(personality: usize) -> Option<Runtime> {
        let mut routine = None;
        loaded::each(|object| {
            // The loader binds a program's entry to the first definition.
            let exported = object.symbols().and_then(|symbols| symbols.find(PERSONALITY));
            let exported = exported.map(|address| address.addr().get());
            routine = routine.or(exported);
            if object.contains(personality) && exported.is_some() {
                routine = exported;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        Some(Runtime { personality, routine: routine? })
    }

    /// Finds a symbol in the object with the personality routine.
    fn find(&self, name: &CStr) -> Option<*mut c_void> {
        self.find_in(name, |object| object.contains(self.routine))
    }

    /// Finds a symbol in any object that uses this runtime: libc++abi has the personality routine, libc++ the constructors.
    fn find_beside(&self, name: &CStr) -> Option<*mut c_void> {
        self.find_in(name, |object| object.bound(PERSONALITY) == Some(self.personality))
    }

    fn find_in(&self, name: &CStr, is_it: impl Fn(&loaded::Object) -> bool) -> Option<*mut c_void> {
        loaded::find_map(|object| object.symbols()?.find(name).filter(|_| is_it(object))).map(NonNull::as_ptr)
    }
}

type Allocate = unsafe extern "C-unwind" fn(usize) -> *mut c_void;
type Throw = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_void) -> !;

struct Thrower {
    allocate: Allocate,
    throw: Throw,
    /// `std::type_info` of the class.
    type_info: *mut c_void,
    destructor: *mut c_void,
    class: Class,
}

enum Class {
    /// The object is the address of its virtual table.
    BadAlloc {
        vtable: *mut c_void,
    },
    RuntimeError {
        new: NewRuntimeError,
    },
    /// The constructor before GCC 5, which takes a `std::string` of the old ABI.
    OldRuntimeError {
        new: NewOldRuntimeError,
        new_string: NewString,
        delete_string: DeleteString,
    },
}

/// `std::runtime_error::runtime_error(const char*)`
type NewRuntimeError = unsafe extern "C-unwind" fn(*mut c_void, *const c_char);
/// `std::runtime_error::runtime_error(const std::string&)`
type NewOldRuntimeError = unsafe extern "C-unwind" fn(*mut c_void, *const *mut c_void);
/// `std::string::string(const char*, const std::allocator<char>&)`
type NewString = unsafe extern "C-unwind" fn(*mut *mut c_void, *const c_char, *const u8);
/// `std::string::~string()`
type DeleteString = unsafe extern "C-unwind" fn(*mut *mut c_void);

impl Class {
    fn runtime_error(runtime: &Runtime) -> Option<Class> {
        if let Some(new) = runtime.find_beside(c"_ZNSt13runtime_errorC1EPKc") {
            // SAFETY: the mangled name fixes the signature.
            return Some(Class::RuntimeError { new: unsafe { transmute::<*mut c_void, NewRuntimeError>(new) } });
        }
        let new = runtime.find(c"_ZNSt13runtime_errorC1ERKSs")?;
        let new_string = runtime.find(c"_ZNSsC1EPKcRKSaIcE")?;
        let delete_string = runtime.find(c"_ZNSsD1Ev")?;
        Some(Class::OldRuntimeError {
            // SAFETY: the mangled name fixes the signature.
            new: unsafe { transmute::<*mut c_void, NewOldRuntimeError>(new) },
            // SAFETY: the mangled name fixes the signature.
            new_string: unsafe { transmute::<*mut c_void, NewString>(new_string) },
            // SAFETY: the mangled name fixes the signature.
            delete_string: unsafe { transmute::<*mut c_void, DeleteString>(delete_string) },
        })
    }
}

impl Thrower {
    fn find(runtime: &Runtime, error: Error) -> Option<Thrower> {
        // SAFETY: the Itanium C++ ABI (2.4.2) gives this name this signature.
        let allocate = unsafe { transmute::<*mut c_void, Allocate>(runtime.find(c"__cxa_allocate_exception")?) };
        // SAFETY: the Itanium C++ ABI (2.4.3) gives this name this signature.
        let throw = unsafe { transmute::<*mut c_void, Throw>(runtime.find(c"__cxa_throw")?) };
        let (type_info, destructor, class) = if matches!(error, Error::OutOfMemory { .. }) {
            let class = Class::BadAlloc { vtable: runtime.find(c"_ZTVSt9bad_alloc")? };
            (runtime.find(c"_ZTISt9bad_alloc")?, runtime.find(c"_ZNSt9bad_allocD1Ev")?, class)
        } else {
            let class = Class::runtime_error(runtime)?;
            (runtime.find(c"_ZTISt13runtime_error")?, runtime.find(c"_ZNSt13runtime_errorD1Ev")?, class)
        };
        Some(Thrower { allocate, throw, type_info, destructor, class })
    }

    /// Throws. The exception passes this frame, in which nothing is dropped.
    fn throw(&self, what: &CStr) -> ! {
        // An object of either class is the address of a virtual table, and of a string at most.
        const SIZE: usize = 2 * size_of::<*mut c_void>();
        // SAFETY: any size is allowed; the function ends the process rather than return null.
        let exception = unsafe { (self.allocate)(SIZE) };
        match self.class {
            Class::BadAlloc { vtable } => {
                // An object's first word is the address after the first two words of the table.
                // SAFETY: a virtual table begins with the offset to the top and the type information.
                let entries = unsafe { vtable.byte_add(2 * size_of::<*mut c_void>()) };
                // SAFETY: the runtime allocated `SIZE` bytes at `exception`.
                unsafe { exception.cast::<*mut c_void>().write(entries) };
            }
            Class::RuntimeError { new } => {
                // SAFETY: the storage is large enough for a runtime_error; `what` is NUL-terminated.
                unsafe { new(exception, what.as_ptr()) };
            }
            Class::OldRuntimeError { new, new_string, delete_string } => {
                let mut string = std::ptr::null_mut();
                // SAFETY: a string of the old ABI is one pointer; `what` is NUL-terminated; allocators are empty.
                unsafe { new_string(&mut string, what.as_ptr(), &0) };
                // SAFETY: the storage is large enough for a runtime_error, and `string` is one.
                unsafe { new(exception, &string) };
                // SAFETY: `new_string` constructed the string, and the exception has its own copy.
                unsafe { delete_string(&mut string) };
            }
        }
        // SAFETY: `exception` is complete; the type information and the destructor are those of its class.
        unsafe { (self.throw)(exception, self.type_info, self.destructor) }
    }
}
