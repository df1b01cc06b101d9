//! What a recording takes of the address space, and what the command says of a program that runs out of memory.

use crate::caffe_like::{Said, Workshop};

/// Makes a blob of 8 MiB and one of 64 MiB; before its end it says how much address space it had at most.
const GREEDY: &str = r#"
    #include "caffe.h"
    #include <stdio.h>
    #include <string.h>
    static struct memory small, large, later;
    static void at_end(void) {
      char line[200];
      FILE *status = fopen("/proc/self/status", "r");
      while (fgets(line, sizeof line, status))
        if (!strncmp(line, "VmPeak:", 7)) fputs(line, stdout);
    }
    int main(int arguments, char **argument) {
      atexit(at_end);
      construct(&small, 8 << 20);
      mutable_cpu_data(&small);
      construct(&large, 64 << 20);
      mutable_cpu_data(&large);
      for (int i = 0; i < 20000; ++i) {
        construct(&later, 4096);
        mutable_cpu_data(&later);
        destroy(&later);
      }
      return arguments > 1 ? atoi(argument[1]) : 0;
    }
"#;

/// Asks for 64 MiB, and goes on without.
const MODEST: &str = r#"
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include "syncedmem.h"
    #define preloaded(name) ((__typeof__(&name))dlsym(RTLD_DEFAULT, #name))
    static int touch(size_t size) {
      syncedmem_t *memory;
      void *data;
      int status = preloaded(syncedmem_create)(size, &memory);
      return status ? status : preloaded(syncedmem_mutable_cpu_data)(memory, &data);
    }
    int main(int arguments, char **argument) {
      (void)argument;
      if (touch(64 << 20) != SYNCEDMEM_ERROR_OUT_OF_MEMORY) return 99;
      return arguments > 1 ? 3 : touch(4096);
    }
"#;

fn kibibytes(said: &Said) -> u64 {
    let number = said.output.trim().strip_prefix("VmPeak:").and_then(|rest| rest.trim().strip_suffix(" kB"));
    number.unwrap_or_else(|| panic!("{said:?}")).parse().unwrap()
}

#[track_caller]
fn begins_with(said: &Said, first: &str) {
    // Before it stands what the library itself says.
    let (_, report) = said.error.split_once("\n\n").unwrap_or(("", &said.error));
    assert!(report.replace('\n', " ").starts_with(first), "{}", said.error);
}

/// The libraries themselves take 8 MiB as built for debugging, and the recording 3.
#[test]
fn a_recording_leaves_the_address_space_to_the_program() {
    let workshop = Workshop::with("greedy", GREEDY);
    let alone = kibibytes(&workshop.shell_here("LD_LIBRARY_PATH=. ./greedy"));
    let recorded = workshop.run(&["--trace", "t"], &["./greedy"]);
    let (more, most) = (kibibytes(&recorded).saturating_sub(alone), 13 << 10);
    assert!(more < most, "{more} KiB more than {alone}");
    let events = std::fs::metadata(workshop.path("t")).unwrap().len() / 64;
    assert!(events > 100_000, "{events}");
}

#[test]
fn a_program_that_a_limit_ends_is_reported_with_the_limit_and_who_held_the_memory() {
    let workshop = Workshop::with("greedy", GREEDY);
    for (limit, words) in [
        ("-v 80000", "the limit on the address space (ulimit -v, 78.1 MiB)"),
        ("-d 60000", "the limit on data (ulimit -d, 58.6 MiB)"),
    ] {
        let said = workshop.shell(&[], &format!("ulimit {limit}; exec ./greedy"));
        assert_eq!(said.signal, Some(libc::SIGABRT), "{}", said.error);
        begins_with(&said, "greedy ran out of memory and was killed by signal 6: ");
        let text = said.error.replace('\n', " ");
        assert!(
            text.contains(&format!(
                " asked for 64.0 MiB, which {words} does not allow at that moment blobs held 8.0 MiB: "
            )),
            "{text}"
        );
        assert!(!text.contains("growing") && !text.contains("nothing worth doing"), "{text}");
        workshop.leaves_nothing();
    }
}

#[test]
fn the_librarys_own_limit_is_named() {
    let workshop = Workshop::with("greedy", GREEDY);
    let said = workshop.run(&["--host-limit", "20M", "--trace", "t"], &["./greedy"]);
    assert_eq!(said.signal, Some(libc::SIGABRT));
    said.has(&["syncedmem: greedy ran out of memory and was killed by signal 6: ", "(SYNCEDMEM_HOST_LIMIT, 20.0 MiB)"]);
    let again = workshop.syncedmem(&["report", "t", "--text"]).ok().replace('\n', " ");
    let begin = "greedy ran out of memory and did not end its recording";
    assert!(
        again.starts_with(begin) && again.contains("the library's limit (SYNCEDMEM_HOST_LIMIT, 20.0 MiB)"),
        "{again}"
    );
    let json = crate::diff::json(&workshop.syncedmem(&["report", "t", "--json"]));
    let failure = &json["processes"][0]["failure"];
    assert_eq!((&failure["refused_by"], &failure["limit_bytes"]), (&"host limit".into(), &(20 << 20).into()));
    assert_eq!((&failure["bytes"], &failure["ended_the_process"]), (&(64 << 20).into(), &true.into()));
    assert_eq!(failure["holders"][0]["bytes"], 8 << 20);
    let about = &json["processes"][0]["about"];
    assert_eq!((&about["command"][0], &about["library"]), (&"./greedy".into(), &env!("CARGO_PKG_VERSION").into()));
    assert_eq!(about["settings"][0], "SYNCEDMEM_HOST_LIMIT=20M");
    let caffe = &about["caffes"][0];
    assert!(
        caffe["file"].as_str().unwrap().ends_with("/libcaffe.so") && caffe["reaches_the_library"] == true,
        "{about}"
    );
    let details = workshop.syncedmem(&["report", "t", "--text", "--details"]).ok();
    assert!(
        details.contains("\n  command   ./greedy\n  started   20") && details.contains("\n  limits    "),
        "{details}"
    );
    workshop.syncedmem(&["export", "t", "--to", "json"]).ok();
    let exported = std::fs::read_to_string(workshop.path("t.json")).unwrap();
    let failed = "\"side\":\"host\",\"bytes\":67108864,\"refused_by\":\"host limit\",\"limit\":20971520,";
    assert!(exported.contains(failed) && exported.contains("\"args\":{\"command\":[\"./greedy\"]}"), "{exported}");
}

#[test]
fn a_failure_that_a_program_survives_is_told_and_is_not_its_end() {
    let workshop = Workshop::new();
    workshop.source("modest.c", MODEST);
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include");
    workshop.compile("modest", &["modest.c", include, "-ldl"]);
    let options = ["--host-limit", "20M"];
    let said = workshop.run(&options, &["./modest"]);
    assert_eq!(said.status, Some(0), "{}", said.error);
    assert!(
        said.error.trim_start().replace('\n', " ").starts_with("an allocation failed, and the program went on: "),
        "{}",
        said.error
    );
    said.has(&["nothing worth doing"]);
    let said = workshop.run(&options, &["./modest", "and ends"]);
    assert_eq!(said.status, Some(3));
    said.has(&["modest ran out of memory and ended with status 3: "]);
}
