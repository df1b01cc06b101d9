use std::fmt;
use std::ops::Range;
use std::path::Path;

use super::blob::{Change, NewArray, changed};
use super::encode;
use super::plan::{Parts, Piece};
use super::values::Values;
use crate::error::{Error, ErrorKind};
use crate::kind::Kind;
use crate::model::{At, Model, Part};
use crate::wire::{Scanner, Wire};

/// A file with other values.
///
/// ```no_run
/// use caffemodel::{At, Edit, Model, Values};
///
/// let model = Model::open("lenet.caffemodel")?;
/// let weights = [0.5; 5000];
/// Edit::of(&model).replace(At::data(7, 0), Values::f32(&weights)).write_to("changed.caffemodel")?;
/// # Ok::<(), caffemodel::Error>(())
/// ```
///
/// All else is copied byte for byte. New values take the place and the type of the old; legacy dimensions stay where
/// the new shape has four.
pub struct Edit<'e> {
    model: &'e Model,
    /// Sorted. A map's or a sort's code would take several KiB.
    changes: Vec<((usize, usize), Change<'e>)>,
    may_be_large: bool,
    progress: Box<dyn FnMut(u64) + 'e>,
}

impl<'e> Edit<'e> {
    /// The file as it is.
    pub fn of(model: &'e Model) -> Self {
        Self { model, changes: Vec::new(), may_be_large: false, progress: Box::new(|_| {}) }
    }

    /// Replaces an array, or adds a diff.
    pub fn replace(&mut self, at: At, values: Values<'e>) -> &mut Self {
        *self.array(at) = NewArray::Replaced(values);
        self
    }

    /// Removes a blob's diff.
    pub fn remove_diff(&mut self, layer: usize, blob: usize) -> &mut Self {
        *self.array(At::diff(layer, blob)) = NewArray::Removed;
        self
    }

    /// Another count requires new values.
    pub fn reshape(&mut self, layer: usize, blob: usize, dims: &[i64]) -> &mut Self {
        self.change(layer, blob).shape = Some(dims.to_vec());
        self
    }

    fn change(&mut self, layer: usize, blob: usize) -> &mut Change<'e> {
        let place = (layer, blob);
        let at = self.changes.binary_search_by_key(&place, |(place, _)| *place).unwrap_or_else(|at| {
            self.changes.insert(at, (place, Change::default()));
            at
        });
        &mut self.changes[at].1
    }

    fn array(&mut self, at: At) -> &mut NewArray<'e> {
        let change = self.change(at.layer, at.blob);
        match at.part {
            Part::Data => &mut change.data,
            Part::Diff => &mut change.diff,
        }
    }

    /// Above 2,147,483,647 bytes, Caffe's limit.
    pub fn allow_large(&mut self) -> &mut Self {
        self.may_be_large = true;
        self
    }

    /// Calls `progress` with the number of bytes after each write.
    pub fn on_progress(&mut self, progress: impl FnMut(u64) + 'e) -> &mut Self {
        self.progress = Box::new(progress);
        self
    }

    /// Writes the file, which may be the open one, and forgets the changes. A file of the name stays until the new one
    /// is whole and on the disk.
    ///
    /// # Errors
    /// `Argument`: there is no such blob, counts do not fit shapes, or values would be rounded. `Unsupported`: too
    /// large for Caffe. `Io`: reading or writing failed. `Format`: the old file was changed since it was opened.
    pub fn write_to(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.write(path.as_ref())
    }

    #[inline(never)]
    fn write(&mut self, path: &Path) -> Result<(), Error> {
        let changes = std::mem::take(&mut self.changes);
        let source = &self.model.source;
        if self.model.kind() == Kind::InitNet && !changes.is_empty() {
            let (what, advice) = ("is a net of Caffe2, whose values are not changed here", "change it with Caffe2");
            return Err(Error::new(ErrorKind::Unsupported, source.name(), what, advice));
        }
        let mut scanner = Scanner::new(source);
        let mut blobs = Vec::new();
        for ((layer, blob), change) in changes {
            let at = At::data(layer, blob);
            let message = changed(self.model, &mut scanner, at, change)?;
            let span = self.model.blob(at)?.span();
            // Near the end: only blobs of a V0 layer of two pieces lie in any order.
            let is_behind = |other: &Range<u64>| (span.start, span.end) < (other.start, other.end);
            let behind = blobs.iter().rev().take_while(|(other, _)| is_behind(other)).count();
            blobs.insert(blobs.len() - behind, (span, message));
        }
        let mut blobs = blobs.into_iter().peekable();
        let parts = message(self.model, &mut scanner, 0..source.length(), &mut blobs, DEEPEST)?;
        if blobs.peek().is_some() {
            let what = "another program has changed the file since it was opened";
            return Err(Error::format(source.name(), what, "open it again, and change the new contents"));
        }
        parts.write(path, self.may_be_large, &mut self.progress)
    }
}

/// Nested messages: a net, its layer, the V0 layer in that, and the blob.
const DEEPEST: usize = 4;

/// In the order of the file.
type Blobs<'e> = std::iter::Peekable<std::vec::IntoIter<(Range<u64>, Parts<'e>)>>;

/// The message in `range`, with its changed blobs.
fn message<'e>(
    model: &'e Model,
    scanner: &mut Scanner,
    range: Range<u64>,
    blobs: &mut Blobs<'e>,
    depth: usize,
) -> Result<Parts<'e>, Error> {
    if let Some((_, message)) = blobs.next_if(|(span, _)| *span == range) {
        return Ok(message);
    }
    let copy = |range| Piece::Copy(&model.source, range);
    let mut parts = Parts::default();
    // Bytes before this are in `parts`.
    let mut done = range.start;
    scanner.position = range.start;
    while let Some(next) = blobs.peek().map(|(span, _)| span.clone()).filter(|span| span.end <= range.end) {
        // A changed file may end here, or go deeper.
        let Some(field) = scanner.field(range.end)?.filter(|_| depth > 1) else { break };
        let tag_end = scanner.position;
        if field.wire != Wire::Bytes {
            scanner.skip(field, range.end)?;
            continue;
        }
        let inside = scanner.bytes(range.end)?;
        if next.start < inside.start || next.end > inside.end {
            continue;
        }
        let new = message(model, scanner, inside.clone(), blobs, depth - 1)?;
        let length = new.length();
        // A length may be stored in more bytes than it needs.
        if length == inside.end - inside.start {
            parts.push(copy(done..inside.start));
        } else {
            parts.push(copy(done..tag_end));
            parts.push(Piece::Bytes(encode::varint(length)));
        }
        parts.append(new);
        (done, scanner.position) = (inside.end, inside.end);
    }
    parts.push(copy(done..range.end));
    Ok(parts)
}

impl fmt::Debug for Edit<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("Edit").field("changes", &self.changes).finish_non_exhaustive()
    }
}

/// Writes a `.binaryproto` of one blob.
///
/// # Errors
/// Those of [`Edit::write_to`].
#[inline(never)]
pub fn write_blob(path: &Path, dims: &[i64], data: Values, diff: Option<Values>) -> Result<(), Error> {
    // A blob of this shape without values.
    let empty = Model::from_bytes(encode::shape(dims), &path.display().to_string(), Some(Kind::Blob))?;
    let mut edit = Edit::of(&empty);
    edit.replace(At::data(0, 0), data);
    if let Some(diff) = diff {
        edit.replace(At::diff(0, 0), diff);
    }
    edit.write_to(path)
}
