//! Workspaces: named blobs, over those of a parent.
//!
//! Changes are made under [`locked`]; what they take out ends after the lock is released.

use super::blob::Blob;
use super::error::Error;
use super::lock::{Guarded, Held, locked};
use crate::platform::fallible_arc::FallibleArc;

pub struct Workspace {
    contents: Guarded<Contents>,
}

struct Contents {
    parent: Option<FallibleArc<Workspace>>,
    /// Sorted by name.
    blobs: Vec<(Name, FallibleArc<Blob>)>,
    /// Sorted by name.
    mappings: Vec<(Name, Mapping)>,
}

/// A name that leads to another workspace's blob.
struct Mapping {
    workspace: FallibleArc<Workspace>,
    name: Name,
}

/// A name, with a NUL after it.
#[derive(Clone)]
pub struct Name(FallibleArc<Vec<u8>>);

impl Name {
    pub fn new(name: &[u8]) -> Result<Name, Error> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(name.len() + 1).map_err(|_| Error::out_of_memory(name.len() + 1))?;
        bytes.extend_from_slice(name);
        bytes.push(0);
        FallibleArc::new(bytes).map(Name).map_err(Error::out_of_memory)
    }

    pub fn bytes(&self) -> &[u8] {
        self.0.split_last().map_or(&[], |(_, name)| name)
    }

    pub fn with_nul(&self) -> &[u8] {
        &self.0
    }
}

/// The most parents and mappings that a lookup follows. More are a circle, and lead to no blob.
const MOST_LINKS: usize = 1000;

fn find<T>(entries: &[(Name, T)], name: &[u8]) -> Result<usize, usize> {
    entries.binary_search_by(|(known, _)| known.bytes().cmp(name))
}

fn look_up<'e, T>(entries: &'e [(Name, T)], name: &[u8]) -> Option<&'e T> {
    find(entries, name).ok().and_then(|at| entries.get(at)).map(|(_, value)| value)
}

/// Inserts an entry whose name is new.
fn add<T>(entries: &mut Vec<(Name, T)>, name: Name, value: T) -> Result<(), Error> {
    entries.try_reserve(1).map_err(|_| Error::out_of_memory(size_of::<(Name, T)>()))?;
    let (Ok(at) | Err(at)) = find(entries, name.bytes());
    entries.insert(at, (name, value));
    Ok(())
}

pub struct Listed {
    pub name: Name,
    pub blob: FallibleArc<Blob>,
    /// Bytes of its tensor's memory; 0 if a blob before it shares that memory.
    pub bytes: usize,
}

impl Workspace {
    pub fn new(parent: Option<FallibleArc<Workspace>>) -> Result<FallibleArc<Workspace>, Error> {
        let contents = Contents { parent, blobs: Vec::new(), mappings: Vec::new() };
        FallibleArc::new(Workspace { contents: Guarded::new(contents) }).map_err(Error::out_of_memory)
    }

    /// Finds this workspace's own blob, else a mapped one, else the parent's.
    fn resolve(&self, name: &[u8], held: &Held) -> Option<FallibleArc<Blob>> {
        let (mut at, mut name) = (self, name);
        for _ in 0..MOST_LINKS {
            let contents = at.contents.get(held);
            if let Some(blob) = look_up(&contents.blobs, name) {
                return Some(blob.clone());
            }
            match look_up(&contents.mappings, name) {
                Some(mapping) => (at, name) = (&mapping.workspace, mapping.name.bytes()),
                None => at = contents.parent.as_deref()?,
            }
        }
        None
    }

    pub fn get(&self, name: &[u8]) -> Option<FallibleArc<Blob>> {
        locked(|held| self.resolve(name, held))
    }

    /// The visible blob of that name, or a new one in this workspace.
    pub fn create(&self, name: &[u8]) -> Result<FallibleArc<Blob>, Error> {
        self.get_or_add(name, |held| self.resolve(name, held))
    }

    /// This workspace's own blob, or a new one, which hides the parent's.
    pub fn create_local(&self, name: &[u8]) -> Result<FallibleArc<Blob>, Error> {
        self.get_or_add(name, |held| look_up(&self.contents.get(held).blobs, name).cloned())
    }

    fn get_or_add(
        &self,
        name: &[u8],
        there: impl Fn(&Held) -> Option<FallibleArc<Blob>>,
    ) -> Result<FallibleArc<Blob>, Error> {
        if let Some(blob) = locked(|held| there(held)) {
            return Ok(blob);
        }
        let (name, new) = (Name::new(name)?, Blob::new()?);
        locked(|held| match there(held) {
            Some(blob) => Ok(blob),
            None => {
                add(&mut self.contents.get_mut(held).blobs, name, new.clone())?;
                Ok(new)
            }
        })
    }

    /// Removes an own blob; returns whether there was one.
    pub fn remove(&self, name: &[u8]) -> bool {
        let removed = locked(|held| {
            let blobs = &mut self.contents.get_mut(held).blobs;
            find(blobs, name).ok().map(|found| blobs.remove(found))
        });
        removed.is_some()
    }

    /// Renames an own blob to a name that is not visible here yet.
    pub fn rename(&self, old: &[u8], new: &[u8]) -> Result<FallibleArc<Blob>, Error> {
        let name = Name::new(new)?;
        let (blob, _old) = locked(|held| {
            let found = find(&self.contents.get(held).blobs, old).map_err(|_| {
                Error::Argument("this workspace itself has no blob of the old name; pass one of its own blobs")
            })?;
            if self.resolve(new, held).is_some() {
                return Err(Error::Argument(
                    "there is a blob of the new name already, here or in a parent; pass another, or remove that blob first",
                ));
            }
            let blobs = &mut self.contents.get_mut(held).blobs;
            let (old, blob) = blobs.remove(found);
            add(blobs, name, blob.clone())?;
            Ok((blob, old))
        })?;
        Ok(blob)
    }

    /// Makes the blob `theirs` of `from` visible as `name`. A name that is visible already is an error, unless it is the same
    /// mapping, or `skip` is set.
    pub fn map(&self, name: &[u8], from: &FallibleArc<Workspace>, theirs: &[u8], skip: bool) -> Result<(), Error> {
        if std::ptr::eq(self, &**from) {
            return Err(Error::Argument("a workspace cannot map its own blobs; pass another one"));
        }
        let (name, mapping) = (Name::new(name)?, Mapping { workspace: from.clone(), name: Name::new(theirs)? });
        locked(|held| {
            if from.resolve(theirs, held).is_none() {
                return Err(Error::Argument(
                    "the other workspace has no blob of that name; create it there before it is mapped",
                ));
            }
            let known = look_up(&self.contents.get(held).mappings, name.bytes())
                .map(|known| std::ptr::eq(&*known.workspace, &**from) && known.name.bytes() == theirs);
            match known {
                Some(true) => Ok(()),
                None if self.resolve(name.bytes(), held).is_none() => {
                    add(&mut self.contents.get_mut(held).mappings, name, mapping)
                }
                None if skip => Ok(()),
                _ => Err(Error::Argument(
                    "a blob is visible under the new name already, or mapped to it; pass another name, or skip those",
                )),
            }
        })
    }

    /// The own blobs, or all visible ones, each once, sorted by name.
    pub fn list(&self, local: bool) -> Result<Vec<Listed>, Error> {
        let mut all = Vec::new();
        locked(|held| {
            let mut at = Some(self);
            // Blobs of nearer workspaces come first, and stay when duplicates are removed.
            for _ in 0..MOST_LINKS {
                let Some(workspace) = at else { break };
                let contents = workspace.contents.get(held);
                let most = contents.blobs.len() + contents.mappings.len();
                all.try_reserve(most).map_err(|_| Error::out_of_memory(most * size_of::<(usize, Listed)>()))?;
                let own = contents.blobs.iter().map(|(name, blob)| (name, blob.clone()));
                let mapped = contents.mappings.iter().filter(|_| !local);
                let mapped = mapped.filter_map(|(name, _)| Some((name, workspace.resolve(name.bytes(), held)?)));
                for (name, blob) in own.chain(mapped) {
                    all.push((all.len(), Listed { name: name.clone(), blob, bytes: 0 }));
                }
                at = contents.parent.as_deref().filter(|_| !local);
            }
            Ok::<(), Error>(())
        })?;
        all.sort_unstable_by(|(one, a), (other, b)| a.name.bytes().cmp(b.name.bytes()).then(one.cmp(other)));
        all.dedup_by(|(_, after), (_, before)| after.name.bytes() == before.name.bytes());
        Self::measure(&mut all)?;
        let mut listed = Vec::new();
        listed.try_reserve_exact(all.len()).map_err(|_| Error::out_of_memory(all.len() * size_of::<Listed>()))?;
        listed.extend(all.into_iter().map(|(_, each)| each));
        Ok(listed)
    }

    /// Sets the bytes of each blob. Memory that tensors share counts with the first.
    fn measure(all: &mut [(usize, Listed)]) -> Result<(), Error> {
        let mut footprints: Vec<(usize, usize)> = Vec::new();
        footprints.try_reserve_exact(all.len()).map_err(|_| Error::out_of_memory(size_of_val(all)))?;
        locked(|held| {
            for (at, (_, listed)) in all.iter_mut().enumerate() {
                let (storage, bytes) = listed.blob.footprint(held);
                listed.bytes = bytes;
                footprints.push((storage, at));
            }
        });
        footprints.sort_unstable();
        for pair in footprints.windows(2) {
            if let [(one, _), (other, at)] = *pair {
                if one == other {
                    all[at].1.bytes = 0;
                }
            }
        }
        Ok(())
    }
}
