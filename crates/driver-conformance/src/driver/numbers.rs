//! Numbers of `cuda.h`.

pub(crate) mod device {
    pub(crate) const MAX_THREADS_PER_BLOCK: i32 = 1;
    pub(crate) const WARP_SIZE: i32 = 10;
    pub(crate) const MULTIPROCESSOR_COUNT: i32 = 16;
    pub(crate) const INTEGRATED: i32 = 18;
    pub(crate) const CAN_MAP_HOST_MEMORY: i32 = 19;
    pub(crate) const COMPUTE_MODE: i32 = 20;
    pub(crate) const ECC_ENABLED: i32 = 32;
    pub(crate) const ASYNC_ENGINE_COUNT: i32 = 40;
    pub(crate) const UNIFIED_ADDRESSING: i32 = 41;
    pub(crate) const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
    pub(crate) const COMPUTE_CAPABILITY_MINOR: i32 = 76;
    pub(crate) const MANAGED_MEMORY: i32 = 83;
    pub(crate) const PAGEABLE_MEMORY_ACCESS: i32 = 88;
    pub(crate) const CONCURRENT_MANAGED_ACCESS: i32 = 89;
    pub(crate) const CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: i32 = 91;
    pub(crate) const HOST_REGISTER_SUPPORTED: i32 = 99;
    pub(crate) const PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: i32 = 100;
    pub(crate) const READ_ONLY_HOST_REGISTER_SUPPORTED: i32 = 113;
    pub(crate) const MEMORY_POOLS_SUPPORTED: i32 = 115;
    pub(crate) const MPS_ENABLED: i32 = 133;
    pub(crate) const HOST_NUMA_ID: i32 = 134;
}

pub(crate) mod pointer {
    pub(crate) const CONTEXT: i32 = 1;
    pub(crate) const MEMORY_TYPE: i32 = 2;
    pub(crate) const DEVICE_POINTER: i32 = 3;
    pub(crate) const HOST_POINTER: i32 = 4;
    pub(crate) const BUFFER_ID: i32 = 7;
    pub(crate) const IS_MANAGED: i32 = 8;
    pub(crate) const DEVICE_ORDINAL: i32 = 9;
    pub(crate) const RANGE_START_ADDR: i32 = 11;
    pub(crate) const RANGE_SIZE: i32 = 12;
}

pub(crate) const MEMORY_TYPE_HOST: u64 = 1;
pub(crate) const MEMORY_TYPE_DEVICE: u64 = 2;

pub(crate) const HOST_PORTABLE: u32 = 1;
pub(crate) const HOST_DEVICEMAP: u32 = 2;
pub(crate) const HOST_WRITECOMBINED: u32 = 4;

pub(crate) const STREAM_NON_BLOCKING: u32 = 1;
/// The legacy default stream.
pub(crate) const STREAM_LEGACY: usize = 1;
pub(crate) const STREAM_PER_THREAD: usize = 2;

pub(crate) const EVENT_DISABLE_TIMING: u32 = 2;

pub(crate) const ATTACH_GLOBAL: u32 = 1;

pub(crate) const POOL_RELEASE_THRESHOLD: i32 = 4;
