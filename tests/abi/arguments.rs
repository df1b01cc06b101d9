//! For each pointer among its parameters, each C function refuses NULL, a misaligned address and a handle of no live object: it names
//! the fault and writes nothing. The calls are generated from the headers, so a new function is tested without another line.

use std::fmt::Write as _;
use std::process::Command;

use crate::support::as_shipped::library;
use crate::support::*;

const HEADERS: [&str; 4] = [
    include_str!("../../include/syncedmem.h"),
    include_str!("../../include/syncedmem_blob.h"),
    include_str!("../../include/syncedmem_caffe2.h"),
    include_str!("../../include/syncedmem_model.h"),
];

/// Parameters that may be NULL: those of one function, or those of that name in any function. Beside them, that of each function
/// that destroys, closes or frees.
const MAY_BE_NULL: &[&str] = &[
    "context",
    "is_new",
    "stream",
    "user",
    "syncedmem_blob_release_memory mem",
    "syncedmem_cuda_status sentence",
    "syncedmem_tensor_attach pointer",
    "syncedmem_tensor_data meta",
    "syncedmem_tensor_mutable_data meta",
    "syncedmem_typed_blob_attach pointer",
    "syncedmem_typed_blob_get meta",
    "syncedmem_typed_blob_release deleter",
    "syncedmem_workspace_create parent",
    "syncedmem_workspace_remove_blob removed",
    "syncedmem_workspace_rename_blob blob",
];

/// The program's beginning: the live handles, and the check of each call.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
#include "syncedmem.h"
#include "syncedmem_blob.h"
#include "syncedmem_caffe2.h"
#include "syncedmem_model.h"
static _Alignas(64) unsigned char place[4096], dead[64];
static int checks, failures;
static void refuses(const char *call, int status, int expected, const char *words) {
  size_t at = 0;
  ++checks;
  while (at < sizeof place && place[at] == 0xA5) ++at;
  if (status == expected && strstr(syncedmem_last_error(), words) && at == sizeof place) return;
  ++failures;
  printf("%s: status %d, byte %zu written: %s\n", call, status, at, syncedmem_last_error());
  memset(place, 0xA5, sizeof place);
}
static void *null = NULL;
int main(void) {
  struct syncedmem_t *live_syncedmem_t, *destructed;
  struct syncedmem_blob_t *live_syncedmem_blob_t;
  struct syncedmem_tensor_t *live_syncedmem_tensor_t;
  struct syncedmem_typed_blob_t *live_syncedmem_typed_blob_t;
  struct syncedmem_workspace_t *live_syncedmem_workspace_t;
  struct syncedmem_model_t *live_syncedmem_model_t;
  struct syncedmem_typemeta_t meta;
  if (syncedmem_create(8, &live_syncedmem_t) || syncedmem_blob_create(SYNCEDMEM_FLOAT32, &live_syncedmem_blob_t) ||
      syncedmem_tensor_create(0, &live_syncedmem_tensor_t) || syncedmem_typed_blob_create(&live_syncedmem_typed_blob_t) ||
      syncedmem_workspace_create(NULL, &live_syncedmem_workspace_t) || syncedmem_typemeta(0, &meta) ||
      syncedmem_model_open(MODEL, &live_syncedmem_model_t) || syncedmem_construct(dead, sizeof dead, 8, &destructed) ||
      syncedmem_destruct(destructed) || syncedmem_blob_reshape(live_syncedmem_blob_t, 0, NULL))
    return 2;
  memset(place, 0xA5, sizeof place);
"#;

struct Parameter {
    of: String,
    name: String,
}

impl Parameter {
    fn new(text: &str) -> Parameter {
        let at = text.rfind([' ', '*']).unwrap() + 1;
        Parameter { of: text[..at].trim().replace("struct ", ""), name: text[at..].to_string() }
    }

    /// The type that it points to, if it is a pointer.
    fn target(&self) -> Option<&str> {
        Some(self.of.strip_suffix('*')?.trim())
    }

    fn is_handle(&self) -> bool {
        let kinds = ["", "_blob", "_tensor", "_typed_blob", "_workspace", "_model"];
        self.target()
            .is_some_and(|of| kinds.iter().any(|kind| of.trim_start_matches("const ") == format!("syncedmem{kind}_t")))
    }

    /// A valid value, for calls with another parameter at fault.
    fn value(&self) -> String {
        match self.target() {
            Some(of) if self.is_handle() => format!("live_{}", of.trim_start_matches("const ")),
            Some("const char") => "\"name\"".to_string(),
            Some("const syncedmem_typemeta_t") => "&meta".to_string(),
            Some("CUstream_st") => "NULL".to_string(),
            Some(_) => "(void *)place".to_string(),
            None if self.name == "type_bits" => "32".to_string(),
            None if self.of == "size_t" || self.name == "ndim" => "1".to_string(),
            None => "0".to_string(),
        }
    }

    /// The values that are refused, with the status and the words.
    fn faults(&self, function: &str) -> Vec<(&'static str, &'static str, &'static str)> {
        const ARGUMENT: &str = "SYNCEDMEM_ERROR_INVALID_ARGUMENT";
        let Some(target) = self.target() else {
            // The number of an enumeration.
            let is_choice = self.of == "int32_t" && !["ndim", "axis", "other"].contains(&self.name.as_str());
            return if is_choice {
                ["-1", "99", "INT32_MIN"].map(|value| (value, ARGUMENT, "pass")).into()
            } else {
                Vec::new()
            };
        };
        let is_listed =
            [&self.name, &format!("{function} {}", self.name)].iter().any(|it| MAY_BE_NULL.contains(&it.as_str()));
        let may_be_null = is_listed || ["destroy", "close", "FreeHost"].iter().any(|end| function.ends_with(end));
        let is_aligned = !["void", "char", "bool", "CUstream_st"].contains(&target.trim_start_matches("const "));
        let mut faults = Vec::new();
        if !may_be_null {
            faults.push(("null", ARGUMENT, "NULL"));
        }
        if is_aligned {
            faults.push(("(void *)(place + 1)", ARGUMENT, "aligned"));
        }
        if target.trim_start_matches("const ") == "syncedmem_t" {
            faults.push(("destructed", "SYNCEDMEM_ERROR_INVALID_HANDLE", "destroyed"));
            faults.push(("(void *)place", "SYNCEDMEM_ERROR_INVALID_HANDLE", "destroyed"));
        }
        faults
    }
}

/// All functions that return a status, with their parameters.
fn functions() -> Vec<(String, Vec<Parameter>)> {
    let text = HEADERS.concat().split_whitespace().collect::<Vec<_>>().join(" ");
    let declared = text.split("; syncedmem_status_t ").chain(text.split("*/ syncedmem_status_t ")).skip(1);
    let of = |rest: &str| {
        let (name, rest) = rest.split_once('(')?;
        let (parameters, _) = rest.split_once(");")?;
        let is_name = name.chars().all(|c| c == '_' || c.is_alphanumeric()) && !name.is_empty();
        let parameters = parameters.split(',').filter(|text| *text != "void").map(|text| Parameter::new(text.trim()));
        is_name.then(|| (name.to_string(), parameters.collect()))
    };
    declared.filter_map(of).collect()
}

#[test]
fn every_pointer_of_every_function_is_refused_where_it_leads_nowhere() {
    let mut program = PROGRAM.to_string();
    for (function, parameters) in functions() {
        for (at, parameter) in parameters.iter().enumerate() {
            for (fault, status, words) in parameter.faults(&function) {
                let values: Vec<_> = parameters.iter().map(Parameter::value).collect();
                let values = [&values[..at], &[fault.to_string()], &values[at + 1..]].concat().join(", ");
                let call = format!("{function}({values})");
                writeln!(program, "  refuses({call:?}, {call}, {status}, {words:?});").unwrap();
            }
        }
    }
    program +=
        "  printf(\"%d checks, %d failures\\n\", checks, failures);\n  return failures != 0 || checks < 500;\n}\n";
    let (folder, root) = (Folder::new(), env!("CARGO_MANIFEST_DIR"));
    folder.source("program.c", &program);
    let options = [format!("-I{root}/include"), format!("-DMODEL=\"{root}/examples/small.caffemodel\"")];
    let mut arguments = vec!["program.c", &options[0], &options[1], library().to_str().unwrap()];
    arguments.push("-pthread");
    let program = folder.compile("program", &arguments);
    std::fs::copy(library(), folder.path("libsyncedmem.so.0")).unwrap();
    let run = Command::new(program).env("LD_LIBRARY_PATH", &*folder).env("CUDA_VISIBLE_DEVICES", "").output().unwrap();
    println!("{}", String::from_utf8_lossy(&run.stdout));
    assert!(run.status.success(), "{}: {}", run.status, String::from_utf8_lossy(&run.stdout));
}

#[test]
fn storage_that_is_misaligned_or_too_small_is_refused_and_not_written() {
    let (mut storage, mut mem) = (Storage::new(), std::ptr::null_mut());
    let bytes: *mut std::ffi::c_void = storage.0.as_mut_ptr().cast();
    let mut construct =
        |offset, size| unsafe { syncedmem_construct(bytes.wrapping_byte_add(offset), size, 8, &mut mem) };
    for offset in 1..8 {
        assert_refused(construct(offset, 40), SYNCEDMEM_ERROR_INVALID_ARGUMENT, "storage is not aligned");
    }
    for size in 0..32 {
        assert_refused(construct(0, size), SYNCEDMEM_ERROR_INVALID_ARGUMENT, "storage_bytes is below");
    }
    assert!(mem.is_null() && storage.0 == [FILL; 64]);
}

#[test]
fn statuses_have_names_and_other_numbers_have_none() {
    let name = |status| unsafe { std::ffi::CStr::from_ptr(syncedmem_status_name(status)) };
    assert_eq!([1000, -1].map(name), [c"unknown status"; 2]);
    assert_eq!(name(SYNCEDMEM_ERROR_NO_GPU as i32), c"SYNCEDMEM_ERROR_NO_GPU");
}
