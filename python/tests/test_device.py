"""The device side: which side is current, what is copied, and the CUDA array interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import syncedmem
from cuda import Driver
from syncedmem import Head, SyncedMemory


def test_an_array_of_the_host_sees_a_later_copy(simulated: Driver) -> None:
    view = SyncedMemory(32).array("f4")
    before = view.cpu_data()
    simulated.write(view.mutable_gpu_data().ptr, np.full(8, 3, "f4").tobytes())
    view.cpu_data()
    assert (before == 3).all()


def test_each_side_has_what_the_other_wrote(simulated: Driver) -> None:
    view = SyncedMemory(32).array("f4")
    view.mutable_cpu_data()[:] = range(8)
    assert np.frombuffer(simulated.read(view.gpu_data().ptr, 32), "f4").tolist() == list(range(8))
    simulated.write(view.mutable_gpu_data().ptr, np.full(8, 3, "f4").tobytes())
    assert (view.memory.head, view.memory.device, view.memory.owns_gpu) == (Head.HEAD_AT_GPU, 0, True)
    assert (view.cpu_data() == 3).all() and view.memory.head is Head.SYNCED
    view.overwrite_gpu_data()
    view.memory.release_cpu()
    assert not view.memory.owns_cpu
    view.overwrite_cpu_data()
    view.memory.release_gpu()
    assert not view.memory.owns_gpu and view.memory.device is None


def test_a_block_is_made_on_the_device_that_is_current(simulated: Driver) -> None:
    mem = SyncedMemory(4096)
    with simulated.current(1):
        array = mem.mutable_gpu_data()
    assert mem.device == array.device == array.__dlpack_device__()[1] == 1


def test_a_device_array_of_no_bytes_has_no_address(driver: Driver) -> None:
    array = SyncedMemory(0).array("f4").mutable_gpu_data()
    assert array.ptr == 0 and array.shape == (0,) and array.nbytes == 0
    assert array.__cuda_array_interface__["data"][0] == 0


def test_a_device_array_says_what_it_is(driver: Driver) -> None:
    said = repr(SyncedMemory(96).array("f4", (4, 6)).gpu_data())
    assert "float32" in said and "(4, 6)" in said and "device 0" in said and "read-only" in said


def test_a_device_array_is_no_array_of_the_host(driver: Driver) -> None:
    array = SyncedMemory(96).array("f4").gpu_data()
    with pytest.raises((TypeError, BufferError, RuntimeError)):
        np.from_dlpack(array)  # type: ignore[call-overload,arg-type,unused-ignore]
    with pytest.raises(TypeError):
        memoryview(array)  # type: ignore[arg-type]
    assert not hasattr(array, "__array_interface__")


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "f2", "f4", "f8", "c8", "c16", ">f4", "M8[ns]", "S4"])
def test_the_cuda_array_interface_is_that_of_version_3(driver: Driver, dtype: str) -> None:
    kind = np.dtype(dtype)
    array = SyncedMemory(kind.itemsize * 6).array(kind, (2, 3)).mutable_gpu_data()
    interface: dict[str, Any] = array.__cuda_array_interface__
    assert interface["version"] == 3
    assert interface["shape"] == (2, 3) and all(type(length) is int for length in interface["shape"])
    assert interface["typestr"] == kind.str
    assert interface["data"] == (array.ptr, False) and type(interface["data"][0]) is int
    assert interface.get("strides") is None  # C-contiguous
    assert interface["stream"] == 1  # the legacy default stream; 0 is not allowed
    assert interface.get("mask") is None


def test_the_cuda_array_interface_of_a_structure_describes_it(driver: Driver) -> None:
    kind = np.dtype([("x", "<f4"), ("y", "<i2")])
    interface = SyncedMemory(kind.itemsize * 4).array(kind).gpu_data().__cuda_array_interface__
    assert interface["typestr"] == "|V6" and interface["descr"] == kind.descr
    assert interface["data"][1] is True


def test_memory_can_be_pinned_and_unpinned(driver: Driver) -> None:
    mem = SyncedMemory(1 << 20)
    mem.mutable_cpu_data()[:] = 7
    mem.pin()
    assert mem.is_pinned and "pinned" in repr(mem)
    assert (mem.cpu_data() == 7).all()
    mem.unpin()
    assert not mem.is_pinned


# --- copies in flight -------------------------------------------------------------------------------


class Cupys:
    def __init__(self, address: int) -> None:
        self.ptr = address


class PyTorchs:
    def __init__(self, address: int) -> None:
        self.cuda_stream = address


class CudaPythons:
    def __init__(self, address: int) -> None:
        self.address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


@pytest.mark.parametrize("kind", [int, Cupys, PyTorchs, CudaPythons])
def test_a_stream_may_be_an_address_or_an_object_of_another_library(simulated: Driver, kind: Any) -> None:
    mem = SyncedMemory(4096)
    mem.mutable_cpu_data()
    with simulated.stream() as stream:
        mem.async_gpu_push(kind(stream))
        mem.wait()
        mem.record_stream(kind(stream))
        mem.stream_wait(kind(stream))
        mem.mutable_gpu_data()
        mem.async_cpu_pull(kind(stream))
        mem.wait()
    assert f"stream={stream:#x}" in simulated.log()


def test_no_stream_is_the_legacy_default_stream(driver: Driver) -> None:
    mem = SyncedMemory(4096)
    mem.mutable_cpu_data()
    mem.async_gpu_push()
    mem.record_stream(None)
    mem.stream_wait(None)
    mem.wait()
    assert mem.head is Head.SYNCED


@pytest.mark.parametrize("stream", ["1", 1.5, b"1", [1], True, object()])
def test_a_stream_of_something_else_is_a_type_error(stream: Any) -> None:
    mem = SyncedMemory(4096)
    mem.mutable_cpu_data()
    for use in (mem.async_gpu_push, mem.async_cpu_pull, mem.record_stream, mem.stream_wait):
        with pytest.raises(TypeError):
            use(stream)


@pytest.mark.parametrize("stream", [-1, 2**64, 2**80])
def test_a_stream_that_is_no_address_is_a_value_error(stream: int) -> None:
    with pytest.raises((ValueError, OverflowError)):
        SyncedMemory(4096).record_stream(stream)


def test_a_device_that_is_not_the_objects_is_counted_or_refused(simulated: Driver) -> None:
    mem = SyncedMemory(4096)
    mem.mutable_cpu_data()
    mem.gpu_data()
    mem.mutable_cpu_data()
    before = syncedmem.device_mismatches()
    with simulated.current(1):
        mem.gpu_data()
        assert syncedmem.device_mismatches() == before + 1
        syncedmem.set_device_check(True)
        try:
            with pytest.raises(syncedmem.Error) as caught:
                mem.gpu_data()
        finally:
            syncedmem.set_device_check(False)
    assert caught.value.status is syncedmem.Status.WRONG_DEVICE
