//! Reads recordings while they are written, before records are overwritten, so that the report has all of them.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use syncedmem_trace_reader::{Item, Stream};

use crate::report::read::Open;

/// Half a ring takes longer to fill: two million events.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Follower {
    /// `None` if the thread could not be started.
    thread: Option<(Sender<()>, JoinHandle<Followed>)>,
}

impl Follower {
    pub fn start(folder: &Path) -> Follower {
        let (end, ended) = mpsc::channel();
        let folder = folder.to_path_buf();
        let follow = move || {
            let mut followed = Followed::default();
            while ended.recv_timeout(BETWEEN_LOOKS) == Err(RecvTimeoutError::Timeout) {
                followed.look(&folder);
            }
            followed
        };
        Follower { thread: thread::Builder::new().spawn(follow).ok().map(|thread| (end, thread)) }
    }

    /// Stops, and returns the files with their contents.
    pub fn finish(self) -> Vec<(PathBuf, Open)> {
        let Some((end, thread)) = self.thread else { return Vec::new() };
        drop(end);
        thread.join().map(Followed::finish).unwrap_or_default()
    }
}

#[derive(Default)]
struct Followed(HashMap<PathBuf, One>);

struct One {
    stream: Stream,
    open: Open,
}

impl Followed {
    fn look(&mut self, folder: &Path) {
        let Ok(files) = fs::read_dir(folder) else { return };
        for path in files.flatten().map(|file| file.path()) {
            if let Some(one) = self.0.get_mut(&path) {
                one.read();
                continue;
            }
            // Errors are ignored: the report names files that cannot be read.
            let stream = File::open(&path).ok().and_then(|file| Stream::new(file).ok());
            if let Some(stream) = stream.filter(Stream::is_filling) {
                self.0.entry(path).or_insert(One { stream, open: Open::default() }).read();
            }
        }
    }

    fn finish(self) -> Vec<(PathBuf, Open)> {
        self.0.into_iter().map(|(path, one)| (path, one.finish())).collect()
    }
}

impl One {
    fn read(&mut self) {
        let mut items = VecDeque::new();
        // After an error, the report says that records are missing.
        let _ = self.stream.follow(&mut items);
        self.take(items);
    }

    fn finish(mut self) -> Open {
        self.read();
        let mut items = VecDeque::new();
        while self.stream.read(&mut items).is_ok_and(|goes_on| goes_on) {
            self.take(std::mem::take(&mut items));
        }
        self.stream.finish(&mut items);
        self.take(items);
        self.open
    }

    fn take(&mut self, items: VecDeque<Item>) {
        items.into_iter().for_each(|item| self.open.take(item));
    }
}

#[cfg(test)]
mod tests {
    use syncedmem_core::kind::Kind;
    use syncedmem_trace::event::{Origin, What};
    use syncedmem_trace::recording::sample::{LAYOUT, Recording, at, process};

    use super::*;
    use crate::report::read;

    #[test]
    fn records_that_are_overwritten_between_two_looks_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (calm, busy) = (Recording::new(&process(6)), Recording::new(&process(7)));
        calm.event(at(1, 1, What::Synchronised));
        let allocated = What::Allocated { kind: Kind::Pageable, bytes: 4096, block: 16, origin: Origin::Fresh };
        busy.event(at(1, 1, allocated));
        let mut followed = Followed::default();
        // Each half of the ring, twice over.
        for half in 0..4 {
            (0..LAYOUT.most / 2).for_each(|time| busy.event(at(10 + half * 1000 + time, 0, What::Synchronised)));
            calm.write(&folder.join("6"));
            busy.write(&folder.join("7"));
            followed.look(folder);
        }
        let followed = followed.finish();
        assert_eq!(followed.len(), 1, "the calm one is not followed");
        let reported = read::folder(folder, followed).unwrap();
        let alone = read::file(folder).unwrap();
        let shown = |trace: &crate::report::facts::Trace| {
            trace
                .processes
                .iter()
                .map(|process| (process.id, process.account.memory(Kind::Pageable).live))
                .collect::<Vec<_>>()
        };
        assert_eq!((shown(&reported), reported.notes.len()), (vec![(6, 0), (7, 4096)], 0), "{:?}", reported.notes);
        assert_eq!((shown(&alone), alone.notes.len()), (vec![(6, 0), (7, 0)], 1), "{:?}", alone.notes);
    }
}
