//! `syncedmem share`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man as Page;

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

/// The text after the options begins with the examples.
fn page(command: Command) -> io::Result<String> {
    let mut text = Vec::new();
    Page::new(command)
        .source(concat!("syncedmem ", env!("CARGO_PKG_VERSION")))
        .manual("libsyncedmem")
        .render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n"))
}

fn write_pages(directory: &Path, mut command: Command) -> io::Result<()> {
    fn write(command: &Command, directory: &Path) -> io::Result<()> {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        output::all(&directory.join(format!("{name}.1")), page(command.clone())?.as_bytes())?;
        command.get_subcommands().try_for_each(|command| write(command, directory))
    }
    std::fs::create_dir_all(directory)?;
    command = command.disable_help_subcommand(true);
    command.build();
    write(&command, directory)
}
