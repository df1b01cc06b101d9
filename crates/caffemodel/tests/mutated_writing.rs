//! Random changes of damaged files are in the new file, with all else as it was, or nothing is written.

mod support;

use std::collections::BTreeMap;

use caffemodel::{At, Edit, Element, ErrorKind, Kind, Model, Part, Values};
use support::mutation::*;
use support::*;

/// Shape, type and bytes of all that can be read.
type Arrays = BTreeMap<(usize, usize, bool), (Vec<i64>, Element, Vec<u8>)>;

fn key(at: At) -> (usize, usize, bool) {
    (at.layer, at.blob, at.part == Part::Diff)
}

fn places(model: &Model) -> Vec<At> {
    let layers = model.layers().iter().enumerate();
    let blobs = layers.flat_map(|(layer, found)| (0..found.blobs().len()).map(move |blob| (layer, blob)));
    blobs.flat_map(|(layer, blob)| [At::data(layer, blob), At::diff(layer, blob)]).collect()
}

fn arrays(model: &Model) -> Arrays {
    let read = places(model).into_iter().filter_map(|at| {
        let (shape, array) = (model.layers()[at.layer].blobs()[at.blob].shape(), model.array(at).ok()?);
        // One value may be repeated for gigabytes.
        if array.bytes() > 1 << 16 {
            return None;
        }
        let mut bytes = vec![0; array.bytes() as usize];
        model.read_bytes(at, 0, &mut bytes).ok()?;
        Some((key(at), (shape.to_vec(), array.element(), bytes)))
    });
    read.collect()
}

/// A change.
struct Planned {
    at: At,
    dims: Option<Vec<i64>>,
    element: Element,
    values: Vec<u8>,
    without_diff: bool,
}

fn planned(random: &mut Random, model: &Model) -> Vec<Planned> {
    let places = places(model);
    let mut planned: Vec<Planned> = Vec::new();
    for _ in 0..random.below(4) {
        let Some(at) = places.get(random.below(places.len())).copied() else { break };
        // Several changes of one blob are another test's.
        if planned.iter().any(|one| (one.at.layer, one.at.blob) == (at.layer, at.blob)) {
            continue;
        }
        let blob = &model.layers()[at.layer].blobs()[at.blob];
        let dims =
            (random.below(3) == 0).then(|| (0..random.below(6)).map(|_| random.below(4) as i64).collect::<Vec<_>>());
        let shape = dims.as_deref().unwrap_or(blob.shape());
        let count =
            shape.iter().try_fold(1i64, |count, dim| count.checked_mul(*dim)).unwrap_or(0).clamp(0, 1000) as usize;
        let element = [blob.data().element(), Element::F32, Element::F64][random.below(3)];
        let values = (0..count * element.size()).map(|_| random.next() as u8).collect();
        planned.push(Planned { at, dims, element, values, without_diff: random.below(3) == 0 });
    }
    planned
}

#[test]
fn changes_of_damaged_files_are_made_or_refused_and_touch_nothing_else() {
    let inputs = std::env::var("SYNCEDMEM_TEST_MUTATIONS").map_or(10_000, |inputs| inputs.parse().unwrap());
    let blobs = blobs();
    let folder = Folder::in_memory("mutated-writing");
    let path = folder.0.join("new");
    let (mut written, mut changes, mut refused) = (0, 0, 0);
    for input in 0..inputs {
        let mut random = Random(input * 2 + 1);
        random.next();
        let (kind, file) = damaged(&mut random, &blobs);
        let Ok(model) = Model::from_bytes(file.clone(), "mutated", kind) else { continue };
        let planned = planned(&mut random, &model);
        let mut edit = Edit::of(&model);
        let mut expected = arrays(&model);
        for Planned { at, dims, element, values, without_diff } in &planned {
            if let Some(dims) = dims {
                edit.reshape(at.layer, at.blob, dims);
            }
            if *without_diff && at.part == Part::Data {
                edit.remove_diff(at.layer, at.blob);
                expected.remove(&(at.layer, at.blob, true));
            }
            let count = (values.len() / element.size()) as u64;
            edit.replace(*at, Values::new(*element, count, &values[..]).stored_as(*element));
            let blob = &model.layers()[at.layer].blobs()[at.blob];
            let shape = dims.as_deref().unwrap_or(blob.shape());
            for part in [false, true] {
                if let Some((stored, ..)) = expected.get_mut(&(at.layer, at.blob, part)) {
                    *stored = shape.to_vec();
                }
            }
            expected.insert(key(*at), (shape.to_vec(), *element, values.clone()));
            if at.part == Part::Diff && count == 0 {
                // A diff of no values is none.
                expected.remove(&key(*at));
            }
        }
        match edit.write_to(&path) {
            Ok(()) => {
                let new = std::fs::read(&path).unwrap();
                if planned.is_empty() {
                    assert!(new == file, "input {input}: the file is another one");
                }
                let found = Model::from_bytes(new, "new", Some(model.kind()))
                    .unwrap_or_else(|error| panic!("input {input}: {error}"));
                let found = arrays(&found);
                // A change may make its blob's other arrays readable, and doubles win over floats that it leaves.
                for (place, array) in &expected {
                    // Of no values the type is not stored.
                    let (shape, element, bytes) = array;
                    let is_same = found.get(place).is_some_and(|found| {
                        (&found.0, &found.2) == (shape, bytes) && (found.1 == *element || bytes.is_empty())
                    });
                    assert!(is_same, "input {input}: {place:?} {array:?} {found:?}");
                }
                written += 1;
                changes += planned.len() as u64;
                std::fs::remove_file(&path).unwrap();
            }
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Io, "input {input}: {error}");
                assert!(error.kind() == ErrorKind::Argument || model.kind() == Kind::InitNet, "input {input}: {error}");
                refused += 1;
            }
        }
        assert!(folder.names().is_empty(), "input {input}: {:?}", folder.names());
    }
    println!("{inputs} inputs, {written} written with {changes} changes, {refused} refused");
    assert!(written * 10 > inputs && changes * 20 > inputs && refused * 50 > inputs, "{written}, {changes}, {refused}");
}
