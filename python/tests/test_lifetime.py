"""Memory lives as long as a reference to it. Finalisers of a reference cycle may use the cycle's memory, which ends after the last of
them: CPython calls the finalisers of all objects of a cycle before it clears any of them (PEP 442).
"""

from __future__ import annotations

import gc
import os
import threading
from typing import Any, Callable

import numpy as np
import pytest

import syncedmem
from cuda_driver import Driver
from dlpack import consume, see
from syncedmem import Blob, SyncedMemory, Tensor, Workspace

pytestmark = pytest.mark.once

# Above 4 KiB, so that the account has the block.
SIZE = 1 << 16


class Node:
    """A cycle whose finaliser uses what the cycle holds."""

    def __init__(self, held: Any, use: Callable[[Any], object], seen: list[Any]) -> None:
        self.itself, self.held, self.use, self.seen = self, held, use, seen

    def __del__(self) -> None:
        try:
            self.seen.append(self.use(self.held))
        except BaseException as error:
            self.seen.append(error)


def filled(size: int = SIZE) -> SyncedMemory:
    mem = SyncedMemory(size)
    mem.mutable_cpu_data()[:] = 7
    return mem


def blob() -> Blob:
    made = Blob(SIZE // 4)
    made.data[:] = 7
    return made


def tensor() -> Tensor:
    made = Tensor(SIZE)
    made.mutable_data("u1")[:] = 7
    return made


def workspace() -> Workspace:
    made = Workspace()
    made["x"] = tensor()
    return made


def before_a_reshape() -> object:
    made = blob()
    view = made.data
    made.reshape(2 * SIZE)
    return view


def before_a_resize() -> object:
    made = tensor()
    array = made.mutable_data()
    made.resize(2 * SIZE)
    made.mutable_data()[:] = 8
    return array


def borrowing() -> SyncedMemory:
    made = SyncedMemory(SIZE)
    made.set_cpu_data(np.full(SIZE, 7, "u1"))
    return made


def last(array: Any) -> int:
    return int(np.asarray(array).reshape(-1)[-1])


def last_by_handle(handle: Any) -> int:
    data = syncedmem.ffi.new("const void **")
    assert syncedmem.lib.syncedmem_cpu_data(handle, data) == 0
    return int(syncedmem.ffi.buffer(data[0], SIZE)[SIZE - 1][0])


def written(array: Any) -> int:
    array[...] = 7
    return last(array)


def resized(tensor: Tensor) -> int:
    tensor.resize(2 * SIZE)
    return written(tensor.mutable_data())


def rewritten(mem: SyncedMemory) -> int:
    return written(mem.mutable_cpu_data())


# Last references to memory, and a use of each that returns 7.
HELD: dict[str, tuple[Callable[[], Any], Callable[[Any], int]]] = {
    "a memory": (filled, rewritten),
    "a memory that borrows another's": (borrowing, rewritten),
    "a memory that another borrows": (lambda: syncedmem.from_dlpack(filled().mutable_cpu()).memory, rewritten),
    "a handle": (lambda: filled().handle, last_by_handle),
    "a view": (lambda: filled().array("u1"), lambda view: last(view.cpu_data())),
    "an access": (lambda: filled().mutable_cpu(), lambda access: written(access.__enter__())),
    "an array": (lambda: filled().mutable_cpu_data(), written),
    "an array for reading": (lambda: filled().cpu_data(), last),
    "an array of a type": (lambda: filled().array("u1", (256, 256)).mutable_cpu_data()[200:], written),
    "an array of a type that DLPack lacks": (lambda: filled().array("S4").mutable_cpu_data().view("u1"), written),
    "asarray of a view": (lambda: np.asarray(filled().array("u1")), last),
    "asarray of an access": (lambda: np.asarray(filled().mutable_cpu()), written),
    "from_dlpack of an access": (lambda: np.from_dlpack(filled().mutable_cpu()), last),
    "a memoryview": (lambda: filled().cpu_data().data, last),
    "an interface": (lambda: filled().array("u1").__array_interface__, lambda face: last(np.frombuffer(face["data"], "u1"))),
    "a capsule": (
        lambda: syncedmem.from_dlpack(filled().mutable_cpu()).__dlpack__(max_version=(1, 0)),
        lambda capsule: 7 if "dltensor_versioned" in repr(capsule) else 0,
    ),
    "a blob": (blob, lambda blob: last(blob.data)),
    "a blob that is given another shape": (blob, lambda blob: blob.reshape(2 * SIZE) or 7 + last(blob.data)),
    "a blob's memory": (lambda: blob().data.memory, lambda mem: last(mem.array("f4"))),
    "a view of a blob before a reshape": (before_a_reshape, written),
    "a tensor": (tensor, last),
    "an array of a tensor before a resize": (before_a_resize, written),
    "a tensor that is given another size": (tensor, resized),
    "a tensor's array": (lambda: tensor().mutable_data(), written),
    "a workspace": (workspace, lambda ws: last(ws["x"])),
    "a workspace over another": (lambda: Workspace(workspace()), lambda ws: last(ws["x"])),
    "a workspace that C holds too": (lambda: Workspace.from_handle(workspace().handle), lambda ws: last(ws["x"])),
    "a tensor of a workspace": (lambda: workspace()["x"], resized),
}


def addressed(access: syncedmem.DeviceAccess) -> syncedmem.DeviceAccess:
    access.__cuda_array_interface__
    return access


def on_device() -> syncedmem.DeviceArray:
    made = Tensor(device=True)
    made.copy_from(tensor())
    array: syncedmem.DeviceArray = made.data()
    return array


def on_gpu_alone() -> object:
    mem = filled()
    mem.mutable_gpu_data()
    return mem.array("f4").__dlpack__(max_version=(1, 0))


# `HELD` for device memory full of sevens: each use returns its address.
ON_A_DEVICE: dict[str, tuple[Callable[[], Any], Callable[[Any], int]]] = {
    "a memory": (filled, lambda mem: mem.gpu_data().ptr),
    "an array": (lambda: filled().mutable_gpu_data(), lambda array: array.ptr),
    "an interface": (lambda: filled().gpu(), lambda access: access.__cuda_array_interface__["data"][0]),
    "an address": (lambda: addressed(filled().gpu()), lambda access: access._held.address),
    "a capsule": (lambda: filled().mutable_gpu().__dlpack__(), lambda capsule: see(capsule).data),
    "a capsule of a view": (on_gpu_alone, lambda capsule: see(capsule).data),
    "a memory that borrows device memory": (lambda: syncedmem.from_dlpack(filled().mutable_gpu()).memory, lambda mem: mem.gpu_data().ptr),
    "a tensor's array": (on_device, lambda array: array.ptr),
}


@pytest.mark.parametrize("what", HELD)
def test_the_last_to_refer_to_memory_keeps_it(what: str, alive: Callable[[], int]) -> None:
    make, use = HELD[what]
    held = make()
    # NumPy's memory is not in the account.
    assert alive() >= (0 if make is borrowing else SIZE)
    # If the memory were free, this would overwrite it.
    other = SyncedMemory(SIZE)
    other.mutable_cpu_data()[:] = 99
    other.close()
    assert use(held) == 7
    del held
    assert alive() == 0


@pytest.mark.parametrize("what", ON_A_DEVICE)
def test_the_last_to_refer_to_device_memory_keeps_it(simulated: Driver, what: str, alive: Callable[[], int]) -> None:
    make, address_of = ON_A_DEVICE[what]
    held = make()
    assert alive() >= SIZE
    assert simulated.read(address_of(held), 16) == b"\7" * 16
    del held
    assert alive() == 0


@pytest.mark.parametrize("what", HELD)
def test_a_finaliser_in_a_cycle_uses_what_the_cycle_holds(what: str, alive: Callable[[], int]) -> None:
    make, use = HELD[what]
    seen: list[Any] = []
    for _ in range(5):
        Node(make(), use, seen)
    gc.collect()
    assert seen == [7] * 5
    assert alive() == 0


@pytest.mark.parametrize("what", ON_A_DEVICE)
def test_a_finaliser_in_a_cycle_uses_device_memory(simulated: Driver, what: str, alive: Callable[[], int]) -> None:
    make, address_of = ON_A_DEVICE[what]
    seen: list[Any] = []
    Node(make(), lambda held: simulated.read(address_of(held), 1), seen)
    gc.collect()
    assert seen == [b"\7"]
    assert alive() == 0


def test_what_a_finaliser_saves_stays_whole(alive: Callable[[], int]) -> None:
    saved: list[Any] = []
    ws = workspace()
    Node((filled(), ws["x"], blob()), lambda held: saved.append(held), [])
    gc.collect()
    mem, saved_tensor, saved_blob = saved.pop()
    assert (rewritten(mem), resized(saved_tensor), last(saved_blob.data)) == (7, 7, 7)
    del mem, saved_tensor, saved_blob, ws
    assert alive() == 0


def test_a_class_that_forgets_the_base_is_told() -> None:
    class Forgets(SyncedMemory):
        def __init__(self) -> None:
            pass

    with pytest.raises(AttributeError, match="^Forgets.cpu_data: the object has ended: .* or its __init__ was never called; "):
        Forgets().cpu_data()
    assert not hasattr(SyncedMemory(8), "nothing")


def test_threads_that_collect_and_finalise_at_once_leave_nothing(alive: Callable[[], int]) -> None:
    seen: list[Any] = []

    def churn() -> None:
        for what in HELD:
            Node(HELD[what][0](), HELD[what][1], seen)
            gc.collect()

    threads = [threading.Thread(target=churn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert seen == [7] * (4 * len(HELD))
    assert alive() == 0


def test_what_ends_inside_a_call_on_the_same_memory_does_not_hang() -> None:
    # A collection may begin anywhere in Python code, also while the package holds the memory's lock.
    mem = SyncedMemory(4096)
    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(50):
            cycle: list[Any] = [mem.cpu_data(), mem.mutable_cpu().__dlpack__()]
            cycle.append(cycle)
            del cycle
            mem.exports, mem.head, repr(mem)
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert mem.exports == (0, 0)


def test_thousands_of_arrays_leave_nothing_behind(alive: Callable[[], int]) -> None:
    def resident() -> int:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def churn() -> None:
        for _ in range(1000):
            mem = SyncedMemory(65536)
            view = mem.array("f4")
            consume(view.mutable_cpu().__dlpack__()).delete()
            view.cpu().__dlpack__(max_version=(1, 0))
            np.asarray(view)
            mem.set_cpu_data(bytearray(65536))

    churn()
    before = resident()
    churn()
    # A leak of one block in each turn would be 64 MiB.
    assert resident() - before < 16 << 20
    assert alive() == 0
