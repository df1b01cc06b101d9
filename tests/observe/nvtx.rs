//! Ranges reach the tool that is attached, as NVTX describes it.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use crate::support::folder::Folder;
use crate::support::{alone, inside};
use syncedmem::observe::nvtx;

/// The tool, built in the test's own folder.
pub struct Tool(Folder);

impl Tool {
    pub fn new() -> Tool {
        let folder = Folder::new();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("cpp_tests/fake_profiler/fake.c");
        folder.compile("libfake.so", &[Path::new("-shared"), Path::new("-fPIC"), &source]);
        Tool(folder)
    }

    fn library(&self) -> PathBuf {
        self.0.path("libfake.so")
    }

    /// Runs `body` in a process that has this tool in its environment, and returns what the tool saw.
    pub fn sees(&self, environment: &[(&str, &str)], body: impl FnOnce()) -> Vec<String> {
        let (library, log) = (self.library(), self.0.path("log"));
        let mut all =
            vec![("NVTX_INJECTION64_PATH", library.to_str().unwrap()), ("FAKE_PROFILER", log.to_str().unwrap())];
        all.extend(environment);
        alone(&all, body);
        let text = std::fs::read_to_string(log).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn two_ranges() {
    let outer = nvtx::range(c"allocate device", 4096);
    drop(nvtx::range(c"copy to host", u64::MAX));
    drop(outer);
}

#[test]
fn ranges_nest_in_a_domain_of_the_librarys_own() {
    let tool = Tool::new();
    let seen = tool.sees(&[], || {
        assert!(nvtx::attach());
        two_ranges();
    });
    if !inside() {
        assert_eq!(
            seen,
            [
                "initialize",
                "create libsyncedmem",
                "push ours 3 48 allocate device 4096 at 0",
                "push ours 3 48 copy to host 18446744073709551615 at 1",
                "pop ours at 1",
                "pop ours at 0",
            ]
        );
    }
}

#[test]
fn what_is_in_the_process_and_could_be_a_tool_is_left_alone_unless_it_is_named() {
    // CUPTI is in a process with PyTorch: without a driver its entry calls itself until the stack ends.
    let tool = Tool::new();
    let library = tool.library();
    let environment = [("NVTX_INJECTION64_PATH", ""), ("TOOL", library.to_str().unwrap())];
    let seen = tool.sees(&environment, || {
        let library = CString::new(std::env::var("TOOL").unwrap()).unwrap();
        assert!(!unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) }.is_null());
        assert!(!nvtx::attach());
        two_ranges();
    });
    assert!(inside() || seen.is_empty(), "{seen:?}");
}

/// No ranges go to the tool with this environment, and it sees no more than this.
fn sees_no_ranges(environment: &[(&str, &str)], should_see: &[&str]) {
    let seen = Tool::new().sees(environment, || {
        assert!(!nvtx::attach());
        two_ranges();
        let is_loaded = std::fs::read_to_string("/proc/self/maps").unwrap().contains("libfake.so");
        assert_eq!(is_loaded, !should_see.is_empty());
    });
    assert!(inside() || seen == should_see, "{seen:?}");
}

#[test]
fn a_tool_that_wants_no_ranges_is_not_called_again() {
    sees_no_ranges(&[("FAKE_PROFILER_WANTS", "nothing")], &["initialize"]);
}

#[test]
fn a_tool_that_fails_is_not_called_again_whatever_it_left() {
    sees_no_ranges(&[("FAKE_PROFILER_WANTS", "failure")], &["initialize"]);
}

#[test]
fn without_a_tool_there_are_no_ranges_and_no_failure() {
    for path in ["", "/no/such/tool.so"] {
        alone(&[("NVTX_INJECTION64_PATH", path)], || {
            assert!(!nvtx::attach());
            two_ranges();
        });
    }
}
