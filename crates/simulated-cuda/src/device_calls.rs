//! The entry points for devices: their names, attributes and memory.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::c_int;

use crate::abi::{Buffer, INVALID_DEVICE, INVALID_VALUE, Out, Outcome};
use crate::context::Context;
use crate::device::Device;
use crate::entry::enter;
use crate::log::Call;
use crate::settings;
use crate::state::{Kind, State, state};

/// Makes the devices that `CUDA_VISIBLE_DEVICES` leaves. No primary context is active.
pub fn find(state: &mut State) {
    if !state.devices.is_empty() {
        return;
    }
    for (ordinal, number) in settings::visible_devices().into_iter().enumerate() {
        let context = Context::new(state.new_handle(Kind::Context), state.new_id(), ordinal, true);
        let total = state.memory.get(&ordinal).copied().unwrap_or_else(settings::memory);
        let primary = context.handle;
        state.devices.push(Device {
            number,
            total,
            used: 0,
            peak: 0,
            space: None,
            former_spaces: Vec::new(),
            primary,
            retained: 0,
        });
        state.contexts.insert(primary, context);
    }
}

impl State {
    pub fn device(&mut self, ordinal: c_int) -> Outcome<&mut Device> {
        usize::try_from(ordinal).ok().and_then(|ordinal| self.devices.get_mut(ordinal)).ok_or(INVALID_DEVICE)
    }
}

fn about(function: &'static str, device: c_int, body: impl FnOnce(&mut Call, &mut Device) -> Outcome) -> c_int {
    enter(function, |call| {
        call.number("device", device);
        body(call, state().device(device)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetCount(count: Out<c_int>) -> c_int {
    enter("cuDeviceGetCount", |_| count.put(state().devices.len() as c_int))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) -> c_int {
    about("cuDeviceGet", ordinal, |_, _| device.put(ordinal))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetName(name: Buffer, length: c_int, device: c_int) -> c_int {
    about("cuDeviceGetName", device, |_, device| {
        let length =
            usize::try_from(length).ok().filter(|length| *length > 0 && !name.is_null()).ok_or(INVALID_VALUE)?;
        name.put_text(length, &format!("Simulated GPU {}", device.number));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) -> c_int {
    about("cuDeviceTotalMem_v2", device, |_, device| bytes.put(device.total))
}

/// The largest attribute of CUDA 12.8.
const LAST_ATTRIBUTE: c_int = 148;

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) -> c_int {
    about("cuDeviceGetAttribute", device, |call, _| {
        call.number("attribute", attribute);
        if !(1..=LAST_ATTRIBUTE).contains(&attribute) {
            return Err(INVALID_VALUE);
        }
        value.put(match attribute {
            // Threads of a block, and its dimensions; those of a grid.
            1..=3 => 1024,
            4 => 64,
            5 => c_int::MAX,
            6 | 7 => 65_535,
            // Warp, registers, clock rate in kHz, multiprocessors.
            10 => 32,
            12 => 65_536,
            13 => 1_000_000,
            16 => 16,
            // Overlap of copies, and copy engines; unified addressing.
            15 | 41 => 1,
            40 => 2,
            // The compute capability is 8.0.
            75 => 8,
            // Managed memory; registered memory by its host pointer; registration.
            83 | 91 | 99 => 1,
            _ => 0,
        })
    })
}
