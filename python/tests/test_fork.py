"""A forked child has the host data; what needs the driver is an exception there."""

from __future__ import annotations

import gc
import os
import signal
import threading
import traceback
from typing import Any, Callable

import numpy as np
import pytest

import syncedmem
from cuda import Driver
from dlpack import consume
from syncedmem import Status, SyncedMemory

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def in_a_child(work: Callable[[], Any]) -> None:
    """Runs `work` in a forked child, which must come to its end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(300)  # one that waits for ever ends by it
        status = 1
        try:
            try:
                work()
                status = 0
            except BaseException:
                os.write(writing, traceback.format_exc().encode())
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as said:
        text = said.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, text or f"the child ended with {status}"


def test_the_child_reads_and_writes_copies_of_the_host_data() -> None:
    view = SyncedMemory(65536).array("f4")
    array = view.mutable_cpu_data()
    array[:] = 3

    def child() -> None:
        assert (view.cpu_data() == 3).all()
        array[:] = 4
        assert (view.cpu_data() == 4).all()

    in_a_child(child)
    assert (array == 3).all()


def test_the_child_makes_and_ends_memories() -> None:
    kept = SyncedMemory(65536)
    array = kept.mutable_cpu_data()
    seen = consume(kept.mutable_cpu().__dlpack__())

    def child() -> None:
        nonlocal array
        new = SyncedMemory(65536).mutable_cpu_data()
        new[:] = 1
        del array
        seen.delete()
        gc.collect()
        assert kept.exports == (0, 0)
        kept.close()
        assert (new == 1).all() and syncedmem.report()

    in_a_child(child)
    assert kept.exports == (2, 0)
    seen.delete()


def test_a_lock_that_another_thread_held_is_not_held_in_the_child(simulated: Driver) -> None:
    syncedmem.set_pinning(syncedmem.Pinning.ALWAYS)
    mem = SyncedMemory(65536)
    mem.mutable_gpu_data()
    reader = threading.Thread(target=mem.cpu_data)

    def child() -> None:
        assert mem.nbytes == 65536 and mem.exports[1] == 0 and repr(mem)
        with pytest.raises(syncedmem.Error) as caught:
            mem.cpu_data()
        assert caught.value.status is Status.NO_GPU

    try:
        with simulated.stream() as stream:
            with simulated.held():
                mem.async_cpu_pull(stream)
                reader.start()
                reader.join(0.05)
                assert reader.is_alive()
                in_a_child(child)
            reader.join()
    finally:
        syncedmem.set_pinning(syncedmem.Pinning.AUTO)


def test_device_calls_in_the_child_say_that_there_is_no_gpu(driver: Driver) -> None:
    mem = SyncedMemory(65536)
    mem.mutable_cpu_data()[:] = 5
    mem.gpu_data()
    newer = SyncedMemory(65536)
    newer.mutable_gpu_data()

    def child() -> None:
        assert (mem.cpu_data() == 5).all()
        calls: list[Callable[[], Any]] = [
            newer.cpu_data,
            SyncedMemory(4096).gpu_data,
            lambda: newer.array("f4").__dlpack__(dl_device=(1, 0), max_version=(1, 0)),
        ]
        for call in calls:
            with pytest.raises(syncedmem.Error) as caught:
                call()
            assert caught.value.status is Status.NO_GPU and "fork" in str(caught.value)
        assert not syncedmem.cuda_status().available

    in_a_child(child)
    assert mem.head is syncedmem.Head.SYNCED


def test_the_child_frees_nothing_of_the_parents(driver: Driver) -> None:
    mem = SyncedMemory(65536)
    device = mem.mutable_gpu_data()
    capsule = mem.gpu().__dlpack__(max_version=(1, 0))

    def child() -> None:
        nonlocal mem, device, capsule
        del mem, device, capsule
        gc.collect()

    in_a_child(child)
    assert mem.exports == (0, 2)
    assert mem.cpu_data().shape == (65536,)


def test_a_process_of_multiprocessing_computes_with_what_it_inherited() -> None:
    import multiprocessing

    view = SyncedMemory(65536).array("f4")
    view.mutable_cpu_data()[:] = 2
    context = multiprocessing.get_context("fork")
    answer = context.Value("d", 0.0)

    def work() -> None:
        answer.value = float(np.asarray(view).sum())

    process = context.Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == 0 and answer.value == 32768
