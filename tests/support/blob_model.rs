//! Two blobs as they should be: a naive model in which every memory is a list of numbers.

use super::blob::{DATA, DIFF};
use super::*;

/// One of the two blobs.
pub const A: usize = 0;
pub const B: usize = 1;

/// What is done. The other blob is that of a share and of a copy.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Reshape(usize, i64),
    Share(usize, i32),
    Set(usize, i32),
    /// The last: whether it reshapes.
    Copy(usize, i32, bool),
    Write(usize, i32),
    Sync(usize, i32),
    WriteDevice(usize, i32),
}

impl Step {
    /// The blob that it is done to.
    pub fn who(self) -> usize {
        match self {
            Step::Reshape(who, _) | Step::Copy(who, _, _) => who,
            Step::Share(who, _) | Step::Set(who, _) | Step::Write(who, _) => who,
            Step::Sync(who, _) | Step::WriteDevice(who, _) => who,
        }
    }
}

/// A memory: all of its elements, and where they are.
#[derive(Clone, Debug)]
pub struct Memory {
    pub values: Vec<f32>,
    pub head: syncedmem_head_t,
}

/// A blob: its count, and the places of its memories in the list of all.
#[derive(Clone, Debug, Default)]
pub struct Shaped {
    pub count: Option<usize>,
    pub memories: [usize; 2],
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    pub blobs: [Shaped; 2],
    pub memories: Vec<Memory>,
}

impl Model {
    fn new_memory(&mut self, count: usize) -> usize {
        self.memories.push(Memory { values: vec![0.0; count], head: SYNCEDMEM_UNINITIALIZED });
        self.memories.len() - 1
    }

    fn reshape(&mut self, who: usize, count: usize) {
        let is_new = self.blobs[who].count.is_none();
        for array in [DATA, DIFF] {
            let memory = self.blobs[who].memories[array as usize];
            if is_new || self.memories[memory].values.len() < count {
                self.blobs[who].memories[array as usize] = self.new_memory(count);
            }
        }
        self.blobs[who].count = Some(count);
    }

    /// The memory of an array; `None` without a shape.
    pub fn memory(&mut self, who: usize, array: i32) -> Option<&mut Memory> {
        self.blobs[who].count?;
        Some(&mut self.memories[self.blobs[who].memories[array as usize]])
    }

    /// Does a step; `values` are what a write or a set puts there.
    pub fn step(&mut self, step: Step, values: &[f32]) -> Result<(), syncedmem_status_t> {
        match step {
            Step::Reshape(who, count) => {
                self.reshape(who, count as usize);
                Ok(())
            }
            Step::Share(who, array) => {
                let other = self.blobs[1 - who].clone();
                other.count.ok_or(SYNCEDMEM_ERROR_INVALID_STATE)?;
                if self.blobs[who].count != other.count {
                    return Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT);
                }
                self.blobs[who].memories[array as usize] = other.memories[array as usize];
                Ok(())
            }
            Step::Set(who, array) => {
                let count = self.blobs[who].count.ok_or(SYNCEDMEM_ERROR_INVALID_STATE)?;
                if self.memories[self.blobs[who].memories[array as usize]].values.len() != count {
                    self.blobs[who].memories[array as usize] = self.new_memory(count);
                }
                self.put(who, array, values, SYNCEDMEM_HEAD_AT_CPU)
            }
            Step::Copy(who, array, reshape) => {
                let count = self.blobs[1 - who].count.ok_or(SYNCEDMEM_ERROR_INVALID_STATE)?;
                if self.blobs[who].count != Some(count) {
                    if !reshape {
                        return Err(SYNCEDMEM_ERROR_INVALID_ARGUMENT);
                    }
                    self.reshape(who, count);
                }
                self.copy(who, array, count);
                Ok(())
            }
            Step::Write(who, array) => self.put(who, array, values, SYNCEDMEM_HEAD_AT_CPU),
            Step::WriteDevice(who, array) => self.put(who, array, values, SYNCEDMEM_HEAD_AT_GPU),
            Step::Sync(who, array) => {
                let memory = self.memory(who, array).ok_or(SYNCEDMEM_ERROR_INVALID_STATE)?;
                memory.head = match memory.head {
                    SYNCEDMEM_UNINITIALIZED => SYNCEDMEM_HEAD_AT_GPU,
                    SYNCEDMEM_HEAD_AT_CPU => SYNCEDMEM_SYNCED,
                    head => head,
                };
                Ok(())
            }
        }
    }

    fn copy(&mut self, who: usize, array: i32, count: usize) {
        let places = [1 - who, who].map(|blob| self.blobs[blob].memories[array as usize]);
        let [from, to] = places;
        let source = self.memories[from].clone();
        let head = match source.head {
            _ if from == to => return,
            SYNCEDMEM_UNINITIALIZED if self.memories[to].head == SYNCEDMEM_UNINITIALIZED => return,
            SYNCEDMEM_UNINITIALIZED | SYNCEDMEM_HEAD_AT_CPU => SYNCEDMEM_HEAD_AT_CPU,
            SYNCEDMEM_HEAD_AT_GPU | SYNCEDMEM_SYNCED => SYNCEDMEM_HEAD_AT_GPU,
        };
        self.memories[to].values[..count].copy_from_slice(&source.values[..count]);
        self.memories[to].head = head;
    }

    fn put(
        &mut self,
        who: usize,
        array: i32,
        values: &[f32],
        head: syncedmem_head_t,
    ) -> Result<(), syncedmem_status_t> {
        let count = self.blobs[who].count.ok_or(SYNCEDMEM_ERROR_INVALID_STATE)?;
        let memory = &mut self.memories[self.blobs[who].memories[array as usize]];
        memory.values[..count].copy_from_slice(&values[..count]);
        memory.head = head;
        Ok(())
    }
}
