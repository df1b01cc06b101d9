//! Programs and libraries with the functions of Caffe's memory by name, linked in every way that Caffe is, and the command.
//!
//! A mangled name is a C identifier, so a C compiler is all that this needs.

use std::ops::Deref;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::support::command_file::command_file;
use crate::support::*;

/// What a user of Caffe's memory declares, in short names.
const HEADER: &str = r#"
    #include <signal.h>
    #include <stdlib.h>
    #include <unistd.h>
    #define construct _ZN5caffe12SyncedMemoryC1Em
    #define destroy _ZN5caffe12SyncedMemoryD1Ev
    #define mutable_cpu_data _ZN5caffe12SyncedMemory16mutable_cpu_dataEv
    #define cpu_data _ZN5caffe12SyncedMemory8cpu_dataEv
    #define sum_of_ones _ZN5caffe4BlobIfE3sumEv
    struct memory { void *cpu, *gpu; size_t size; int head; char flags[4]; int device; };
    void construct(struct memory *, size_t);
    void destroy(struct memory *);
    void *mutable_cpu_data(struct memory *);
    const void *cpu_data(struct memory *);
    int sum_of_ones(size_t);
"#;

/// `SyncedMemory` as BVLC's master has it, for the CPU.
const MEMORY: &str = r#"
    #include "caffe.h"
    const char *where(void) { return "src/caffe/syncedmem.cpp"; }
    void construct(struct memory *m, size_t size) { *m = (struct memory){0, 0, size, 0, {0}, -1}; }
    void destroy(struct memory *m) { free(m->cpu); }
    void *mutable_cpu_data(struct memory *m) {
      if (!m->cpu) m->cpu = calloc(1, m->size);
      m->head = 1;
      return m->cpu;
    }
    const void *cpu_data(struct memory *m) { return mutable_cpu_data(m); }
    const void *_ZN5caffe12SyncedMemory8gpu_dataEv(struct memory *m) { if (!m->gpu) abort(); return m->gpu; }
    void *_ZN5caffe12SyncedMemory16mutable_gpu_dataEv(struct memory *m) { if (!m->gpu) abort(); m->head = 2; return m->gpu; }
"#;

/// `Blob`, which uses it, as the rest of Caffe does: 1 if so many ones have the sum that they should have.
const BLOB: &str = r#"
    #include "caffe.h"
    int sum_of_ones(size_t count) {
      struct memory m;
      construct(&m, count * sizeof(float));
      float *values = mutable_cpu_data(&m);
      for (size_t i = 0; i < count; ++i) values[i] = 1;
      const float *read = cpu_data(&m);
      float sum = 0;
      for (size_t i = 0; i < count; ++i) sum += read[i];
      destroy(&m);
      return sum == (float)count;
    }
"#;

/// A program that uses a blob: it exits with its argument if the sum is right.
const PROGRAM: &str = r#"
    #include "caffe.h"
    int main(int arguments, char **argument) {
      if (!sum_of_ones(1000)) return 99;
      return arguments > 1 ? atoi(argument[1]) : 0;
    }
"#;

/// A layer in its own library, which reaches into `SyncedMemory`: as pycaffe does.
pub const LAYER: &str = r#"
    #include "caffe.h"
    const void *layer(struct memory *m) { return cpu_data(m); }
"#;

/// Options for a `libcaffe.so` that is bound within itself, and cannot be taken over: with the landing mark a jump needs 18 bytes.
pub const TOO_SHORT: [&str; 4] = ["-O2", "-Wl,-Bsymbolic-functions", "-fcf-protection", "-falign-functions=32"];

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
        let workshop = Workshop(Folder::new());
        workshop.source("caffe.h", HEADER);
        workshop
    }

    /// With `program` on a `libcaffe.so` whose calls can be replaced.
    pub fn with_program() -> Workshop {
        Workshop::with("program", PROGRAM)
    }

    /// Like `with_program`, with a program of this name and source.
    pub fn with(program: &str, source: &str) -> Workshop {
        let workshop = Workshop::new();
        workshop.caffe(&[]);
        workshop.link(program, source, &[]);
        workshop
    }

    /// `libcaffe.so`: with its own memory, and other sources and options.
    pub fn caffe(&self, more: &[&str]) -> PathBuf {
        self.source("memory.c", MEMORY);
        self.source("blob.c", BLOB);
        self.compile("libcaffe.so", &[&["-shared", "-fPIC", "-O1", "memory.c", "blob.c"], more].concat())
    }

    /// Links a program with that `libcaffe.so`, which it finds beside itself.
    pub fn link(&self, output: &str, source: &str, more: &[&str]) -> PathBuf {
        self.source("program.c", source);
        self.compile(output, &[&["program.c", "-L.", "-lcaffe", "-Wl,-rpath,$ORIGIN"], more].concat())
    }

    pub fn program(&self, more: &[&str]) -> PathBuf {
        self.link("program", PROGRAM, more)
    }

    /// A program with all of Caffe in it.
    pub fn program_with_caffe_inside(&self, more: &[&str]) -> PathBuf {
        self.with_caffe_inside(PROGRAM, more)
    }

    pub fn with_caffe_inside(&self, source: &str, more: &[&str]) -> PathBuf {
        self.source("memory.c", MEMORY);
        self.source("blob.c", BLOB);
        self.source("program.c", source);
        self.compile("program", &[&["-O1", "program.c", "blob.c", "memory.c"], more].concat())
    }

    /// Runs the command here.
    pub fn syncedmem(&self, arguments: &[&str]) -> Said {
        said(command().args(arguments).current_dir(&***self))
    }

    /// `syncedmem run OPTIONS -- PROGRAM ARGUMENTS`, with its own temporary folder.
    pub fn command(&self, options: &[&str], program: &[&str]) -> Command {
        let temporary = self.path("tmp");
        std::fs::create_dir_all(&temporary).unwrap();
        let mut command = command();
        command.arg("run").args(options).arg("--").args(program).env("TMPDIR", temporary).current_dir(&***self);
        command
    }

    pub fn run(&self, options: &[&str], program: &[&str]) -> Said {
        said(&mut self.command(options, program))
    }

    pub fn shell(&self, options: &[&str], script: &str) -> Said {
        self.run(options, &["sh", "-c", script])
    }

    /// A script of a shell here, to which `$0` is the command.
    pub fn shell_here(&self, script: &str) -> Said {
        said(Command::new("sh").args(["-c", script]).arg(command_file()).current_dir(&***self))
    }

    #[track_caller]
    pub fn leaves_nothing(&self) {
        assert_eq!(std::fs::read_dir(self.path("tmp")).unwrap().count(), 0, "{:?}", self.path("tmp"));
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

/// The output of a command, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub output: String,
    pub error: String,
    pub status: Option<i32>,
    pub signal: Option<i32>,
}

impl Said {
    /// Fails where the command did not succeed.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.status, Some(0), "{self:?}");
        self.output
    }

    /// Fails where the standard error is without one of these.
    #[track_caller]
    pub fn has(&self, wanted: &[&str]) {
        assert_has(&self.error, wanted);
    }

    /// Like `has`, for a command that ended with this status.
    #[track_caller]
    pub fn fails(&self, status: i32, wanted: &[&str]) {
        assert_eq!((self.status, self.output.as_str()), (Some(status), ""), "{}", self.error);
        self.has(wanted);
    }
}

pub fn said(command: &mut Command) -> Said {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let [output, error] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Said { output, error, status: status.code(), signal: status.signal() }
}
