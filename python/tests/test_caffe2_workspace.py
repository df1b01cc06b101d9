"""Caffe2's `Workspace`: a mapping of tensors that C++ sees too, and weights from `init_net.pb`."""

from __future__ import annotations

import ctypes
import gc
import subprocess
from pathlib import Path
from typing import Callable, Iterator

import numpy as np
import pytest

import models
import syncedmem
from syncedmem import Error, Tensor, Workspace, ffi, lib, load_init_net

pytestmark = pytest.mark.once


def test_a_workspace_is_a_mapping_of_tensors() -> None:
    ws = Workspace()
    assert len(ws) == 0 and "a" not in ws and list(ws) == []
    with pytest.raises(KeyError):
        ws["a"]
    ws["b"] = np.arange(3, dtype="f4")
    ws["a"] = tensor = Tensor((2, 2))
    assert list(ws) == ["a", "b"] and len(ws) == 2 and "a" in ws and not ws.__contains__(5)
    assert ws["b"].data().tolist() == [0, 1, 2]
    assert ws["a"].handle == tensor.handle
    assert {name: one.shape for name, one in ws.items()} == {"a": (2, 2), "b": (3,)}
    assert repr(ws) == "<Workspace of 2 blobs, 12 bytes>"
    del ws["a"]
    assert list(ws) == ["b"]
    with pytest.raises(KeyError):
        del ws["a"]


def test_every_object_of_one_tensor_is_the_same_tensor() -> None:
    ws = Workspace()
    first = ws.tensor("w")
    first.resize(4)
    assert ws.tensor("w").shape == (4,) and ws["w"].handle == first.handle
    ws["w"].mutable_data("f4")[:] = 2
    del ws["w"]
    assert first.data().tolist() == [2, 2, 2, 2]


def test_names_are_text_without_nul() -> None:
    ws = Workspace()
    ws["größe/a b"] = np.zeros(1)
    assert list(ws) == ["größe/a b"]
    with pytest.raises(ValueError, match="NUL"):
        ws["a\0b"] = np.zeros(1)
    with pytest.raises(TypeError, match="text"):
        ws[b"a"]  # type: ignore[index]


def test_a_child_sees_its_parent_s_blobs_and_hides_them() -> None:
    parent = Workspace()
    parent["a"] = np.zeros(1)
    child = Workspace(parent)
    assert "a" in child and child.local == [] and list(child) == ["a"]
    assert child.tensor("a").handle == parent["a"].handle
    child["a"] = np.ones(1)
    assert parent["a"].data()[0] == 1
    child.local_tensor("a").resize(9)
    assert parent["a"].shape == (1,) and child["a"].shape == (9,)
    assert child.local == ["a"] and list(child) == ["a"]
    with pytest.raises(KeyError):
        del Workspace(parent)["a"]
    del parent
    gc.collect()
    del child["a"]
    assert child["a"].data()[0] == 1


def test_blobs_are_renamed_and_mapped() -> None:
    ws, other = Workspace(), Workspace()
    ws["old"] = other["b"] = np.zeros(2)
    ws.rename("old", "new")
    assert list(ws) == ["new"]
    with pytest.raises(ValueError, match="name"):
        ws.rename("absent", "x")
    ws.map(other, {"x": "b"})
    assert ws["x"].handle == other["b"].handle and ws.local == ["new"]
    with pytest.raises(ValueError, match="visible"):
        ws.map(other, {"new": "b"})
    ws.map(other, {"new": "b"}, skip=True)
    assert ws["new"].handle != other["b"].handle
    with pytest.raises(ValueError):
        ws.map(other, {"y": "absent"})


# --- with C++ ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cpp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    """A library in C++ that uses syncedmem/caffe2.hpp, on the package's own library."""
    built = tmp_path_factory.mktemp("cpp") / "libworkspaces.so"
    source = Path(__file__).with_name("workspaces.cpp")
    library = Path(syncedmem.library_path())
    subprocess.run(
        ["g++", "-std=c++11", "-shared", "-fPIC", "-Wall", "-Werror", f"-I{syncedmem.include_dir()}", str(source)]
        + ["-o", str(built), str(library), f"-Wl,-rpath,{library.parent}"],
        check=True,
    )
    loaded = ctypes.CDLL(str(built))
    loaded.make_workspace.restype = ctypes.c_void_p
    loaded.sum_of.restype = ctypes.c_double
    yield loaded


def made_in_cpp(cpp: ctypes.CDLL) -> Workspace:
    pointer = ffi.cast("syncedmem_workspace_t *", cpp.make_workspace())
    ws = Workspace.from_handle(pointer)
    lib.syncedmem_workspace_destroy(pointer)
    return ws


def test_a_tensor_of_cpp_is_read_and_freed_by_python(cpp: ctypes.CDLL, alive: Callable[[], int]) -> None:
    before = alive()
    ws = made_in_cpp(cpp)
    tensor = ws["weights"]
    assert tensor.shape == (256, 1024) and tensor.dtype == np.float32
    assert tensor.data()[255, 1023] == 5
    assert alive() == before + (1 << 20)
    del ws
    assert alive() == before + (1 << 20) and tensor.data()[0, 0] == 5
    del tensor
    assert alive() == before


def test_cpp_sees_what_python_changes(cpp: ctypes.CDLL) -> None:
    ws = made_in_cpp(cpp)
    assert cpp.sum_of(ctypes.c_void_p(int(ffi.cast("uintptr_t", ws.handle))), b"weights") == 5 * (1 << 18)
    ws["weights"].resize(3)
    ws["weights"].mutable_data("f4")[:] = [1, 2, 3]
    ws["mine"] = np.full(4, 2.5, "f4")
    address = ctypes.c_void_p(int(ffi.cast("uintptr_t", ws.handle)))
    assert cpp.sum_of(address, b"weights") == 6
    assert cpp.sum_of(address, b"mine") == 10
    # The dimensions that C++ refers to are those that Python set.
    assert cpp.first_dimension_of(address, b"mine") == 4
    ws["mine"].resize(2, 2)
    assert cpp.first_dimension_of(address, b"mine") == 2


def test_what_only_cpp_knows_is_named_and_ended(cpp: ctypes.CDLL) -> None:
    ws = made_in_cpp(cpp)
    with pytest.raises(TypeError, match=r"holds std::.*string"):
        ws["text"]
    assert "text" in ws
    objects = ws["objects"]
    assert objects.type_name == "Sample" and cpp.samples() == 3
    with pytest.raises(Error, match="syncedmem_type_t"):
        objects.dtype
    with pytest.raises(Error):
        objects.data()
    del ws
    assert cpp.samples() == 3
    del objects
    gc.collect()
    assert cpp.samples() == 0


# --- init_net.pb ------------------------------------------------------------------------------


def test_weights_are_loaded_from_an_init_net(tmp_path: Path) -> None:
    path = tmp_path / "init_net.pb"
    path.write_bytes(models.INIT_NET)
    ws = load_init_net(path)
    assert list(ws) == ["fc_w", "steps"]
    assert ws["fc_w"].data().tolist() == [[1, 2, 3], [4, 5, 6]] and ws["fc_w"].dtype == np.float32
    assert ws["steps"].data().tolist() == [7, 8] and ws["steps"].dtype == np.int64


def test_a_file_that_is_no_init_net_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "init_net.pb"
    path.write_bytes(b"\xff\xff\xff\xff")
    with pytest.raises((Error, ValueError)):
        load_init_net(path)
    with pytest.raises(Error, match="absent"):
        load_init_net(tmp_path / "absent.pb")
