//! Functions of the program in a kernel's place.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::ffi::c_void;
use std::ptr::null;

use support::*;

const PTX: &str = ".visible .entry add_one(.param .u64 at)\n{ ret; }\0";
const NAME: *const u8 = c"add_one".as_ptr().cast();

/// Adds one to the byte whose address is the kernel's parameter.
extern "C" fn add_one(parameters: *const c_void, bytes: usize) {
    assert_eq!(bytes, size_of::<Address>());
    // SAFETY: launch passes one address.
    let at = unsafe { parameters.cast::<Address>().read_unaligned() };
    let mut byte = 0;
    assert_eq!((library().simcuda_read)(at, &mut byte, 1), 0);
    byte += 1;
    assert_eq!((library().simcuda_write)(at, &byte, 1), 0);
}

/// The function handle of a module that is loaded now.
fn loaded(simulator: &Simulator) -> (Handle, Handle) {
    let (mut module, mut function) = (0, 0);
    assert_eq!((simulator.cuModuleLoadData)(&mut module, PTX.as_ptr()), SUCCESS);
    assert_eq!((simulator.cuModuleGetFunction)(&mut function, module, NAME), SUCCESS);
    (module, function)
}

fn launch(simulator: &Simulator, function: Handle, stream: Handle, at: Address) -> i32 {
    let size = size_of::<Address>();
    let extra = [1, (&raw const at).expose_provenance(), 2, (&raw const size).expose_provenance(), 0];
    (simulator.cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, stream, 0, extra.as_ptr())
}

#[test]
fn without_a_stand_in_modules_are_not_supported() {
    let simulator = Simulator::fresh();
    let mut module = 0;
    assert_eq!((simulator.cuModuleLoadData)(&mut module, PTX.as_ptr()), NOT_SUPPORTED);
    assert_eq!(launch(&simulator, 1, 0, 0), NOT_SUPPORTED);
}

#[test]
fn a_stand_in_runs_in_its_streams_order() {
    let simulator = Simulator::fresh();
    (simulator.simcuda_stand_in)(NAME, add_one);
    let (_, function) = loaded(&simulator);
    let at = simulator.device_block(1);
    let (mut stream, mut byte) = (0, 0u8);
    assert_eq!((simulator.cuStreamCreate)(&mut stream, 0), SUCCESS);
    (simulator.simcuda_hold_streams)();
    assert_eq!((simulator.cuMemsetD8Async)(at, 7, 1, stream), SUCCESS);
    assert_eq!(launch(&simulator, function, stream, at), SUCCESS);
    assert_eq!((simulator.simcuda_read)(at, &mut byte, 1), 0);
    assert_eq!(byte, 0xCD, "nothing has run yet");
    (simulator.simcuda_release_streams)();
    assert_eq!((simulator.cuStreamSynchronize)(stream), SUCCESS);
    assert_eq!((simulator.simcuda_read)(at, &mut byte, 1), 0);
    assert_eq!(byte, 8);
}

#[test]
fn a_name_that_the_module_lacks_is_not_found() {
    let simulator = Simulator::fresh();
    (simulator.simcuda_stand_in)(c"other".as_ptr().cast(), add_one);
    let (mut module, mut function) = (0, 0);
    assert_eq!((simulator.cuModuleLoadData)(&mut module, PTX.as_ptr()), SUCCESS);
    assert_eq!((simulator.cuModuleGetFunction)(&mut function, module, c"other".as_ptr().cast()), 500);
    assert_eq!((simulator.cuModuleGetFunction)(&mut function, module, NAME), 500, "it has no stand-in");
}

#[test]
fn a_module_goes_with_its_context_and_by_its_call() {
    let simulator = Simulator::fresh();
    (simulator.simcuda_stand_in)(NAME, add_one);
    let at = simulator.device_block(1);
    let (module, function) = loaded(&simulator);
    assert_eq!((simulator.cuModuleUnload)(module), SUCCESS);
    assert_eq!(launch(&simulator, function, 0, at), 400);
    let (_, function) = loaded(&simulator);
    assert_eq!((simulator.cuDevicePrimaryCtxReset_v2)(0), SUCCESS);
    let mut context = 0;
    assert_eq!((simulator.cuDevicePrimaryCtxRetain)(&mut context, 0), SUCCESS);
    assert_eq!(launch(&simulator, function, 0, at), 400);
}

#[test]
fn parameters_by_pointers_are_not_supported() {
    let simulator = Simulator::fresh();
    (simulator.simcuda_stand_in)(NAME, add_one);
    let (_, function) = loaded(&simulator);
    let status = (simulator.cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, 0, 1, null());
    assert_eq!(status, NOT_SUPPORTED);
}
