/*
 * A libcuda.so.1 that has every function and cannot be used. Definitions at compile time give the reason:
 *
 *   VERSION    the version that cuDriverGetVersion returns
 *   INIT       the status of cuInit
 *   STUB       every function returns this: the toolkit's stub has 34 here
 *   DEVICES    the number of devices
 *   WAITS      a statement at the beginning of every function: waits of a real driver are cancellation points
 *
 * To leave a function out, give it another name: -DcuMemcpy=not_cuMemcpy.
 */
#ifndef VERSION
#define VERSION 12080
#endif
#ifndef INIT
#define INIT 0
#endif
#ifndef STUB
#define STUB 0
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef WAITS
#define WAITS (void)0
#endif

void pthread_testcancel(void);

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  WAITS;
  return flags ? 1 : STUB ? STUB : INIT;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
  if (STUB) return STUB;
  *version = VERSION;
  return 0;
}

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count) {
  if (STUB) return STUB;
  *count = DEVICES;
  return 0;
}

int cuGetErrorName(int status, const char **name);
int cuGetErrorName(int status, const char **name) {
  *name = status == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : status == 999 ? "CUDA_ERROR_UNKNOWN" : 0;
  return *name ? 0 : 1;
}

int cuGetErrorString(int status, const char **words);
int cuGetErrorString(int status, const char **words) {
  *words = status == 803 ? "system has unsupported display driver / cuda driver combination" :
           status == 999 ? "unknown error" : 0;
  return *words ? 0 : 1;
}

#define FUNCTION(name)       \
  int name(void);            \
  int name(void) {           \
    WAITS;                   \
    return STUB ? STUB : 3;  \
  }

FUNCTION(cuGetProcAddress)
FUNCTION(cuGetProcAddress_v2)
FUNCTION(cuDeviceGet)
FUNCTION(cuDeviceGetName)
FUNCTION(cuDeviceTotalMem_v2)
FUNCTION(cuDeviceGetAttribute)
FUNCTION(cuDeviceGetPCIBusId)
FUNCTION(cuDevicePrimaryCtxRetain)
FUNCTION(cuDevicePrimaryCtxRelease_v2)
FUNCTION(cuDevicePrimaryCtxReset_v2)
FUNCTION(cuDevicePrimaryCtxGetState)
FUNCTION(cuCtxCreate_v2)
FUNCTION(cuCtxDestroy_v2)
FUNCTION(cuCtxGetCurrent)
FUNCTION(cuCtxSetCurrent)
FUNCTION(cuCtxPushCurrent_v2)
FUNCTION(cuCtxPopCurrent_v2)
FUNCTION(cuCtxGetDevice)
FUNCTION(cuCtxGetId)
FUNCTION(cuCtxSynchronize)
FUNCTION(cuMemAlloc_v2)
FUNCTION(cuMemFree_v2)
FUNCTION(cuMemGetInfo_v2)
FUNCTION(cuMemGetAddressRange_v2)
FUNCTION(cuMemHostAlloc)
FUNCTION(cuMemFreeHost)
FUNCTION(cuMemHostRegister_v2)
FUNCTION(cuMemHostUnregister)
FUNCTION(cuMemHostGetFlags)
FUNCTION(cuMemcpy)
FUNCTION(cuMemcpyAsync)
FUNCTION(cuMemcpyHtoD_v2)
FUNCTION(cuMemcpyDtoH_v2)
FUNCTION(cuMemcpyHtoDAsync_v2)
FUNCTION(cuMemcpyDtoHAsync_v2)
FUNCTION(cuMemsetD8_v2)
FUNCTION(cuMemsetD32_v2)
FUNCTION(cuMemsetD8Async)
FUNCTION(cuPointerGetAttribute)
FUNCTION(cuPointerGetAttributes)
FUNCTION(cuStreamCreate)
FUNCTION(cuStreamDestroy_v2)
FUNCTION(cuStreamQuery)
FUNCTION(cuStreamSynchronize)
FUNCTION(cuStreamWaitEvent)
FUNCTION(cuStreamGetCtx)
FUNCTION(cuEventCreate)
FUNCTION(cuEventRecord)
FUNCTION(cuEventQuery)
FUNCTION(cuEventSynchronize)
FUNCTION(cuEventDestroy_v2)
