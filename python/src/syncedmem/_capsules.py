"""DLPack's capsules: how Python hands a tensor from one library to another.

A capsule's destructor may run at any time, also while an exception is on its way: a consumer that refuses a tensor
drops the capsule then. Python code would lose that exception, so the destructor is the C library's own.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ._library import ffi, lib

# A copy of our own: who else uses ctypes.pythonapi may have said otherwise what these functions take.
_api = ctypes.PyDLL(None)
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_is_valid = _api.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_void_p)
_get_pointer = _api.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_void_p)
_set_name = _api.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_void_p)


def _for_ever(name: bytes) -> int:
    """The address of a name: a capsule points to it, and may outlive this module."""
    text = ctypes.create_string_buffer(name)
    _api.Py_IncRef(ctypes.py_object(text))
    return ctypes.addressof(text)


# By whether the tensor has a version.
_NAMES = {True: _for_ever(b"dltensor_versioned"), False: _for_ever(b"dltensor")}
_USED = {True: _for_ever(b"used_dltensor_versioned"), False: _for_ever(b"used_dltensor")}
_C_TYPES = {True: "DLManagedTensorVersioned *", False: "DLManagedTensor *"}
_DESTRUCTOR = int(ffi.cast("uintptr_t", ffi.addressof(lib, "syncedmem_end_capsule")))


def owner(tensor: Any, versioned: bool) -> tuple[Any, ...]:
    """The call that makes a capsule, which owns a tensor until somebody takes it: a function and its arguments."""
    return _new, int(ffi.cast("uintptr_t", tensor)), _NAMES[versioned], _DESTRUCTOR


class Taken:
    """A capsule of another library's whose tensor is looked at, and perhaps taken."""

    __slots__ = ("_capsule", "tensor", "versioned")

    def __init__(self, capsule: object) -> None:
        for versioned in (True, False):
            if _is_valid(capsule, _NAMES[versioned]):
                self._capsule = capsule
                self.versioned = versioned
                address = _get_pointer(capsule, _NAMES[versioned])
                self.tensor: Any = ffi.cast(_C_TYPES[versioned], address)
                return
        what = type(capsule).__name__
        raise TypeError(f"__dlpack__ returned {what}, not a capsule of a DLPack tensor that nobody took")

    def take(self) -> None:
        """The capsule lets the tensor go: from here on its deleter is somebody else's to call."""
        _set_name(self._capsule, _USED[self.versioned])

    def give_back(self) -> None:
        """The capsule owns the tensor again."""
        _set_name(self._capsule, _NAMES[self.versioned])
