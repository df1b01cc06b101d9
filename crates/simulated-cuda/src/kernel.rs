//! Kernels. A simulated device runs none: a program gives functions to run in the place of kernels, by name
//! (`simcuda_stand_in`) or with the launch (`simcuda_launch`); of a module's text only the names count. Without a name the
//! entry points return NOT_SUPPORTED.
//!
//! Their lock is not held while the driver's is taken.
#![expect(unsafe_code, reason = "entry points have C names, and take the program's functions")]

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::{
    Address, Array, Handle, ILLEGAL_ADDRESS, INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED,
    Out, Outcome, Text, move_bytes,
};
use crate::block::Block;
use crate::entry::enter;
use crate::log::Call;
use crate::operation::{Action, Kernel, Range};
use crate::state::{State, state};
use crate::view::View;

/// Gets the kernel's parameters as in the launch's buffer.
pub type StandIn = extern "C" fn(*const c_void, usize);

/// Gets the argument of the launch, and the place of the bytes behind each address that the launch named.
pub type Work = extern "C" fn(*mut c_void, *const Address);

/// `simcuda_use_t` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Use {
    address: Address,
    writes: c_int,
}

#[derive(Clone)]
struct Function {
    module: Handle,
    name: Arc<str>,
    run: StandIn,
}

struct Module {
    text: String,
    /// The id of its context.
    context: u64,
}

struct Kernels {
    stand_ins: BTreeMap<String, StandIn>,
    modules: BTreeMap<Handle, Module>,
    functions: BTreeMap<Handle, Function>,
    last: Handle,
}

/// As `state::FIRST_HANDLE`.
const FIRST_HANDLE: Handle = 0x0051_4e00_0000_0000;

static KERNELS: Mutex<Kernels> = Mutex::new(Kernels::EMPTY);

fn kernels() -> MutexGuard<'static, Kernels> {
    KERNELS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kernels {
    const EMPTY: Kernels = Kernels {
        stand_ins: BTreeMap::new(),
        modules: BTreeMap::new(),
        functions: BTreeMap::new(),
        last: FIRST_HANDLE,
    };

    fn new_handle(&mut self) -> Handle {
        self.last += 16;
        self.last
    }

    /// Of a context that lives.
    fn module(&self, handle: Handle, context: u64) -> Outcome<&Module> {
        self.modules.get(&handle).filter(|module| module.context == context).ok_or(INVALID_HANDLE)
    }
}

/// For `simcuda_reset`.
pub fn forget() {
    let mut kernels = kernels();
    let last = kernels.last;
    *kernels = Kernels { last, ..Kernels::EMPTY };
}

/// The id of the current context.
fn current() -> Outcome<u64> {
    let state = state();
    let handle = state.current()?;
    state.contexts.get(&handle).map(|context| context.id).ok_or(INVALID_CONTEXT)
}

#[unsafe(no_mangle)]
pub extern "C" fn simcuda_stand_in(kernel: Text, run: Option<StandIn>) {
    let (Some(name), Some(run)) = (kernel.as_str(), run) else { return };
    kernels().stand_ins.insert(name.into(), run);
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadData(module: Out<Handle>, image: Text) -> c_int {
    enter("cuModuleLoadData", |_| {
        if kernels().stand_ins.is_empty() {
            return Err(NOT_SUPPORTED);
        }
        module.required()?;
        let context = current()?;
        let text = image.as_str().ok_or(INVALID_VALUE)?.to_string();
        let mut kernels = kernels();
        let handle = kernels.new_handle();
        kernels.modules.insert(handle, Module { text, context });
        module.put(handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: Handle) -> c_int {
    enter("cuModuleUnload", |_| {
        if kernels().stand_ins.is_empty() {
            return Err(NOT_SUPPORTED);
        }
        let context = current()?;
        let mut kernels = kernels();
        kernels.module(module, context)?;
        kernels.functions.retain(|_, function| function.module != module);
        kernels.modules.remove(&module);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetFunction(function: Out<Handle>, module: Handle, name: Text) -> c_int {
    enter("cuModuleGetFunction", |_| {
        if kernels().stand_ins.is_empty() {
            return Err(NOT_SUPPORTED);
        }
        let context = current()?;
        let name = name.as_str().ok_or(INVALID_VALUE)?;
        let mut kernels = kernels();
        let named = kernels.module(module, context)?.text.contains(&format!(".entry {name}("));
        let run = kernels.stand_ins.get(name).copied().filter(|_| named).ok_or(NOT_FOUND)?;
        let handle = kernels.new_handle();
        function.put(handle)?;
        kernels.functions.insert(handle, Function { module, name: name.into(), run });
        Ok(())
    })
}

/// `extra` ends with 0, and has a buffer (1) and the place of its size (2).
fn parameters(extra: &Array<Address>) -> Outcome<Vec<u8>> {
    let (mut buffer, mut size) = (0, 0);
    for index in (0..).step_by(2) {
        match extra.get(index)? {
            0 => break,
            1 => buffer = extra.get(index + 1)?,
            2 => size = extra.get(index + 1)?,
            _ => return Err(INVALID_VALUE),
        }
    }
    if buffer == 0 || size == 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller of cuLaunchKernel guarantees that a size is there.
    let size = unsafe { std::ptr::with_exposed_provenance::<usize>(size).read_unaligned() };
    let mut bytes = vec![0u8; size];
    // SAFETY: the caller of cuLaunchKernel guarantees as many bytes in the buffer as it says.
    unsafe { move_bytes(bytes.as_mut_ptr().expose_provenance(), buffer, size) };
    Ok(bytes)
}

fn launch(call: &mut Call, function: Handle, stream: Handle, pointers: Address, extra: &Array<Address>) -> Outcome {
    call.hex("stream", stream);
    if kernels().stand_ins.is_empty() || pointers != 0 {
        return Err(NOT_SUPPORTED);
    }
    let context = current()?;
    let Function { name, run, .. } = {
        let kernels = kernels();
        let function = kernels.functions.get(&function).ok_or(INVALID_HANDLE)?;
        kernels.module(function.module, context)?;
        function.clone()
    };
    let parameters = parameters(extra)?;
    let run = Box::new(move |_: &View| run(parameters.as_ptr().cast(), parameters.len()));
    queue(stream, Kernel { name, uses: Vec::new(), run }, Vec::new())
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

/// Parameters come in a buffer (`extra`), whose layout the stand-in knows; only the compiler knows the types behind an array
/// of pointers.
#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchKernel(
    function: Handle,
    _grid_x: c_uint,
    _grid_y: c_uint,
    _grid_z: c_uint,
    _block_x: c_uint,
    _block_y: c_uint,
    _block_z: c_uint,
    _shared_bytes: c_uint,
    stream: Handle,
    parameters: Address,
    extra: Array<Address>,
) -> c_int {
    enter("cuLaunchKernel", |call| launch(call, function, stream, parameters, &extra))
}

impl State {
    /// The memory behind an address that a kernel of the device gets. A wrong address is a violation, and breaks the
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
