"""The binding against the C API: every function and every number has its form in Python."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import syncedmem
from syncedmem import ffi, lib

pytestmark = pytest.mark.once

CHECKOUT = Path(__file__).parents[2]
FUNCTIONS = {
    name
    for name in dir(lib)
    if isinstance(getattr(lib, name), ffi.CData) and ffi.typeof(getattr(lib, name)).kind == "function"
}

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


def test_the_functions_are_those_that_the_library_exports() -> None:
    symbols = (CHECKOUT / "src/abi/symbols.txt").read_text().split()
    assert {name for name in symbols if not name.startswith("_Z")} == FUNCTIONS


PYTHONS = {
    "syncedmem_status_t": "Status",
    "syncedmem_head_t": "Head",
    "syncedmem_eviction_t": "Eviction",
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
    headers = "\n".join(path.read_text() for path in (CHECKOUT / "include").glob("*.h"))
    assert set(re.findall(r"^enum (\w+)$", headers, re.MULTILINE)) == set(PYTHONS) | WITHOUT_A_FORM
    for name, python in PYTHONS.items():
        values = ffi.typeof(f"enum {name}").relements
        ours = {member.name: int(member) for member in getattr(syncedmem, python)}
        assert sorted(ours.values()) == sorted(values.values())
        for c_name, value in values.items():
            assert any(c_name.endswith(f"_{short}") for short, number in ours.items() if number == value), c_name


def test_every_function_is_used_by_the_package_or_listed_with_the_reason() -> None:
    used: set[str] = set()
    for file in (CHECKOUT / "python/src/syncedmem").glob("*.py"):
        tree = ast.parse(file.read_text())
        used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        # The capsule's destructor is not called, but named.
        if any(isinstance(node, ast.Constant) and node.value == "syncedmem_end_capsule" for node in ast.walk(tree)):
            used.add("syncedmem_end_capsule")
    assert set(NO_PYTHON_FORM) <= FUNCTIONS
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
