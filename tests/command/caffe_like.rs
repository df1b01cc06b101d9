//! Programs and libraries with the functions of Caffe's memory by name, linked in every way that Caffe is, and the command.
//!
//! A mangled name is a C identifier, so a C compiler is all that this needs.

use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::support::command_file::command_file;
use crate::support::*;

/// `SyncedMemory` as BVLC's master has it, for the CPU.
const MEMORY: &str = r#"
    #include <stdlib.h>
    const char *where(void) { return "src/caffe/syncedmem.cpp"; }
    struct memory { void *cpu, *gpu; size_t size; int head; char flags[4]; int device; };
    void _ZN5caffe12SyncedMemoryC1Em(struct memory *m, size_t size) { *m = (struct memory){0, 0, size, 0, {0}, -1}; }
    void _ZN5caffe12SyncedMemoryD1Ev(struct memory *m) { free(m->cpu); }
    void *_ZN5caffe12SyncedMemory16mutable_cpu_dataEv(struct memory *m) {
      if (!m->cpu) m->cpu = calloc(1, m->size);
      m->head = 1;
      return m->cpu;
    }
    const void *_ZN5caffe12SyncedMemory8cpu_dataEv(struct memory *m) { return _ZN5caffe12SyncedMemory16mutable_cpu_dataEv(m); }
    const void *_ZN5caffe12SyncedMemory8gpu_dataEv(struct memory *m) { (void)m; abort(); }
    void *_ZN5caffe12SyncedMemory16mutable_gpu_dataEv(struct memory *m) { (void)m; abort(); }
"#;

/// `Blob`, which uses it, as the rest of Caffe does.
const BLOB: &str = r#"
    #include <stddef.h>
    struct memory { void *cpu, *gpu; size_t size; int head; char flags[4]; int device; };
    void _ZN5caffe12SyncedMemoryC1Em(struct memory *, size_t);
    void _ZN5caffe12SyncedMemoryD1Ev(struct memory *);
    void *_ZN5caffe12SyncedMemory16mutable_cpu_dataEv(struct memory *);
    const void *_ZN5caffe12SyncedMemory8cpu_dataEv(struct memory *);
    int _ZN5caffe4BlobIfE3sumEv(size_t count) {
      struct memory m;
      _ZN5caffe12SyncedMemoryC1Em(&m, count * sizeof(float));
      float *values = _ZN5caffe12SyncedMemory16mutable_cpu_dataEv(&m);
      for (size_t i = 0; i < count; ++i) values[i] = 1;
      const float *read = _ZN5caffe12SyncedMemory8cpu_dataEv(&m);
      float sum = 0;
      for (size_t i = 0; i < count; ++i) sum += read[i];
      _ZN5caffe12SyncedMemoryD1Ev(&m);
      return sum == (float)count;
    }
"#;

/// A program that uses a blob: it exits with its argument if the sum is right.
const PROGRAM: &str = r#"
    #include <stddef.h>
    #include <stdlib.h>
    int _ZN5caffe4BlobIfE3sumEv(size_t);
    int main(int arguments, char **argument) {
      if (!_ZN5caffe4BlobIfE3sumEv(1000)) return 99;
      return arguments > 1 ? atoi(argument[1]) : 0;
    }
"#;

/// A layer in a library of its own, which reaches into `SyncedMemory`: as pycaffe does.
pub const LAYER: &str = r#"
    const void *_ZN5caffe12SyncedMemory8cpu_dataEv(void *);
    const void *layer(void *m) { return _ZN5caffe12SyncedMemory8cpu_dataEv(m); }
"#;

/// A folder of this test's own.
pub struct Workshop(Folder);

impl Deref for Workshop {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.0
    }
}

impl Workshop {
    pub fn new() -> Workshop {
        Workshop(Folder::new())
    }

    /// `libcaffe.so`: with its own memory, and other sources and options.
    pub fn caffe(&self, more: &[&str]) -> PathBuf {
        self.source("memory.c", MEMORY);
        self.source("blob.c", BLOB);
        let mut arguments = vec!["-shared", "-fPIC", "-O1", "memory.c", "blob.c"];
        arguments.extend(more);
        self.compile("libcaffe.so", &arguments)
    }

    /// A program that is linked with that `libcaffe.so`, and finds it beside itself.
    pub fn program(&self, more: &[&str]) -> PathBuf {
        self.source("program.c", PROGRAM);
        let mut arguments = vec!["program.c", "-L.", "-lcaffe", "-Wl,-rpath,$ORIGIN"];
        arguments.extend(more);
        self.compile("program", &arguments)
    }

    /// A program with all of Caffe in it.
    pub fn program_with_caffe_inside(&self, more: &[&str]) -> PathBuf {
        self.source("memory.c", MEMORY);
        self.source("blob.c", BLOB);
        self.source("program.c", PROGRAM);
        let mut arguments = vec!["-O1", "program.c", "blob.c", "memory.c"];
        arguments.extend(more);
        self.compile("program", &arguments)
    }
}

/// The command, in an environment without settings of the library's.
pub fn command() -> Command {
    let mut command = Command::new(command_file());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SYNCEDMEM_")) {
        command.env_remove(name);
    }
    command.env_remove("LD_PRELOAD").env_remove("PYTHONPATH");
    command
}

/// The output of a command, and its exit status.
pub struct Said {
    pub output: String,
    pub error: String,
    pub status: Option<i32>,
}

pub fn said(command: &mut Command) -> Said {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { output: text(stdout), error: text(stderr), status: status.code() }
}
