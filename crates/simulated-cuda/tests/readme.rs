//! The example of the README compiles as it stands there, and prints what is said there.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::process::Command;

use support::*;

/// The block of the README that starts with that fence.
fn block(fence: &str) -> &'static str {
    let readme = include_str!("../README.md");
    readme.split_once(fence).unwrap().1.split_once("```").unwrap().0
}

#[test]
fn the_example_prints_what_the_readme_says() {
    let folder = std::env::temp_dir().join(format!("simulated-cuda-readme-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("held.c"), block("```c\n")).unwrap();
    std::os::unix::fs::symlink(path(), folder.join("libcuda.so.1")).unwrap();
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let compiled = Command::new("cc")
        .current_dir(&folder)
        .args(["-Wall", "-Wextra", "-Werror", "held.c", "-I", header, "-o", "held", "-L", ".", "-l:libcuda.so.1"])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", said(&compiled));
    let run = Command::new(folder.join("held")).env("LD_LIBRARY_PATH", &folder).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(run.status.success(), "{}", said(&run));
    assert_eq!(String::from_utf8(run.stdout).unwrap(), block("```text\n"));
}

#[test]
fn a_preloaded_library_is_the_one_that_programs_open() {
    let folder = std::env::temp_dir().join(format!("simulated-cuda-preload-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = "#include <dlfcn.h>\nint main(void) {\n  void *cuda = dlopen(\"libcuda.so.1\", RTLD_NOW);\n  return cuda && dlsym(cuda, \"simcuda_is_simulated\") ? 0 : 1;\n}\n";
    std::fs::write(folder.join("open.c"), program).unwrap();
    let compiled = Command::new("cc").current_dir(&folder).args(["open.c", "-o", "open", "-ldl"]).output().unwrap();
    assert!(compiled.status.success(), "{}", said(&compiled));
    let preloaded = Command::new(folder.join("open")).env("LD_PRELOAD", path()).status().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(preloaded.success());
}

#[test]
fn the_header_is_plain_c_and_c_plus_plus() {
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/include/simulated_cuda.h");
    for (language, standard) in [("c", "-std=c99"), ("c++", "-std=c++11")] {
        let checked = Command::new("cc")
            .args(["-x", language, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", header])
            .output()
            .unwrap();
        assert!(checked.status.success(), "{}", said(&checked));
    }
}

#[test]
fn the_readme_names_every_control_function_of_the_header() {
    let readme = include_str!("../README.md");
    let header = include_str!("../include/simulated_cuda.h");
    let declared = header.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    for name in declared.filter(|word| word.starts_with("simcuda_") && !word.ends_with("_t")) {
        assert!(readme.contains(&format!("`{name}`")), "{name}");
    }
}
