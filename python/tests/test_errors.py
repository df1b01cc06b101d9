"""The library's failures as exceptions, with its sentence and its status."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest

import syncedmem
from conftest import Program, ended_well
from cuda import Driver
from syncedmem import Error, Head, OutOfMemoryError, Status, SyncedMemory


def test_the_kinds_of_errors_are_pythons_own() -> None:
    assert issubclass(OutOfMemoryError, MemoryError)
    assert issubclass(syncedmem.ExportedError, BufferError)
    assert issubclass(Error, RuntimeError)


def test_memory_that_runs_out_is_a_memory_error_with_the_sentence_and_the_status() -> None:
    with pytest.raises(MemoryError) as caught:
        SyncedMemory(2**46).mutable_cpu_data()
    assert isinstance(caught.value, OutOfMemoryError) and caught.value.status is Status.OUT_OF_MEMORY
    assert "64" in str(caught.value) and "TiB" in str(caught.value), caught.value


def test_after_a_memory_error_everything_works() -> None:
    enormous = SyncedMemory(2**46)
    for _ in range(3):
        with pytest.raises(MemoryError):
            enormous.cpu_data()
    assert enormous.head is Head.UNINITIALIZED
    assert not SyncedMemory(4096).cpu_data().any()


@pytest.mark.once
def test_the_librarys_own_limit_is_a_memory_error(program: Program) -> None:
    done = program(
        """
import syncedmem
small = syncedmem.SyncedMemory(1 << 20)
small.mutable_cpu_data()[:] = 1
try:
    syncedmem.SyncedMemory(64 << 20).mutable_cpu_data()
except MemoryError as error:
    assert "SYNCEDMEM_HOST_LIMIT" in str(error), error
else:
    raise SystemExit("it was allocated")
assert (small.cpu_data() == 1).all()
""",
        SYNCEDMEM_HOST_LIMIT="16M",
    )
    ended_well(done)


@pytest.mark.once
def test_an_address_space_that_ends_is_a_memory_error(program: Program) -> None:
    done = program(
        """
import resource, syncedmem
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)
kept = []
try:
    for _ in range(100):
        mem = syncedmem.SyncedMemory(8 << 20)
        mem.mutable_cpu_data()[:] = 1
        kept.append(mem)
except MemoryError as error:
    assert isinstance(error, syncedmem.OutOfMemoryError), error
else:
    raise SystemExit("it was allocated")
assert all((mem.cpu_data() == 1).all() for mem in kept)
"""
    )
    ended_well(done)


def test_device_memory_that_runs_out_is_a_memory_error(simulated: Driver) -> None:
    mem = SyncedMemory(512 << 20)
    with pytest.raises(MemoryError) as caught:
        mem.mutable_gpu_data()
    assert isinstance(caught.value, OutOfMemoryError) and "device" in str(caught.value)
    assert mem.head is Head.UNINITIALIZED and mem.exports == (0, 0)


def test_a_failing_driver_is_an_error_that_names_its_call(simulated: Driver) -> None:
    mem = SyncedMemory(4096)
    mem.mutable_cpu_data()[:] = 9
    mem.gpu_data()
    mem.mutable_cpu_data()
    with simulated.failing("cuMemcpy", 999), pytest.raises(RuntimeError) as caught:
        mem.gpu_data()
    assert isinstance(caught.value, Error) and caught.value.status is Status.DRIVER
    assert "cuMemcpy" in str(caught.value)
    assert mem.head is Head.HEAD_AT_CPU and (mem.cpu_data() == 9).all()
    mem.gpu_data()


def test_a_state_that_does_not_allow_it_is_an_error(driver: Driver) -> None:
    mem = SyncedMemory(4096)
    for use in (mem.async_gpu_push, mem.async_cpu_pull, mem.release_cpu, mem.release_gpu, mem.pin):
        with pytest.raises(Error) as caught:
            use()
        assert caught.value.status is Status.INVALID_STATE and str(caught.value)


def test_what_is_exported_is_a_buffer_error_with_the_sentence_and_the_status() -> None:
    mem = SyncedMemory(4096)
    array = mem.cpu_data()
    for use in (mem.close, lambda: mem.set_cpu_data(np.zeros(4096, "u1"))):
        with pytest.raises(BufferError) as caught:
            use()
        assert isinstance(caught.value, syncedmem.ExportedError)
        assert caught.value.status is Status.EXPORTED and "in use" in str(caught.value)
    assert array.shape == (4096,)


NEEDS_A_GPU: list[Callable[[SyncedMemory], Any]] = [
    lambda mem: mem.gpu_data(),
    lambda mem: mem.mutable_gpu_data(),
    lambda mem: mem.overwrite_gpu_data(),
    lambda mem: mem.gpu().__enter__(),
    lambda mem: mem.mutable_gpu().__dlpack__(),
    lambda mem: mem.mutable_gpu().__dlpack_device__(),
    lambda mem: mem.overwrite_gpu().__cuda_array_interface__,
    lambda mem: mem.async_gpu_push(),
    lambda mem: mem.pin(),
]


@pytest.mark.no_driver
@pytest.mark.parametrize("use", NEEDS_A_GPU)
def test_without_a_gpu_the_sentence_says_why(use: Callable[[SyncedMemory], Any]) -> None:
    mem = SyncedMemory(4096)
    mem.mutable_cpu_data()[:] = 1
    with pytest.raises(RuntimeError) as caught:
        use(mem)
    assert isinstance(caught.value, Error) and caught.value.status is Status.NO_GPU
    assert syncedmem.cuda_status().sentence in str(caught.value)
    assert mem.head is Head.HEAD_AT_CPU and (mem.cpu_data() == 1).all()


@pytest.mark.no_driver
def test_without_a_gpu_attributes_look_absent_to_nobody() -> None:
    # An AttributeError would be one: `hasattr` is how consumers look for the protocol.
    with pytest.raises(RuntimeError):
        hasattr(SyncedMemory(4096).gpu(), "__cuda_array_interface__")


@pytest.mark.no_driver
def test_without_a_gpu_the_status_says_why() -> None:
    status = syncedmem.cuda_status()
    assert status.available is False and len(status.sentence) > 20


def test_with_a_gpu_the_status_names_the_devices(driver: Driver) -> None:
    available, sentence = syncedmem.cuda_status()
    assert available is True and "device" in sentence


def test_errors_belong_to_the_thread_that_met_them() -> None:
    import threading

    seen: list[str] = []

    def meets_one() -> None:
        try:
            SyncedMemory(2**46).cpu_data()
        except MemoryError as error:
            seen.append(str(error))

    with pytest.raises(Error) as mine:
        SyncedMemory(4096).release_cpu()
    thread = threading.Thread(target=meets_one)
    thread.start()
    thread.join()
    assert "TiB" in seen[0] and "TiB" not in str(mine.value)


def test_an_error_can_be_pickled() -> None:
    import pickle

    with pytest.raises(Error) as caught:
        SyncedMemory(4096).release_cpu()
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.status is Status.INVALID_STATE


def test_a_status_can_be_compared_with_cs_number() -> None:
    assert Status.NO_GPU == syncedmem.lib.SYNCEDMEM_ERROR_NO_GPU
