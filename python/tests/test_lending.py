"""Memory of other libraries as a side of a SyncedMemory: what can be lent, and when it is let go."""

from __future__ import annotations

import array as arrays
import ctypes
import gc
import mmap
import sys
import weakref
from typing import Any, Optional

import numpy as np
import pytest

import syncedmem
from dlpack import BFLOAT, CUDA_HOST, FLOAT, READ_ONLY, UINT, Producer
from syncedmem import Head, SyncedMemory


def test_an_array_becomes_the_host_side() -> None:
    array = np.arange(24, dtype="f4")
    mem = SyncedMemory(96)
    mem.set_cpu_data(array)
    assert mem.head is Head.HEAD_AT_CPU and not mem.owns_cpu
    assert mem.array("f4").cpu_data().ctypes.data == array.ctypes.data
    mem.mutable_cpu_data()[:] = 0
    assert not array.any()


def test_a_lent_array_lives_until_another_takes_its_place() -> None:
    class Tracked(np.ndarray[Any, Any]):
        pass

    array = np.zeros(96, "u1").view(Tracked)
    seen = weakref.ref(array)
    mem = SyncedMemory(96)
    mem.set_cpu_data(array)
    del array
    gc.collect()
    base_lives = (mem.cpu_data() == 0).all()
    assert base_lives
    mem.set_cpu_data(np.ones(96, "u1"))
    gc.collect()
    assert seen() is None and (mem.cpu_data() == 1).all()


@pytest.mark.parametrize("dtype", ["u1", "f8", ">f4", "M8[ns]", "S8", [("x", "<i4"), ("y", "f4")]])
@pytest.mark.parametrize("shape", ["flat", "square"])
def test_arrays_of_every_type_and_shape_can_be_lent(dtype: Any, shape: str) -> None:
    size = 128 // np.dtype(dtype).itemsize
    array = np.zeros(size if shape == "flat" else (size // 2, 2), dtype)
    mem = SyncedMemory(128)
    mem.set_cpu_data(array)
    mem.mutable_cpu_data()[:] = 49
    assert array.tobytes() == b"1" * 128


def test_any_writable_buffer_can_be_lent() -> None:
    for buffer in (
        bytearray(96),
        memoryview(bytearray(96)),
        arrays.array("f", [0] * 24),
        mmap.mmap(-1, 96),
        (ctypes.c_float * 24)(),
    ):
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


@pytest.mark.parametrize("size", [0, 1, 95, 97, 192])
def test_memory_of_another_size_is_a_value_error(size: int) -> None:
    producer = Producer(bytes(size))
    mem = SyncedMemory(96)
    for lent in (np.zeros(size, "u1"), bytearray(size), producer):
        with pytest.raises(ValueError):
            mem.set_cpu_data(lent)
    assert mem.head is Head.UNINITIALIZED and producer.deleted == 0


@pytest.mark.parametrize(
    "lent",
    [
        np.zeros((6, 16), "u1").T,
        np.zeros(192, "u1")[::2],
        np.zeros(96, "u1")[::-1],
        np.broadcast_to(np.uint8(1), 96),
        np.frombuffer(bytes(96), "u1"),
        bytes(96),
        memoryview(bytes(96)),
        memoryview(bytearray(192))[::2],
        Producer(bytes(96), flags=READ_ONLY),
        Producer(bytes(192), shape=(96,), strides=(2,)),
        Producer(bytes(96), shape=(12, 8), strides=(1, 12)),
        Producer(bytes(96), shape=(96,), strides=(-1,)),
        Producer(bytes(96), shape=(96,), strides=(0,)),
        Producer(bytes(96), device=(7, 0)),
    ],
    ids=[
        "transposed",
        "with gaps",
        "backwards",
        "broadcast",
        "read-only",
        "bytes",
        "a view of bytes",
        "a view with gaps",
        "a read-only tensor",
        "a tensor with gaps",
        "a transposed tensor",
        "a backward tensor",
        "a broadcast tensor",
        "a tensor of an unknown device",
    ],
)
def test_what_cannot_be_borrowed_is_a_buffer_error(lent: Any) -> None:
    mem = SyncedMemory(96)
    with pytest.raises(BufferError):
        mem.set_cpu_data(lent)
    assert mem.head is Head.UNINITIALIZED
    if isinstance(lent, Producer):
        assert lent.deleted == 0, "on an error the tensor stays its producer's"


@pytest.mark.parametrize("lent", [None, 12, "text", [0] * 96, object(), {}, np.array([None] * 12), iter(b"")])
def test_what_is_no_memory_is_a_type_error(lent: Any) -> None:
    with pytest.raises(TypeError):
        SyncedMemory(96).set_cpu_data(lent)


def test_a_memory_is_not_lent_to_itself() -> None:
    mem = SyncedMemory(96)
    with pytest.raises(BufferError):
        mem.set_cpu_data(mem.mutable_cpu_data())
    with pytest.raises(BufferError):
        mem.set_cpu_data(mem.mutable_cpu())
    assert mem.exports == (0, 0)


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


def test_the_deleter_waits_for_the_last_array() -> None:
    producer = Producer(b"x" * 96)
    array = syncedmem.from_dlpack(producer).cpu_data()
    gc.collect()
    assert producer.deleted == 0 and bytes(array) == b"x" * 96
    del array
    gc.collect()
    assert producer.deleted == 1


def test_a_deleter_that_fails_is_told_and_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    producer = Producer(bytes(96))
    mem = SyncedMemory(96)
    mem.set_cpu_data(producer)
    producer.deleted = "no number"  # type: ignore[assignment]
    mem.close()
    assert mem.closed and len(told) == 1


# --- what producers say ----------------------------------------------------------------------------------


def test_a_producer_that_knows_no_versions_is_asked_again() -> None:
    producer = Producer(b"x" * 96, versioned=False, knows_versions=False)
    view = syncedmem.from_dlpack(producer)
    assert bytes(view.cpu_data()) == b"x" * 96
    assert "max_version" in producer.asked[0] and "max_version" not in producer.asked[1]


def test_a_producer_is_told_the_version_that_is_understood() -> None:
    producer = Producer(bytes(96))
    syncedmem.from_dlpack(producer)
    assert producer.asked[0]["max_version"][0] == 1


def test_an_offset_is_followed() -> None:
    producer = Producer(b"a" * 32 + b"b" * 32, shape=(32,), byte_offset=32)
    view = syncedmem.from_dlpack(producer)
    assert bytes(view.cpu_data()) == b"b" * 32
    assert bytes(syncedmem.from_dlpack(producer, copy=True).cpu_data()) == b"b" * 32


def test_strides_that_say_contiguous_are_contiguous() -> None:
    for shape, strides in (((4, 6), (6, 1)), ((1, 6), (77, 1)), ((6, 1), (1, 99)), ((), ()), ((0, 5), (1, 1))):
        content = bytes(int(np.prod(shape)) * 4)
        view = syncedmem.from_dlpack(Producer(content, dtype=(FLOAT, 32, 1), shape=shape, strides=strides))
        assert view.shape == shape


def test_a_tensor_with_gaps_is_copied_when_it_is_asked_for() -> None:
    producer = Producer(bytes(range(16)), shape=(4, 2), strides=(4, 2))
    view = syncedmem.from_dlpack(producer, copy=True)
    assert view.cpu_data().tolist() == [[0, 2], [4, 6], [8, 10], [12, 14]]
    assert producer.deleted == 0, "who only copies does not take the tensor"


def test_page_locked_memory_is_of_the_host() -> None:
    view = syncedmem.from_dlpack(Producer(b"x" * 8, device=(CUDA_HOST, 0)))
    assert view.memory.head is Head.HEAD_AT_CPU and bytes(view.cpu_data()) == b"x" * 8


@pytest.mark.parametrize(
    "producer",
    [
        Producer(bytes(96), dtype=(BFLOAT, 16, 1), shape=(48,)),
        Producer(bytes(96), dtype=(UINT, 8, 4), shape=(24,)),
        Producer(bytes(96), dtype=(UINT, 4, 1), shape=(96,)),
        Producer(bytes(96), dtype=(FLOAT, 24, 1), shape=(32,)),
        Producer(bytes(96), dtype=(99, 8, 1)),
    ],
    ids=["bfloat16", "lanes", "4 bits", "24 bits", "an unknown code"],
)
def test_a_type_that_numpy_lacks_is_a_buffer_error(producer: Producer) -> None:
    for copy in (None, True):
        with pytest.raises(BufferError):
            syncedmem.from_dlpack(producer, copy=copy)
    assert producer.deleted == 0


@pytest.mark.parametrize("shape", [(-1,), (2**62, 4), (2**40, 2**40), (-4, -24)])
def test_a_shape_that_cannot_be_is_refused(shape: tuple[int, ...]) -> None:
    producer = Producer(bytes(96), shape=shape)
    for use in (SyncedMemory(96).set_cpu_data, syncedmem.from_dlpack):
        with pytest.raises((ValueError, BufferError, MemoryError, OverflowError, syncedmem.Error)):
            use(producer)
    assert producer.deleted == 0


@pytest.mark.parametrize("answer", [None, 12, object(), b"dltensor"])
def test_a_producer_that_returns_no_capsule_is_a_type_error(answer: Any) -> None:
    producer = Producer(bytes(96))
    producer._make = lambda: answer
    with pytest.raises(TypeError):
        syncedmem.from_dlpack(producer)


def test_a_capsule_that_was_taken_is_not_taken_again() -> None:
    producer = Producer(bytes(96))
    syncedmem.from_dlpack(producer)
    used = producer.capsule
    producer._make = lambda: used
    with pytest.raises((TypeError, ValueError, BufferError)):
        syncedmem.from_dlpack(producer)


def test_an_error_of_the_producer_is_the_callers() -> None:
    producer = Producer(bytes(96))

    def fails() -> object:
        raise ArithmeticError("the producer's own")

    producer._make = fails
    with pytest.raises(ArithmeticError):
        SyncedMemory(96).set_cpu_data(producer)


def test_a_producer_without_a_device_is_an_error() -> None:
    class Half:
        def __dlpack__(self, **_: Any) -> object:
            return Producer(bytes(96)).__dlpack__()

    with pytest.raises((AttributeError, TypeError, BufferError)):
        syncedmem.from_dlpack(Half())


@pytest.mark.parametrize("count", [-1, 65, 2**30])
@pytest.mark.parametrize("copy", [None, True])
def test_dimensions_that_cannot_be_are_refused_before_they_are_read(count: int, copy: Optional[bool]) -> None:
    producer = Producer(bytes(96), ndim=count)
    with pytest.raises(BufferError):
        syncedmem.from_dlpack(producer, copy=copy)
