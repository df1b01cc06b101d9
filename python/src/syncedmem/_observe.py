"""The GPU, the account, the report, the trace."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Generator
from typing import Any, NamedTuple, Union

from ._arguments import member
from ._errors import check, failure
from ._library import ffi, lib
from ._text import read_text
from ._types import Memory, MemoryStats, Stats, Status, Sum

Path = Union[str, "os.PathLike[str]"]


class CudaStatus(NamedTuple):
    """Whether a GPU can be used."""

    available: bool
    sentence: str
    """The driver's version and the devices; or why no GPU can be used, and the remedy."""


def cuda_status() -> CudaStatus:
    """Loads the CUDA driver if that has not happened yet, and returns whether it can be used."""
    sentence = ffi.new("const char **")
    status = lib.syncedmem_cuda_status(sentence)
    if status not in (Status.SUCCESS, Status.NO_GPU):
        check(status)
    return CudaStatus(status == Status.SUCCESS, ffi.string(sentence[0]).decode("utf-8", "replace"))


def stats() -> Stats:
    """The account: counts, bytes and nanoseconds. `set_accounting` switches it on."""
    written = ffi.new("syncedmem_stats_t *")
    written.size = ffi.sizeof("syncedmem_stats_t")
    check(lib.syncedmem_stats(written))
    made: Stats = _value(written[0])
    return made


_FORMS = {ffi.typeof(f"syncedmem_{name}_t"): form for name, form in (("sum", Sum), ("memory_stats", MemoryStats), ("stats", Stats))}


def _value(value: Any) -> Any:
    if not isinstance(value, ffi.CData):
        return value
    form = _FORMS[ffi.typeof(value)]
    return form(*(_value(getattr(value, field.name)) for field in dataclasses.fields(form)))


def reset_peaks() -> None:
    """Sets the peaks to what objects hold now."""
    check(lib.syncedmem_reset_peaks())


def report() -> str:
    """The report as text: calls of Caffe's functions, memory now and at the peak, counts of operations."""
    return read_text(_report)


def _report(text: Any, capacity: int, length: Any) -> None:
    check(lib.syncedmem_report(text, capacity, length))


def trace_start(path: Path) -> None:
    """Starts to record memory events in a file, which `syncedmem report` and `syncedmem export` read.

    Recorded events survive the process, however it ends.
    """
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError("a path has no NUL in it")
    status = lib.syncedmem_trace_start(name)
    if status != 0:
        raise failure(status, about=os.fsdecode(name))


def trace_stop() -> None:
    """Ends the trace, if there is one."""
    check(lib.syncedmem_trace_stop())


@contextlib.contextmanager
def trace(path: Path) -> Generator[None, None, None]:
    """Traces a `with` block."""
    trace_start(path)
    try:
        yield
    finally:
        trace_stop()


def trim(kind: Memory = Memory.ALL) -> None:
    """Returns idle memory of a kind to the system or the driver. Objects keep their data."""
    check(lib.syncedmem_trim(member(Memory, kind, "kind")))


def idle_bytes(kind: Memory = Memory.ALL) -> int:
    """Idle bytes of a kind of memory, kept for the next object."""
    nbytes = ffi.new("size_t *")
    check(lib.syncedmem_idle_bytes(member(Memory, kind, "kind"), nbytes))
    return int(nbytes[0])


def device_mismatches() -> int:
    """Number of accesses that called the driver while another device than that of the data was current."""
    count = ffi.new("uint64_t *")
    check(lib.syncedmem_device_mismatches(count))
    return int(count[0])


def blobs_computed_on_host() -> int:
    """Number of a blob's operations that ran on the host because there was no cuBLAS, though the data was on the device."""
    count = ffi.new("uint64_t *")
    check(lib.syncedmem_blob_computed_on_host(count))
    return int(count[0])
