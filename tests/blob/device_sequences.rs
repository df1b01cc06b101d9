//! Every sequence of four steps on two blobs, reshape, share, set, copy and access, against the naive model: the status of the
//! last step, shapes, capacities, heads, which arrays have one memory, and at the end the contents of every memory.

use crate::support::blob::*;
use crate::support::blob_model::*;
use crate::support::sequences::every_sequence;
use crate::support::*;

/// Steps on the host. Data and diff are independent, so most steps are on the data.
const HOST: [Step; 14] = [
    Step::Reshape(A, 1),
    Step::Reshape(A, 2),
    Step::Reshape(A, 3),
    Step::Reshape(B, 2),
    Step::Reshape(B, 3),
    Step::Share(A, DATA),
    Step::Share(B, DATA),
    Step::Share(A, DIFF),
    Step::Set(A, DATA),
    Step::Set(A, DIFF),
    Step::Copy(A, DATA, false),
    Step::Copy(A, DATA, true),
    Step::Write(A, DATA),
    Step::Write(B, DATA),
];

/// Steps on both sides.
const BOTH: [Step; 9] = [
    Step::Reshape(A, 2),
    Step::Reshape(A, 3),
    Step::Share(A, DATA),
    Step::Set(A, DATA),
    Step::Copy(A, DATA, true),
    Step::Write(B, DATA),
    Step::WriteDevice(B, DATA),
    Step::Sync(A, DATA),
    Step::Sync(B, DATA),
];

/// Two blobs beside their model.
struct World<'g> {
    gpu: Option<&'g Gpu>,
    blobs: [Blob; 2],
    model: Model,
    /// Borrowed memory. It outlives the blobs, which are declared before it.
    lent: Vec<Vec<f32>>,
    steps: usize,
}

impl<'g> World<'g> {
    fn new(gpu: Option<&'g Gpu>) -> World<'g> {
        let blobs = [(); 2].map(|()| Blob::unshaped(SYNCEDMEM_FLOAT32).unwrap());
        let mut world = World { gpu, blobs, model: Model::default(), lent: Vec::new(), steps: 0 };
        if gpu.is_some() {
            [A, B].into_iter().for_each(|who| assert!(world.step(Step::Reshape(who, 2))));
        }
        world
    }

    /// Does a step on both; returns whether the blobs and the model returned the same.
    fn step(&mut self, step: Step) -> bool {
        self.steps += 1;
        let first = 10.0 * self.steps as f32;
        let values = [first, first + 1.0, first + 2.0];
        let [a, b] = &mut self.blobs;
        let (own, other) = match step.who() {
            A => (a, &*b),
            _ => (b, &*a),
        };
        let count = own.count() as usize;
        let done = match step {
            Step::Reshape(_, count) => own.reshape(&[count]),
            Step::Share(_, array) => own.share(array, other),
            Step::Set(_, array) => {
                self.lent.push(values.to_vec());
                own.set_cpu(array, self.lent.last_mut().unwrap().as_mut_ptr())
            }
            Step::Copy(_, array, reshape) => own.copy_from(array, other, reshape),
            Step::Write(_, array) => own.memory(array).map(|_| own.write(array, &values[..count])),
            Step::WriteDevice(_, array) => {
                own.memory(array).map(|_| own.write_device(self.gpu.unwrap(), array, &values[..count]))
            }
            Step::Sync(_, array) => own.sync(array).map(drop),
        };
        done == self.model.step(step, &values)
    }

    /// Compares everything; the contents last, because reading moves heads.
    fn check(&mut self) -> Result<(), String> {
        let arrays = [(A, DATA), (A, DIFF), (B, DATA), (B, DIFF)];
        let same = |what: &str, is_same: bool| if is_same { Ok(()) } else { Err(what.to_string()) };
        let memories = arrays.map(|(who, array)| self.blobs[who].memory(array));
        let places = arrays
            .map(|(who, array)| self.model.blobs[who].count.map(|_| self.model.blobs[who].memories[array as usize]));
        for (at, (who, array)) in arrays.into_iter().enumerate() {
            let blob = &self.blobs[who];
            same("count", blob.count() == self.model.blobs[who].count.unwrap_or(0) as i64)?;
            let Some(memory) = self.model.memory(who, array) else {
                same("no memory", memories[at] == Err(SYNCEDMEM_ERROR_INVALID_STATE) && blob.capacity(array) == 0)?;
                continue;
            };
            same("capacity", blob.capacity(array) == 4 * memory.values.len())?;
            same("head", blob.head(array) == memory.head)?;
            let one_memory = |other: usize| (memories[at] == memories[other]) == (places[at] == places[other]);
            same("which arrays share", (0..arrays.len()).all(one_memory))?;
        }
        for (who, array) in arrays {
            let Some(count) = self.model.blobs[who].count else { continue };
            let memory = self.model.memory(who, array).unwrap();
            let sum: f64 = memory.values[..count].iter().map(|&value| f64::from(value)).sum();
            let values = memory.values.clone();
            same("sum", self.blobs[who].asum(array) == Ok(sum))?;
            same("contents", self.blobs[who].read_all::<f32>(array) == values)?;
        }
        Ok(())
    }
}

fn every_sequence_agrees(gpu: Option<&Gpu>, steps: &[Step]) {
    every_sequence(steps, 4, |sequence| {
        let mut world = World::new(gpu);
        let last = sequence.iter().map(|&step| world.step(step)).last().unwrap();
        assert!(last, "{sequence:?}: another status than the model's: {}", last_error());
        world.check().unwrap_or_else(|what| panic!("{sequence:?}: {what}\n{:?}", world.model));
    });
}

#[test(alone, ("SYNCEDMEM_TEST_DRIVER", "none"))]
fn every_sequence_of_four_steps_on_the_host_agrees_with_the_model() {
    every_sequence_agrees(None, &HOST);
}

#[test(alone_with_driver)]
fn every_sequence_of_four_steps_on_both_sides_agrees_with_the_model() {
    every_sequence_agrees(Some(&simulated_gpu()), &BOTH);
}
