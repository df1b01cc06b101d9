//! The shared library as a file: what it exports, what it needs, what it is called.
//!
//! `SYNCEDMEM_LIBRARY` names the file. By default the test builds it as users get it, because `cargo test` itself builds only a
//! library for tests.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::support::as_shipped::library;
use crate::support::traced;
use crate::support::*;

/// The output of a tool about the library.
fn about(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).arg(library()).output();
    let output = output.unwrap_or_else(|error| panic!("{tool} (Debian package binutils): {error}"));
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The values in brackets of the dynamic section's entries of a kind: `(NEEDED) … [libc.so.6]`.
fn dynamic(kind: &str) -> BTreeSet<String> {
    let section = about("readelf", &["--dynamic", "--wide"]);
    let entries = section.lines().filter(|line| line.contains(&format!("({kind})")));
    entries.filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_string())).collect()
}

#[test]
fn the_exported_symbols_are_exactly_those_of_the_list() {
    let symbols = about("nm", &["--dynamic", "--defined-only", "--format=posix"]);
    let exported: BTreeSet<&str> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
    let listed: BTreeSet<&str> = include_str!("../../src/abi/symbols.txt").lines().collect();
    let [missing, unlisted] = [listed.difference(&exported), exported.difference(&listed)].map(Vec::from_iter);
    assert!(
        missing.is_empty() && unlisted.is_empty(),
        "missing: {missing:?}; not in src/abi/symbols.txt: {unlisted:?}"
    );
}

#[test]
fn it_needs_the_c_library_the_loader_and_the_unwinder_and_nothing_else() {
    let needed = dynamic("NEEDED");
    let loader = needed.iter().find(|name| name.starts_with("ld-linux")).expect("the loader").clone();
    assert_eq!(needed, BTreeSet::from(["libc.so.6", "libgcc_s.so.1", &loader].map(String::from)));
}

#[test]
fn it_has_a_soname_and_is_never_unloaded() {
    assert_eq!(dynamic("SONAME"), BTreeSet::from(["libsyncedmem.so.0".to_string()]));
    assert!(about("readelf", &["--dynamic", "--wide"]).contains("NODELETE"));
}

#[test]
fn preloaded_into_a_program_that_never_calls_it_it_does_nothing() {
    let with = |preload: Option<&PathBuf>| {
        let mut command = Command::new("cat");
        command.args(["/proc/self/maps", "/proc/self/status"]);
        preload.map(|library| command.env("LD_PRELOAD", library));
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let libraries = |maps: &str| -> BTreeSet<String> {
        let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).filter(|path| path.contains(".so"));
        paths.filter_map(|path| Some(path.rsplit_once('/')?.1.to_string())).collect()
    };
    let loaded = with(Some(library()));
    let more: Vec<_> = libraries(&loaded).difference(&libraries(&with(None))).cloned().collect();
    let name = library().file_name().unwrap().to_str().unwrap().to_string();
    assert_eq!(more, ["libgcc_s.so.1".to_string(), name], "nothing is opened at load");
    assert!(loaded.contains("Threads:\t1\n"), "no thread is started at load");
}

/// Ways in which a program gets the library.
const WAYS: [&str; 3] = ["linked", "linked statically", "preloaded"];

/// Compiles a C program and runs it, with the library in one of `WAYS`.
fn run(source: &str, way: &str, environment: &[(&str, &str)]) -> Output {
    let folder = Folder::new();
    folder.source("program.c", source);
    let archive = library().with_extension("a");
    let mut arguments = vec!["-O2", "-rdynamic", "program.c"];
    match way {
        "linked" => arguments.push(library().to_str().unwrap()),
        "linked statically" => arguments.extend([archive.to_str().unwrap(), "-lgcc_s", "-lpthread", "-ldl", "-lm"]),
        // The preloaded library defines the symbols at run time.
        _ => arguments.push("-DPRELOADED"),
    };
    arguments.push("-pthread");
    let program = folder.compile("program", &arguments);
    // The program names the library by its soname, which the loader finds beside the file that was linked.
    let named = folder.path("libsyncedmem.so.0");
    std::fs::copy(library(), &named).unwrap();
    let mut command = Command::new(&program);
    command.env("LD_LIBRARY_PATH", &*folder).envs(environment.iter().copied());
    if way == "preloaded" {
        command.env("LD_PRELOAD", &named);
    }
    command.output().unwrap()
}

/// A release build may end an entry point by a jump, which leaves no frame on the stack.
#[test]
fn a_trace_of_the_library_as_users_get_it_names_who_made_an_object() {
    const PROGRAM: &str = r#"
        #include <stddef.h>
        void construct(void*, size_t) __asm__("_ZN5caffe12SyncedMemoryC1Em");
        void* mutable_cpu_data(void*) __asm__("_ZN5caffe12SyncedMemory16mutable_cpu_dataEv");
        int syncedmem_create(size_t, void**);
        int syncedmem_mutable_cpu_data(void*, void**);
        __attribute__((noinline)) void made_by_cpp(void* storage) { construct(storage, 100000); __asm__(""); }
        __attribute__((noinline)) void made_by_c(void** mem) { syncedmem_create(200000, mem); __asm__(""); }
        __attribute__((noinline)) void touched_first(void* storage) { mutable_cpu_data(storage); __asm__(""); }
        int main(void) {
            _Alignas(8) char outlined[64], inlined[64] = {0};
            void *mem, *data;
            made_by_cpp(outlined);
            mutable_cpu_data(outlined);
            made_by_c(&mem);
            syncedmem_mutable_cpu_data(mem, &data);
            *(size_t*)(inlined + 16) = 300000;
            touched_first(inlined);
            return 0;
        }"#;
    let folder = Folder::new();
    let trace = folder.path("trace");
    let run = run(PROGRAM, "linked", &[("SYNCEDMEM_TRACE", trace.to_str().unwrap())]);
    assert!(run.status.success());
    let holders = traced::at_peak(&trace);
    for (bytes, who) in [(100_000, "made_by_cpp"), (200_000, "made_by_c"), (300_000, "touched_first")] {
        let (place, _) = holders.iter().find(|(_, held)| **held == (bytes, 1)).unwrap_or_else(|| panic!("{holders:?}"));
        assert!(place.starts_with(&format!("{who}, from main")), "{holders:?}");
    }
}

/// The beginning of a program in C that uses an object of some bytes.
const USE: &str = r#"
        #include <stddef.h>
        #include <sys/wait.h>
        #include <unistd.h>
        #ifdef PRELOADED
        #pragma weak syncedmem_create
        #pragma weak syncedmem_cpu_data
        #pragma weak syncedmem_destroy
        #endif
        int syncedmem_create(size_t, void**);
        int syncedmem_cpu_data(void*, const void**);
        int syncedmem_destroy(void*);
        static int use(size_t bytes) {
            void* mem;
            const void* data;
            return syncedmem_create(bytes, &mem) || syncedmem_cpu_data(mem, &data) || syncedmem_destroy(mem);
        }
        "#;

fn runs_in_every_way(program: &str) {
    for way in WAYS {
        let run = run(&[USE, program].concat(), way, &[]);
        assert!(run.status.success(), "{way}: {}", run.status);
    }
}

/// The library registers its fork handlers when it is loaded, and so before the program does: otherwise the two wait for each other.
#[test]
fn a_program_may_call_the_library_under_a_lock_of_its_own_fork_handlers_however_it_got_the_library() {
    const PROGRAM: &str = r#"
        #include <pthread.h>
        static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
        static void lock(void) { pthread_mutex_lock(&own); }
        static void unlock(void) { pthread_mutex_unlock(&own); }
        static void* work(void* unused) {
            for (;;) {
                lock();
                if (use(100) || use(50000)) _exit(2);
                unlock();
            }
        }
        int main(void) {
            pthread_t thread;
            alarm(300);
            pthread_atfork(lock, unlock, unlock);
            pthread_create(&thread, NULL, work, NULL);
            for (int forks = 0; forks < 100; ++forks) {
                int status;
                pid_t child = fork();
                if (child == 0) {
                    alarm(300);
                    _exit(use(100));
                }
                if (waitpid(child, &status, 0) != child || status != 0) return 1;
            }
            return 0;
        }"#;
    runs_in_every_way(PROGRAM);
}

/// A constructor of the program, or of a library that does not depend on this one, may run before this library's own.
#[test]
fn objects_may_be_used_before_the_library_is_initialised() {
    const PROGRAM: &str = r#"
        static int early = -1;
        __attribute__((constructor)) static void construct(void) { early = use(100) || use(50000); }
        int main(void) {
            int status;
            pid_t child;
            if (early != 0 || use(100)) return 1;
            child = fork();
            if (child == 0) _exit(use(50000));
            return waitpid(child, &status, 0) != child || status != 0;
        }"#;
    runs_in_every_way(PROGRAM);
}

/// Each call runs in its own process and thread, with a stack of the documented size that ends at a page without access.
#[test]
fn threads_with_the_smallest_documented_stacks_may_call_everything() {
    const PROGRAM: &str = r#"
        #include <dlfcn.h>
        #include <pthread.h>
        #include <signal.h>
        #include <stddef.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int syncedmem_create(size_t, void**);
        int syncedmem_cpu_data(void*, const void**);
        int syncedmem_mutable_cpu_data(void*, void**);
        int syncedmem_gpu_data(void*, const void**);
        int syncedmem_set_name(void*, const char*);
        int syncedmem_destroy(void*);
        int syncedmem_trim(int);
        int syncedmem_report(char*, size_t, size_t*);
        void construct(void*, size_t) __asm__("_ZN5caffe12SyncedMemoryC1Em");
        void* mutable_cpu_data(void*) __asm__("_ZN5caffe12SyncedMemory16mutable_cpu_dataEv");
        void* mutable_gpu_data(void*) __asm__("_ZN5caffe12SyncedMemory16mutable_gpu_dataEv");
        void set_cpu_data(void*, void*) __asm__("_ZN5caffe12SyncedMemory12set_cpu_dataEPv");
        /* Names that take more stack to demangle than there is. */
        void setup(void*) __asm__(
            "_ZN5caffe9DataLayerIfE14DataLayerSetUpERKSt6vectorIPNS_4BlobIfEESaIS4_EES8_RKSt3mapISsS2_ISsSaISsEE"
            "St4lessISsESaISt4pairIKSsSA_EEE");
        void reshape(void*) __asm__("_ZN5caffe5LayerIfE5SetUpERKSt6vectorIPNS_4BlobIfEESaIS4_EES8_");
        __attribute__((noinline)) void reshape(void* object) { construct(object, 300000); mutable_cpu_data(object); __asm__(""); }
        __attribute__((noinline)) void setup(void* object) { reshape(object); __asm__(""); }

        static char object[64] __attribute__((aligned(8)));
        static void cycle(size_t bytes) {
            void *mem, *data;
            syncedmem_create(bytes, &mem);
            syncedmem_set_name(mem, "conv1");
            syncedmem_mutable_cpu_data(mem, &data);
            syncedmem_destroy(mem);
        }
        static void* objects(void* unused) { cycle(100); cycle(50000); cycle(4 << 20); syncedmem_trim(7); return 0; }
        static void* errors(void* unused) {
            void* mem;
            const void* data;
            syncedmem_create(1, NULL);
            syncedmem_create((size_t)1 << 50, &mem);
            syncedmem_cpu_data(mem, &data);
            syncedmem_gpu_data(mem, &data);
            return 0;
        }
        static void* cpp(void* unused) { setup(object); return 0; }
        static void* report(void* unused) {
            static char text[65536];
            size_t length;
            cpp(0);
            objects(0);
            syncedmem_report(text, sizeof text, &length);
            return 0;
        }
        static void* null_aborts(void* unused) { construct(object, 100); set_cpu_data(object, NULL); return 0; }
        static void* gpu_aborts(void* unused) { construct(object, 100); mutable_gpu_data(object); return 0; }
        static void* memory_aborts(void* unused) { construct(object, (size_t)1 << 50); mutable_cpu_data(object); return 0; }

        static const struct { const char* name; void* (*work)(void*); int signal; } works[] = {
            {"objects", objects, 0}, {"errors", errors, 0}, {"cpp", cpp, 0}, {"report", report, 0},
            {"null_aborts", null_aborts, SIGABRT}, {"gpu_aborts", gpu_aborts, SIGABRT}, {"memory_aborts", memory_aborts, SIGABRT},
        };
        int main(void) {
            int wrong = 0;
            if (!dlopen("libstdc++.so.6", RTLD_NOW)) return 2;
            for (int i = 0; i < atoi(getenv("WORKS")); ++i) {
                int status;
                pid_t child = fork();
                if (child == 0) {
                    pthread_attr_t attributes;
                    pthread_t thread;
                    alarm(300);
                    pthread_attr_init(&attributes);
                    if (pthread_attr_setstacksize(&attributes, atoi(getenv("STACK")))) _exit(3);
                    if (pthread_create(&thread, &attributes, works[i].work, NULL)) _exit(4);
                    _exit(pthread_join(thread, NULL));
                }
                waitpid(child, &status, 0);
                if (WIFSIGNALED(status) ? WTERMSIG(status) != works[i].signal : status || works[i].signal) {
                    printf("%s: status %d\n", works[i].name, status);
                    wrong = 1;
                }
            }
            return wrong;
        }"#;
    let folder = Folder::new();
    let trace = folder.path("%p");
    let observed = [("SYNCEDMEM_ACCOUNT", "on"), ("SYNCEDMEM_TRACE", trace.to_str().unwrap())];
    let reported = [("SYNCEDMEM_REPORT", "stderr"), ("SYNCEDMEM_TRACE", trace.to_str().unwrap())];
    // All calls, or all that neither report nor abort.
    let (small, all) = ([("STACK", "16384"), ("WORKS", "3")], [("STACK", "24576"), ("WORKS", "7")]);
    let settings: [&[_]; 4] = [&[], &observed, &[], &reported];
    for (size, settings) in [small, small, all, all].iter().zip(settings) {
        let run = run(PROGRAM, "linked", &[size.as_slice(), settings].concat());
        let said = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(run.status.success(), "{size:?}, {settings:?}: {}\n{said}", run.status);
    }
}
