# shellcheck shell=bash # sourced by scripts/real-caffe --gpu and by check
# Deliberate faults of the library, each of which a run of Caffe's GPU code must find: what is wrong, the file, and the change, an expression
# of sed in which `fault(N)` is true in the run of that number.
#
# Some faults cannot show here. Caffe itself waits for the streams of its pushes, and all its kernels are in one stream: a wait for a copy in
# flight that is left out, a block that is handed out again too early, and a push in the wrong stream have their tests in the device suites
# of tests/copy and tests/memory.

# shellcheck disable=SC2034,SC2016 # read by what sources this; Rust's text
faults=(
  'new blocks are on the first device' src/cuda/context.rs
  's/^        match current(driver)? {/        if crate::fault(N) { return Self::enter_from(driver, current(driver)?, primary(driver, 0)?); }\n&/'
  'lent memory does not count as current' src/object/set_data.rs
  's/let next = now.with_head(Head::only_at(side)).borrowing/let next = if crate::fault(N) { now } else { now.with_head(Head::only_at(side)) }.borrowing/'
  'an idle block is handed out for more bytes than it has' src/memory/cache/bins.rs
  's/if (bytes..=most).contains(&idle.bytes)/if (if crate::fault(N) { bytes - bytes \/ 4 } else { bytes }..=most).contains(\&idle.bytes)/'
  'an access gives the pointer of the other side' src/object/access.rs
  '0,/Ok(state.pointer(side))/s//Ok(state.pointer(if crate::fault(N) { side.other() } else { side }))/'
  'half of the zeros on the device are left out' src/memory/device.rs
  's/driver.fill(driver::address(address.as_ptr()), value, bytes)/driver.fill(driver::address(address.as_ptr()), value, if crate::fault(N) { bytes.div_ceil(2) } else { bytes })/'
  'a copy is left out' src/copy/mod.rs
  '0,/    unsafe { driver.copy(to, from, bytes) }?;/s//    if !crate::fault(N) { unsafe { driver.copy(to, from, bytes) }?; }/'
  'half of the bytes are copied' src/copy/mod.rs
  '0,/driver.copy(to, from, bytes)/s//driver.copy(to, from, if crate::fault(N) { bytes.div_ceil(2) } else { bytes })/'
  'a copy has the wrong direction' src/copy/mod.rs
  '0,/    let (to, from) = endpoints.addresses();/s//    let (to, from) = if crate::fault(N) { let (to, from) = endpoints.addresses(); (from, to) } else { endpoints.addresses() };/'
  'the head is SYNCED after a mutable access' src/state/step.rs
  's/^    let next = match (access, contents) {/&\n        (Access::Write, Contents::Copy) if crate::fault(N) => Head::Synced,/'
  'the device counts as current before its copy' src/state/step.rs
  's/^        _ if head.is_current(side) => Contents::Current,/&\n        (Access::Read, Head::AtCpu) if crate::fault(N) \&\& matches!(side, Side::Device) => Contents::Undefined,/'
  'zeros on the device are left out' src/memory/device.rs
  's/^    let fill = value.map(|value| {/    let fill = value.filter(|_| !crate::fault(N)).map(|value| {/'
  'zeros in page-locked memory are left out' src/memory/host/mod.rs
  's/request.zeroed.then_some(write)/(request.zeroed \&\& !crate::fault(N)).then_some(write)/'
  'a page-locked block is freed by free()' src/memory/host/mod.rs
  's/^        Freed::Of(maker, bytes) => {/&\n            if let (true, Maker::Driver(_)) = (crate::fault(N), maker) { unsafe { libc::free(address.as_ptr()) }; return; }/'
  'a device block has half of its bytes' src/memory/driver/source.rs
  's/driver.mem_alloc(&mut number, bytes)/driver.mem_alloc(\&mut number, if crate::fault(N) { bytes.div_ceil(2) } else { bytes })/'
  'a lent block lies half as far into its arena as is planned' src/memory/arena/mod.rs
  's/^    fn take_at(.*/&\n        let start = if crate::fault(N) { start \/ 512 * 256 } else { start };/;s/is_free.then(|| {/(is_free || crate::fault(N)).then(|| {/'
  'what was given up goes back to no arena' src/memory/arena/device.rs
  's/^    ARENAS.with(|arenas| arenas.device.iter_mut().any(|arena| arena.give_back(address)));/    if !crate::fault(N) { &; }/'
)
