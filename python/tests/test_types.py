"""A user's program, as type checkers see it: they read this file, with `--strict`; that it runs is the least of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import syncedmem
from syncedmem import DeviceArray, Eviction, Head, SyncedArray, SyncedMemory

KNOWS_VERSIONS = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1)


def filled(view: SyncedArray, value: float) -> npt.NDArray[np.float32]:
    with view.overwrite_cpu() as a:
        a[:] = value
    return view.cpu_data()


def test_numpy_takes_views_and_accesses_as_exporters_of_dlpack() -> None:
    mem = SyncedMemory(24, name="conv1")
    view = mem.array(np.float32, (2, 3))
    assert filled(view, 2).sum() == 12
    written: npt.NDArray[Any] = np.from_dlpack(view.mutable_cpu())
    assert written.sum() == 12
    if KNOWS_VERSIONS:
        read: npt.NDArray[Any] = np.from_dlpack(view)
        assert read.sum() == 12
    both: npt.NDArray[Any] = np.asarray(view) + np.asarray(view.cpu())
    assert both.sum() == 24


def test_what_is_told_has_a_type() -> None:
    mem = SyncedMemory(24)
    head: Head = mem.head
    device: int | None = mem.device
    exports: tuple[int, int] = mem.exports
    mem.evictable = Eviction.REDUNDANT
    assert (head.name, device, exports) == ("UNINITIALIZED", None, (0, 0))
    lent: SyncedArray = syncedmem.from_dlpack(bytearray(4), copy=True)
    assert lent.memory.nbytes + sum(lent.shape) == 8
    status: bool = syncedmem.cuda_status().available
    if status:
        array: DeviceArray = mem.gpu_data()
        assert array.nbytes == 24
    with pytest.raises(syncedmem.OutOfMemoryError) as raised:
        SyncedMemory(2**62)
    name: str = raised.value.status.name
    assert name == "OUT_OF_MEMORY"
