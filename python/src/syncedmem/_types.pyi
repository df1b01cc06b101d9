# Made by stub.py from include/syncedmem.json. Do not edit.
import dataclasses
import enum

ENUMS: tuple[tuple[str, str, tuple[str, ...]], ...]
STRUCTS: tuple[tuple[str, str], ...]

def short_name(name: str, prefixes: tuple[str, ...]) -> str: ...
def read_stats() -> tuple[int, Stats]: ...

class Status(enum.IntEnum):
    """The outcome of a call. The numbers are fixed: later versions add, and never change or reuse one."""
    SUCCESS = 0
    """Done."""
    INVALID_ARGUMENT = 1
    """An argument cannot be used: NULL, misaligned, too small, or a number that is not one of its enumeration."""
    INVALID_HANDLE = 2
    """The handle does not lead to a live object."""
    OUT_OF_MEMORY = 3
    """Host or device memory ran out, or the size asked for cannot exist."""
    NO_GPU = 4
    """The call needs a GPU, and there is none to use; the message says why."""
    INVALID_STATE = 5
    """The object's head does not allow it."""
    REENTERED = 6
    """The calling thread is already inside an operation on the same object; or a signal handler has interrupted it
    inside the library, where the call would have to wait for that."""
    INTERNAL = 7
    """A bug of the library, caught inside it."""
    DRIVER = 8
    """A call of the CUDA driver failed; the message names it and its status."""
    PENDING = 9
    """A call of the CUDA driver met an error that an earlier kernel or copy of this process had left behind."""
    WRONG_DEVICE = 10
    """The device check is on, and another device is current than the one that holds the data."""
    FILE = 11
    """A file cannot be written."""
    EXPORTED = 12
    """Tensors of the object's memory are in use, which the call would take away."""

class Head(enum.IntEnum):
    """Where the newest data is; the numbers are those of `caffe::SyncedMemory::SyncedHead`."""
    UNINITIALIZED = 0
    """Neither side has been touched."""
    HEAD_AT_CPU = 1
    """The host is newer."""
    HEAD_AT_GPU = 2
    """The device is newer."""
    SYNCED = 3
    """Both sides hold the same data."""

class Memory(enum.IntEnum):
    """A kind of memory."""
    PAGEABLE = 0
    """Host memory that is not page-locked."""
    PINNED = 1
    """Page-locked host memory."""
    DEVICE = 2
    """Device memory."""
    ALL = 3
    """All three."""

class Eviction(enum.IntEnum):
    """What the library may give back of an object on its own when memory runs out."""
    NEVER = 0
    """Nothing."""
    REDUNDANT = 1
    """A side that the other can replace."""
    ALWAYS = 2
    """Any side. If it holds the newest data, that is copied to the other side before."""

class Reuse(enum.IntEnum):
    """When a device or page-locked block that was given back is handed out again: work of the device's may be using
    it still."""
    SYNCHRONISED = 0
    """After its context was synchronised since: whatever used it on that context's streams is done. Streams of other
    contexts are to be declared with `syncedmem_record_stream`."""
    STREAM = 1
    """After the work that the legacy default stream had when it was given back, and what was declared with
    `syncedmem_record_stream`."""

class Mode(enum.IntEnum):
    """What `Caffe::mode()` is taken to be."""
    AUTO = 0
    """What the Caffe in the process says."""
    CPU = 1
    """CPU mode."""
    GPU = 2
    """GPU mode."""

class Pinning(enum.IntEnum):
    """When host memory of objects is page-locked. Where it cannot be, it is pageable, and that is no error."""
    AUTO = 0
    """In GPU mode."""
    ALWAYS = 1
    """Always."""
    NEVER = 2
    """Never."""

class ErrorPolicy(enum.IntEnum):
    """What a failure in a C++ entry point does after it was reported. C functions return a status in any case."""
    ABORT = 0
    """`abort()`, as Caffe did."""
    THROW = 1
    """`std::bad_alloc` when memory ran out, `std::runtime_error` for the rest: those of the C++ runtime that the
    calling program or library uses, libstdc++ or libc++. A runtime that is linked in statically is found only
    where it is exported (`-rdynamic`). Where it is not, no other is taken: the process ends by `abort()`, after a
    sentence that says so. There, throw from a callback: `syncedmem_set_error_callback`."""

class Accounting(enum.IntEnum):
    """What is accounted for."""
    OFF = 0
    """Nothing: it costs nothing."""
    ON = 1
    """Objects, blocks, fills and copies."""
    ACCESSES = 2
    """Every access, too, also where nothing is to be done: each costs some tens of nanoseconds then."""

class Side(enum.IntEnum):
    """One of the two sides of an object."""
    HOST = 0
    """Memory of the CPU."""
    DEVICE = 1
    """Memory of the GPU."""

class Kind(enum.IntEnum):
    """What is done with the data of a side."""
    READ = 0
    """It is read: as `syncedmem_cpu_data` and `syncedmem_gpu_data`."""
    WRITE = 1
    """It is read and written: as `syncedmem_mutable_cpu_data` and `syncedmem_mutable_gpu_data`."""
    OVERWRITE = 2
    """All of it is written, none of it read: as `syncedmem_overwrite_cpu_data` and `syncedmem_overwrite_gpu_data`."""

@dataclasses.dataclass(frozen=True)
class Sum:
    """A number of like things, their bytes, and the time that they took. It never grows."""
    count: int
    """How many."""
    bytes: int
    """Bytes in all."""
    nanoseconds: int
    """Nanoseconds in all; 0 where that is not measured."""

@dataclasses.dataclass(frozen=True)
class MemoryStats:
    """One kind of memory, in bytes. It never grows."""
    live: int
    """Bytes that objects hold now. Known without accounting too; pageable blocks of up to 4 KiB are not counted then.
    The page-locked slots for staged copies, which no object holds, are not among them."""
    peak: int
    """The most that was since accounting began, or since `syncedmem_reset_peaks`."""
    idle: int
    """Bytes that lie idle, for the next object. Known without accounting too."""
    budget: int
    """Bytes that may lie idle. Known without accounting too."""
    allocations: Sum
    """Blocks that came from the system or the driver."""
    pool_hits: Sum
    """Blocks that came from the pool."""
    frees: Sum
    """Blocks that objects gave back."""
    turned_away: Sum
    """Blocks that a budget turned away: not kept for the next object, or not page-locked."""

@dataclasses.dataclass(frozen=True)
class Stats:
    """What was accounted for so far. New members come at the end: `size` says which are there."""
    pageable: MemoryStats
    """Pageable host memory."""
    pinned: MemoryStats
    """Page-locked host memory."""
    device: MemoryStats
    """Device memory."""
    to_device_pinned: Sum
    """Copies from page-locked memory to the device. Of a push the time is what its call took."""
    to_device_staged: Sum
    """Copies from pageable memory to the device through page-locked slots."""
    to_device_pageable: Sum
    """Copies from pageable memory to the device by the driver."""
    to_host_pinned: Sum
    """Copies from the device to page-locked memory. Of a pull the time is what its call took."""
    to_host_staged: Sum
    """Copies from the device to pageable memory through page-locked slots."""
    to_host_pageable: Sum
    """Copies from the device to pageable memory by the driver."""
    host_fills: Sum
    """Host sides that were filled with zeros; of fresh pages from the system the time is 0."""
    device_fills: Sum
    """Device sides that were filled with zeros."""
    waits: Sum
    """Waits for copies in flight."""
    synchronises: Sum
    """Contexts that were waited for before a block was handed out again, evicted, or unlocked."""
    registrations: Sum
    """Pageable memory that was page-locked where it is."""
    host_evictions: Sum
    """Host sides that were given back to make room."""
    device_evictions: Sum
    """Device sides that were given back to make room."""
    host_failures: Sum
    """Allocations for the host that failed."""
    device_failures: Sum
    """Allocations for the device that failed."""
    objects_made: int
    """Objects that came to be."""
    objects_unseen: int
    """Those of them that were first noticed at an access."""
    objects_ended: int
    """Objects that were destroyed."""
    host_reads: int
    """Accesses to the host to read, to write, and to overwrite: those that needed something, or, where every access
    is counted, all of them."""
    host_writes: int
    """As `host_reads`."""
    host_overwrites: int
    """As `host_reads`."""
    device_reads: int
    """Accesses to the device, likewise."""
    device_writes: int
    """As `device_reads`."""
    device_overwrites: int
    """As `device_reads`."""
    dropped: int
    """How many things were not counted: for want of memory, since a signal handler came in between, or, of accesses,
    since another thread had the books for longer than 0.1 seconds (as during a slow fork)."""
