"""Threads: calls release the GIL, objects stay consistent, and deleters run on threads without Python."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from typing import Any, Callable

import numpy as np
import pytest

import syncedmem
from cuda_driver import Driver
from dlpack import Producer, consume
from syncedmem import Head, SyncedMemory, Tensor, Workspace

# PyDLL keeps the GIL during calls: a deleter that wanted it would deadlock.
libc: Any = ctypes.PyDLL(None)
libc.pthread_create.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
libc.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]


def delete_in_a_native_thread(deleter: int, tensor: int) -> None:
    """Calls the deleter on a thread without Python, while this thread holds the GIL."""
    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, deleter, tensor) == 0
    assert libc.pthread_join(thread, None) == 0


def together(count: int, work: Callable[[int], None]) -> None:
    """Runs `work` in threads that start together, and raises an exception of any of them."""
    gate = threading.Barrier(count)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            gate.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.fixture(autouse=True)
def _threads_change_often() -> Any:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_deleter_runs_on_a_thread_that_knows_no_python(version: Any, alive: Callable[[], int]) -> None:
    mem = SyncedMemory(65536)
    seen = consume(mem.mutable_cpu().__dlpack__(max_version=version))
    delete_in_a_native_thread(seen.deleter, seen.address)
    assert mem.exports == (0, 0)
    last = consume(mem.mutable_cpu().__dlpack__(max_version=version))
    del mem
    gc.collect()
    delete_in_a_native_thread(last.deleter, last.address)
    assert alive() == 0


def test_the_gil_is_released_while_a_copy_is_waited_for(simulated: Driver) -> None:
    syncedmem.set_pinning(syncedmem.Pinning.ALWAYS)
    mem = SyncedMemory(65536)
    simulated.write(mem.mutable_gpu_data().ptr, b"\4" * 65536)
    arrived: list[Any] = []
    reader = threading.Thread(target=lambda: arrived.append(mem.cpu_data()))
    try:
        with simulated.stream() as stream:
            with simulated.held():
                mem.async_cpu_pull(stream)
                reader.start()
                reader.join(0.05)
                # This thread runs, so the reader does not hold the GIL while it waits for the held copy.
                assert reader.is_alive() and not arrived
                assert sum(range(100000)) == 4999950000
            reader.join()
    finally:
        syncedmem.set_pinning(syncedmem.Pinning.AUTO)
    assert (arrived[0] == 4).all() and mem.head is Head.SYNCED


def test_a_call_that_needs_the_memory_alone_waits_for_the_one_that_has_it(simulated: Driver) -> None:
    syncedmem.set_pinning(syncedmem.Pinning.ALWAYS)
    mem = SyncedMemory(65536)
    mem.mutable_gpu_data()
    done: list[Any] = []
    first = threading.Thread(target=lambda: done.append(mem.cpu_data().shape))
    second = threading.Thread(target=lambda: done.append(mem.device))
    try:
        with simulated.stream() as stream:
            with simulated.held():
                mem.async_cpu_pull(stream)
                simulated.forget()
                first.start()
                while not simulated.calls("cuEventSynchronize"):
                    first.join(0.001)
                second.start()
                second.join(0.05)
                assert first.is_alive() and second.is_alive() and not done
            first.join()
            second.join()
    finally:
        syncedmem.set_pinning(syncedmem.Pinning.AUTO)
    assert done.count((65536,)) == done.count(0) == 1


def test_threads_that_use_one_memory_in_every_way_leave_it_whole() -> None:
    mem = SyncedMemory(65536)
    view = mem.array("f4")
    foreign = np.zeros(16384, "f4")

    def use(number: int) -> None:
        for turn in range(60):
            what = (number + turn) % 7
            try:
                if what == 0:
                    with view.mutable_cpu() as array:
                        array[number] = turn
                elif what == 1:
                    assert view.cpu_data().shape == (16384,)
                elif what == 2:
                    consume(view.mutable_cpu().__dlpack__()).delete()
                elif what == 3:
                    mem.set_cpu_data(foreign)
                elif what == 4:
                    mem.release_cpu()
                elif what == 5:
                    assert repr(mem) and mem.head in Head and mem.exports >= (0, 0)
                else:
                    np.asarray(view).sum()
            except (BufferError, syncedmem.Error):
                pass  # another thread uses it, or its state forbids the call

    together(6, use)
    gc.collect()
    assert mem.exports == (0, 0)
    mem.close()


def test_a_capsule_may_go_while_another_thread_is_in_a_producers_deleter(driver: Driver) -> None:
    # The deleter of borrowed memory may want the GIL while the thread that has it waits for the object.
    mem = SyncedMemory(65536)
    inside, go_on = threading.Event(), threading.Event()

    class Slow(Producer):
        @property
        def deleted(self) -> int:
            return 0

        @deleted.setter
        def deleted(self, _: int) -> None:
            if threading.current_thread() is not threading.main_thread():
                inside.set()
                go_on.wait(300)

    mem.set_cpu_data(Slow(bytes(65536)))
    capsule = mem.mutable_gpu().__dlpack__()
    mem.mutable_cpu_data()
    thread = threading.Thread(target=lambda: mem.set_cpu_data(Producer(bytes(65536))))
    thread.start()
    assert inside.wait(300)
    del capsule
    go_on.set()
    thread.join()
    assert mem.exports == (0, 0)


def test_closing_beside_reading_is_an_exception_at_worst() -> None:
    for _ in range(20):
        mem = SyncedMemory(4096)
        kept: list[Any] = []

        def use(number: int) -> None:
            try:
                if number == 0:
                    mem.close()
                else:
                    kept.append(mem.mutable_cpu_data())
            except (BufferError, ValueError):
                pass

        together(3, use)
        for array in kept:
            array[:] = 1


def test_a_reader_of_a_workspace_gets_a_tensor_or_a_key_error_while_others_put_and_delete() -> None:
    workspace = Workspace()

    def use(number: int) -> None:
        for turn in range(10_000):
            try:
                if number == 0:
                    workspace["x"] = Tensor()
                    del workspace["x"]
                elif number == 1:
                    assert workspace.tensor("x", device=turn % 2 == 0).nbytes == 0
                else:
                    assert isinstance(workspace["x"], Tensor)
            except KeyError:
                pass  # it does not exist

    together(4, use)
    assert set(workspace) <= {"x"}
