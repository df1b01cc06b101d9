# shellcheck shell=bash # sourced by scripts/gpu-caffe and by check
# Deliberate faults of the library, each of which a run of Caffe's GPU code must find: what is wrong, the file, and the change, an expression
# of sed in which `fault(N)` is true in the run of that number.

# shellcheck disable=SC2034,SC2016 # read by what sources this; Rust's text
faults=(
  'a copy is left out' src/copy/mod.rs
  '0,/    unsafe { driver.copy(to, from, bytes) }?;/s//    if !crate::fault(N) { unsafe { driver.copy(to, from, bytes) }?; }/'
  'half of the bytes are copied' src/copy/mod.rs
  '0,/driver.copy(to, from, bytes)/s//driver.copy(to, from, if crate::fault(N) { bytes.div_ceil(2) } else { bytes })/'
  'a copy has the wrong direction' src/copy/mod.rs
  '0,/    let (to, from) = endpoints.addresses();/s//    let (to, from) = if crate::fault(N) { let (to, from) = endpoints.addresses(); (from, to) } else { endpoints.addresses() };/'
  'the head is SYNCED after a mutable access' crates/trace/src/head.rs
  's/^        let head = match (access, contents) {/&\n            (Access::Write, Contents::Copy) if crate::fault(N) => Head::Synced,/'
  'the device counts as current before its copy' crates/trace/src/head.rs
  's/^            _ if self.is_current(side) => Contents::Current,/&\n            (Access::Read, Head::AtCpu) if crate::fault(N) \&\& matches!(side, Side::Device) => Contents::Undefined,/'
  'zeros on the device are left out' src/memory/device.rs
  's/^        if fills {/        if fills \&\& !crate::fault(N) {/'
  'zeros in page-locked memory are left out' src/memory/host/mod.rs
  's/^    } else if request.zeroed {/    } else if request.zeroed \&\& !crate::fault(N) {/'
  'an access does not wait for the copy in flight' src/object/transfer.rs
  's/^        match copy.finish(driver) {/        match if crate::fault(N) { Ok(()) } else { copy.finish(driver) } {/'
  'an object ends before its copy in flight' src/object/lifecycle.rs
  's/^            copy.finish_or_abandon(driver);/            if !crate::fault(N) { copy.finish_or_abandon(driver); }/'
  'a block is handed out again without a synchronisation' src/memory/cache/device/mod.rs
  's/is_here(block) && block.waits.is_none()/is_here(block) \&\& (crate::fault(N) || block.waits.is_none())/'
  'an idle block is freed without a wait' src/memory/cache/device/mod.rs
  's/^            let _ = synchronise(driver, &guard);/            if !crate::fault(N) { let _ = synchronise(driver, \&guard); }/'
  'new blocks are on the first device' src/cuda/context.rs
  's/^        match current(driver)? {/        match current(driver)?.filter(|_| !crate::fault(N)) {/'
  'a page-locked block is freed by free()' src/memory/host/pinned.rs
  's/^    match unsafe { blocks::free(address, holder) } {/    if crate::fault(N) { unsafe { libc::free(address.as_ptr()) }; return; }\n&/'
  'a push is in the default stream' src/copy/transfer.rs
  's/driver.copy_async(to, from, bytes, stream.handle())/driver.copy_async(to, from, bytes, if crate::fault(N) { std::ptr::null_mut() } else { stream.handle() })/'
  'a device block has half of its bytes' src/memory/driver/source.rs
  's/driver.mem_alloc(&mut number, bytes)/driver.mem_alloc(\&mut number, if crate::fault(N) { bytes.div_ceil(2) } else { bytes })/'
)
