"""NumPy as the consumer and as the producer."""

from __future__ import annotations

import gc
from typing import Any, Callable

import numpy as np
import pytest

import syncedmem
from syncedmem import Head, SyncedMemory


def address(array: Any) -> int:
    return int(array.ctypes.data)


KNOWS_VERSIONS = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1)
# Older ones make every array that comes by DLPack read-only.
WRITES = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 3)


@pytest.mark.skipif(not KNOWS_VERSIONS, reason="NumPy knows versions since 2.1")
@pytest.mark.parametrize("of", [lambda view: view, lambda view: view.cpu()], ids=["the view", "an access"])
def test_numpy_reads_without_a_copy(of: Callable[[Any], Any]) -> None:
    view = SyncedMemory(96).array("f4", (4, 6))
    view.mutable_cpu_data()[:] = 2
    array = np.from_dlpack(of(view))
    assert address(array) == address(view.cpu_data()) and array.shape == (4, 6) and array.dtype == np.float32
    assert not array.flags.writeable


@pytest.mark.parametrize("name", ["mutable_cpu", "overwrite_cpu"])
def test_numpy_writes_without_a_copy(name: str) -> None:
    view = SyncedMemory(96).array("f4", (4, 6))
    array = np.from_dlpack(getattr(view, name)())
    assert address(array) == address(view.cpu_data())
    if WRITES:
        array[:] = 8
        assert (view.cpu_data() == 8).all()


def test_numpys_array_keeps_the_memory(alive: Callable[[], int]) -> None:
    array = np.from_dlpack(SyncedMemory(65536).array("f4").mutable_cpu())
    assert alive() == 65536
    part = array[5:10]
    del array
    gc.collect()
    assert part.shape == (5,) and alive() == 65536
    del part
    assert alive() == 0


@pytest.mark.skipif(not KNOWS_VERSIONS, reason="NumPy knows these arguments since 2.1")
def test_numpy_may_ask_for_a_copy() -> None:
    view = SyncedMemory(96).array("f4")
    view.mutable_cpu_data()[:] = 2
    array: Any = np.from_dlpack(view, copy=True)  # type: ignore[arg-type,call-arg,unused-ignore]
    assert address(array) != address(view.cpu_data())
    if WRITES:
        array[:] = 0
    assert (view.cpu_data() == 2).all()


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_numpy_understands_every_type(dtype: str) -> None:
    if dtype == "?" and tuple(map(int, np.__version__.split(".")[:2])) < (1, 25):
        pytest.skip("NumPy reads booleans since 1.25")
    array = np.from_dlpack(SyncedMemory(96).array(dtype).mutable_cpu())
    assert array.dtype == np.dtype(dtype) and array.nbytes == 96


# --- from NumPy --------------------------------------------------------------------------------------


def test_from_dlpack_borrows_an_array() -> None:
    array = np.arange(24, dtype="f4").reshape(4, 6)
    view = syncedmem.from_dlpack(array)
    assert view.shape == (4, 6) and view.dtype == np.float32 and view.memory.nbytes == 96
    assert view.memory.head is Head.HEAD_AT_CPU and not view.memory.owns_cpu
    assert address(view.cpu_data()) == address(array)
    view.mutable_cpu_data()[:] = 1
    assert (array == 1).all()


def test_from_dlpack_copies_when_it_is_asked_to() -> None:
    array = np.arange(24, dtype="f4")
    view = syncedmem.from_dlpack(array, copy=True)
    array[:] = 0
    assert view.cpu_data().tolist() == list(range(24)) and view.memory.owns_cpu


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype="f4").reshape(4, 6).T,
        np.arange(24, dtype="f4")[::2],
        np.arange(24, dtype="f4")[::-1],
        np.broadcast_to(np.float32(3), (4, 6)),
        np.frombuffer(b"12345678", "f4"),
    ],
    ids=["transposed", "with gaps", "backwards", "broadcast", "read-only"],
)
def test_from_dlpack_copies_what_cannot_be_borrowed_only_when_it_is_asked_to(array: Any) -> None:
    for copy in (None, False):
        with pytest.raises(BufferError):
            syncedmem.from_dlpack(array, copy=copy)
    view = syncedmem.from_dlpack(array, copy=True)
    assert view.shape == array.shape and (view.cpu_data() == array).all()


def test_from_dlpack_of_a_view_shares_its_memory() -> None:
    view = SyncedMemory(96).array("f4")
    other = syncedmem.from_dlpack(view.mutable_cpu())
    other.mutable_cpu_data()[:] = 4
    assert (view.cpu_data() == 4).all()
    with pytest.raises(BufferError):
        syncedmem.from_dlpack(view)  # it is for reading


def test_from_dlpack_of_a_buffer_borrows_it() -> None:
    buffer = bytearray(b"12345678")
    view = syncedmem.from_dlpack(buffer)
    view.mutable_cpu_data()[:] = ord("x")
    assert buffer == b"xxxxxxxx"
    with pytest.raises(BufferError):
        buffer.append(1)  # it is in use


@pytest.mark.parametrize("source", [None, 3, "text", [1, 2], object(), {"a": 1}])
def test_from_dlpack_of_something_else_is_a_type_error(source: Any) -> None:
    for copy in (None, True):
        with pytest.raises(TypeError):
            syncedmem.from_dlpack(source, copy=copy)
