"""Threads: calls release the GIL, objects stay consistent, and deleters run on threads without Python."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
import weakref
from typing import Any, Callable

import numpy as np
import pytest

import syncedmem
from cuda_driver import Driver
from dlpack import Producer, consume
from syncedmem import Blob, Head, SyncedMemory, Tensor, Workspace, _caffe2_tensor, _handle, _model, ffi, lib

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


def test_threads_that_find_a_tensor_of_c_at_once_share_one_lock_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(weakref.WeakValueDictionary[int, Any]):
        """The standard library's `setdefault`: lookup and insertion are two steps."""

        def setdefault(self, address: int, handle: Any = None) -> Any:
            known = self.get(address)
            time.sleep(0.05)
            if known is None:
                known = self[address] = handle
            return known

    monkeypatch.setattr(_caffe2_tensor, "_handles", Slow())
    workspace, blob, made = Workspace(), ffi.new("syncedmem_typed_blob_t **"), ffi.new("syncedmem_tensor_t **")
    assert lib.syncedmem_workspace_create_blob(workspace.handle, b"x", blob) == 0
    assert lib.syncedmem_typed_blob_get_mutable_tensor(blob[0], lib.SYNCEDMEM_HOST, ffi.NULL, made) == 0
    assert lib.syncedmem_tensor_destroy(made[0]) == lib.syncedmem_typed_blob_destroy(blob[0]) == 0
    found: list[Tensor] = []
    together(2, lambda _: found.append(workspace["x"]))
    assert found[0]._handle is found[1]._handle


def test_threads_of_a_forked_child_share_one_lock_of_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    mem = SyncedMemory(100)
    monkeypatch.setattr(_handle, "_forks", _handle._forks + 1)
    make = threading.RLock

    def slowly() -> Any:
        time.sleep(0.05)
        return make()

    monkeypatch.setattr(threading, "RLock", slowly)
    found: list[Any] = []
    together(2, lambda _: found.append(mem._handle.alone))
    assert found[0] is found[1]


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`beside(method, does)`: another thread calls `does` before and after each call of that method of tensors."""
    others: list[threading.Thread] = []

    def patch(method: str, does: Callable[[], object]) -> None:
        plain = getattr(Tensor, method)

        def start() -> None:
            others.append(threading.Thread(target=does))
            others[-1].start()
            others[-1].join(0.1)  # it may wait for the end of the call

        def slow(self: Tensor, *arguments: Any) -> Any:
            start()
            answer = plain(self, *arguments)
            start()
            return answer

        monkeypatch.setattr(Tensor, method, slow)

    yield patch
    for other in others:
        other.join()


def test_an_empty_tensor_is_exported_empty_whatever_another_thread_makes_of_it(beside: Any) -> None:
    tensor = Tensor(0)
    tensor.mutable_data("f4")
    beside("_source", lambda: tensor.resize(1000))
    assert np.from_dlpack(tensor).shape == (0,)


def test_a_tensors_items_have_the_type_that_was_asked_for_whatever_another_thread_asks_for(beside: Any) -> None:
    tensor = Tensor(3)
    address, meta = ffi.new("void **"), Tensor._meta("i8")
    beside("_view", lambda: tensor._handle.change(lib.syncedmem_tensor_mutable_data, meta, address))
    assert tensor.mutable_data("f4").dtype == np.float32


def test_a_memory_that_is_closed_meanwhile_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    mem = SyncedMemory(100)

    def asked(self: SyncedMemory) -> bool:
        answer = self._handle.closed
        closes = threading.Thread(target=mem.close)
        closes.start()
        closes.join(0.1)  # it may wait
        return answer

    monkeypatch.setattr(SyncedMemory, "closed", property(asked))
    assert "100 bytes" in repr(mem)


def test_the_table_of_a_blob_is_made_of_what_it_had_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    blob = Blob(3)
    # Another thread's reshape of a blob without a shape does this.
    monkeypatch.setattr(SyncedMemory, "nbytes", property(lambda memory: blob._memories.setdefault(len(blob._memories), memory) and 12))
    assert blob._repr_html_().count("<tr>") == 3


@pytest.mark.parametrize("kind", [_handle.Handle, _model._File])
def test_a_pointer_is_there_or_refused_whenever_another_thread_closes_it(kind: type) -> None:
    reads = iter([1, None])
    closing: Any = type("Closing", (kind,), {"__slots__": (), "_pointer": property(lambda _: next(reads))})
    assert closing.__new__(closing).pointer == 1
