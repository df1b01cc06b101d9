//! The names of all entry points, for the counts and the faults that tests ask for.

const NAMES: &str = "cuCtxCreate_v2 cuCtxDestroy_v2 cuCtxGetCurrent cuCtxGetDevice cuCtxGetId cuCtxPopCurrent_v2 cuCtxPushCurrent_v2 \
    cuCtxSetCurrent cuCtxSynchronize cuDeviceGet cuDeviceGetAttribute cuDeviceGetCount cuDeviceGetName cuDevicePrimaryCtxRelease_v2 \
    cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxRetain cuDeviceTotalMem_v2 cuDriverGetVersion cuEventCreate cuEventDestroy_v2 \
    cuEventElapsedTime cuEventQuery cuEventRecord cuEventSynchronize cuGetErrorName cuGetErrorString cuGraphDestroy \
    cuInit cuLaunchHostFunc cuLaunchKernel cuMemAllocManaged cuMemAlloc_v2 cuMemFreeHost \
    cuMemFree_v2 cuMemGetInfo_v2 cuMemHostAlloc cuMemHostGetFlags cuMemHostRegister_v2 cuMemHostUnregister cuMemcpy cuMemcpyAsync \
    cuMemsetD8Async cuMemsetD8_v2 cuPointerGetAttribute cuPointerGetAttributes cuStreamBeginCapture_v2 cuStreamCreate cuStreamDestroy_v2 \
    cuStreamEndCapture cuStreamGetCtx cuStreamIsCapturing cuStreamQuery cuStreamSynchronize cuStreamWaitEvent \
    cuThreadExchangeStreamCaptureMode";

/// The exported name for a name with or without its version (`cuMemAlloc`).
pub fn known(name: &str) -> Option<&'static str> {
    NAMES.split(' ').find(|known| *known == name || known.strip_suffix("_v2") == Some(name))
}
