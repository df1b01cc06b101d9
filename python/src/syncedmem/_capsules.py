"""DLPack's capsules, in which Python hands a tensor from one library to another.

A capsule's destructor may run while an exception is raised: a consumer that refuses a tensor drops its capsule. Python
code in the destructor would lose that exception, so it is a function of the C library.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ._library import ffi, lib, python

new = python.PyCapsule_New
# Name and destructor are passed as pointers: ctypes converts nothing.
new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p,)
_is_valid = python.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_void_p)
_get_pointer = python.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_void_p)
_set_name = python.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_void_p)


def _for_ever(name: bytes) -> ctypes.c_void_p:
    """The address of a name that is never freed: a capsule that points to it may outlive this module."""
    text = ctypes.create_string_buffer(name)
    python.Py_IncRef(ctypes.py_object(text))
    return ctypes.c_void_p(ctypes.addressof(text))


# The key says whether the tensor has a version.
NAMES = {True: _for_ever(b"dltensor_versioned"), False: _for_ever(b"dltensor")}
_USED = {True: _for_ever(b"used_dltensor_versioned"), False: _for_ever(b"used_dltensor")}
_C_TYPES = {True: "DLManagedTensorVersioned *", False: "DLManagedTensor *"}
DESTRUCTOR = ctypes.c_void_p(int(ffi.cast("uintptr_t", ffi.addressof(lib, "syncedmem_end_capsule"))))


class Taken:
    """A capsule of another library, whose tensor may be taken."""

    __slots__ = ("_capsule", "tensor", "versioned")

    def __init__(self, capsule: object) -> None:
        for versioned in (True, False):
            if _is_valid(capsule, NAMES[versioned]):
                self._capsule = capsule
                self.versioned = versioned
                address = _get_pointer(capsule, NAMES[versioned])
                self.tensor: Any = ffi.cast(_C_TYPES[versioned], address)
                return
        what = type(capsule).__name__
        raise TypeError(f"__dlpack__ returned {what}, not a capsule of a DLPack tensor that can be taken")

    def take(self) -> None:
        """Takes the tensor out of the capsule: the new owner calls its deleter."""
        _set_name(self._capsule, _USED[self.versioned])

    def give_back(self) -> None:
        """Puts the tensor back: the capsule owns it again."""
        _set_name(self._capsule, NAMES[self.versioned])
