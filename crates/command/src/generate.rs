//! `syncedmem share`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{Args, Command, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man as Page;
use clap_mangen::roff::{Roff, roman};

use crate::{output, say};

/// Write manual pages, and completions of bash, zsh and fish, to a folder, as systems have them below `share`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem share ~/.local/share
      for man, bash and fish; for zsh, add the folder in it to fpath")]
pub struct Share {
    /// Created if it is missing.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: PathBuf,
}

const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/syncedmem"),
    (Shell::Zsh, "zsh/site-functions/_syncedmem"),
    (Shell::Fish, "fish/vendor_completions.d/syncedmem.fish"),
];

pub fn share(options: &Share, command: Command) -> ExitCode {
    let directory = &options.directory;
    let completions = COMPLETIONS.iter().try_for_each(|&(shell, path)| {
        let (path, mut text) = (directory.join(path), Vec::new());
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        clap_complete::generate(shell, &mut command.clone(), "syncedmem", &mut text);
        output::all(&path, &text)
    });
    match completions.and_then(|()| write_pages(&directory.join("man/man1"), command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => say::failed(format_args!(
            "{} cannot be written: {}; name a folder that you may write to",
            directory.display(),
            say::reason(&error)
        )),
    }
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

fn write_pages(directory: &Path, mut command: Command) -> io::Result<()> {
    fn write(command: &Command, directory: &Path) -> io::Result<()> {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        output::all(&directory.join(format!("{name}.1")), &page(command.clone())?)?;
        command.get_subcommands().try_for_each(|command| write(command, directory))
    }
    std::fs::create_dir_all(directory)?;
    command = command.disable_help_subcommand(true);
    command.build();
    write(&command, directory)
}
