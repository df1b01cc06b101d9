//! The process of a recording: its command, machine, settings, and the limits of its memory.

use std::path::Path;

use syncedmem_core::date::Date;
use syncedmem_core::settings::{Setting, bytes};
use syncedmem_core::text::{Escaped, Size};
use syncedmem_trace_reader::{Caffe, Note};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The arguments. A long command line may lack the last ones.
    pub command: Vec<String>,
    pub host: String,
    /// The start of the recording, in nanoseconds since 1970.
    pub started: u64,
    /// The version of the library.
    pub library: String,
    pub caffes: Vec<Caffe>,
    /// Settings of the library, as `NAME=VALUE`.
    pub settings: Vec<String>,
    /// Limits of memory: names and bytes.
    pub limits: Vec<(String, u64)>,
}

impl About {
    pub fn take(&mut self, note: Note) {
        match note {
            Note::Command(command) => self.command = command,
            Note::Host(host) => self.host = host,
            Note::Setting(setting) => self.settings.push(setting),
            Note::Limit { name, bytes } => self.limits.push((name, bytes)),
            Note::Caffe(caffe) if self.caffes.contains(&caffe) => {}
            Note::Caffe(caffe) => self.caffes.push(caffe),
        }
    }

    pub fn limit(&self, name: &str) -> Option<u64> {
        self.limits.iter().find(|(other, _)| other == name).map(|&(_, bytes)| bytes)
    }

    /// Bytes that a setting names; `None` if it sets no limit.
    pub fn amount(&self, setting: &Setting) -> Option<u64> {
        let value = self.settings.iter().find_map(|one| one.strip_prefix(setting.name())?.strip_prefix('='))?;
        bytes(value.as_bytes()).filter(|&bytes| bytes > 0)
    }

    /// The file of a Caffe that calls its own functions directly.
    pub fn bound_caffe(&self) -> Option<&Path> {
        self.caffes.iter().find(|caffe| !caffe.reaches).map(|caffe| Path::new(&caffe.file))
    }

    /// Names and values of all that was recorded.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let taken = |caffe: &&Caffe| caffe.taken_over > 0;
        let how = |caffe| Some(caffe).filter(taken).map(|it| format!(" ({})", taken_over(it))).unwrap_or_default();
        let caffes: Vec<_> = self.caffes.iter().map(|caffe| format!("{}{}", caffe.file, how(caffe))).collect();
        let limits: Vec<_> = self.limits.iter().map(|(name, bytes)| format!("{name} {}", Size(*bytes))).collect();
        let library = if self.library.is_empty() { String::new() } else { format!("libsyncedmem {}", self.library) };
        let lines = [
            ("command", self.command_line()),
            ("started", self.date()),
            ("host", self.host.clone()),
            ("library", library),
            ("Caffe", caffes.join(", ")),
            ("limits", limits.join(", ")),
            ("settings", self.settings.join(" ")),
        ];
        lines.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The command line, quoted for a shell.
    fn command_line(&self) -> String {
        let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=:,+@%".contains(letter);
        let quoted = |argument: &String| match !argument.is_empty() && argument.chars().all(is_plain) {
            true => argument.clone(),
            false => format!("'{}'", argument.replace('\'', "'\\''")),
        };
        self.command.iter().map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// `2026-11-24 20:46:47 UTC`
    pub fn date(&self) -> String {
        if self.started == 0 {
            return String::new();
        }
        let Date { year, month, day, second_of_day: second, .. } = Date::at((self.started / 1_000_000_000) as i64, 0);
        let (hour, minute) = (second / 3600, second / 60 % 60);
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{:02} UTC", second % 60)
    }
}

/// Escapes characters that control a terminal.
pub fn escaped(text: &str) -> String {
    Escaped(text.as_bytes()).to_string()
}

pub fn taken_over(caffe: &Caffe) -> String {
    let count = caffe.taken_over;
    let names = match caffe.for_names {
        0 => String::new(),
        names => format!(", and {names} for the names of layers"),
    };
    format!("taken over by entry patch: {count} of {count} functions{names}")
}

#[cfg(test)]
mod tests {
    use syncedmem_core::settings::{HOST_LIMIT, PINNED_LIMIT};

    use super::*;

    #[test]
    fn a_process_is_described_in_words_that_a_shell_takes() {
        let caffe = |reaches| Caffe { file: "/lib/libcaffe.so.1".into(), reaches, taken_over: 0, for_names: 0 };
        let mut about = About { started: 1_795_219_199_999_999_999, library: "0.1.0".into(), ..About::default() };
        let command = ["caffe", "train", "--solver=a b", "it's", ""].map(str::to_owned).into();
        let limit = |name: &str, bytes| Note::Limit { name: name.into(), bytes };
        [Note::Command(command), limit("data", 1 << 30), limit("machine", 1 << 34), Note::Caffe(caffe(true))]
            .into_iter()
            .chain([Note::Caffe(caffe(true)), Note::Setting("SYNCEDMEM_HOST_LIMIT=2G".into())])
            .for_each(|note| about.take(note));
        let expected = [
            ("command", "caffe train '--solver=a b' 'it'\\''s' ''"),
            ("started", "2026-11-20 23:59:59 UTC"),
            ("library", "libsyncedmem 0.1.0"),
            ("Caffe", "/lib/libcaffe.so.1"),
            ("limits", "data 1.0 GiB, machine 16.0 GiB"),
            ("settings", "SYNCEDMEM_HOST_LIMIT=2G"),
        ];
        assert_eq!(about.lines(), expected.map(|(name, value)| (name, value.to_owned())));
        assert_eq!((about.limit("data"), about.limit("address space")), (Some(1 << 30), None));
        assert_eq!((about.amount(&HOST_LIMIT), about.amount(&PINNED_LIMIT)), (Some(2 << 30), None));
        assert_eq!(about.bound_caffe(), None);
        about.take(Note::Caffe(caffe(false)));
        assert_eq!(about.bound_caffe(), Some(Path::new("/lib/libcaffe.so.1")));
    }
}
