//! Kernels. A simulated device runs none: a program gives functions to run in their place, with the launch.
#![expect(unsafe_code, reason = "entry points have C names, and take the program's functions")]

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::abi::{Address, Array, Handle, ILLEGAL_ADDRESS, INVALID_VALUE, NOT_SUPPORTED, Outcome, Text};
use crate::block::Block;
use crate::entry::enter;
use crate::log::Call;
use crate::operation::{Action, Kernel, Range};
use crate::state::{State, state};
use crate::view::View;

/// Gets the argument of the launch, and the address of the bytes for each device address that the launch named.
pub type Work = extern "C" fn(*mut c_void, *const Address);

/// `simcuda_use_t` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Use {
    address: Address,
    writes: c_int,
}

fn queue(stream: Handle, kernel: Kernel, blocks: Vec<Arc<Block>>) -> Outcome {
    let mut state = state();
    let stream = state.stream(stream)?;
    // Graphs have no kernels here.
    if state.captures.taking(&stream)?.is_some() {
        return Err(NOT_SUPPORTED);
    }
    state.queue(&stream, Vec::new(), Action::Kernel(kernel), blocks);
    Ok(())
}

impl State {
    /// The block at an address that a kernel of the device gets. A wrong address is a violation, and breaks the
    /// context as a real kernel's fault does.
    fn used_by(&mut self, kernel: &str, context: Handle, address: Address) -> Outcome<Arc<Block>> {
        let device = self.contexts.get(&context).map_or(0, |context| context.device);
        let wrong = match self.block_at(address) {
            Some(block) if !block.is_on_device() || block.device == device => return Ok(Arc::clone(block)),
            Some(block) => format!("memory of device {}, and runs on device {device}", block.device),
            None if self.is_device_address(address) => "device memory that is not allocated".into(),
            None => "pageable memory of the host".into(),
        };
        self.violation(format!("kernel {kernel} got 0x{address:x}: {wrong}"));
        if let Some(context) = self.contexts.get_mut(&context) {
            context.broken = Some(ILLEGAL_ADDRESS);
        }
        Err(ILLEGAL_ADDRESS)
    }
}

fn launch_work(
    call: &mut Call,
    kernel: Text,
    stream: Handle,
    uses: &Array<Use>,
    count: usize,
    work: impl FnOnce(&[Address]) + Send + 'static,
) -> Outcome {
    let name: Arc<str> = kernel.as_str().ok_or(INVALID_VALUE)?.into();
    call.number("kernel", &name);
    call.hex("stream", stream);
    let (mut blocks, mut ranges, mut addresses) = (Vec::new(), Vec::new(), Vec::with_capacity(count));
    {
        let mut state = state();
        let context = state.stream(stream)?.context;
        for index in 0..count {
            let Use { address, writes } = uses.get(index)?;
            addresses.push(address);
            if address == 0 {
                continue;
            }
            let block = state.used_by(&name, context, address)?;
            ranges.push(Range { block: Arc::clone(&block), start: address, end: address + 1, writes: writes != 0 });
            if !blocks.iter().any(|known| Arc::ptr_eq(known, &block)) {
                blocks.push(block);
            }
        }
    }
    let run = move |view: &View| work(&addresses.iter().map(|&address| view.place(address)).collect::<Vec<_>>());
    queue(stream, Kernel { name, uses: ranges, run: Box::new(run) }, blocks)
}

/// Logged and counted as a launch.
#[unsafe(no_mangle)]
pub extern "C" fn simcuda_launch(
    kernel: Text,
    stream: Handle,
    uses: Array<Use>,
    count: usize,
    run: Work,
    argument: Address,
) -> c_int {
    let work =
        Box::new(move |places: &[Address]| run(std::ptr::with_exposed_provenance_mut(argument), places.as_ptr()));
    enter("cuLaunchKernel", |call| launch_work(call, kernel, stream, &uses, count, work))
}
