"""Caffe2's `Workspace`: a mapping of tensors that C++ sees too, and weights from `init_net.pb`."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import models
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


# --- with other languages ----------------------------------------------------------------------


def test_what_only_another_language_knows_is_named() -> None:
    name = ffi.new("char[]", b"Sample")
    meta = ffi.new("syncedmem_typemeta_t *", {"id": name, "name": name, "itemsize": 8})
    ws, blob, value = Workspace(), ffi.new("syncedmem_typed_blob_t **"), ffi.new("int64_t *")
    assert lib.syncedmem_workspace_create_blob(ws.handle, b"theirs", blob) == 0
    assert lib.syncedmem_typed_blob_reset(blob[0], value, meta, ffi.NULL, ffi.NULL) == 0
    assert lib.syncedmem_typed_blob_destroy(blob[0]) == 0
    with pytest.raises(TypeError, match="holds Sample"):
        ws["theirs"]
    assert "theirs" in ws
    ws["objects"] = objects = Tensor(3)
    assert lib.syncedmem_tensor_mutable_data(objects.handle, meta, ffi.new("void **")) == 0
    assert objects.type_name == "Sample" and objects.nbytes == 24
    with pytest.raises(Error, match="syncedmem_type_t"):
        objects.dtype
    with pytest.raises(Error):
        objects.data()


def test_a_workspace_of_c_is_the_same_one() -> None:
    ws = Workspace()
    other = Workspace.from_handle(ws.handle)
    other["größe/a b"] = np.full(4, 2.5, "f4")
    assert list(ws) == ["größe/a b"] and ws["größe/a b"].data().tolist() == [2.5] * 4
    with pytest.raises(ValueError, match="NUL"):
        ws["a\0b"] = np.zeros(1)
    with pytest.raises(TypeError, match="text"):
        ws[b"a"]  # type: ignore[index]


def test_a_blob_without_a_value_is_no_tensor_yet() -> None:
    ws, blob = Workspace(), ffi.new("syncedmem_typed_blob_t **")
    for name in (b"empty", b"\xffempty"):
        assert lib.syncedmem_workspace_create_local_blob(ws.handle, name, blob) == 0
        assert lib.syncedmem_typed_blob_destroy(blob[0]) == 0
    assert "empty" in ws and ws.get("empty") is None
    with pytest.raises(KeyError):
        ws["empty"]
    child = Workspace(ws)
    ws["full"] = child["own"] = child.local_tensor("empty")
    child.clear()
    assert child.local == [] and len(ws) == 3
    ws.clear()
    assert list(ws) == []


def test_names_that_are_not_utf_8_are_names() -> None:
    ws, blob = Workspace(), ffi.new("syncedmem_typed_blob_t **")
    assert lib.syncedmem_workspace_create_blob(ws.handle, b"\xc4\xa7\xff", blob) == 0
    assert lib.syncedmem_typed_blob_destroy(blob[0]) == 0
    (name,) = ws
    ws[name] = np.ones(1)
    assert ws[name].nbytes == 8 and list(ws) == [name] and len(ws.items()) == 1
    del ws[name]
    assert list(ws) == []


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
