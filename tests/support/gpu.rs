//! The driver for one test alone, watched: what was called, what is alive, which rules were broken.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::driver::{Account, Address, Control, Driver, Handle, Loaded, loaded, simulated};
pub use super::own::*;
use super::*;

/// The driver, for as long as a test holds it. Its end checks that nothing is left and no rule was broken.
pub struct Gpu {
    loaded: &'static Loaded,
    violations: usize,
    account: Account,
    is_small: AtomicBool,
    _turn: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Gpu {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        &self.loaded.driver
    }
}

/// The lag of work that starts when a thread waits for it: however long the machine stops a test, it is late.
pub const UNTIL_IT_IS_WAITED_FOR: u32 = u32::MAX;

/// A call that the simulated driver logged.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub function: String,
    pub line: String,
    pub status: i32,
}

impl Call {
    /// The value of a field: `stream=0x1`.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.line.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
    }
}

pub fn names(calls: &[Call]) -> Vec<&str> {
    calls.iter().map(|call| call.function.as_str()).collect()
}

/// One call of the driver that fails: the `nth` of its function.
#[derive(Clone, Copy)]
pub struct Fault<'c> {
    pub function: &'c str,
    pub nth: u32,
    pub status: i32,
}

impl Fault<'_> {
    /// So the driver says that it does not know a block: who gives it back, or waits for its copy, believes that it is gone.
    pub fn is_unknown_block(&self) -> bool {
        (self.function, self.status) == ("cuPointerGetAttributes", 1)
    }
}

impl std::fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} number {} returns {}", self.function, self.nth, self.status)
    }
}

pub fn faults<'c>(calls: &'c [Call], statuses: &'c [i32]) -> impl Iterator<Item = Fault<'c>> {
    calls.iter().enumerate().flat_map(move |(at, call)| {
        let function = call.function.as_str();
        let nth = calls[..=at].iter().filter(|call| call.function == function).count() as u32;
        statuses.iter().map(move |&status| Fault { function, nth, status })
    })
}

/// The driver, simulated or real. Skips the test where there is none.
pub fn gpu() -> Gpu {
    take_turn(|_| true, "")
}

/// The simulated driver, for a test that needs its control functions. Skips the test on any other.
pub fn simulated_gpu() -> Gpu {
    take_turn(|loaded| loaded.control.is_some(), "it needs the simulated driver")
}

fn take_turn(serves: fn(&Loaded) -> bool, need: &str) -> Gpu {
    static TURN: Mutex<()> = Mutex::new(());
    let Some(loaded) = loaded() else { skip("there is no driver") };
    if !serves(loaded) {
        skip(need);
    }
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // A test that waits for ever is ended.
    unsafe { libc::alarm(HANGS_AFTER) };
    assert_eq!(loaded.driver.cuInit(0), 0, "the driver does not start");
    // Most tests are about each call of the driver's. SYNCEDMEM_TEST_POOLS=on lets the others run with pools as well.
    pools::set_pools(pools::are_wanted());
    let mut gpu =
        Gpu { loaded, violations: 0, account: Account::default(), is_small: AtomicBool::new(false), _turn: turn };
    if loaded.control.is_some() {
        gpu.calm();
        gpu.violations = gpu.violations().0;
        gpu.account = gpu.account();
    }
    gpu
}

impl Drop for Gpu {
    fn drop(&mut self) {
        unsafe { libc::alarm(0) };
        if self.loaded.control.is_none() {
            return;
        }
        self.calm();
        if self.is_small.load(Relaxed) {
            self.set_memory(256 << 20);
        }
        if std::thread::panicking() {
            return;
        }
        // Work in flight that breaks the driver's rules does so now, and not in the next test.
        self.settle();
        let (account, (violations, text)) = (self.account(), self.violations());
        assert_eq!(violations, self.violations, "the driver's rules were broken: {text}");
        assert_eq!(account.device_blocks, self.account.device_blocks, "device blocks are left: {account:?}");
        assert_eq!(account.pinned_blocks, self.account.pinned_blocks, "pinned blocks are left: {account:?}");
        assert_eq!(account.registered_blocks, self.account.registered_blocks, "{account:?}");
        assert_eq!(account.streams, self.account.streams, "streams are left: {account:?}");
    }
}

impl Gpu {
    pub fn is_simulated(&self) -> bool {
        self.loaded.control.is_some()
    }

    pub fn control(&self) -> &'static Control {
        self.loaded.control.as_ref().unwrap()
    }

    /// No fault, no lag, nothing held, nothing logged.
    pub fn calm(&self) {
        let Some(control) = &self.loaded.control else { return };
        control.simcuda_clear_faults();
        control.simcuda_set_lag(0);
        control.simcuda_release_streams();
        control.simcuda_clear_log();
    }

    /// Device 0 has `bytes` of memory, as long as the test holds the driver.
    pub fn set_memory(&self, bytes: usize) {
        self.control().simcuda_set_memory(0, bytes);
        self.is_small.store(true, Relaxed);
    }

    pub fn arm(&self, fault: &Fault) {
        self.fail(fault.function, fault.nth, fault.status);
    }

    /// Ends a fault, after which nothing is current.
    pub fn disarm(&self, fault: &Fault) {
        self.control().simcuda_clear_faults();
        assert!(self.current().is_null(), "{fault}: a context is left current");
    }

    /// The `nth` call from now on (1: the next) of `function` fails with `status`.
    pub fn fail(&self, function: &str, nth: u32, status: i32) {
        self.fail_times(function, nth, status, 1);
    }

    pub fn fail_times(&self, function: &str, nth: u32, status: i32, times: u32) {
        let function = std::ffi::CString::new(function).unwrap();
        self.control().simcuda_fail(function.as_ptr(), nth, status, times);
    }

    /// Does `work`; returns what it returned and the calls that reached the driver meanwhile.
    pub fn watch<R>(&self, work: impl FnOnce() -> R) -> (R, Vec<Call>) {
        self.control().simcuda_clear_log();
        let result = work();
        (result, self.log())
    }

    /// Does `work`, and gives `look` the calls that reached the simulated driver meanwhile. A real one keeps no log.
    pub fn observe<R>(&self, work: impl FnOnce() -> R, look: impl FnOnce(&[Call])) -> R {
        if !self.is_simulated() {
            return work();
        }
        let (result, calls) = self.watch(work);
        look(&calls);
        result
    }

    /// Says that the test goes on: one that takes long by what it does, and not by waiting, is not ended for that.
    pub fn goes_on(&self) {
        unsafe { libc::alarm(HANGS_AFTER) };
    }

    /// What is expected of the simulated driver; of a real one nothing is known.
    pub fn if_simulated<T>(&self, value: T) -> Option<T> {
        self.is_simulated().then_some(value)
    }

    /// From now on all work of the simulated driver is late by so many microseconds, or `UNTIL_IT_IS_WAITED_FOR`. A real
    /// driver's work is late where `Stream::delay` makes it so.
    pub fn set_lag(&self, microseconds: u32) {
        if let Some(control) = &self.loaded.control {
            control.simcuda_set_lag(microseconds);
        }
    }

    pub fn log(&self) -> Vec<Call> {
        let text = text(|buffer, bytes| self.control().simcuda_log(buffer, bytes));
        let parse = |line: &str| {
            let (call, status) = line.rsplit_once(" -> ").unwrap_or_else(|| panic!("a line of the log: {line}"));
            let function = call.split(' ').next().unwrap().to_string();
            Call { function, line: call.to_string(), status: status.trim().parse().unwrap() }
        };
        text.lines().map(parse).collect()
    }

    /// Whether a call of `function` has had this status since the log was cleared: a fault that no call met proves nothing.
    pub fn has_failed(&self, function: &str, status: i32) -> bool {
        self.log().iter().any(|call| call.function == function && call.status == status)
    }

    /// The calls of all entry points since the log was cleared.
    pub fn calls(&self) -> usize {
        self.control().simcuda_calls(std::ptr::null())
    }

    pub fn calls_of(&self, function: &CStr) -> usize {
        self.control().simcuda_calls(function.as_ptr())
    }

    /// The copies from host to device and from device to host since the log was cleared.
    pub fn copies(&self) -> [usize; 2] {
        [c"HtoD", c"DtoH"].map(|kind| self.control().simcuda_copies(kind.as_ptr(), usize::MAX))
    }

    /// What is alive in the driver besides idle blocks, which are given back for it.
    pub fn account(&self) -> Account {
        assert_eq!(syncedmem_trim(SYNCEDMEM_MEMORY_ALL as i32), SYNCEDMEM_SUCCESS);
        self.alive()
    }

    /// What is alive in the driver, with what the library keeps.
    pub fn alive(&self) -> Account {
        let mut account = Account { size: size_of::<Account>(), ..Account::default() };
        self.control().simcuda_account(&mut account);
        account
    }

    pub fn violations(&self) -> (usize, String) {
        let text = text(|buffer, bytes| {
            self.control().simcuda_violations(buffer, bytes);
            // It returns a number of violations; their text is as long as it is.
            if buffer.is_null() { 16 << 10 } else { 0 }
        });
        (self.control().simcuda_violations(std::ptr::null_mut(), 0), text)
    }

    /// Fills of the legacy stream are asynchronous: after this, none of device 0's is on its way.
    fn settle(&self) {
        self.within(0, || assert_eq!(self.cuStreamSynchronize(std::ptr::null_mut()), 0));
    }

    /// The bytes of device memory, past all contexts.
    pub fn read(&self, address: usize, bytes: usize) -> Vec<u8> {
        self.settle();
        let mut data = vec![0; bytes];
        let (from, to) = (address as Address, data.as_mut_ptr());
        match &self.loaded.control {
            Some(control) => assert_eq!(control.simcuda_read(from, to.cast(), bytes), 0, "{address:#x} +{bytes}"),
            None => self.within(0, || assert_eq!(self.cuMemcpy(to.addr() as Address, from, bytes), 0)),
        }
        data
    }

    pub fn write(&self, address: usize, data: &[u8]) {
        self.settle();
        let (to, from) = (address as Address, data.as_ptr());
        match &self.loaded.control {
            Some(control) => assert_eq!(control.simcuda_write(to, from.cast(), data.len()), 0, "{address:#x}"),
            // A copy from pageable memory goes on after its call, and no other stream waits for it.
            None => self.within(0, || {
                assert_eq!((self.cuMemcpy(to, from.addr() as Address, data.len()), self.cuCtxSynchronize()), (0, 0));
            }),
        }
    }

    /// The primary context of a device, kept until the process ends.
    pub fn primary(&self, device: c_int) -> Handle {
        static KEPT: Mutex<Vec<(c_int, usize)>> = Mutex::new(Vec::new());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, context)) = kept.iter().find(|(of, _)| *of == device) {
            return *context as Handle;
        }
        let mut context = std::ptr::null_mut();
        assert_eq!(self.cuDevicePrimaryCtxRetain(&mut context, device), 0);
        kept.push((device, context.expose_provenance()));
        context
    }

    /// This driver, if it has that many devices. See `needs_devices`.
    pub fn with_devices(self, count: c_int) -> Gpu {
        self.needs_devices(count);
        self
    }

    /// Skips the test where there are fewer devices.
    pub fn needs_devices(&self, count: c_int) {
        if self.devices() < count {
            skip(format!("it needs {count} devices"));
        }
    }

    pub fn devices(&self) -> c_int {
        let mut count = 0;
        assert_eq!(self.cuDeviceGetCount(&mut count), 0);
        count
    }

    pub fn current(&self) -> Handle {
        let mut context = std::ptr::null_mut();
        assert_eq!(self.cuCtxGetCurrent(&mut context), 0);
        context
    }

    /// Does `work` with the primary context of a device current.
    pub fn within<R>(&self, device: c_int, work: impl FnOnce() -> R) -> R {
        self.within_context(self.primary(device), work)
    }

    pub fn within_context<R>(&self, context: Handle, work: impl FnOnce() -> R) -> R {
        assert_eq!(self.cuCtxPushCurrent_v2(context), 0);
        let result = work();
        let mut popped = std::ptr::null_mut();
        assert_eq!(self.cuCtxPopCurrent_v2(&mut popped), 0);
        assert_eq!(popped, context, "the current context is another than before");
        result
    }
}

/// How host blocks are made for the length of a scope. Afterwards they are pageable.
pub struct Pinning;

impl Pinning {
    pub fn always() -> Pinning {
        assert_eq!(syncedmem_set_pinning(1), SYNCEDMEM_SUCCESS);
        Pinning
    }
}

impl Drop for Pinning {
    fn drop(&mut self) {
        assert_eq!(syncedmem_set_pinning(2), SYNCEDMEM_SUCCESS);
    }
}

/// A text of the simulated driver, whatever its length.
fn text(write: impl Fn(*mut std::ffi::c_char, usize) -> usize) -> String {
    let bytes = write(std::ptr::null_mut(), 0) + 1;
    let mut buffer = vec![0u8; bytes];
    write(buffer.as_mut_ptr().cast(), bytes);
    CStr::from_bytes_until_nul(&buffer).unwrap().to_str().unwrap().to_string()
}

/// The library's sentence about the driver, and the status with it.
pub fn cuda_status() -> (syncedmem_status_t, String) {
    let mut sentence = std::ptr::null();
    let status = unsafe { syncedmem_cuda_status(&mut sentence) };
    assert_eq!(unsafe { syncedmem_cuda_status(std::ptr::null_mut()) }, status, "the sentence need not be asked for");
    (status, unsafe { CStr::from_ptr(sentence) }.to_str().unwrap().to_string())
}

/// Lets another process have the simulated driver of this one, which is not built again.
pub fn simulated_file() -> (&'static str, &'static str) {
    let is_simulated = loaded().is_some_and(|loaded| loaded.control.is_some());
    ("SYNCEDMEM_SIMULATED_DRIVER", if is_simulated { simulated().to_str().unwrap() } else { "" })
}

/// Like `alone`, with the driver of this process.
pub fn in_a_process_with_a_driver(environment: &[(&str, &str)], body: impl FnOnce()) -> String {
    let environment: Vec<_> = environment.iter().copied().chain([simulated_file()]).collect();
    super::alone(&environment, body)
}
