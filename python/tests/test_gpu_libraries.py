"""PyTorch and CuPy on a real GPU, whose kernels run on the memory."""

from __future__ import annotations

import gc
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import syncedmem
from cuda_driver import Driver
from syncedmem import Blob, Head, SyncedArray, SyncedMemory

# At 16 MiB a copy from pageable memory continues after its call.
LENGTH = 1 << 22
VALUES = (np.arange(LENGTH) % 1000).astype("f4")


@pytest.fixture
def torch(real: Driver) -> Any:
    return pytest.importorskip("torch")


@pytest.fixture
def cupy(real: Driver) -> Any:
    return pytest.importorskip("cupy")


def filled() -> SyncedArray:
    made = SyncedMemory(VALUES.nbytes).array("f4")
    made.mutable_cpu_data()[:] = VALUES
    return made


Doubled = Callable[[SyncedArray], object]


def by_torch(view: SyncedArray) -> object:
    tensor = pytest.importorskip("torch").from_dlpack(view.mutable_gpu())
    assert tensor.is_cuda and tensor.data_ptr() == view.gpu_data().ptr
    tensor *= 2
    return tensor


def by_cupy(view: SyncedArray) -> object:
    array = pytest.importorskip("cupy").from_dlpack(view.mutable_gpu())
    assert array.data.ptr == view.gpu_data().ptr
    array *= 2
    return array


def by_cupys_interface(view: SyncedArray) -> object:
    array = pytest.importorskip("cupy").asarray(view.mutable_gpu())
    assert array.data.ptr == view.gpu_data().ptr
    array *= 2
    return array


@pytest.mark.parametrize("double", [by_torch, by_cupy, by_cupys_interface])
def test_a_kernel_and_the_host_see_what_the_other_wrote(real: Driver, alive: Callable[[], int], double: Doubled) -> None:
    view = filled()
    for times in (2, 4, 8):
        kept = double(view)
        assert view.memory.head is Head.HEAD_AT_GPU
        assert (view.cpu_data() == times * VALUES).all()
        del kept
        view.mutable_cpu_data()
    before = alive()
    kept = double(view)
    del view
    gc.collect()
    assert alive() == before > 0, "what a kernel may use is not given back"
    del kept
    gc.collect()
    assert alive() == 0


@pytest.fixture
def streams(torch: Any) -> Iterator[list[Any]]:
    yield [torch.cuda.Stream() for _ in range(4)]
    torch.cuda.synchronize()


def test_a_consumers_stream_waits_for_the_copy_to_the_device(torch: Any, streams: list[Any]) -> None:
    view = filled()
    for times in range(1, 20):
        stream = streams[times % len(streams)]
        view.mutable_cpu_data()[:] = times * VALUES
        with torch.cuda.stream(stream):
            total = torch.from_dlpack(view.gpu()).double().sum()
        stream.synchronize()
        assert float(total) == times * VALUES.sum(dtype="f8")


def test_a_push_and_kernels_on_a_stream_of_pytorchs_are_in_order(torch: Any, streams: list[Any]) -> None:
    view = filled()
    for times in range(1, 20):
        stream = streams[times % len(streams)]
        view.mutable_cpu_data()[:] = times * VALUES
        view.memory.async_gpu_push(stream)
        with torch.cuda.stream(stream):
            tensor = torch.from_dlpack(view.mutable_gpu())
            tensor += 1
        del tensor
        view.memory.async_cpu_pull(stream)
        assert (view.cpu_data() == times * VALUES + 1).all()


def test_memory_that_a_stream_still_reads_is_not_handed_out_again(torch: Any, streams: list[Any]) -> None:
    for times in range(1, 40):
        view = SyncedMemory(VALUES.nbytes).array("f4")
        view.mutable_cpu_data()[:] = times
        stream = streams[times % len(streams)]
        with torch.cuda.stream(stream):
            tensor = torch.from_dlpack(view.gpu())
            total = sum(tensor.double().sum() for _ in range(20))
        view.memory.record_stream(stream)
        del tensor, view
        other = SyncedMemory(VALUES.nbytes).array("f4")
        other.mutable_cpu_data()[:] = -1
        other.gpu_data()
        stream.synchronize()
        assert float(total) == 20.0 * times * LENGTH


def test_a_tensor_of_pytorchs_can_be_the_device_side(torch: Any) -> None:
    tensor = torch.from_numpy(VALUES).cuda()
    view = syncedmem.from_dlpack(tensor)
    assert view.memory.head is Head.HEAD_AT_GPU and view.gpu_data().ptr == tensor.data_ptr()
    assert (view.cpu_data() == VALUES).all()
    view.mutable_cpu_data()[:] = 3
    view.gpu_data()
    assert bool((tensor == 3).all())


def test_an_array_of_cupys_can_be_the_device_side(cupy: Any) -> None:
    array = cupy.asarray(VALUES)
    view = syncedmem.from_dlpack(array)
    assert view.gpu_data().ptr == array.data.ptr and (view.cpu_data() == VALUES).all()
    view.mutable_cpu_data()[:] = 3
    view.gpu_data()
    assert bool((array == 3).all())


def test_a_blob_that_is_newer_on_the_device_becomes_a_tensor_there(torch: Any) -> None:
    blob = Blob((200, 300))
    blob.data.mutable_cpu_data()[...] = 2
    blob.data.mutable_gpu_data()
    tensor = blob.to_torch()
    assert tensor.is_cuda and tuple(tensor.shape) == (200, 300)
    tensor += 1
    assert (blob.data.cpu_data() == 3).all()


def test_out_of_device_memory_is_a_memory_error_and_pytorch_goes_on(torch: Any) -> None:
    free, _ = torch.cuda.mem_get_info()
    with pytest.raises(MemoryError, match="device"):
        SyncedMemory(2 * free).mutable_gpu_data()
    assert float(torch.ones(1000, device="cuda").sum()) == 1000
