//! Several devices. With one, all of it is skipped.

use super::*;

const BYTES: usize = 70_001;

pub(crate) const CHECKS: &[Check] = &[
    check(
        "of two devices each has its context and its blocks",
        "Primary Context Management; Unified Addressing",
        |context| {
            let second = Second::new();
            differ("the contexts", context, second.0);
            equal("the device", 1, second.within(|| value(cuCtxGetDevice)));
            let (mine, other) = (DeviceBlock::new(BYTES), second.within(|| DeviceBlock::new(BYTES)));
            let (ordinal, apart) = (ask(DEVICE_ORDINAL, other.0) & 0xffff_ffff, mine.0.abs_diff(other.0));
            second.within(|| other.free()).ok();
            equal("the ordinal", 1, ordinal);
            ensure(apart >= BYTES as u64, "blocks of two devices that lie apart", "an overlap");
        },
    ),
    check("a block of another of two devices can be copied by its address", "Unified Addressing, Overview", |_| {
        let second = Second::new();
        let (mine, host) = (DeviceBlock::new(BYTES), HostBlock::pageable(BYTES));
        let other = second.within(|| DeviceBlock::new(BYTES));
        let copied = Verdict::of(|| {
            host.fill_pattern(1);
            cuMemcpy(mine.0, host.address(), BYTES).ok();
            cuMemcpy(other.0, mine.0, BYTES).ok();
            cuCtxSynchronize().ok();
            host.fill(0);
            cuMemcpy(host.address(), other.0, BYTES).ok();
            host.has_pattern("what came back", 1);
        });
        second.within(|| other.free()).ok();
        copied.end();
    }),
    check("page locked memory serves both of two devices", "cuMemHostAlloc: unified addressing", |_| {
        let (second, pinned) = (Second::new(), HostBlock::pinned(BYTES));
        second.within(|| there_and_back(&pinned, &DeviceBlock::new(BYTES)));
    }),
];

/// The primary context of device 1.
struct Second(Handle);

impl Second {
    fn new() -> Self {
        if value(cuDeviceGetCount) < 2 {
            skip("there is one device");
        }
        Second(value(|context| cuDevicePrimaryCtxRetain(context, 1)))
    }

    fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        cuCtxPushCurrent_v2(self.0).ok();
        let result = work();
        pop();
        result
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        let _ = cuDevicePrimaryCtxRelease_v2(1);
    }
}
