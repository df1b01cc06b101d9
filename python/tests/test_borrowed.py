"""Memory of other libraries as a side of a SyncedMemory: what can be borrowed, and when it is released."""

from __future__ import annotations

import array as arrays
import ctypes

import mmap
import sys

from typing import Any

import numpy as np
import pytest

import syncedmem
from dlpack import BFLOAT, CPU, CUDA, CUDA_HOST, FLOAT, READ_ONLY, UINT, Producer
from syncedmem import Head, SyncedMemory

pytestmark = pytest.mark.once


@pytest.mark.parametrize("dtype", ["u1", "f8", ">f4", "M8[ns]", "S8", [("x", "<i4"), ("y", "f4")]])
@pytest.mark.parametrize("shape", ["flat", "square"])
def test_arrays_of_every_type_and_shape_can_be_borrowed(dtype: Any, shape: str) -> None:
    size = 128 // np.dtype(dtype).itemsize
    array = np.zeros(size if shape == "flat" else (size // 2, 2), dtype)
    mem = SyncedMemory(128)
    mem.set_cpu_data(array)
    mem.mutable_cpu_data()[:] = 49
    assert array.tobytes() == b"1" * 128


def test_any_writable_buffer_can_be_borrowed() -> None:
    for buffer in (bytearray(96), memoryview(bytearray(96)), arrays.array("f", [0] * 24), mmap.mmap(-1, 96), (ctypes.c_float * 24)()):
        mem = SyncedMemory(96)
        mem.set_cpu_data(buffer)
        mem.mutable_cpu_data()[:] = 65
        assert bytes(memoryview(buffer)) == b"A" * 96
        mem.close()
    buffer = bytearray(4)
    mem = SyncedMemory(4)
    mem.set_cpu_data(buffer)
    with pytest.raises(BufferError):
        buffer.append(1)  # it is in use
    mem.close()
    buffer.append(1)


@pytest.mark.parametrize("source", [None, 12, "text", [0] * 96, object(), {}, np.array([None] * 12), iter(b"")])
def test_what_is_no_memory_is_a_type_error(source: Any) -> None:
    uses: list[Any] = [SyncedMemory(96).set_cpu_data, syncedmem.from_dlpack, lambda source: syncedmem.from_dlpack(source, copy=True)]
    for use in uses:
        with pytest.raises(TypeError):
            use(source)


# --- deleters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("versioned", [True, False])
def test_the_deleter_is_called_once_when_other_memory_takes_its_place(versioned: bool) -> None:
    first, second = Producer(b"a" * 96, versioned=versioned), Producer(b"b" * 96, versioned=versioned)
    mem = SyncedMemory(96)
    mem.set_cpu_data(first)
    assert bytes(mem.cpu_data()) == b"a" * 96 and first.deleted == 0
    mem.set_cpu_data(second)
    assert bytes(mem.cpu_data()) == b"b" * 96 and (first.deleted, second.deleted) == (1, 0)
    mem.close()
    assert (first.deleted, second.deleted) == (1, 1)


def test_a_deleter_that_fails_is_told_and_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    producer = Producer(bytes(96))
    mem = SyncedMemory(96)
    mem.set_cpu_data(producer)
    producer.deleted = "no number"  # type: ignore[assignment]
    mem.close()
    assert mem.closed and len(reported) == 1


def test_the_offset_the_strides_and_page_locked_memory_are_understood() -> None:
    producer = Producer(b"a" * 32 + b"b" * 32, shape=(32,), byte_offset=32)
    for copy in (None, True):
        assert bytes(syncedmem.from_dlpack(producer, copy=copy).cpu_data()) == b"b" * 32
    for shape, strides in (((4, 6), (6, 1)), ((1, 6), (77, 1)), ((6, 1), (1, 99)), ((), ()), ((0, 5), (1, 1))):
        content = bytes(int(np.prod(shape)) * 4)
        view = syncedmem.from_dlpack(Producer(content, dtype=(FLOAT, 32, 1), shape=shape, strides=strides))
        assert view.shape == shape
    gaps = Producer(bytes(range(16)), shape=(4, 2), strides=(4, 2))
    assert syncedmem.from_dlpack(gaps, copy=True).cpu_data().tolist() == [[0, 2], [4, 6], [8, 10], [12, 14]]
    assert gaps.deleted == 0, "who only copies does not take the tensor"
    view = syncedmem.from_dlpack(Producer(b"x" * 8, device=(CUDA_HOST, 0)))
    assert view.memory.head is Head.HEAD_AT_CPU and bytes(view.cpu_data()) == b"x" * 8


def test_a_producer_that_knows_no_versions_is_asked_again() -> None:
    producer = Producer(b"x" * 96, versioned=False, knows_versions=False)
    assert bytes(syncedmem.from_dlpack(producer).cpu_data()) == b"x" * 96
    assert producer.asked[0]["max_version"][0] == 1 and "max_version" not in producer.asked[1]


# --- what is refused ---------------------------------------------------------------------------------------

CANNOT_BE_BORROWED: dict[str, Any] = {
    "transposed": np.zeros((6, 16), "u1").T,
    "with gaps": np.zeros(192, "u1")[::2],
    "backwards": np.zeros(96, "u1")[::-1],
    "broadcast": np.broadcast_to(np.uint8(1), 96),
    "read-only": np.frombuffer(bytes(96), "u1"),
    "bytes": bytes(96),
    "a view of bytes": memoryview(bytes(96)),
    "a view with gaps": memoryview(bytearray(192))[::2],
    "a read-only tensor": Producer(bytes(96), flags=READ_ONLY),
    "a tensor with gaps": Producer(bytes(192), shape=(96,), strides=(2,)),
    "a transposed tensor": Producer(bytes(96), shape=(12, 8), strides=(1, 12)),
    "a backward tensor": Producer(bytes(96), shape=(96,), strides=(-1,)),
    "a broadcast tensor": Producer(bytes(96), shape=(96,), strides=(0,)),
    "a tensor of an unknown device": Producer(bytes(96), device=(7, 0)),
    "a tensor of -1 dimensions": Producer(bytes(96), ndim=-1),
    "a tensor of 65 dimensions": Producer(bytes(96), ndim=65),
    "a tensor of 2**30 dimensions": Producer(bytes(96), ndim=2**30),
}


@pytest.mark.parametrize("what", CANNOT_BE_BORROWED)
def test_what_cannot_be_borrowed_is_a_buffer_error_and_stays_its_owners(what: str) -> None:
    source, mem = CANNOT_BE_BORROWED[what], SyncedMemory(96)
    with pytest.raises(BufferError):
        mem.set_cpu_data(source)
    for copy in (None, False):
        with pytest.raises(BufferError):
            syncedmem.from_dlpack(source, copy=copy)
    if isinstance(source, np.ndarray):
        view = syncedmem.from_dlpack(source, copy=True)
        assert view.shape == source.shape and (view.cpu_data() == source).all()
    assert mem.head is Head.UNINITIALIZED and getattr(source, "deleted", 0) == 0


def test_a_memory_is_not_lent_to_itself() -> None:
    mem = SyncedMemory(96)
    for own in (mem.mutable_cpu_data(), mem.mutable_cpu()):
        with pytest.raises(BufferError):
            mem.set_cpu_data(own)
    del own
    assert mem.exports == (0, 0)


@pytest.mark.parametrize("size", [0, 1, 95, 97, 192])
def test_memory_of_another_size_is_a_value_error(size: int) -> None:
    producer, mem = Producer(bytes(size)), SyncedMemory(96)
    for source in (np.zeros(size, "u1"), bytearray(size), producer):
        with pytest.raises(ValueError):
            mem.set_cpu_data(source)
    assert mem.head is Head.UNINITIALIZED and producer.deleted == 0


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "a negative length": {"shape": (-1,)},
    "two negative lengths": {"shape": (-4, -24)},
    "a length of 2**62": {"shape": (2**62, 4)},
    "lengths of 2**40": {"shape": (2**40, 2**40)},
    "no elements, and a length of 2**62": {"shape": (0, 2**62)},
    "a far offset": {"byte_offset": 2**63},
    "an offset before the data": {"byte_offset": 2**64 - 64},
    "a far stride": {"shape": (2, 3), "strides": (2**62, 1)},
    "a stride that wraps": {"shape": (2, 2), "strides": (2**63 - 1, 1)},
    "a stride before the address 0": {"shape": (2,), "strides": (-(2**63),)},
    "NULL": {"address": 0},
}


@pytest.mark.parametrize("of_type", [UINT, FLOAT])
@pytest.mark.parametrize("side", [CPU, CUDA])
@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_a_tensor_that_cannot_be_is_refused_before_it_is_read(what: str, side: int, of_type: int) -> None:
    dtype = (UINT, 8, 1) if of_type == UINT else (FLOAT, 64, 1)
    producer = Producer(bytes(96), dtype=dtype, device=(side, 0), **IMPOSSIBLE[what])
    uses: list[Any] = [SyncedMemory(96).set_cpu_data, syncedmem.from_dlpack, lambda source: syncedmem.from_dlpack(source, copy=True)]
    for use in uses:
        with pytest.raises(BufferError):
            use(producer)
    assert producer.deleted == 0


def test_a_copy_follows_strides_backwards_and_to_one_element() -> None:
    content = np.arange(6, dtype="f4")
    backwards = Producer(content.tobytes(), dtype=(FLOAT, 32, 1), shape=(6,), strides=(-1,), byte_offset=20)
    assert syncedmem.from_dlpack(backwards, copy=True).cpu_data().tolist() == [5, 4, 3, 2, 1, 0]
    broadcast = Producer(content.tobytes(), dtype=(FLOAT, 32, 1), shape=(2, 3), strides=(0, 0), byte_offset=8)
    assert syncedmem.from_dlpack(broadcast, copy=True).cpu_data().tolist() == [[2] * 3] * 2
    for shape, strides in (((1, 6), (2**62, 1)), ((0, 6), (2**62, 1))):
        row = Producer(content.tobytes(), dtype=(FLOAT, 32, 1), shape=shape, strides=strides)
        assert syncedmem.from_dlpack(row, copy=True).cpu_data().tolist() == [content.tolist()] * shape[0]


@pytest.mark.parametrize("dtype", [(BFLOAT, 16, 1), (UINT, 8, 4), (UINT, 4, 1), (FLOAT, 24, 1), (99, 8, 1)])
def test_a_type_that_numpy_lacks_is_a_buffer_error(dtype: tuple[int, int, int]) -> None:
    producer = Producer(bytes(96), dtype=dtype, shape=(96 * 8 // (dtype[1] * dtype[2]),))
    for copy in (None, True):
        with pytest.raises(BufferError):
            syncedmem.from_dlpack(producer, copy=copy)
    assert producer.deleted == 0


def test_a_producer_that_breaks_the_protocol_is_an_error_and_its_own_errors_are_the_callers() -> None:
    producer = Producer(bytes(96))
    syncedmem.from_dlpack(producer)
    used = producer.capsule
    for answer in (None, 12, object(), b"dltensor", used):
        producer._make = lambda: answer
        with pytest.raises(TypeError):
            syncedmem.from_dlpack(producer)

    def fails() -> object:
        raise ArithmeticError("the producer's own")

    producer._make = fails
    with pytest.raises(ArithmeticError):
        SyncedMemory(96).set_cpu_data(producer)
