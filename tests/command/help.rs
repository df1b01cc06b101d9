//! Help, completions and manual pages of the command: they are there, and say what they should.

use std::path::Path;
use std::process::Command;

use crate::caffe_like::{Workshop, command, said};
use crate::support::assert_has;

/// The pages of the help: the command's own, and one for each command below it.
pub const PAGES: [&[&str]; 13] = [
    &[],
    &["run"],
    &["doctor"],
    &["report"],
    &["diff"],
    &["export"],
    &["model"],
    &["model", "inspect"],
    &["model", "check"],
    &["model", "export"],
    &["model", "import"],
    &["model", "diff"],
    &["share"],
];

#[test]
fn every_command_has_help_with_examples() {
    for page in &PAGES[1..] {
        let result = said(command().arg("help").args(*page)).ok();
        assert!(result.contains(&format!("Usage: syncedmem {}", page.join(" "))), "{result}");
        assert!(result.contains("Example"), "{page:?}: {result}");
    }
}

#[test]
fn without_a_command_the_help_is_printed_and_it_is_an_error() {
    let result = said(&mut command());
    assert_eq!(result.status, Some(2));
    result.has(&["Usage: syncedmem <COMMAND>", "Examples:"]);
}

#[test]
fn a_misspelt_command_is_reported_with_the_one_that_is_meant() {
    said(command().arg("docter")).fails(2, &["doctor"]);
}

#[test]
fn manual_pages_and_completions_are_written_for_every_command_and_bash_takes_them() {
    let workshop = Workshop::new();
    let folder = workshop.path("share");
    said(command().arg("share").arg(&folder)).ok();
    for page in PAGES {
        let page = folder.join(format!("man/man1/{}.1", [&["syncedmem"], page].concat().join("-")));
        let text = std::fs::read_to_string(&page).unwrap();
        assert_has(&text, &[".SH NAME\n", ".SH SYNOPSIS\n", ".SH EXAMPLES\n"]);
        assert!(!text.contains("EXTRA"), "{}", page.display());
    }
    for (file, begin) in [
        ("zsh/site-functions/_syncedmem", "#compdef syncedmem"),
        ("fish/vendor_completions.d/syncedmem.fish", "# Print an optspec"),
    ] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.starts_with(begin), "{file}: {text}");
    }
    // Prints bash's completions of `syncedmem do` and behind `syncedmem run --on-error `.
    let script = r#"
        . "$1"
        COMP_WORDS=(syncedmem do); COMP_CWORD=1; _syncedmem syncedmem do syncedmem; echo "${COMPREPLY[@]}"
        COMP_WORDS=(syncedmem run --on-error ""); COMP_CWORD=3; _syncedmem syncedmem "" --on-error; echo "${COMPREPLY[@]}"
    "#;
    let bash = folder.join("bash-completion/completions/syncedmem");
    let result = said(Command::new("bash").args(["-c", script, "-"]).arg(bash));
    assert_eq!(result.output, "doctor\nabort throw\n", "{}", result.error);
    said(command().args(["share", "/proc/nowhere"])).fails(1, &["name a folder that you may write to"]);
}

/// The lines of a page's examples, as on a terminal of 80 columns.
fn examples(page: &[&str]) -> Vec<String> {
    let help = said(command().arg("help").args(page).env("COLUMNS", "80")).output;
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    lines.take_while(|line| !line.is_empty()).map(str::to_string).collect()
}

/// Their command lines, without what is said about them.
fn command_lines(page: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in examples(page) {
        match (line.len() - line.trim_start().len(), found.last_mut()) {
            (2, _) => found.push(line.trim().to_string()),
            (4, Some(last)) => *last = format!("{last}\n{line}"),
            _ => {}
        }
    }
    found
}

/// A field of a message of protobuf.
fn field(number: u8, contents: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, contents.len() as u8], contents].concat()
}

/// With the files that the examples name.
pub fn prepared() -> Workshop {
    let workshop = Workshop::new();
    for folder in ["bin", "lib", "caffe", "snapshots"] {
        std::fs::create_dir_all(workshop.path(folder)).unwrap();
    }
    let copy = |from: &str, to: &str| assert!(std::fs::copy(workshop.path(from), workshop.path(to)).is_ok());
    workshop.caffe(&[]);
    workshop.program(&["-Wl,-rpath,$ORIGIN/.."]);
    copy("program", "bin/caffe");
    copy("libcaffe.so", "lib/libcaffe.so");
    copy("libcaffe.so", "caffe/_caffe.so");
    workshop.program(&["-Wl,-rpath,/nowhere"]);
    copy("program", "my-program");
    std::os::unix::fs::symlink(command().get_program(), workshop.path("bin/syncedmem")).unwrap();
    for script in ["classify.py", "serve.py", "train.py"] {
        workshop.source(script, "def train():\n    import caffe\n");
    }
    for trace in ["batch8", "batch16", "after"] {
        workshop.syncedmem(&["run", &format!("--trace={trace}.trace"), "--", "bin/caffe"]).ok();
    }
    copy("after.trace", "train.trace");
    assert!(Command::new("gzip").arg("-k").arg(workshop.path("train.trace")).status().unwrap().success());
    // A net with a layer `conv1` of two values, a mean, and a solver's state.
    let blob = [field(7, &field(1, &[2])), field(5, &[1.0_f32.to_le_bytes(), 2.0_f32.to_le_bytes()].concat())].concat();
    let layer = [field(1, b"conv1"), field(2, b"Convolution"), field(7, &blob)].concat();
    // Field 100 has a key of two bytes.
    let net = [field(1, b"lenet"), vec![0xa2, 0x06, layer.len() as u8], layer].concat();
    let models = ["lenet", "iter_1000", "iter_2000", "original", "upgraded", "before", "after", "snapshots/lenet"];
    for name in models {
        std::fs::write(workshop.path(&format!("{name}.caffemodel")), &net).unwrap();
    }
    std::fs::write(workshop.path("mean.binaryproto"), &blob).unwrap();
    std::fs::write(workshop.path("snapshots/lenet.solverstate"), [vec![8, 5], field(3, &blob)].concat()).unwrap();
    workshop.syncedmem(&["model", "export", "lenet.caffemodel", "--to", "npz", "-o", "some.npz"]).ok();
    workshop
}

#[test]
fn every_example_of_the_help_runs_as_it_stands() {
    let workshop = prepared();
    let path = format!("{}:{}", workshop.path("bin").display(), std::env::var("PATH").unwrap());
    let built = Path::new(command().get_program()).parent().unwrap().to_path_buf();
    for page in PAGES {
        for line in command_lines(page) {
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]).current_dir(workshop.path("")).env("PATH", &path).env("HOME", workshop.path(""));
            shell.env("SYNCEDMEM_LIBRARY", &built).env_remove("LD_PRELOAD").env_remove("PYTHONPATH");
            let result = said(&mut shell);
            assert_eq!(result.status, Some(0), "{line}: {}{}", result.output, result.error);
        }
    }
}
