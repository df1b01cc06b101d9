//! Several devices. With one, this is skipped.

use super::*;

const BYTES: usize = 70_001;

pub(crate) const CHECKS: &[Check] = &[check(
    "of two devices each has its blocks, which can be copied by their addresses",
    "Unified Addressing",
    |context| {
        let second = Second::new();
        differ("the contexts", context, second.0);
        let (mine, host, pinned) = (DeviceBlock::new(BYTES), HostBlock::pageable(BYTES), HostBlock::pinned(BYTES));
        let other = second.within(|| DeviceBlock::new(BYTES));
        let verdict = Verdict::of(|| {
            equal("the ordinal", 1, ask(DEVICE_ORDINAL, other.0) & 0xffff_ffff);
            ensure(mine.0.abs_diff(other.0) >= BYTES as u64, "blocks of two devices that do not overlap", "an overlap");
            host.fill_pattern(1);
            cuMemcpy(mine.0, host.address(), BYTES).ok();
            cuMemcpy(other.0, mine.0, BYTES).ok();
            cuCtxSynchronize().ok();
            host.fill(0);
            cuMemcpy(host.address(), other.0, BYTES).ok();
            host.has_pattern("what came back", 1);
            second.within(|| there_and_back(&pinned, &other));
        });
        second.within(|| other.free()).ok();
        verdict.end();
    },
)];

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
