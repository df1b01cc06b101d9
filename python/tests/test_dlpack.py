"""DLPack capsules of both sides, checked byte by byte against the array API, "Data interchange"."""

from __future__ import annotations

import gc
from typing import Any, Callable, Optional

import numpy as np
import pytest

import syncedmem
from conftest import DRIVER
from cuda_driver import Driver
from dlpack import BOOL, COMPLEX, CPU, CUDA, FLOAT, INT, IS_COPIED, READ_ONLY, UINT, Producer, consume, see
from syncedmem import Head, SyncedArray, SyncedMemory

Of = Callable[[SyncedArray], Any]
# Exporters with their side, and whether they are read-only.
SOURCES: dict[str, tuple[Of, int, bool]] = {
    "the view": (lambda view: view, CPU, True),
    "an access for reading": (lambda view: view.cpu(), CPU, True),
    "an access for writing": (lambda view: view.mutable_cpu(), CPU, False),
    "an access for overwriting": (lambda view: view.overwrite_cpu(), CPU, False),
    "the view of device data": (lambda view: view, CUDA, True),
    "an access to the device": (lambda view: view.gpu(), CUDA, True),
    "an access for writing there": (lambda view: view.mutable_gpu(), CUDA, False),
    "an access for overwriting there": (lambda view: view.overwrite_gpu(), CUDA, False),
    "a device array": (lambda view: view.gpu_data(), CUDA, True),
    "a device array for writing": (lambda view: view.mutable_gpu_data(), CUDA, False),
    "a device array for overwriting": (lambda view: view.overwrite_gpu_data(), CUDA, False),
}


def made(kind: int, shape: Optional[tuple[int, ...]] = None) -> SyncedArray:
    """A view of 96 bytes of sevens on a side."""
    view = SyncedMemory(96).array("f4", shape)
    view.mutable_cpu_data()[...] = 7
    if kind == CUDA:
        view.mutable_gpu_data()
    return view


def place_of(view: SyncedArray, kind: int) -> int:
    return view.gpu_data().ptr if kind == CUDA else view.cpu_data().ctypes.data


@pytest.fixture(params=[what for what, (_, kind, _) in SOURCES.items() if kind == CPU or DRIVER is not None])
def source(request: pytest.FixtureRequest) -> tuple[str, Of, int, bool]:
    return (request.param, *SOURCES[request.param])


def test_a_versioned_capsule_says_what_the_memory_is(source: tuple[str, Of, int, bool]) -> None:
    _, of, kind, readonly = source
    view = made(kind, (2, 3, 4))
    seen = see(of(view).__dlpack__(max_version=(1, 0)))
    assert seen.versioned and seen.version[0] == 1 and seen.deleter != 0
    assert (seen.flags, seen.device, seen.data) == (READ_ONLY if readonly else 0, (kind, 0), place_of(view, kind))
    assert (seen.dtype, seen.shape, seen.strides, seen.byte_offset) == ((FLOAT, 32, 1), (2, 3, 4), (12, 4, 1), 0)


@pytest.mark.parametrize("version", [None, (0, 99)])
def test_a_consumer_from_before_versions_gets_what_may_be_written(source: tuple[str, Of, int, bool], version: Any) -> None:
    _, of, kind, readonly = source
    view = made(kind, (4, 6))
    given = of(view)
    if readonly:
        with pytest.raises(BufferError, match="mutable_cpu"):
            given.__dlpack__(max_version=version)
    else:
        seen = see(given.__dlpack__(max_version=version))
        assert not seen.versioned and (seen.device, seen.data) == ((kind, 0), place_of(view, kind))
        assert (seen.dtype, seen.shape, seen.strides) == ((FLOAT, 32, 1), (4, 6), (6, 1))
    del given
    gc.collect()
    assert view.memory.exports == (0, 0)


def test_a_copy_is_the_consumers_own(source: tuple[str, Of, int, bool]) -> None:
    what, of, kind, _ = source
    view = made(kind)
    given = of(view)
    seen = consume(given.__dlpack__(copy=True, max_version=(1, 0)))
    assert (seen.flags, seen.device) == (IS_COPIED, (kind, 0)), "a copy is where the original is"
    assert seen.data != place_of(view, kind)
    if kind == CPU:
        assert "overwriting" in what or np.frombuffer(seen.content(96), "f4").tolist() == [7] * 24
        seen.write(b"\0" * 96)
        assert view.memory.exports == (0, 0) and (view.cpu_data() == 7).all()
    seen.delete()


KINDS = {"?": BOOL, "i": INT, "u": UINT, "f": FLOAT, "c": COMPLEX}
EVERY_TYPE = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", EVERY_TYPE)
def test_types_have_dlpacks_numbers_and_numpy_understands_them(dtype: str) -> None:
    view = SyncedMemory(96).array(dtype)
    assert see(view.__dlpack__(max_version=(1, 0))).dtype == (KINDS[dtype[0]], 8 * np.dtype(dtype).itemsize, 1)
    if dtype == "?" and VERSION < (1, 25):
        pytest.skip("NumPy reads booleans since 1.25")
    array = np.from_dlpack(view.mutable_cpu())
    assert array.dtype == np.dtype(dtype) and array.nbytes == 96


@pytest.mark.parametrize("dtype", [">f4", "M8[ns]", "m8[s]", "S4", "U3", "V12", "g", "G", [("x", "<f4")]])
def test_a_type_that_dlpack_lacks_is_a_buffer_error(dtype: Any) -> None:
    mem = SyncedMemory(np.dtype(dtype).itemsize * 4)
    with pytest.raises(BufferError):
        mem.array(dtype).__dlpack__(max_version=(1, 0))
    assert mem.exports == (0, 0)


# --- the contract -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_an_access_ends_with_its_capsule_or_with_the_tensor_of_who_took_it(version: Any) -> None:
    mem = SyncedMemory(96)
    capsule = mem.array("f4").mutable_cpu().__dlpack__(max_version=version)
    assert mem.exports == (1, 0)
    del capsule
    assert mem.exports == (0, 0)
    capsule = mem.mutable_cpu().__dlpack__(max_version=version)
    seen = consume(capsule)
    del capsule
    gc.collect()
    assert mem.exports == (1, 0)
    seen.delete()
    assert mem.exports == (0, 0)


def test_an_array_for_overwriting_that_is_exported_again_has_what_was_written_last(simulated: Driver) -> None:
    view = SyncedMemory(96).array("f4")
    array = view.overwrite_gpu_data()
    simulated.write(array.ptr, b"\3" * 96)
    assert simulated.read(see(array.__dlpack__()).data, 96) == b"\3" * 96
    view.mutable_cpu_data()[:] = 5
    assert simulated.read(see(array.__dlpack__()).data, 96) == np.full(24, 5, "f4").tobytes()


def test_a_view_exports_the_side_that_is_current_or_asked_for(simulated: Driver) -> None:
    view = SyncedMemory(96).array("f4")

    def side(**asked: Any) -> int:
        return see(view.__dlpack__(max_version=(1, 0), **asked)).device[0]

    def head() -> Head:
        return view.memory.head

    assert side() == view.__dlpack_device__()[0] == CPU
    view.mutable_gpu_data()
    assert side() == view.__dlpack_device__()[0] == CUDA and head() is Head.HEAD_AT_GPU, "no copy was made"
    with pytest.raises(BufferError):
        side(dl_device=(CPU, 0), copy=False)
    assert head() is Head.HEAD_AT_GPU
    assert side(dl_device=(CPU, 0)) == CPU and head() is Head.SYNCED
    assert side() == CPU, "the host, if both are current"
    assert side(dl_device=(CUDA, 0), copy=False) == CUDA


# --- arguments --------------------------------------------------------------------------------------


def exporters(kind: int) -> list[Any]:
    view = made(kind)
    return [view, view.mutable_cpu()] if kind == CPU else [view, view.mutable_gpu(), view.mutable_gpu_data()]


# Arguments that exporters of a side refuse with exactly this class of exception.
REFUSED: list[tuple[type[Exception], int, str, list[Any]]] = [
    (ValueError, CPU, "stream", [0, 1, 2, -1, 4096]),
    (BufferError, CPU, "dl_device", [(CPU, 1), (7, 0), (10, 0), (-1, 0)]),
    (TypeError, CPU, "dl_device", ["cpu", 1, (1,), object(), ("a", "b")]),
    (TypeError, CPU, "max_version", ["1.0", 1, 1.0, (None, 0), object()]),
    (BufferError, CUDA, "dl_device", [(CUDA, 1), (CUDA, 99), (CUDA, -1), (3, 0), (10, 0)]),
    (ValueError, CUDA, "stream", [0, -2, -100]),
    (TypeError, CUDA, "stream", ["1", 1.0, object(), True]),
]


@pytest.mark.parametrize("error, kind, name, values", [each for each in REFUSED if each[1] == CPU or DRIVER is not None])
def test_an_argument_that_does_not_fit_is_refused(error: type[Exception], kind: int, name: str, values: list[Any]) -> None:
    for of in exporters(kind):
        for value in values:
            with pytest.raises(error) as caught:
                of.__dlpack__(**{"max_version": (1, 0), name: value})
            assert type(caught.value) is error


@pytest.mark.no_driver
def test_the_device_cannot_be_asked_for_where_there_is_none() -> None:
    with pytest.raises((BufferError, RuntimeError)):
        SyncedMemory(96).array("f4").__dlpack__(dl_device=(CUDA, 0), max_version=(1, 0))


def test_looking_for_the_device_touches_nothing_and_the_arguments_are_named() -> None:
    view = SyncedMemory(96).array("f4")
    for of in (view, view.cpu(), view.mutable_cpu()):
        device = of.__dlpack_device__()
        assert device == (CPU, 0) and isinstance(device, tuple)
    with pytest.raises(TypeError):
        view.__dlpack__(None)  # type: ignore[misc]
    assert view.memory.head is Head.UNINITIALIZED


# --- streams and devices ------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [None, 1, 2, -1])
def test_the_streams_that_dlpack_numbers_are_taken(driver: Driver, stream: Optional[int]) -> None:
    for of in exporters(CUDA):
        assert see(of.__dlpack__(stream=stream, max_version=(1, 0))).device == (CUDA, 0)


def test_the_consumers_stream_waits_for_what_the_library_has_started(simulated: Driver) -> None:
    mem = SyncedMemory(96)
    mem.mutable_cpu_data()
    with simulated.stream() as stream:
        simulated.forget()
        capsule = mem.gpu().__dlpack__(stream=stream, max_version=(1, 0))
        log = simulated.log()
    assert see(capsule).device == (CUDA, 0)
    waits = [line for line in log.splitlines() if line.startswith("cuStreamWaitEvent")]
    assert len(waits) == 1 and f"stream={stream:#x}" in waits[0], log
    assert log.index("cuMemcpy") < log.index("cuEventRecord") < log.index("cuStreamWaitEvent")


def test_an_access_says_its_device_before_there_is_a_block_and_a_copy_is_there_or_refused(simulated: Driver) -> None:
    with simulated.current(1):
        access = SyncedMemory(96).array("f4").mutable_gpu()
        assert access.__dlpack_device__() == see(access.__dlpack__()).device == (CUDA, 1)
        assert see(access.__dlpack__(copy=True, max_version=(1, 0))).device == (CUDA, 1)
    with simulated.current(0), pytest.raises(BufferError, match="current"):
        access.__dlpack__(copy=True, max_version=(1, 0))


# --- foreign device memory ---------------------------------------------------------------------------------


def test_device_memory_of_another_library_is_borrowed_kept_and_let_go(simulated: Driver) -> None:
    other = SyncedMemory(96).array("f4", (4, 6))
    address = other.mutable_gpu_data().ptr
    view = syncedmem.from_dlpack(other.mutable_gpu())
    assert view.shape == (4, 6) and view.dtype == np.float32 and view.memory.head is Head.HEAD_AT_GPU
    assert not view.memory.owns_gpu and view.memory.device == 0 and view.gpu_data().ptr == address
    producer, mem = Producer(bytes(96), address=address, device=(CUDA, 0)), SyncedMemory(96)
    mem.set_gpu_data(producer)
    assert producer.asked[0].get("stream") in (None, 1) and producer.deleted == 0
    simulated.write(address, b"\6" * 96)
    assert (mem.cpu_data() == 6).all()
    mem.close()
    assert producer.deleted == 1


def test_host_memory_is_no_device_memory() -> None:
    mem = SyncedMemory(96)
    producer = Producer(bytes(96))
    for foreign in (producer, np.zeros(96, "u1")):
        with pytest.raises(BufferError):
            mem.set_gpu_data(foreign)
    assert producer.deleted == 0
    with pytest.raises(BufferError):
        mem.set_cpu_data(Producer(bytes(96), device=(CUDA, 0)))


@pytest.mark.no_driver
def test_device_memory_cannot_be_lent_where_there_is_no_gpu() -> None:
    producer = Producer(bytes(96), device=(CUDA, 0), address=4096)
    with pytest.raises(syncedmem.Error) as caught:
        SyncedMemory(96).set_gpu_data(producer)
    assert caught.value.status is syncedmem.Status.NO_GPU and producer.deleted == 0


# --- NumPy --------------------------------------------------------------------------------------------------

VERSION = tuple(map(int, np.__version__.split(".")[:2]))
KNOWS_VERSIONS = VERSION >= (2, 1)
# Older versions make every array from DLPack read-only.
WRITES = VERSION >= (2, 3)


@pytest.mark.skipif(not KNOWS_VERSIONS, reason="NumPy knows versions and copies since 2.1")
def test_numpy_reads_without_a_copy_and_may_ask_for_one() -> None:
    view = made(CPU, (4, 6))
    for of in (view, view.cpu()):
        array: Any = np.from_dlpack(of)
        assert array.ctypes.data == place_of(view, CPU) and array.shape == (4, 6) and array.dtype == np.float32
        assert not array.flags.writeable
    array = np.from_dlpack(view, copy=True)  # type: ignore[arg-type,call-arg,unused-ignore]
    assert array.ctypes.data != place_of(view, CPU) and (array == 7).all()


@pytest.mark.parametrize("name", ["mutable_cpu", "overwrite_cpu"])
def test_numpy_writes_without_a_copy(name: str) -> None:
    view = made(CPU, (4, 6))
    array = np.from_dlpack(getattr(view, name)())
    assert array.ctypes.data == place_of(view, CPU)
    if WRITES:
        array[:] = 8
        assert (view.cpu_data() == 8).all()


def test_from_dlpack_borrows_an_array_or_copies_it() -> None:
    array = np.arange(24, dtype="f4").reshape(4, 6)
    view = syncedmem.from_dlpack(array)
    assert view.shape == (4, 6) and view.dtype == np.float32 and view.memory.nbytes == 96
    assert view.memory.head is Head.HEAD_AT_CPU and not view.memory.owns_cpu
    assert place_of(view, CPU) == array.ctypes.data
    copy = syncedmem.from_dlpack(array, copy=True)
    view.mutable_cpu_data()[:] = 1
    assert (array == 1).all()
    assert copy.cpu_data().ravel().tolist() == list(range(24)) and copy.memory.owns_cpu


def test_from_dlpack_of_a_view_and_of_a_buffer_shares_the_memory() -> None:
    view = SyncedMemory(96).array("f4")
    syncedmem.from_dlpack(view.mutable_cpu()).mutable_cpu_data()[:] = 4
    assert (view.cpu_data() == 4).all()
    with pytest.raises(BufferError):
        syncedmem.from_dlpack(view)  # it is for reading
    buffer = bytearray(b"12345678")
    foreign = syncedmem.from_dlpack(buffer)
    foreign.mutable_cpu_data()[:] = ord("x")
    assert buffer == b"xxxxxxxx"
