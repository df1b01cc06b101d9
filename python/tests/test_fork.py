"""A forked child has the host data; what needs the driver is an exception there."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from typing import Any, Callable

import pytest

import syncedmem
from cuda_driver import Driver
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


def test_the_child_waits_for_no_thread_of_its_parents() -> None:
    mem = SyncedMemory(64)
    holds, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with mem._handle.alone:
            holds.set()
            may_end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait()
    in_a_child(lambda: mem.exports)
    may_end.set()
    thread.join()
