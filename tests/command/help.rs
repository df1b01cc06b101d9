//! Help, completions and manual pages of the command: they are there, and say what they should.

use std::process::Command;

use crate::caffe_like::{Workshop, command, said};

#[test]
fn every_command_has_help_with_examples() {
    for name in ["run", "doctor", "report", "diff", "model", "completions", "man"] {
        let told = said(command().args(["help", name]));
        assert_eq!(told.status, Some(0), "{name}");
        assert!(told.output.contains(&format!("Usage: syncedmem {name}")), "{}", told.output);
        assert!(told.output.contains("Example"), "{name}: {}", told.output);
    }
}

#[test]
fn without_a_command_the_help_is_printed_and_it_is_an_error() {
    let told = said(&mut command());
    assert_eq!(told.status, Some(2));
    assert!(told.error.contains("Usage: syncedmem <COMMAND>") && told.error.contains("Examples:"), "{}", told.error);
    assert!(!told.error.contains("share"), "what only the installation needs is not shown: {}", told.error);
}

#[test]
fn a_misspelt_command_is_reported_with_the_one_that_is_meant() {
    let told = said(command().arg("docter"));
    assert_eq!(told.status, Some(2));
    assert!(told.error.contains("doctor"), "{}", told.error);
}

#[test]
fn shells_take_the_completions() {
    let workshop = Workshop::new();
    let bash = said(command().args(["completions", "bash"]));
    let file = workshop.source("bash", &bash.output);
    // Prints bash's completions of `syncedmem do` and behind `syncedmem run --on-error `.
    let script = r#"
        . "$1"
        COMP_WORDS=(syncedmem do); COMP_CWORD=1; _syncedmem syncedmem do syncedmem; echo "${COMPREPLY[@]}"
        COMP_WORDS=(syncedmem run --on-error ""); COMP_CWORD=3; _syncedmem syncedmem "" --on-error; echo "${COMPREPLY[@]}"
    "#;
    let told = said(Command::new("bash").args(["-c", script, "-"]).arg(file));
    assert_eq!(told.output, "doctor\nabort throw\n", "{}", told.error);
    for (shell, begin) in [("zsh", "#compdef syncedmem"), ("fish", "# Print an optspec")] {
        let told = said(command().args(["completions", shell]));
        assert!(told.output.starts_with(begin), "{shell}: {}", told.output);
    }
    assert_eq!(said(command().args(["completions", "cmd"])).status, Some(2));
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let workshop = Workshop::new();
    let folder = workshop.path("share");
    assert_eq!(said(command().arg("share").arg(&folder)).status, Some(0));
    for page in ["", "-run", "-doctor", "-report", "-diff", "-completions", "-man"] {
        let page = folder.join(format!("man/man1/syncedmem{page}.1"));
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{}", page.display());
    }
    assert!(!folder.join("man/man1/syncedmem-share.1").exists());
    for file in ["bash-completion/completions/syncedmem", "zsh/site-functions/_syncedmem"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    let told = said(command().args(["man", "--directory", "/proc/nowhere"]));
    assert_eq!(told.status, Some(1));
    assert!(told.error.contains("name a folder that you may write to"), "{}", told.error);
}
