//! The functions by which a test steers and reads the simulator.
#![expect(unsafe_code, reason = "entry points have C names, and device memory is read and written")]

use std::ffi::{c_int, c_uint};
use std::time::Duration;

use crate::abi::{Address, Buffer, Handle, Out, Outcome, Status, Text, move_bytes};
use crate::block::Memory;
use crate::context;
use crate::life::{die, is_initialised};
use crate::log::log;
use crate::names;
use crate::settings::Lag;
use crate::signal::CHANGED;
use crate::state::{State, state};

/// `SIMCUDA_UNTIL_IT_IS_WAITED_FOR` of the header.
const UNTIL_IT_IS_WAITED_FOR: c_uint = c_uint::MAX;

/// `simcuda_account_t` of the header.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Account {
    size: usize,
    device_blocks: usize,
    device_bytes: usize,
    pinned_blocks: usize,
    pinned_bytes: usize,
    registered_blocks: usize,
    contexts: usize,
    streams: usize,
    events: usize,
}

impl Account {
    fn take(state: &State) -> Account {
        let mut account = Account {
            size: size_of::<Account>(),
            contexts: state.contexts.values().filter(|context| context.active).count(),
            streams: state.streams.len(),
            events: state.events.len(),
            ..Account::default()
        };
        for block in state.blocks.values() {
            let (blocks, bytes) = match block.memory {
                Memory::Pinned(_) => (&mut account.pinned_blocks, Some(&mut account.pinned_bytes)),
                Memory::Registered => (&mut account.registered_blocks, None),
                Memory::Device | Memory::Managed => (&mut account.device_blocks, Some(&mut account.device_bytes)),
            };
            *blocks += 1;
            if let Some(bytes) = bytes {
                *bytes += block.bytes;
            }
        }
        account
    }
}

/// The lines of `SIMCUDA_REPORT`: what is alive, the peaks, the calls by entry point, the copies by direction, and the
/// broken rules.
pub fn report() -> Vec<String> {
    let state = state();
    let alive = Account::take(&state);
    let mut lines = vec![format!(
        "alive at exit: {} device blocks ({} bytes), {} pinned blocks ({} bytes), {} registered blocks, {} contexts, {} streams, {} events; {} violations",
        alive.device_blocks,
        alive.device_bytes,
        alive.pinned_blocks,
        alive.pinned_bytes,
        alive.registered_blocks,
        alive.contexts,
        alive.streams,
        alive.events,
        state.violations.len()
    )];
    let device_peak: usize = state.devices.iter().map(|device| device.peak).sum();
    lines.push(format!("peaks: device={device_peak} pinned={}", state.pinned_peak));
    let log = log();
    let calls: String = log.all_calls().map(|(name, count)| format!(" {name}={count}")).collect();
    lines.push(format!("calls:{calls}"));
    let copies: String =
        log.copies_by_kind().iter().map(|(kind, (count, bytes))| format!(" {kind}={count},{bytes}")).collect();
    lines.push(format!("copies:{copies}"));
    lines.extend(state.violations.iter().take(VIOLATIONS).map(|sentence| format!("violation: {sentence}")));
    lines
}

/// The most violations in a report.
const VIOLATIONS: usize = 20;

/// Ends the process if the name is unknown, so that a misspelt one does not count nothing.
fn function(name: Text, asked_by: &str) -> &'static str {
    let name = name.as_str().unwrap_or("");
    match names::known(name) {
        Some(name) => name,
        None => die(&format!("{asked_by}: there is no entry point {name:?}")),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_is_simulated() -> c_int {
    1
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_set_memory(device: c_int, bytes: usize) {
    let Ok(ordinal) = usize::try_from(device) else { return };
    let mut state = state();
    state.memory.insert(ordinal, bytes);
    if let Some(device) = state.devices.get_mut(ordinal) {
        device.total = bytes;
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_set_lag(microseconds: c_uint) {
    let mut state = state();
    state.puts_off = microseconds == UNTIL_IT_IS_WAITED_FOR;
    let most = if state.puts_off { Duration::ZERO } else { Duration::from_micros(microseconds.into()) };
    state.lag = Lag { most, seed: None };
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_hold_streams() {
    state().held = true;
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_release_streams() {
    let mut state = state();
    state.held = false;
    state.releases += 1;
    CHANGED.raise();
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_fail(name: Text, nth: c_uint, status: Status, times: c_uint) {
    log().fail(function(name, "simcuda_fail"), nth, status, times);
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_clear_faults() {
    log().clear_faults();
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_break_context(handle: Handle, status: Status) {
    let mut state = state();
    let handle = if handle == 0 { context::top_of_stack().unwrap_or(0) } else { handle };
    match state.contexts.get_mut(&handle) {
        Some(context) => context.broken = Some(status),
        None => die(&format!("simcuda_break_context: 0x{handle:x} is no context, or none is current")),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_calls(name: Text) -> usize {
    let name = if name.is_null() { None } else { Some(function(name, "simcuda_calls")) };
    log().calls(name)
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_log(buffer: Buffer, bytes: usize) -> usize {
    let text = log().text();
    buffer.put_text(bytes, &text);
    text.len()
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_clear_log() {
    log().clear();
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_copies(kind: Text, bytes: usize) -> usize {
    let kind = kind.as_str();
    if kind.is_some_and(|kind| !["HtoD", "DtoH", "DtoD", "HtoH"].contains(&kind)) {
        die(&format!("simcuda_copies: {kind:?} is no kind of copy"));
    }
    log().copies(kind, (bytes != usize::MAX).then_some(bytes))
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_account(out: Out<Account>) {
    let account = Account::take(&state());
    out.put_sized(account);
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_violations(buffer: Buffer, bytes: usize) -> usize {
    let state = state();
    let text: String = state.violations.iter().map(|sentence| format!("{sentence}\n")).collect();
    buffer.put_text(bytes, &text);
    state.violations.len()
}

/// Address of the bytes of a device range.
fn peek(address: Address, bytes: usize) -> Outcome<Address> {
    let state = state();
    if !is_initialised() || !state.block_at(address).is_some_and(|block| block.is_on_device()) {
        return Err(-1);
    }
    state.span(address, bytes).map(|span| span.kept_at())
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_read(address: Address, out: Address, bytes: usize) -> c_int {
    let Ok(kept) = peek(address, bytes) else { return -1 };
    // SAFETY: the range lies in a block, and the caller passes room for it.
    unsafe { move_bytes(out, kept, bytes) };
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_write(address: Address, from: Address, bytes: usize) -> c_int {
    let Ok(kept) = peek(address, bytes) else { return -1 };
    // SAFETY: the range lies in a block, and the caller passes as many bytes.
    unsafe { move_bytes(kept, from, bytes) };
    0
}
