//! A device.

use crate::abi::Handle;
use crate::space::Space;

pub struct Device {
    /// Number in the machine, whatever `CUDA_VISIBLE_DEVICES` is.
    pub number: usize,
    pub total: usize,
    pub used: usize,
    /// The most that was used.
    pub peak: usize,
    /// Reserved with the first allocation.
    pub space: Option<Space>,
    /// Ranges that were too short when the memory grew.
    pub former_spaces: Vec<Space>,
    pub primary: Handle,
    /// Retains of the primary context.
    pub retained: usize,
}
