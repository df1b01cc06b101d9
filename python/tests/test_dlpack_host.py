"""DLPack capsules of the host side, looked at byte by byte: the protocol is that of the array API, "Data interchange"."""

from __future__ import annotations

import ctypes
import gc
from typing import Any, Callable, Optional

import numpy as np
import pytest

import dlpack
from dlpack import BOOL, COMPLEX, CPU, CUDA, FLOAT, INT, IS_COPIED, NAMES, READ_ONLY, UINT, consume, name_of, see
from syncedmem import Head, SyncedMemory, ffi

CAPSULES: list[tuple[str, Callable[[Any], Any], bool]] = [
    ("the view", lambda view: view, True),
    ("an access for reading", lambda view: view.cpu(), True),
    ("an access for writing", lambda view: view.mutable_cpu(), False),
    ("an access for overwriting", lambda view: view.overwrite_cpu(), False),
]


@pytest.mark.parametrize("what, of, readonly", CAPSULES, ids=[each[0] for each in CAPSULES])
def test_a_versioned_capsule_says_what_the_memory_is(what: str, of: Callable[[Any], Any], readonly: bool) -> None:
    view = SyncedMemory(96).array("f4", (2, 3, 4))
    view.mutable_cpu_data()[:] = 1
    seen = see(of(view).__dlpack__(max_version=(1, 0)))
    assert seen.versioned and seen.version[0] == 1
    assert seen.flags == (READ_ONLY if readonly else 0)
    assert seen.data == view.cpu_data().ctypes.data
    assert seen.device == (CPU, 0)
    assert seen.dtype == (FLOAT, 32, 1)
    assert seen.shape == (2, 3, 4)
    assert seen.strides == (12, 4, 1)
    assert seen.byte_offset == 0
    assert seen.deleter != 0


@pytest.mark.parametrize("name", ["mutable_cpu", "overwrite_cpu"])
@pytest.mark.parametrize("version", [None, (0, 8), (0, 99)])
def test_a_consumer_from_before_versions_gets_a_legacy_capsule(name: str, version: Optional[tuple[int, int]]) -> None:
    view = SyncedMemory(96).array("f8", (3, 4))
    capsule = getattr(view, name)().__dlpack__(max_version=version)
    assert name_of(capsule) == NAMES[False]
    seen = see(capsule)
    assert seen.data == view.cpu_data().ctypes.data
    assert (seen.device, seen.dtype, seen.shape, seen.strides) == ((CPU, 0), (FLOAT, 64, 1), (3, 4), (4, 1))


@pytest.mark.parametrize("of", [lambda view: view, lambda view: view.cpu()], ids=["the view", "an access"])
def test_reading_cannot_be_told_to_a_consumer_from_before_versions(of: Callable[[Any], Any]) -> None:
    mem = SyncedMemory(96)
    for version in (None, (0, 8)):
        with pytest.raises(BufferError, match="mutable_cpu"):
            of(mem.array("f4")).__dlpack__(max_version=version)
    assert mem.exports == (0, 0)


@pytest.mark.parametrize("version", [(1, 0), (1, 1), (1, 99), (2, 0)])
def test_a_consumer_of_a_newer_version_gets_a_versioned_capsule(version: tuple[int, int]) -> None:
    capsule = SyncedMemory(96).array("f4").__dlpack__(max_version=version)
    assert name_of(capsule) == NAMES[True] and see(capsule).version <= version


@pytest.mark.parametrize(
    "dtype, expected",
    [
        ("?", (BOOL, 8, 1)),
        ("i1", (INT, 8, 1)),
        ("i2", (INT, 16, 1)),
        ("i4", (INT, 32, 1)),
        ("i8", (INT, 64, 1)),
        ("u1", (UINT, 8, 1)),
        ("u2", (UINT, 16, 1)),
        ("u4", (UINT, 32, 1)),
        ("u8", (UINT, 64, 1)),
        ("f2", (FLOAT, 16, 1)),
        ("f4", (FLOAT, 32, 1)),
        ("f8", (FLOAT, 64, 1)),
        ("c8", (COMPLEX, 64, 1)),
        ("c16", (COMPLEX, 128, 1)),
    ],
)
def test_types_have_dlpacks_numbers(dtype: str, expected: tuple[int, int, int]) -> None:
    seen = see(SyncedMemory(96).array(dtype).__dlpack__(max_version=(1, 0)))
    assert seen.dtype == expected
    assert seen.shape == (96 // np.dtype(dtype).itemsize,)


@pytest.mark.parametrize("dtype", [">f4", ">i2", "M8[ns]", "m8[s]", "S4", "U3", "V12", "g", "G", [("x", "<f4")]])
def test_a_type_that_dlpack_lacks_is_a_buffer_error(dtype: Any) -> None:
    mem = SyncedMemory(np.dtype(dtype).itemsize * 4)
    with pytest.raises(BufferError):
        mem.array(dtype).__dlpack__(max_version=(1, 0))
    assert mem.exports == (0, 0)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1, 1), (24,)])
def test_any_shape_can_be_exported(shape: tuple[int, ...]) -> None:
    seen = see(SyncedMemory(96).array("f4", shape).__dlpack__(max_version=(1, 0)))
    assert seen.shape == shape
    assert seen.strides is None or len(seen.strides) == len(shape)


# --- the contract -----------------------------------------------------------------------------------


def test_a_capsule_that_nobody_takes_ends_its_access() -> None:
    mem = SyncedMemory(96)
    for version in (None, (1, 0)):
        capsule = mem.array("f4").mutable_cpu().__dlpack__(max_version=version)
        assert mem.exports == (1, 0)
        del capsule
        assert mem.exports == (0, 0)


def test_a_capsule_that_was_taken_leaves_the_tensor_to_its_taker() -> None:
    mem = SyncedMemory(96)
    capsule = mem.mutable_cpu().__dlpack__()
    seen = consume(capsule)
    del capsule
    gc.collect()
    assert mem.exports == (1, 0)
    seen.delete()
    assert mem.exports == (0, 0)


def test_an_exception_on_its_way_survives_a_capsule_that_goes_with_it() -> None:
    mem = SyncedMemory(96)

    def refuse() -> None:
        capsule = mem.mutable_cpu().__dlpack__()
        raise KeyError(str(name_of(capsule)))

    with pytest.raises(KeyError):
        refuse()
    gc.collect()
    assert mem.exports == (0, 0)


# --- arguments --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [0, 1, 2, -1, 4096])
def test_memory_of_the_host_has_no_stream(stream: int) -> None:
    for of in (SyncedMemory(96).array("f4"), SyncedMemory(96).mutable_cpu()):
        with pytest.raises(ValueError):
            of.__dlpack__(stream=stream, max_version=(1, 0))


@pytest.mark.parametrize("device", [(CPU, 1), (7, 0), (10, 0), (-1, 0), (CUDA, 99), (CUDA, -1)])
def test_a_device_that_it_is_not_on_is_a_buffer_error(device: tuple[int, int]) -> None:
    view = SyncedMemory(96).array("f4")
    for of in (view, view.mutable_cpu()):
        with pytest.raises((BufferError, RuntimeError)) as caught:
            of.__dlpack__(dl_device=device, max_version=(1, 0))
    assert isinstance(caught.value, BufferError)


@pytest.mark.no_driver
def test_the_device_cannot_be_asked_for_where_there_is_none() -> None:
    with pytest.raises((BufferError, RuntimeError)):
        SyncedMemory(96).array("f4").__dlpack__(dl_device=(CUDA, 0), max_version=(1, 0))


@pytest.mark.parametrize("copy", [None, False])
def test_an_export_copies_nothing_unless_it_is_asked_to(copy: Optional[bool]) -> None:
    view = SyncedMemory(96).array("f4")
    view.mutable_cpu_data()[:] = 3
    seen = see(view.__dlpack__(copy=copy, max_version=(1, 0)))
    assert seen.data == view.cpu_data().ctypes.data and not seen.flags & IS_COPIED


@pytest.mark.parametrize("name", ["", "cpu", "mutable_cpu"])
def test_a_copy_is_the_consumers_own(name: str) -> None:
    mem = SyncedMemory(96)
    view = mem.array("f4", (4, 6))
    view.mutable_cpu_data()[:] = 3
    of = getattr(view, name)() if name else view
    seen = consume(of.__dlpack__(copy=True, max_version=(1, 0)))
    assert seen.flags == IS_COPIED and seen.shape == (4, 6)
    assert seen.data != view.cpu_data().ctypes.data
    seen.write(b"\0" * 96)
    assert mem.exports == (0, 0)
    assert (view.cpu_data() == 3).all()
    seen.delete()


def test_a_copy_may_be_handed_to_a_consumer_from_before_versions() -> None:
    view = SyncedMemory(96).array("f4")
    view.mutable_cpu_data()[:] = 3
    capsule = view.__dlpack__(copy=True)
    seen = see(capsule)
    assert not seen.versioned and np.frombuffer(seen.content(96), "f4").tolist() == [3.0] * 24


@pytest.mark.parametrize("version", ["1.0", 1, 1.0, (None, 0), object()])
def test_a_version_of_something_else_is_a_type_error(version: Any) -> None:
    with pytest.raises(TypeError):
        SyncedMemory(96).mutable_cpu().__dlpack__(max_version=version)


@pytest.mark.parametrize("device", ["cpu", 1, (1,), object(), ("a", "b")])
def test_a_device_of_something_else_is_a_type_error(device: Any) -> None:
    view = SyncedMemory(96).array("f4")
    for exporter in (view, view.mutable_cpu()):
        with pytest.raises(TypeError, match="dl_device is .*; pass"):
            exporter.__dlpack__(dl_device=device, max_version=(1, 0))


def test_the_arguments_of_dlpack_are_named() -> None:
    with pytest.raises(TypeError):
        SyncedMemory(96).array("f4").__dlpack__(None)  # type: ignore[misc]


def test_dlpack_device_says_the_host() -> None:
    view = SyncedMemory(96).array("f4")
    for of in (view, view.cpu(), view.mutable_cpu()):
        device = of.__dlpack_device__()
        assert device == (CPU, 0) and isinstance(device, tuple)
    assert view.memory.head is Head.UNINITIALIZED


def test_the_layouts_of_dlpack_are_those_of_its_header() -> None:
    for ours, theirs in (("DLManagedTensor", dlpack.Managed), ("DLManagedTensorVersioned", dlpack.Versioned)):
        assert ffi.sizeof(ours) == ctypes.sizeof(theirs)
        assert ffi.offsetof(ours, "deleter") == theirs.deleter.offset
        assert ffi.offsetof(ours, "dl_tensor") == theirs.tensor.offset
    assert ffi.sizeof("DLTensor") == ctypes.sizeof(dlpack.Tensor)
    assert ffi.offsetof("DLManagedTensorVersioned", "flags") == dlpack.Versioned.flags.offset
