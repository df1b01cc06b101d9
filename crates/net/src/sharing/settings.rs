//! `SYNCEDMEM_SHARE` and `SYNCEDMEM_KEEP`. A program with more rights than its caller reads neither.
#![expect(unsafe_code, reason = "getauxval")]

use std::collections::BTreeSet;
use std::env::var_os;
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use syncedmem_core::settings::{KEEP, Refusal, SHARE};
use syncedmem_core::text::Escaped;

use super::plan::Mode;

pub struct Settings {
    pub mode: Option<Mode>,
    pub keep: Keep,
}

/// Names of blobs and layers, which are bytes, separated by commas. A name may contain commas: it is kept if it is in the setting between two
/// commas.
pub struct Keep(Vec<u8>);

pub fn get() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        // SAFETY: getauxval has no preconditions.
        let is_trusted = unsafe { libc::getauxval(libc::AT_SECURE) } == 0;
        let read = |name| var_os(name).filter(|_| is_trusted).map(OsStringExt::into_vec).unwrap_or_default();
        let (share, keep) = (read(SHARE.name()), read(KEEP.name()));
        let is_known = share.is_empty() || SHARE.parse(&share).is_some();
        let mode = match &share[..] {
            b"parked" => Some(Mode::Parked),
            b"all" => Some(Mode::All),
            b"gradients" => Some(Mode::Gradients),
            _ => None,
        };
        if !is_known {
            eprintln!("libsyncedmem: {}={} {}", SHARE.name(), Escaped(&share), Refusal(&SHARE));
        } else if mode.is_none() && !keep.is_empty() {
            eprintln!("libsyncedmem: {} has no effect, because {} is off", KEEP.name(), SHARE.name());
        }
        Settings { mode, keep: Keep(keep) }
    })
}

impl Keep {
    fn places<'k>(&'k self, name: &'k [u8]) -> impl Iterator<Item = usize> + 'k {
        let starts = (0..self.0.len()).filter(|&at| at == 0 || self.0[at - 1] == b',');
        starts.filter(move |&at| {
            let rest = self.0[at..].strip_prefix(name);
            !name.is_empty() && rest.is_some_and(|rest| rest.first().is_none_or(|&next| next == b','))
        })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, name: &[u8]) -> bool {
        self.places(name).next().is_some()
    }

    /// The names in the setting that are no part of a found one.
    pub fn without(&self, found: &BTreeSet<Vec<u8>>) -> Vec<&[u8]> {
        let covered: Vec<(usize, usize)> =
            found.iter().flat_map(|name| self.places(name).map(|at| (at, at + name.len()))).collect();
        let mut at = 0;
        let mut without = Vec::new();
        for name in self.0.split(|&letter| letter == b',') {
            if !name.is_empty() && !covered.iter().any(|&(from, to)| from <= at && at < to) {
                without.push(name);
            }
            at += name.len() + 1;
        }
        without
    }

    /// The option of `syncedmem run` that keeps a name, quoted for a shell, and the setting.
    pub fn option(name: &[u8]) -> Vec<u8> {
        let is_plain = |letter: &u8| letter.is_ascii_alphanumeric() || b"_-./,:+=@%".contains(letter);
        let quoted = if name.iter().all(is_plain) {
            name.to_owned()
        } else if name.iter().all(|letter| letter.is_ascii_graphic() || *letter == b' ') && !name.contains(&b'\'') {
            [b"'", name, b"'"].concat()
        } else {
            let escaped = name.iter().flat_map(|letter| match letter {
                letter if is_plain(letter) => vec![*letter],
                letter => format!("\\x{letter:02x}").into_bytes(),
            });
            [&b"$'"[..], &escaped.collect::<Vec<u8>>(), b"'"].concat()
        };
        [b"--keep ", &quoted[..], b" (SYNCEDMEM_KEEP=", &quoted[..], b")"].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(text: &[u8]) -> Keep {
        Keep(text.to_owned())
    }

    #[test]
    fn a_name_is_kept_if_it_is_between_commas_even_if_it_contains_commas() {
        let keep = keep(b"conv,1,fc\xff,fc7");
        for name in [&b"conv,1"[..], b"conv", b"1", b"fc\xff", b"fc7", b"fc\xff,fc7"] {
            assert!(keep.has(name), "{}", Escaped(name));
        }
        for name in [&b""[..], b"con", b"fc", b"7", b",", b"1,"] {
            assert!(!keep.has(name), "{}", Escaped(name));
        }
    }

    #[test]
    fn a_name_that_no_net_has_is_reported() {
        let found = BTreeSet::from([b"conv,1".to_vec(), b"fc7".to_vec()]);
        assert_eq!(keep(b"conv,1,fc8,fc7,,\xff").without(&found), [&b"fc8"[..], b"\xff"]);
        assert!(keep(b"").without(&found).is_empty());
    }

    #[test]
    fn the_option_can_be_given_to_a_shell() {
        for (name, option) in [
            (&b"conv,1"[..], "--keep conv,1 (SYNCEDMEM_KEEP=conv,1)"),
            (b"a b$c", "--keep 'a b$c' (SYNCEDMEM_KEEP='a b$c')"),
            (b"\x1b]0;\xbe'", "--keep $'\\x1b\\x5d0\\x3b\\xbe\\x27' (SYNCEDMEM_KEEP=$'\\x1b\\x5d0\\x3b\\xbe\\x27')"),
        ] {
            assert_eq!(String::from_utf8(Keep::option(name)).unwrap(), option);
        }
    }
}
