//! Devices: what they are called, what they can do, how much memory they have.
#![expect(unsafe_code, reason = "entry points have C names")]

use std::ffi::c_int;

use crate::abi::{Buffer, Handle, INVALID_DEVICE, INVALID_VALUE, Out, Outcome, Text, Uuid};
use crate::context::Context;
use crate::log::{Call, enter};
use crate::pool::Pool;
use crate::settings;
use crate::space::Space;
use crate::state::{State, state};

/// A device that the process sees.
pub struct Device {
    /// Its number in the machine, before `CUDA_VISIBLE_DEVICES`.
    pub number: usize,
    pub total: usize,
    pub used: usize,
    /// Reserved with the first allocation.
    pub space: Option<Space>,
    /// Ranges that were too short when the memory grew.
    pub former_spaces: Vec<Space>,
    /// The handle of its primary context.
    pub primary: Handle,
    /// How often the primary context is retained.
    pub retained: usize,
    pub pool: Pool,
}

const COMPUTE_CAPABILITY: (c_int, c_int) = (8, 0);

fn uuid(number: usize) -> Uuid {
    let mut bytes = *b"simulated-gpu-00";
    bytes[14] = b'0' + (number / 10 % 10) as u8;
    bytes[15] = b'0' + (number % 10) as u8;
    Uuid(bytes)
}

/// As `nvidia-smi -L` writes it.
fn uuid_text(number: usize) -> String {
    let hex: String = uuid(number).0.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Makes the devices that `CUDA_VISIBLE_DEVICES` leaves, with their primary contexts, none of which is active.
pub fn find(state: &mut State) {
    if !state.devices.is_empty() {
        return;
    }
    let uuids: Vec<String> = (0..settings::devices()).map(uuid_text).collect();
    for (ordinal, number) in settings::visible_devices(&uuids).into_iter().enumerate() {
        let context = Context::primary(state, ordinal);
        let pool = Pool::new(state);
        let total = state.memory.get(&ordinal).copied().unwrap_or_else(settings::memory);
        let primary = context.handle;
        state.devices.push(Device {
            number,
            total,
            used: 0,
            space: None,
            former_spaces: Vec::new(),
            primary,
            retained: 0,
            pool,
        });
        state.contexts.insert(primary, context);
    }
}

impl State {
    /// A device by the ordinal that a caller passed.
    pub fn device(&mut self, ordinal: c_int) -> Outcome<&mut Device> {
        usize::try_from(ordinal).ok().and_then(|ordinal| self.devices.get_mut(ordinal)).ok_or(INVALID_DEVICE)
    }
}

/// Calls that take a device and say something about it.
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
        let length = usize::try_from(length).ok().filter(|length| *length > 0).ok_or(INVALID_VALUE)?;
        if name.is_null() {
            return Err(INVALID_VALUE);
        }
        name.put_text(length, &format!("Simulated GPU {}", device.number));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) -> c_int {
    about("cuDeviceTotalMem_v2", device, |_, device| bytes.put(device.total))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetUuid(uuid_out: Out<Uuid>, device: c_int) -> c_int {
    about("cuDeviceGetUuid", device, |_, device| uuid_out.put(uuid(device.number)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetUuid_v2(uuid_out: Out<Uuid>, device: c_int) -> c_int {
    about("cuDeviceGetUuid_v2", device, |_, device| uuid_out.put(uuid(device.number)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: c_int) -> c_int {
    about("cuDeviceComputeCapability", device, |_, _| {
        minor.required()?;
        major.put(COMPUTE_CAPABILITY.0)?;
        minor.put(COMPUTE_CAPABILITY.1)
    })
}

/// All devices reach each other, and none is its own peer.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) -> c_int {
    enter("cuDeviceCanAccessPeer", |call| {
        call.number("device", device);
        call.number("peer", peer);
        let mut state = state();
        state.device(device)?;
        state.device(peer)?;
        can.put(c_int::from(device != peer))
    })
}

/// Domain, bus and device, as `lspci` writes them.
fn bus_id(number: usize) -> String {
    format!("0000:{:02X}:00.0", number + 1)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetPCIBusId(id: Buffer, length: c_int, device: c_int) -> c_int {
    about("cuDeviceGetPCIBusId", device, |_, device| {
        let length = usize::try_from(length).ok().filter(|length| *length > 0).ok_or(INVALID_VALUE)?;
        if id.is_null() {
            return Err(INVALID_VALUE);
        }
        id.put_text(length, &bus_id(device.number));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetByPCIBusId(device: Out<c_int>, id: Text) -> c_int {
    enter("cuDeviceGetByPCIBusId", |_| {
        let id = id.as_str().ok_or(INVALID_VALUE)?;
        let state = state();
        let found = state.devices.iter().position(|device| bus_id(device.number).eq_ignore_ascii_case(id));
        device.put(found.ok_or(INVALID_DEVICE)? as c_int)
    })
}

/// PERFORMANCE_RANK, ACCESS_SUPPORTED, NATIVE_ATOMIC_SUPPORTED and CUDA_ARRAY_ACCESS_SUPPORTED.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_int, from: c_int, to: c_int) -> c_int {
    enter("cuDeviceGetP2PAttribute", |call| {
        call.number("attribute", attribute);
        let mut state = state();
        state.device(from)?;
        state.device(to)?;
        if from == to {
            return Err(INVALID_DEVICE);
        }
        match attribute {
            2 => value.put(1),
            1 | 3 | 4 => value.put(0),
            _ => Err(INVALID_VALUE),
        }
    })
}

/// The largest attribute of CUDA 12.8.
const LAST_ATTRIBUTE: c_int = 148;

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) -> c_int {
    about("cuDeviceGetAttribute", device, |call, device| {
        call.number("attribute", attribute);
        if !(1..=LAST_ATTRIBUTE).contains(&attribute) {
            return Err(INVALID_VALUE);
        }
        if let Some(set) = settings::attribute(attribute) {
            return value.put(set);
        }
        value.put(match attribute {
            // Threads of a block, and its dimensions; those of a grid.
            1..=3 => 1024,
            4 => 64,
            5 => c_int::MAX,
            6 | 7 => 65_535,
            // Shared and constant memory; warp, pitch, registers.
            8 => 49_152,
            9 => 65_536,
            10 => 32,
            11 => c_int::MAX,
            12 | 82 => 65_536,
            // Clock rates in kHz, bus width in bits, cache.
            13 => 1_000_000,
            36 => 1_000_000,
            37 => 256,
            38 => 4 << 20,
            14 => 512,
            // Multiprocessors and threads of each.
            16 => 16,
            39 => 2048,
            // Overlap of copies, mapping of host memory, concurrent kernels, unified addressing.
            15 | 19 | 31 | 41 => 1,
            // Copy engines.
            40 => 2,
            // Its place on the bus.
            33 => device.number as c_int + 1,
            34 | 50 => 0,
            75 => COMPUTE_CAPABILITY.0,
            76 => COMPUTE_CAPABILITY.1,
            // Stream priorities; managed memory; registered memory by its host pointer; registration; memory pools.
            78 | 83 | 91 | 99 | 115 => 1,
            _ => 0,
        })
    })
}
