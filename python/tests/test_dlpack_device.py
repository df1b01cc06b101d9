"""DLPack capsules of the device side, on the simulated driver: no consumer is there, so they are looked at byte by byte."""

from __future__ import annotations

from typing import Any, Callable, Optional

import numpy as np
import pytest

import syncedmem
from cuda import Driver
from dlpack import CPU, CUDA, FLOAT, IS_COPIED, READ_ONLY, Producer, consume, name_of, NAMES, see
from syncedmem import Head, SyncedArray, SyncedMemory


def on_device(nbytes: int = 96) -> SyncedArray:
    """A view whose data are on the device."""
    view = SyncedMemory(nbytes).array("f4")
    view.mutable_gpu_data()
    return view


CAPSULES: list[tuple[str, Callable[[SyncedArray], Any], bool]] = [
    ("the view", lambda view: view, True),
    ("an access for reading", lambda view: view.gpu(), True),
    ("an access for writing", lambda view: view.mutable_gpu(), False),
    ("an access for overwriting", lambda view: view.overwrite_gpu(), False),
    ("an array for reading", lambda view: view.gpu_data(), True),
    ("an array for writing", lambda view: view.mutable_gpu_data(), False),
    ("an array for overwriting", lambda view: view.overwrite_gpu_data(), False),
]
names = [each[0] for each in CAPSULES]


@pytest.mark.parametrize("what, of, readonly", CAPSULES, ids=names)
def test_a_versioned_capsule_says_what_the_memory_is(
    driver: Driver, what: str, of: Callable[[Any], Any], readonly: bool
) -> None:
    view = on_device().memory.array("f4", (4, 6))
    seen = see(of(view).__dlpack__(max_version=(1, 0)))
    assert seen.versioned and seen.version[0] == 1
    assert seen.flags == (READ_ONLY if readonly else 0)
    assert seen.data == view.gpu_data().ptr
    assert seen.device == (CUDA, 0)
    assert (seen.dtype, seen.shape, seen.strides, seen.byte_offset) == ((FLOAT, 32, 1), (4, 6), (6, 1), 0)


@pytest.mark.parametrize("what, of, readonly", CAPSULES, ids=names)
def test_a_legacy_capsule_is_for_writing_alone(
    driver: Driver, what: str, of: Callable[[Any], Any], readonly: bool
) -> None:
    source = of(on_device())
    if readonly:
        with pytest.raises(BufferError, match="mutable_gpu"):
            source.__dlpack__()
    else:
        capsule = source.__dlpack__()
        assert name_of(capsule) == NAMES[False]
        assert see(capsule).device == (CUDA, 0)


def test_an_access_says_the_device_before_there_is_a_block(simulated: Driver) -> None:
    with simulated.current(1):
        access = SyncedMemory(96).array("f4").mutable_gpu()
        assert access.__dlpack_device__() == (CUDA, 1)
        assert see(access.__dlpack__()).device == (CUDA, 1)


def test_a_view_exports_the_side_that_is_current(driver: Driver) -> None:
    view = SyncedMemory(96).array("f4")

    def side() -> int:
        device: int = view.__dlpack_device__()[0]
        capsule = view.__dlpack__(max_version=(1, 0))
        assert see(capsule).device[0] == device
        return device

    assert side() == CPU
    view.mutable_gpu_data()
    assert side() == CUDA
    assert view.memory.head is Head.HEAD_AT_GPU, "no copy was made"
    view.cpu_data()
    assert side() == CPU, "the host, if both are current"


def test_a_view_exports_the_side_that_is_asked_for(simulated: Driver) -> None:
    view = SyncedMemory(96).array("f4")
    view.mutable_cpu_data()[:] = 5
    capsule = view.__dlpack__(dl_device=(CUDA, 0), max_version=(1, 0))
    assert simulated.read(see(capsule).data, 96) == np.full(24, 5, "f4").tobytes()
    assert view.memory.head is Head.SYNCED
    view.mutable_gpu_data()
    back = view.__dlpack__(dl_device=(CPU, 0), max_version=(1, 0))
    assert see(back).device == (CPU, 0) and view.memory.head is Head.SYNCED


def test_a_side_that_is_not_current_is_not_exported_where_no_copy_may_be_made(simulated: Driver) -> None:
    view = SyncedMemory(96).array("f4")
    view.mutable_cpu_data()
    with pytest.raises(BufferError):
        view.__dlpack__(dl_device=(CUDA, 0), copy=False, max_version=(1, 0))
    view.mutable_gpu_data()
    simulated.forget()
    with pytest.raises(BufferError):
        view.__dlpack__(dl_device=(CPU, 0), copy=False, max_version=(1, 0))
    assert simulated.copies() == 0 and view.memory.head is Head.HEAD_AT_GPU
    view.cpu_data()
    for device in ((CPU, 0), (CUDA, 0)):
        assert see(view.__dlpack__(dl_device=device, copy=False, max_version=(1, 0))).device == device


@pytest.mark.parametrize("device", [(CUDA, 1), (CUDA, 99), (CUDA, -1), (3, 0), (10, 0)])
def test_a_device_that_it_is_not_on_is_a_buffer_error(driver: Driver, device: tuple[int, int]) -> None:
    view = on_device()
    for of in (view, view.mutable_gpu(), view.mutable_gpu_data()):
        with pytest.raises(BufferError):
            of.__dlpack__(dl_device=device, max_version=(1, 0))
    del of
    assert view.memory.exports == (0, 0)


@pytest.mark.parametrize("what, of, readonly", CAPSULES, ids=names)
def test_a_copy_is_the_consumers_own(simulated: Driver, what: str, of: Callable[[Any], Any], readonly: bool) -> None:
    view = on_device()
    simulated.write(view.mutable_gpu_data().ptr, np.full(24, 7, "f4").tobytes())
    source = of(view)
    seen = consume(source.__dlpack__(copy=True, max_version=(1, 0)))
    assert seen.device == (CUDA, 0), "a copy is where the original is"
    assert seen.flags == IS_COPIED
    assert seen.data != view.gpu_data().ptr
    if "overwriting" not in what:
        assert simulated.read(seen.data, 96) == np.full(24, 7, "f4").tobytes()
    seen.delete()


# --- the contract ---------------------------------------------------------------------------------------


def test_an_array_for_overwriting_does_not_lose_what_was_written_when_it_is_exported_again(simulated: Driver) -> None:
    array = SyncedMemory(96).array("f4").overwrite_gpu_data()
    simulated.write(array.ptr, b"\3" * 96)
    capsules = [array.__dlpack__(), array.__dlpack__(max_version=(1, 0))]
    assert all(simulated.read(see(capsule).data, 96) == b"\3" * 96 for capsule in capsules)


def test_an_array_for_overwriting_that_is_exported_after_a_write_to_the_host_has_that(simulated: Driver) -> None:
    view = SyncedMemory(96).array("f4")
    array = view.overwrite_gpu_data()
    view.mutable_cpu_data()[:] = 5
    capsule = array.__dlpack__()
    assert simulated.read(see(capsule).data, 96) == np.full(24, 5, "f4").tobytes()


# --- streams ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [None, 1, 2, -1])
def test_the_streams_that_dlpack_numbers_are_taken(driver: Driver, stream: Optional[int]) -> None:
    view = on_device()
    for of in (view, view.gpu(), view.mutable_gpu_data()):
        assert see(of.__dlpack__(stream=stream, max_version=(1, 0))).device == (CUDA, 0)


@pytest.mark.parametrize("stream", [0, -2, -100])
def test_a_stream_that_dlpack_forbids_is_a_value_error(driver: Driver, stream: int) -> None:
    view = on_device()
    for of in (view, view.gpu(), view.mutable_gpu_data()):
        with pytest.raises(ValueError):
            of.__dlpack__(stream=stream, max_version=(1, 0))
    del of
    assert view.memory.exports == (0, 0)


@pytest.mark.parametrize("stream", ["1", 1.0, object(), True])
def test_a_stream_of_something_else_is_a_type_error(driver: Driver, stream: Any) -> None:
    with pytest.raises(TypeError):
        on_device().__dlpack__(stream=stream, max_version=(1, 0))


def test_the_consumers_stream_waits_for_what_the_library_has_started(simulated: Driver) -> None:
    mem = SyncedMemory(96)
    mem.mutable_cpu_data()
    with simulated.stream() as stream:
        simulated.forget()
        capsule = mem.gpu().__dlpack__(stream=stream, max_version=(1, 0))
        log = simulated.log()
    assert see(capsule).device == (CUDA, 0)
    waits = [line for line in log.splitlines() if line.startswith("cuStreamWaitEvent")]
    assert len(waits) == 1 and f"stream={stream:#x}" in waits[0], log
    assert log.index("cuMemcpy") < log.index("cuEventRecord") < log.index("cuStreamWaitEvent")


# --- device memory of others ---------------------------------------------------------------------------------


def test_device_memory_of_another_library_is_borrowed(simulated: Driver) -> None:
    other = SyncedMemory(96).array("f4", (4, 6))
    simulated.write(other.mutable_gpu_data().ptr, np.full(24, 2, "f4").tobytes())
    view = syncedmem.from_dlpack(other.mutable_gpu())
    assert view.shape == (4, 6) and view.dtype == np.float32
    assert view.memory.head is Head.HEAD_AT_GPU and not view.memory.owns_gpu and view.memory.device == 0
    assert view.gpu_data().ptr == other.gpu_data().ptr
    assert (view.cpu_data() == 2).all()


def test_lent_device_memory_is_kept_and_let_go(simulated: Driver) -> None:
    other = SyncedMemory(96)
    producer = Producer(bytes(96), address=other.mutable_gpu_data().ptr, device=(CUDA, 0))
    mem = SyncedMemory(96)
    mem.set_gpu_data(producer)
    assert producer.asked[0].get("stream") in (None, 1) and producer.deleted == 0
    simulated.write(other.mutable_gpu_data().ptr, b"\6" * 96)
    assert (mem.cpu_data() == 6).all()
    mem.close()
    assert producer.deleted == 1


def test_host_memory_is_no_device_memory() -> None:
    mem = SyncedMemory(96)
    producer = Producer(bytes(96))
    for lent in (producer, np.zeros(96, "u1")):
        with pytest.raises(BufferError):
            mem.set_gpu_data(lent)
    assert producer.deleted == 0
    with pytest.raises(BufferError):
        mem.set_cpu_data(Producer(bytes(96), device=(CUDA, 0)))


@pytest.mark.no_driver
def test_device_memory_cannot_be_lent_where_there_is_no_gpu() -> None:
    producer = Producer(bytes(96), device=(CUDA, 0), address=4096)
    with pytest.raises(syncedmem.Error) as caught:
        SyncedMemory(96).set_gpu_data(producer)
    assert caught.value.status is syncedmem.Status.NO_GPU and producer.deleted == 0


def test_a_copy_is_on_the_device_that_was_asked_for_or_is_refused(simulated: Driver) -> None:
    with simulated.current(1):
        device = SyncedMemory(96).mutable_gpu()
        assert see(device.__dlpack__(copy=True, max_version=(1, 0))).device == (CUDA, 1)
    with simulated.current(0), pytest.raises(BufferError, match="current"):
        device.__dlpack__(copy=True, max_version=(1, 0))
