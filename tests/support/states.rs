//! An object in each state that an operation can meet it in.

use super::gpu::{Gpu, Stream};
use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Untouched,
    /// With a host block alone.
    AtCpu,
    /// With a device block from before.
    AtCpuOverDevice,
    /// With a device block alone.
    AtGpu,
    /// With a host block from before.
    AtGpuOverHost,
    Synced,
    /// A push is on its way.
    Pushing,
    /// A pull is on its way; into pageable memory it has landed.
    Pulling,
}

pub const STATES: [State; 8] = [
    State::Untouched,
    State::AtCpu,
    State::AtCpuOverDevice,
    State::AtGpu,
    State::AtGpuOverHost,
    State::Synced,
    State::Pushing,
    State::Pulling,
];

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl State {
    pub fn head(self) -> u32 {
        match self {
            State::Untouched => 0,
            State::AtCpu | State::AtCpuOverDevice => 1,
            State::AtGpu | State::AtGpuOverHost | State::Pulling => 2,
            State::Synced | State::Pushing => 3,
        }
    }

    /// The newest data of an object of `bytes`.
    pub fn contents(self, bytes: usize) -> Vec<u8> {
        pattern(if self == State::Untouched { 0 } else { 7 }, bytes)
    }

    /// An object in this state. What is in flight goes on `stream`.
    pub fn object(self, gpu: &Gpu, stream: &Stream, bytes: usize) -> Object {
        let mut object = Object::new(bytes);
        let contents = self.contents(bytes);
        let at_gpu = |object: &mut Object| {
            let data = object.mutable_gpu_data().unwrap();
            gpu.write(data.addr(), &contents);
        };
        match self {
            State::Untouched => {}
            State::AtCpu => object.fill_host(&contents),
            State::AtCpuOverDevice => {
                object.gpu_data().unwrap();
                object.fill_host(&contents);
            }
            State::AtGpu => at_gpu(&mut object),
            State::AtGpuOverHost => {
                object.cpu_data().unwrap();
                at_gpu(&mut object);
            }
            State::Synced => {
                object.fill_host(&contents);
                object.gpu_data().unwrap();
            }
            State::Pushing => {
                object.fill_host(&contents);
                assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS, "{}", last_error());
            }
            State::Pulling => {
                object.cpu_data().unwrap();
                at_gpu(&mut object);
                assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS, "{}", last_error());
            }
        }
        assert_eq!(object.head(), self.head(), "{self:?}");
        object
    }
}

/// Room for what a `set` borrows.
pub struct Lent<'g> {
    host: Vec<u8>,
    device: super::gpu::Foreign<'g>,
}

impl<'g> Lent<'g> {
    pub fn new(gpu: &'g Gpu, bytes: usize) -> Lent<'g> {
        let lent = Lent { host: pattern(9, bytes), device: gpu.block(bytes) };
        gpu.write(lent.device.address, &pattern(9, bytes));
        lent
    }

    pub fn with(&self, stream: &Stream) -> With {
        With { host: self.host.as_ptr().cast_mut(), device: self.device.pointer(), stream: stream.handle() }
    }
}

pub fn is_set(operation: Operation) -> bool {
    matches!(operation, Operation::SetCpuData | Operation::SetGpuData)
}
