"""Accesses as context managers, and passed to a consumer directly."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cuda_driver import Driver
from syncedmem import DeviceArray, Head, SyncedMemory

HOST = ["cpu", "mutable_cpu", "overwrite_cpu"]
DEVICE = ["gpu", "mutable_gpu", "overwrite_gpu"]


def test_an_access_that_nobody_enters_touches_nothing() -> None:
    mem = SyncedMemory(4096)
    for name in HOST + DEVICE:
        repr(getattr(mem, name)()), repr(getattr(mem.array("f4"), name)())
    assert mem.head is Head.UNINITIALIZED and mem.exports == (0, 0)


@pytest.mark.parametrize("name", ["mutable_cpu", "overwrite_cpu"])
def test_writing_on_the_host_gives_an_array_that_is_writable_until_the_block_ends(name: str) -> None:
    mem = SyncedMemory(4096)
    with getattr(mem.array("f4"), name)() as array:
        array[:] = 5
    with pytest.raises(ValueError):
        array[0] = 6
    with pytest.raises(ValueError):
        array.flags.writeable = True
    assert mem.array("f4").cpu_data()[0] == 5


def test_a_late_write_through_a_part_of_the_array_stays_in_the_memory() -> None:
    # NumPy keeps no list of an array's views, so the package cannot make them read-only. They never dangle.
    mem = SyncedMemory(65536)
    with mem.mutable_cpu() as array:
        part = array[10:20]
    del array
    mem = None  # type: ignore[assignment]
    gc.collect()
    if part.flags.writeable:
        part[:] = 1
    assert part.shape == (10,)


def test_an_exception_goes_through_and_ends_the_access() -> None:
    mem = SyncedMemory(4096)
    with pytest.raises(KeyError):
        with mem.mutable_cpu() as array:
            array[:] = 1
            raise KeyError("mine")
    assert not array.flags.writeable
    assert mem.cpu_data()[0] == 1


def test_accesses_may_be_nested_and_entered_again() -> None:
    mem = SyncedMemory(4096)
    access = mem.mutable_cpu()
    with access as outer:
        with access as inner, mem.cpu() as read:
            inner[0] = 1
            assert outer[0] == read[0] == 1
        assert outer.flags.writeable and not inner.flags.writeable
        outer[0] = 2
    with access as again:
        assert again[0] == 2


@pytest.mark.parametrize("name", HOST)
def test_asarray_of_an_access_does_it_without_a_copy(name: str) -> None:
    view = SyncedMemory(4096).array("f4", (32, 32))
    array = np.asarray(getattr(view, name)())
    assert array.shape == (32, 32) and array.ctypes.data == view.cpu_data().ctypes.data
    assert array.flags.writeable == (name != "cpu")


# --- the device ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name, readonly", [("gpu", True), ("mutable_gpu", False), ("overwrite_gpu", False)])
def test_an_access_to_the_device_gives_a_device_array(driver: Driver, name: str, readonly: bool) -> None:
    mem = SyncedMemory(4096)
    with getattr(mem.array("f4", (32, 32)), name)() as array:
        assert type(array) is DeviceArray
        assert (array.shape, array.nbytes, array.device) == ((32, 32), 4096, 0) and array.dtype == np.float32
        assert array.readonly is readonly and array.ptr
        assert mem.exports == (0, 1)
    del array
    assert mem.exports == (0, 0)


def test_a_device_array_gives_nothing_out_after_its_block(driver: Driver) -> None:
    with SyncedMemory(4096).mutable_gpu() as array:
        assert array.__cuda_array_interface__["shape"] == (4096,)
    with pytest.raises(BufferError):
        array.__cuda_array_interface__
    with pytest.raises(BufferError):
        array.__dlpack__(max_version=(1, 0))
    assert array.ptr, "the address stays valid while the array lives"


def test_a_block_that_ends_in_one_thread_ends_none_in_another() -> None:
    access = SyncedMemory(4096).mutable_cpu()
    entered, may_leave = threading.Event(), threading.Event()

    def inside() -> None:
        with access as array:
            entered.set()
            may_leave.wait()
            array[0] = 1

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(inside)
        entered.wait()
        with access as mine:
            # The other thread entered first, and leaves first.
            may_leave.set()
            done.result()
            mine[1] = 2
    assert not mine.flags.writeable
