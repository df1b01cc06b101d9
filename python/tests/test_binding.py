"""The binding against the machine-readable description of the C API: nothing is missing, nothing differs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import syncedmem
from syncedmem import ffi, lib

pytestmark = pytest.mark.once

CHECKOUT = Path(__file__).parents[2]
API: dict[str, Any] = json.loads((CHECKOUT / "include/syncedmem.json").read_text())
FUNCTIONS: dict[str, Any] = {each["name"]: each for each in API["functions"]}

# Functions that the package does not call, and why; they are in `lib` as they are.
NO_PYTHON_FORM = {
    "CaffeMallocHost": "memory of Caffe's own, for which Python has no use: a SyncedMemory has its own",
    "CaffeFreeHost": "as CaffeMallocHost",
    "syncedmem_construct": "storage of the caller's, which Python has none of",
    "syncedmem_destruct": "as syncedmem_construct",
    "syncedmem_cpu_data": "an address without a lifetime: arrays are tensors of syncedmem_to_dlpack",
    "syncedmem_mutable_cpu_data": "as syncedmem_cpu_data",
    "syncedmem_overwrite_cpu_data": "as syncedmem_cpu_data",
    "syncedmem_gpu_data": "as syncedmem_cpu_data",
    "syncedmem_mutable_gpu_data": "as syncedmem_cpu_data",
    "syncedmem_overwrite_gpu_data": "as syncedmem_cpu_data",
    "syncedmem_end_access": "a tensor's deleter ends its access",
    "syncedmem_set_cpu_data": "an address without a lifetime: what is lent is a tensor of syncedmem_set_dlpack",
    "syncedmem_size": "known since the object was made",
    "syncedmem_status_name": "the names are those of the enumeration Status",
    "syncedmem_set_mode_callback": "a function that is called on foreign threads, for the rest of the process",
    "syncedmem_set_error_callback": "as syncedmem_set_mode_callback",
    "syncedmem_blob_type": "known since the blob was made",
    "syncedmem_blob_count_axes": "a product of a slice of the shape",
    "syncedmem_blob_legacy_offset": "for addresses one past the end, which arrays do without",
    "syncedmem_blob_shape_equals": "a comparison of shapes; messages of protobuf are for C++",
    "syncedmem_blob_set_cpu_data": "an address without a lifetime: the memory of `data` borrows arrays and tensors",
    "syncedmem_blob_set_gpu_data": "as syncedmem_blob_set_cpu_data",
    "syncedmem_blob_gpu_shape": "an address for kernels in C++",
    "syncedmem_tensor_typemeta": "for blobs of one value of any type, of which Python sees the tensors",
    "syncedmem_tensor_retain": "handles that functions write are holders already",
    "syncedmem_tensor_swap": "names are exchanged",
    "syncedmem_tensor_share_external": "an address without a lifetime: what is shared is a tensor of DLPack",
    "syncedmem_tensor_is_type": "a comparison of dtypes",
    "syncedmem_tensor_dim": "an element of the shape",
    "syncedmem_tensor_dim32": "as syncedmem_tensor_dim",
    "syncedmem_tensor_size_from_dim": "a product of a slice of the shape",
    "syncedmem_tensor_size_to_dim": "as syncedmem_tensor_size_from_dim",
    "syncedmem_tensor_size_between_dim": "as syncedmem_tensor_size_from_dim",
    "syncedmem_tensor_canonical_axis_index": "an index of the shape",
    "syncedmem_tensor_debug_string": "repr",
    "syncedmem_typed_blob_create": "as syncedmem_tensor_typemeta: a Tensor needs no blob around it",
    "syncedmem_typed_blob_retain": "as syncedmem_tensor_retain",
    "syncedmem_typed_blob_is_type": "as syncedmem_tensor_typemeta",
    "syncedmem_typed_blob_get": "as syncedmem_tensor_typemeta",
    "syncedmem_typed_blob_get_mutable": "as syncedmem_tensor_typemeta",
    "syncedmem_typed_blob_reset": "as syncedmem_tensor_typemeta",
    "syncedmem_typed_blob_release": "as syncedmem_tensor_typemeta",
    "syncedmem_typed_blob_swap": "as syncedmem_tensor_typemeta",
    "syncedmem_tensor_attach": "for languages that refer to a tensor by the address of their own object",
    "syncedmem_typed_blob_attach": "as syncedmem_tensor_attach",
    "syncedmem_cpu_new": "memory of C's, for which Python has no use: a Tensor has its own",
    "syncedmem_cpu_delete": "as syncedmem_cpu_new",
    "syncedmem_tensor_report_allocations": "stats and report say more",
}


def c_type(text: str) -> Any:
    """cffi's type for C's spelling."""
    for callback in API["callbacks"]:
        parameters = ", ".join(each["type"] for each in callback["parameters"])
        text = re.sub(rf"\b{callback['name']}\b", f"{callback['returns']} (*)({parameters})", text)
    return ffi.typeof(text)


def test_every_function_is_there_with_the_same_signature() -> None:
    assert len(FUNCTIONS) > 70
    for name, function in FUNCTIONS.items():
        signature = ffi.typeof(getattr(lib, name))
        assert signature.kind == "function" and not signature.ellipsis
        assert signature.result is c_type(function["returns"]), name
        assert list(signature.args) == [c_type(each["type"]) for each in function["parameters"]], name


def test_there_are_no_other_functions() -> None:
    ours = {
        name
        for name in dir(lib)
        if isinstance(getattr(lib, name), ffi.CData) and ffi.typeof(getattr(lib, name)).kind == "function"
    }
    assert ours == set(FUNCTIONS)


def test_every_constant_has_its_value() -> None:
    for constant in API["constants"]:
        assert getattr(lib, constant["name"]) == constant["value"], constant["name"]


def test_every_enumeration_has_its_values() -> None:
    for enumeration in API["enums"]:
        ours = ffi.typeof(f"enum {enumeration['name']}").relements
        assert ours == {each["name"]: each["value"] for each in enumeration["values"]}, enumeration["name"]


PYTHONS = {
    "syncedmem_status_t": "Status",
    "syncedmem_head_t": "Head",
    "syncedmem_eviction_t": "Eviction",
    "syncedmem_reuse_t": "Reuse",
    "syncedmem_mode_t": "Mode",
    "syncedmem_pinning_t": "Pinning",
    "syncedmem_error_policy_t": "ErrorPolicy",
    "syncedmem_accounting_t": "Accounting",
    "syncedmem_memory_t": "Memory",
    "syncedmem_model_kind_t": "ModelKind",
}
# Arguments that have other forms in Python: methods of their own for the sides and accesses of syncedmem_to_dlpack, `data` and `diff` for the
# arrays of a blob, NumPy's dtypes for types.
WITHOUT_A_FORM = {"syncedmem_side_t", "syncedmem_access_t", "syncedmem_array_t", "syncedmem_type_t"}


def test_pythons_enumerations_have_all_values_of_cs() -> None:
    assert {each["name"] for each in API["enums"]} == set(PYTHONS) | WITHOUT_A_FORM
    for enumeration in API["enums"]:
        if enumeration["name"] in PYTHONS:
            ours = {member.name: int(member) for member in getattr(syncedmem, PYTHONS[enumeration["name"]])}
            values = {each["name"]: each["value"] for each in enumeration["values"]}
            assert sorted(ours.values()) == sorted(values.values())
            for name, value in values.items():
                assert any(name.endswith(f"_{short}") for short, number in ours.items() if number == value), name


def test_every_structure_has_its_members_where_c_has_them() -> None:
    def aligned(offset: int, kind: Any) -> int:
        return int(-(-offset // ffi.alignof(kind)) * ffi.alignof(kind))

    for struct in API["structs"]:
        kind = ffi.typeof(struct["name"])
        assert [(name, field.type) for name, field in kind.fields] == [
            (each["name"], c_type(each["type"])) for each in struct["fields"]
        ], struct["name"]
        offset = 0
        for _, field in kind.fields:
            assert field.offset == aligned(offset, field.type)
            offset = field.offset + ffi.sizeof(field.type)
        assert ffi.sizeof(kind) == aligned(offset, kind)


def test_every_function_is_used_by_the_package_or_listed_with_the_reason() -> None:
    used: set[str] = set()
    for file in (CHECKOUT / "python/src/syncedmem").glob("*.py"):
        tree = ast.parse(file.read_text())
        used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        # The capsule's destructor is not called, but named.
        if any(isinstance(node, ast.Constant) and node.value == "syncedmem_end_capsule" for node in ast.walk(tree)):
            used.add("syncedmem_end_capsule")
    assert set(NO_PYTHON_FORM) <= set(FUNCTIONS)
    assert {name for name in FUNCTIONS if name not in used} == set(NO_PYTHON_FORM)


def test_the_stub_for_type_checkers_says_what_the_c_api_says() -> None:
    subprocess.run([sys.executable, str(CHECKOUT / "python/stub.py"), "--check"], check=True, timeout=60)


def test_the_layouts_of_dlpack_are_those_of_its_header() -> None:
    import ctypes

    import dlpack

    for ours, theirs in (("DLManagedTensor", dlpack.Managed), ("DLManagedTensorVersioned", dlpack.Versioned)):
        assert ffi.sizeof(ours) == ctypes.sizeof(theirs)
        assert ffi.offsetof(ours, "deleter") == theirs.deleter.offset
        assert ffi.offsetof(ours, "dl_tensor") == theirs.tensor.offset
    assert ffi.sizeof("DLTensor") == ctypes.sizeof(dlpack.Tensor)
    assert ffi.offsetof("DLManagedTensorVersioned", "flags") == dlpack.Versioned.flags.offset
