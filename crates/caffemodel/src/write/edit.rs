use std::fmt;
use std::path::Path;

use super::output::Output;
use super::values::Values;
use crate::blob::Stored;
use crate::chunks::{Chunks, Run};
use crate::error::{Error, ErrorKind};
use crate::kind::Kind;
use crate::model::{At, Model};
use crate::problem::Problem;

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
/// New values, as many as the old ones, take their places in their type. Everything else is copied byte for byte.
pub struct Edit<'e> {
    model: &'e Model,
    changes: Vec<(At, Values<'e>)>,
    may_be_large: bool,
    progress: Box<dyn FnMut(u64) + 'e>,
}

impl<'e> Edit<'e> {
    /// An edit without changes.
    pub fn of(model: &'e Model) -> Self {
        Self { model, changes: Vec::new(), may_be_large: false, progress: Box::new(|_| {}) }
    }

    /// Replaces the values of an array.
    pub fn replace(&mut self, at: At, values: Values<'e>) -> &mut Self {
        self.changes.retain(|(other, _)| *other != at);
        self.changes.push((at, values));
        self
    }

    /// Allows a file of more than 2,147,483,647 bytes, Caffe's limit.
    pub fn allow_large(&mut self) -> &mut Self {
        self.may_be_large = true;
        self
    }

    /// Calls `progress` with the number of bytes after each write.
    pub fn on_progress(&mut self, progress: impl FnMut(u64) + 'e) -> &mut Self {
        self.progress = Box::new(progress);
        self
    }

    /// Writes the file, which may be the open one, and clears the changes. An existing file stays until the new one is whole and on
    /// the disk. Returns the arrays that differ from the old ones.
    ///
    /// # Errors
    /// `Argument`: there is no such array, counts differ, or values would be rounded. `Unsupported`: too large for Caffe.
    /// `Io`: reading or writing failed. `Format`: an array cannot be read, or the old file was changed since it was opened.
    pub fn write_to(&mut self, path: impl AsRef<Path>) -> Result<Vec<At>, Error> {
        self.write(path.as_ref())
    }

    #[inline(never)]
    fn write(&mut self, path: &Path) -> Result<Vec<At>, Error> {
        let (model, source) = (self.model, &self.model.source);
        let mut changes = std::mem::take(&mut self.changes);
        // The places of the new values; the runs of one array are in order.
        let mut places = Vec::new();
        for (number, (at, values)) in changes.iter().enumerate() {
            let (chunks, mut first) = (replaceable(model, *at, values)?, 0);
            while let Some(run) = chunks.run(first, u64::MAX) {
                first += run.count;
                places.push((run, number));
            }
        }
        places.sort_unstable_by_key(|(run, _)| run.at);
        let mut new = Output::new(path, source.length(), self.may_be_large, &mut self.progress)?;
        let (mut done, mut differ) = (0, vec![false; changes.len()]);
        let mut values_of_block = Vec::new();
        for (Run { at: start, count, step }, number) in places {
            let (at, values) = &mut changes[number];
            let element = model.array(*at)?.element();
            let size = element.size() as u64;
            new.copy(source, done..start)?;
            done = start + (count - 1) * step + size;
            new.write(done - start, step, |into, offset| {
                source.read(into, start + offset)?;
                let count = into.len().div_ceil(step as usize);
                values_of_block.resize(count * size as usize, 0);
                values
                    .read(element, &mut values_of_block)
                    .map_err(|cause| model.place(Values::unread(path, cause), *at))?;
                // Tags may lie between the values.
                let together = if step == size { count } else { 1 };
                let new = values_of_block.chunks(size as usize * together);
                for (old, new) in into.chunks_mut(step as usize * together).zip(new) {
                    let old = &mut old[..new.len()];
                    differ[number] |= old != new;
                    old.copy_from_slice(new);
                }
                Ok(())
            })?;
        }
        new.copy(source, done..source.length())?;
        if source.was_changed() {
            let what = "another program has changed the file since it was opened";
            return Err(Error::format(source.name(), what, "open it again, and change the new contents"));
        }
        new.publish()?;
        Ok(changes.iter().zip(differ).filter_map(|((at, _), differs)| differs.then_some(*at)).collect())
    }
}

/// The places of an array that `values` can replace.
fn replaceable<'m>(model: &'m Model, at: At, values: &Values) -> Result<&'m Chunks, Error> {
    let array = model.array(at)?;
    let (Stored::Runs(chunks), true) = (&array.stored, model.kind() != Kind::InitNet) else {
        let (what, advice) = ("is a net of Caffe2, whose values are not changed here", "change it with Caffe2");
        return Err(Error::new(ErrorKind::Unsupported, model.source.name(), what, advice));
    };
    let (found, needed, shape) = (values.count, array.count(), model.blob(at)?.shape());
    if found != needed {
        let problem = Problem::Count { part: at.part.name(), found, needed };
        return Err(model.refuse(at, problem.in_words(shape), "give as many values as the shape has"));
    }
    if !values.element.is_exact_as(array.element) {
        let what = format!("{} values are to be stored as {}, which is not exact", values.element, array.element);
        return Err(model.refuse(at, what, "convert them before"));
    }
    Ok(chunks)
}

impl fmt::Debug for Edit<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("Edit").field("changes", &self.changes).finish_non_exhaustive()
    }
}
