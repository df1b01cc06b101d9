"""Typed views of a memory, and their NumPy arrays: without copies, and read-only for reading accesses."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from syncedmem import Head, SyncedArray, SyncedMemory

pytestmark = pytest.mark.once

Array = npt.NDArray[Any]


def address(array: Array) -> int:
    return array.ctypes.data


def test_a_view_says_what_it_is() -> None:
    mem = SyncedMemory(96)
    view = mem.array("f4", (2, 3, 4))
    assert isinstance(view, SyncedArray)
    assert view.memory is mem
    assert view.dtype == np.float32 and isinstance(view.dtype, np.dtype)
    assert (view.shape, view.nbytes, view.size, view.ndim) == ((2, 3, 4), 96, 24, 3)
    assert "float32" in repr(view) and "(2, 3, 4)" in repr(view) and "UNINITIALIZED" in repr(view)
    for name in dir(view):
        if not name.startswith("__"):
            getattr(view, name)
    # A search would move data.
    assert not hasattr(view, "__cuda_array_interface__") and not hasattr(mem, "__cuda_array_interface__")
    assert mem.head is Head.UNINITIALIZED, "looking touches nothing"


@pytest.mark.parametrize("shape, made", [(None, (12,)), (12, (12,)), ([np.int64(3), 4], (3, 4))])
def test_a_shape_may_be_missing_a_number_or_a_sequence(shape: Any, made: tuple[int, ...]) -> None:
    assert SyncedMemory(96).array(np.float64, shape).shape == made


@pytest.mark.parametrize("nbytes, shape", [(8, ()), (0, (3, 0)), (100, (2,))])
def test_any_shape_that_fits_has_an_array(nbytes: int, shape: tuple[int, ...]) -> None:
    array = SyncedMemory(nbytes).array("f8", shape).mutable_cpu_data()
    array[...] = 2.5
    assert array.shape == shape and (array == 2.5).all()


@pytest.mark.parametrize("shape", [(5, 5), 25, (2**62, 2**62), (2**64,), (-1,), (4, -6), -24, (-2, -12)])
def test_a_shape_that_does_not_fit_is_a_value_error(shape: Any) -> None:
    with pytest.raises(ValueError):
        SyncedMemory(96).array("f4", shape)
    with pytest.raises(ValueError, match="say the shape"):
        SyncedMemory(95).array("f4")


@pytest.mark.parametrize("shape", [1.5, (2.0, 3), "ab", (None,), ("3",), {1: 2}.items()])
def test_a_shape_of_something_else_is_a_type_error(shape: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        SyncedMemory(96).array("f4", shape)


@pytest.mark.parametrize("dtype", ["O", [("a", "f4"), ("b", "O")], "no such", 12, "f3", object()])
def test_a_type_of_python_objects_or_none_is_a_type_error(dtype: Any) -> None:
    with pytest.raises(TypeError):
        SyncedMemory(96).array(dtype)


EVERY_TYPE = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
# Types that DLPack lacks.
HOST_ALONE = [">f4", ">i8", "M8[ns]", "m8[s]", "S4", "U3", "V12", "g", "G"]


@pytest.mark.parametrize("dtype", EVERY_TYPE + HOST_ALONE + [[("x", "<i2"), ("y", ">f8", (2,))]])
def test_arrays_of_every_type_share_the_memory(dtype: Any) -> None:
    kind = np.dtype(dtype)
    mem = SyncedMemory(kind.itemsize * 6)
    view = mem.array(kind, (2, 3))
    written, read = view.mutable_cpu_data(), view.cpu_data()
    assert written.dtype == read.dtype == kind and written.shape == read.shape == (2, 3)
    assert address(written) == address(read) == address(mem.cpu_data())
    assert written.flags.c_contiguous and written.flags.aligned and written.flags.writeable
    assert view.overwrite_cpu_data().flags.writeable
    written.view("u1" if kind.names is None else np.dtype("u1"))[...] = 7 if kind.kind != "b" else 1
    assert mem.cpu_data().any()
    with pytest.raises(ValueError):
        read[0] = read[1]
    for view_of_it in (read, read.view("u1") if kind.names is None else read):
        with pytest.raises(ValueError):
            view_of_it.flags.writeable = True


@pytest.mark.parametrize("dtype", [np.dtype("l"), np.dtype("q"), np.dtype("f4", metadata={"unit": "m"})])
def test_an_array_has_the_very_type_of_its_view(dtype: np.dtype[Any]) -> None:
    # DLPack has one code for types that NumPy distinguishes.
    array = SyncedMemory(96).array(dtype).cpu_data()
    assert (array.dtype.char, array.dtype.metadata) == (dtype.char, dtype.metadata)


def test_a_read_only_array_gives_out_no_writable_buffer() -> None:
    array = SyncedMemory(96).cpu_data()
    assert array.data.readonly
    with pytest.raises((TypeError, ValueError, BufferError)):
        (ctypes.c_char * 96).from_buffer(array)  # type: ignore[arg-type,unused-ignore]


def test_array_interface_says_version_3_and_read_only() -> None:
    view = SyncedMemory(48).array("f4", (3, 4))
    interface: dict[str, Any] = view.__array_interface__
    assert interface["version"] == 3
    assert interface["shape"] == (3, 4)
    assert interface["typestr"] == "<f4"
    # A buffer instead of an address, so that its owner keeps the access.
    assert memoryview(interface["data"]).readonly
    assert address(np.frombuffer(interface["data"], "u1")) == address(view.cpu_data()) == address(np.asarray(view))
    assert interface.get("strides") in (None, (16, 4))
