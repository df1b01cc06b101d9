//! Shell completions and manual pages.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man as Page;
use clap_mangen::roff::{Roff, roman};

use crate::output::{self, STANDARD};
use crate::say;

/// Print the completions of a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem completions bash \\
    > ~/.local/share/bash-completion/completions/syncedmem
  syncedmem completions zsh > ~/.zfunc/_syncedmem
  syncedmem completions fish > ~/.config/fish/completions/syncedmem.fish")]
pub struct Completions {
    /// The shell that reads them.
    shell: Shell,
}

/// Print the manual page, or write those of all commands to a folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem man | man -l -
  syncedmem man --directory ~/.local/share/man/man1")]
pub struct Man {
    /// The folder for syncedmem.1, syncedmem-run.1 and so on; created if it is missing.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Write manual pages and completions to a folder, as they are installed below `share`.
#[derive(Debug, Args)]
pub struct ShareFolder {
    directory: PathBuf,
}

const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/syncedmem"),
    (Shell::Zsh, "zsh/site-functions/_syncedmem"),
    (Shell::Fish, "fish/vendor_completions.d/syncedmem.fish"),
];

pub fn share(options: &ShareFolder, command: Command) -> ExitCode {
    let directory = &options.directory;
    let completions = COMPLETIONS.iter().try_for_each(|&(shell, path)| {
        let path = directory.join(path);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        output::all(&path, &completions_of(shell, command.clone()))
    });
    match completions.and_then(|()| write_pages(&directory.join("man/man1"), command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => say::failed(format_args!("{} cannot be written: {}", directory.display(), say::reason(&error))),
    }
}

pub fn completions(options: &Completions, command: Command) -> ExitCode {
    print(&completions_of(options.shell, command))
}

fn completions_of(shell: Shell, mut command: Command) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "syncedmem", &mut text);
    text
}

pub fn man(options: &Man, command: Command) -> ExitCode {
    let Some(directory) = &options.directory else {
        return match page(for_pages(command)) {
            Ok(text) => print(&text),
            Err(error) => say::failed(format_args!("the manual page could not be written: {error}")),
        };
    };
    match write_pages(directory, command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => say::failed(format_args!(
            "the manual pages could not be written to {}: {}; name a folder that you may write to",
            directory.display(),
            say::reason(&error)
        )),
    }
}

fn for_pages(command: Command) -> Command {
    command.disable_help_subcommand(true)
}

/// The text behind the options, which clap_mangen calls EXTRA, becomes sections.
fn page(mut command: Command) -> io::Result<Vec<u8>> {
    let behind = command.get_after_help().map(|text| text.to_string()).unwrap_or_default();
    command = command.after_help(Resettable::Reset);
    let mut text = Vec::new();
    Page::new(command)
        .source(concat!("syncedmem ", env!("CARGO_PKG_VERSION")))
        .manual("libsyncedmem")
        .render(&mut text)?;
    let (mut sections, mut last) = (Roff::default(), "");
    for part in behind.split("\n\n") {
        let (title, part) = match part.split_once(':') {
            Some(("Examples", part)) => ("EXAMPLES", part),
            Some(("Exit status", part)) => ("EXIT STATUS", part),
            _ => ("NOTES", part),
        };
        sections.control(if title == last { "PP" } else { "SH" }, (title != last).then_some(title));
        last = title;
        if title == "EXAMPLES" {
            // Lines as they are, without the help's indentation.
            sections.control("nf", []).text([roman(part.replace("\n  ", "\n").trim())]).control("fi", []);
        } else {
            sections.text([roman(part.trim())]);
        }
    }
    sections.to_writer(&mut text)?;
    Ok(text)
}

fn write_pages(directory: &Path, command: Command) -> io::Result<()> {
    fn write(command: &Command, directory: &Path) -> io::Result<()> {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        output::all(&directory.join(format!("{name}.1")), &page(command.clone())?)?;
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        shown.into_iter().try_for_each(|command| write(command, directory))
    }
    std::fs::create_dir_all(directory)?;
    let mut command = for_pages(command);
    command.build();
    write(&command, directory)
}

fn print(text: &[u8]) -> ExitCode {
    // Ignored: `say::end` reports it.
    let _ = output::all(STANDARD.as_ref(), text);
    ExitCode::SUCCESS
}
