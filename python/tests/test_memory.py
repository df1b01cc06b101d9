"""`SyncedMemory`: its properties, its repr and its end."""

from __future__ import annotations

import copy
import pickle
import weakref
from typing import Any, Callable

import numpy as np
import numpy.typing as npt
import pytest

import syncedmem
from dlpack import CUDA, Producer
from syncedmem import Head, SyncedMemory


@pytest.mark.parametrize("access", ["cpu_data", "mutable_cpu_data", "overwrite_cpu_data"])
def test_the_bytes_of_a_memory_are_an_array_of_uint8(access: str) -> None:
    array = getattr(SyncedMemory(12), access)()
    assert type(array) is np.ndarray
    assert array.dtype == np.uint8 and array.shape == (12,)


@pytest.mark.parametrize("size", [2**62, 2**63, 2**64 - 1, 2**64, 2**200])
def test_a_size_that_cannot_exist_is_a_memory_error(size: int) -> None:
    with pytest.raises(MemoryError):
        SyncedMemory(size).mutable_cpu_data()


STATES: dict[str, Callable[[SyncedMemory], object]] = {
    "UNINITIALIZED, host none, device none": lambda mem: repr(mem.array("f4")),
    "HEAD_AT_CPU, host pageable, device none": lambda mem: mem.mutable_cpu_data(),
    "HEAD_AT_CPU, host borrowed, device none": lambda mem: mem.set_cpu_data(np.zeros(4096, "u1")),
    "closed": lambda mem: mem.close(),
}


@pytest.mark.parametrize("said", STATES)
def test_repr_says_the_state(said: str) -> None:
    mem = SyncedMemory(4096)
    STATES[said](mem)
    assert repr(mem) == f"<SyncedMemory 4096 bytes, {said}>"


def test_the_items_of_a_batch_are_a_number_from_0_of_an_open_object() -> None:
    with SyncedMemory(4096) as mem:
        mem.set_items(64)
        mem.set_items(0)
        for items in (-1, 1 << 64):
            with pytest.raises(ValueError, match="items is .*; pass an integer from 0"):
                mem.set_items(items)


def test_a_name_is_kept() -> None:
    mem = SyncedMemory(4096, name="data")
    assert mem.name == "data"
    mem.name = "größer <&>"
    assert mem.name == "größer <&>"


@pytest.mark.parametrize(
    "name, error",
    [("", syncedmem.Error), ("x" * 201, syncedmem.Error), ("a\0b", ValueError), ("\ud800", ValueError), (12, TypeError), (b"a", TypeError)],
)
def test_a_name_that_cannot_be_is_an_error(accounting: None, name: Any, error: type[Exception]) -> None:
    mem = SyncedMemory(4096)
    with pytest.raises(error):
        mem.name = name


def test_attributes_that_are_told_have_a_type_and_cannot_be_set() -> None:
    mem = SyncedMemory(4096)
    # Type checkers read this file.
    head: Head = mem.head
    device: int | None = mem.device
    exports: tuple[int, int] = mem.exports
    array: npt.NDArray[Any] = mem.cpu_data()
    available: bool = syncedmem.cuda_status().available
    assert (head.name, device, exports, array.nbytes, type(available)) == ("UNINITIALIZED", None, (0, 0), 4096, bool)
    for name in ("nbytes", "head", "device", "is_pinned", "owns_cpu", "owns_gpu", "exports", "closed", "evictible"):
        with pytest.raises(AttributeError):
            setattr(mem, name, 1)


def test_a_memory_cannot_be_copied_as_a_python_object() -> None:
    mem = SyncedMemory(65536)
    assert weakref.ref(mem)() is mem
    for how in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            how(mem)
    with pytest.raises(TypeError):
        copy.deepcopy(mem.array("f4"))


# --- the end ----------------------------------------------------------------------------------


# Members that work without the object.
LAZY = {"array", "cpu", "mutable_cpu", "overwrite_cpu", "gpu", "mutable_gpu", "overwrite_gpu", "closed", "close", "nbytes", "name"}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "set_cpu_data": (np.zeros(4096, "u1"),),
    "set_gpu_data": (Producer(bytes(4096), device=(CUDA, 0)),),
    "set_items": (1,),
    "record_stream": (None,),
    "stream_wait": (1,),
}
LATER: dict[str, Callable[[SyncedMemory], object]] = {
    "array": lambda mem: mem.array("f4").cpu_data(),
    "a capsule": lambda mem: mem.array("f4").__dlpack__(max_version=(1, 0)),
    "the device of one": lambda mem: mem.array("f4").__dlpack_device__(),
    "an interface": lambda mem: np.asarray(mem.array("f4")),
    "an access": lambda mem: mem.cpu().__enter__(),
    "an access to the device": lambda mem: mem.overwrite_gpu().__enter__(),
    "a name": lambda mem: setattr(mem, "name", "x"),
    "a block": lambda mem: mem.__enter__(),
}


@pytest.mark.parametrize("use", [*LATER, *sorted(name for name in dir(SyncedMemory) if name[0] != "_" and name not in LAZY)])
def test_every_use_of_a_closed_memory_is_a_value_error(use: str) -> None:
    mem = SyncedMemory(4096)
    mem.cpu_data()
    mem.close()
    with pytest.raises(ValueError, match="closed"):
        if use in LATER:
            LATER[use](mem)
        else:
            getattr(mem, use)(*ARGUMENTS.get(use, ()))


def test_a_with_block_that_leaves_an_array_behind_is_a_buffer_error() -> None:
    with pytest.raises(BufferError):
        with SyncedMemory(4096) as mem:
            array = mem.mutable_cpu_data()
    array[:] = 3
    assert array[4095] == 3


def test_an_exception_in_a_with_block_is_not_hidden_by_the_arrays_it_leaves() -> None:
    with pytest.raises(KeyError):
        with SyncedMemory(4096) as mem:
            array = mem.mutable_cpu_data()
            raise KeyError("the caller's own")
    assert array.shape == (4096,)
