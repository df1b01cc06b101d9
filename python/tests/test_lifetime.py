"""Whatever refers to memory keeps it, and nothing keeps it longer."""

from __future__ import annotations

import gc
import os
from typing import Any, Callable, Optional

import numpy as np
import pytest

import syncedmem
from cuda import Driver
from dlpack import consume
from syncedmem import SyncedMemory

pytestmark = pytest.mark.once

SIZE = 1 << 20

# What may be the last to refer to a memory, and how its content is read.
Holder = Callable[[SyncedMemory], Any]
HOLDERS: dict[str, Holder] = {
    "an array for reading": lambda mem: mem.cpu_data(),
    "an array for writing": lambda mem: mem.mutable_cpu_data(),
    "a typed array": lambda mem: mem.array("f4", (512, 512)).mutable_cpu_data(),
    "a slice": lambda mem: mem.cpu_data()[100:200],
    "a slice of a slice": lambda mem: mem.cpu_data()[100:200][::2],
    "another type": lambda mem: mem.cpu_data().view("i8"),
    "a transposed array": lambda mem: mem.array("u1", (1024, 1024)).cpu_data().T,
    "a broadcast array": lambda mem: np.broadcast_to(mem.cpu_data()[:1], (5,)),
    "a memoryview": lambda mem: mem.cpu_data().data,
    "a slice of a memoryview": lambda mem: mem.cpu_data().data[5:9],
    "asarray of the view": lambda mem: np.asarray(mem.array("u1")),
    "asarray of an access": lambda mem: np.asarray(mem.mutable_cpu()),
    "from_dlpack of an access": lambda mem: np.from_dlpack(mem.mutable_cpu()),
    "the view": lambda mem: mem.array("u1"),
    "an access": lambda mem: mem.cpu(),
    "another memory, lent to": lambda mem: syncedmem.from_dlpack(mem.mutable_cpu()),
    "the interface": lambda mem: mem.array("u1").__array_interface__,
}


def content(holder: Any) -> Any:
    if isinstance(holder, dict):
        return np.frombuffer(holder["data"], "u1")
    if hasattr(holder, "cpu_data"):
        return holder.cpu_data()
    if hasattr(holder, "__enter__") and not isinstance(holder, (np.ndarray, memoryview)):
        with holder as array:
            return array
    return np.asarray(holder)


@pytest.mark.parametrize("what", HOLDERS)
def test_the_last_to_refer_to_a_memory_keeps_it(what: str, alive: Callable[[], int]) -> None:
    mem: Optional[SyncedMemory] = SyncedMemory(SIZE)
    assert mem is not None
    mem.mutable_cpu_data()[:] = 1
    holder = HOLDERS[what](mem)
    mem = None
    assert alive() == SIZE
    # What would be handed out again, were it free, is written over.
    other = SyncedMemory(SIZE)
    other.mutable_cpu_data()[:] = 99
    other.close()
    seen = content(holder)
    assert (seen.reshape(-1).view("u1") if seen.flags.c_contiguous else seen).max() == 1
    del seen, holder
    assert alive() == 0


DEVICE_HOLDERS: dict[str, Holder] = {
    "an array for reading": lambda mem: mem.gpu_data(),
    "an array for writing": lambda mem: mem.mutable_gpu_data(),
    "a capsule": lambda mem: mem.mutable_gpu().__dlpack__(),
    "a versioned capsule": lambda mem: mem.array("f4").__dlpack__(max_version=(1, 0)),
    "a capsule of an array": lambda mem: mem.gpu_data().__dlpack__(max_version=(1, 0)),
    "another memory, lent to": lambda mem: syncedmem.from_dlpack(mem.mutable_gpu()),
    "an access that was asked for its address": lambda mem: (lambda it: (it, it.__cuda_array_interface__))(mem.gpu()),
}


@pytest.mark.parametrize("what", DEVICE_HOLDERS)
def test_the_last_to_refer_to_device_memory_keeps_it(simulated: Driver, what: str, alive: Callable[[], int]) -> None:
    mem: Optional[SyncedMemory] = SyncedMemory(SIZE)
    assert mem is not None
    address = mem.mutable_gpu_data().ptr
    simulated.write(address, b"\1" * SIZE)
    holder = DEVICE_HOLDERS[what](mem)
    mem = None
    assert alive() == SIZE
    assert simulated.read(address, 16) == b"\1" * 16
    del holder
    assert alive() == 0


def test_what_ends_inside_a_call_on_the_same_memory_does_not_hang() -> None:
    # A collection may begin anywhere in Python code, also inside the package while it holds the memory's lock.
    mem = SyncedMemory(4096)
    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(50):
            cycle: list[Any] = [mem.cpu_data(), mem.mutable_cpu().__dlpack__()]
            cycle.append(cycle)
            del cycle
            mem.exports, mem.head, repr(mem)
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert mem.exports == (0, 0)


def test_thousands_of_arrays_leave_nothing_behind(alive: Callable[[], int]) -> None:
    def resident() -> int:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def churn() -> None:
        for _ in range(1000):
            mem = SyncedMemory(65536)
            view = mem.array("f4")
            consume(view.mutable_cpu().__dlpack__()).delete()
            view.cpu().__dlpack__(max_version=(1, 0))
            np.asarray(view)
            mem.set_cpu_data(bytearray(65536))

    churn()
    before = resident()
    churn()
    # A leak of one in each turn would be 64 MiB.
    assert resident() - before < 16 << 20
    assert alive() == 0
