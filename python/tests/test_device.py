"""The device side: which side is current, what is copied, and the CUDA array interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuda_driver import Driver
from syncedmem import Head, SyncedMemory


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


def test_a_device_array_is_no_array_of_the_host(driver: Driver) -> None:
    array = SyncedMemory(96).array("f4", (4, 6)).gpu_data()
    assert all(word in repr(array) for word in ("float32", "(4, 6)", "device 0", "read-only"))
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
    structure = np.dtype([("x", "<f4"), ("y", "<i2")])
    interface = SyncedMemory(24).array(structure).gpu_data().__cuda_array_interface__
    assert (interface["typestr"], interface["descr"], interface["data"][1]) == ("|V6", structure.descr, True)


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


@pytest.mark.parametrize("stream", ["1", 1.5, b"1", [1], True, object()])
def test_a_stream_of_something_else_is_a_type_error(stream: Any) -> None:
    mem = SyncedMemory(4096)
    mem.mutable_cpu_data()
    for use in (mem.async_gpu_push, mem.async_cpu_pull, mem.record_stream, mem.stream_wait):
        with pytest.raises(TypeError):
            use(stream)
