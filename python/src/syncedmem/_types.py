"""The enumerations and the statistics of the C API. Made by `UPDATE=1 cargo test --test project`: do not edit."""

from __future__ import annotations

import dataclasses
import enum


class Status(enum.IntEnum):
    """The outcome of a call. Later versions add numbers, and never change or reuse one."""
    SUCCESS = 0
    """Done."""
    INVALID_ARGUMENT = 1
    """An argument cannot be used: NULL, misaligned, too small, or an unknown number."""
    INVALID_HANDLE = 2
    """The handle is not that of a live object."""
    OUT_OF_MEMORY = 3
    """Host or device memory ran out, or the size is impossible."""
    NO_GPU = 4
    """No GPU can be used; the message says why."""
    INVALID_STATE = 5
    """The object's head does not allow the call."""
    REENTERED = 6
    """The calling thread is inside an operation on the same object, or a signal handler has interrupted it at a lock
    that the call needs."""
    INTERNAL = 7
    """A bug of the library."""
    DRIVER = 8
    """A call of the CUDA driver failed; the message names the call and its status."""
    PENDING = 9
    """A driver call returned the error of an earlier kernel or copy of this process."""
    WRONG_DEVICE = 10
    """The device check is on, and the current device is not the one that holds the data."""
    FILE = 11
    """A file cannot be opened, read or written."""
    EXPORTED = 12
    """The call would take away memory that tensors use."""
    FORMAT = 13
    """The file is damaged, cut off, or of another format."""
    UNSUPPORTED = 14
    """This library does not do it; the message says what does."""


class Head(enum.IntEnum):
    """Where the newest data is. The numbers are those of `caffe::SyncedMemory::SyncedHead`."""
    UNINITIALIZED = 0
    """Neither side was accessed."""
    HEAD_AT_CPU = 1
    """The host is newer."""
    HEAD_AT_GPU = 2
    """The device is newer."""
    SYNCED = 3
    """Both sides hold the same data."""


class Side(enum.IntEnum):
    """A side of an object."""
    HOST = 0
    """Memory of the CPU."""
    DEVICE = 1
    """Memory of the GPU."""


class Kind(enum.IntEnum):
    """What an access does with the data of a side."""
    READ = 0
    """Reads it, as `syncedmem_cpu_data`."""
    WRITE = 1
    """Reads and writes it, as `syncedmem_mutable_cpu_data`."""
    OVERWRITE = 2
    """Writes all of it and reads nothing, as `syncedmem_overwrite_cpu_data`."""


class Memory(enum.IntEnum):
    """A kind of memory."""
    PAGEABLE = 0
    """Pageable host memory."""
    PINNED = 1
    """Page-locked host memory."""
    DEVICE = 2
    """Device memory."""
    ALL = 3
    """All three."""


class Mode(enum.IntEnum):
    """The mode assumed for `Caffe::mode()`."""
    AUTO = 0
    """The mode of the Caffe in the process."""
    CPU = 1
    """CPU mode."""
    GPU = 2
    """GPU mode."""


class Pinning(enum.IntEnum):
    """When host memory is page-locked, if it can be."""
    AUTO = 0
    """Page-locked in GPU mode."""
    ALWAYS = 1
    """Page-locked always."""
    NEVER = 2
    """Page-locked never."""


class ErrorPolicy(enum.IntEnum):
    """What a failed C++ entry point does after its report."""
    ABORT = 0
    """`abort()`, as Caffe did."""
    THROW = 1
    """Throws `std::bad_alloc` if memory ran out, else `std::runtime_error`, of the caller's C++ runtime (libstdc++ or
    libc++). A statically linked one is found only if it is exported (`-rdynamic`). Without one the process aborts:
    throw from `syncedmem_set_error_callback` instead."""


class Accounting(enum.IntEnum):
    """What is accounted for."""
    OFF = 0
    """Nothing, at no cost."""
    ON = 1
    """Objects, blocks, fills and copies."""


@dataclasses.dataclass(frozen=True)
class Sum:
    """Operations, their bytes and time. This structure never grows."""
    count: int
    """Number of operations."""
    bytes: int
    """Bytes in all."""
    nanoseconds: int
    """Nanoseconds in all; 0 where time is not measured."""


@dataclasses.dataclass(frozen=True)
class MemoryStats:
    """One kind of memory, in bytes. This structure never grows."""
    live: int
    """Held by objects now. Without accounting, pageable blocks of up to 4 KiB are missing."""
    peak: int
    """Maximum of `live` since accounting began, or since `syncedmem_reset_peaks`."""
    idle: int
    """Kept idle for later objects."""
    budget: int
    """Maximum that may be idle."""
    allocations: Sum
    """Blocks from the system or the driver."""
    pool_hits: Sum
    """Blocks from the pool."""
    frees: Sum
    """Blocks that objects gave back."""


@dataclasses.dataclass(frozen=True)
class Stats:
    """The account. Later versions add members at the end."""
    pageable: MemoryStats
    """Pageable host memory."""
    pinned: MemoryStats
    """Page-locked host memory."""
    device: MemoryStats
    """Device memory."""
    to_device_pinned: Sum
    """Copies from page-locked memory to the device. The time of a push is that of its call."""
    to_device_pageable: Sum
    """Copies from pageable memory to the device."""
    to_host_pinned: Sum
    """Copies from the device to page-locked memory. The time of a pull is that of its call."""
    to_host_pageable: Sum
    """Copies from the device to pageable memory."""
    host_fills: Sum
    """Host sides filled with zeros. Fresh pages of the system take no time."""
    device_fills: Sum
    """Device sides filled with zeros."""
    waits: Sum
    """Waits for copies in flight."""
    synchronises: Sum
    """Contexts synchronized before a block was reused."""
    host_failures: Sum
    """Failed host allocations."""
    device_failures: Sum
    """Failed device allocations."""
    objects_made: int
    """Objects made, but for those whose constructor is inlined into the program."""
    objects_ended: int
    """Objects ended."""
    host_reads: int
    """Accesses to the host for reading that allocated, filled or copied."""
    host_writes: int
    """Accesses to the host for reading and writing that allocated, filled or copied."""
    host_overwrites: int
    """Accesses to the host for overwriting that allocated, filled or copied."""
    device_reads: int
    """Accesses to the device for reading that allocated, filled or copied."""
    device_writes: int
    """Accesses to the device for reading and writing that allocated, filled or copied."""
    device_overwrites: int
    """Accesses to the device for overwriting that allocated, filled or copied."""


class Type(enum.IntEnum):
    """The type of the elements of a blob, a tensor, or an array in a model file."""
    FLOAT32 = 0
    """IEEE 754 binary32: `float`."""
    FLOAT64 = 1
    """IEEE 754 binary64: `double`."""
    FLOAT16 = 2
    """IEEE 754 binary16."""
    INT8 = 3
    """`int8_t`."""
    UINT8 = 4
    """`uint8_t`."""
    INT16 = 5
    """`int16_t`."""
    UINT16 = 6
    """`uint16_t`."""
    INT32 = 7
    """`int32_t`."""
    UINT32 = 8
    """`uint32_t`."""
    INT64 = 9
    """`int64_t`."""
    BOOL = 10
    """One byte, 0 or 1."""


class Array(enum.IntEnum):
    """One of a blob's two arrays."""
    DATA = 0
    """The values."""
    DIFF = 1
    """Their gradients."""


class ModelKind(enum.IntEnum):
    """What a model file holds."""
    NET = 0
    """A net: `.caffemodel`."""
    BLOB = 1
    """One blob: `.binaryproto`, such as a mean image."""
    BLOBS = 2
    """A list of blobs: `.binaryproto`."""
    SOLVER_STATE = 3
    """The state of a solver: `.solverstate`."""
    INIT_NET = 4
    """Caffe2's weights: `init_net.pb`. Each tensor is a layer, with its operator as its type. Blobs 1 and 2 of a quantized
    one are its scale and its zero point."""


class TorchRole(enum.IntEnum):
    """What a blob is to the PyTorch module that corresponds to its layer."""
    NONE = 0
    """There is no such module, or the layer has other blobs than Caffe's."""
    WEIGHT = 1
    """`weight`."""
    TRANSPOSED_WEIGHT = 2
    """`weight`, with its two axes swapped."""
    BIAS = 3
    """`bias`."""
    RUNNING_MEAN = 4
    """`running_mean`, times the factor if the layer has one."""
    RUNNING_VAR = 5
    """`running_var`, times the factor if the layer has one."""
    FACTOR = 6
    """The factor, which PyTorch does not have. If it is 0, BVLC's Caffe takes the mean and the variance for zeros, NVIDIA's
    takes them unscaled."""
    UNUSED = 7
    """A blob that PyTorch has no use for."""
