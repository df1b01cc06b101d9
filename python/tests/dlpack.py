"""DLPack's structures (its dlpack.h, versions 0.8 and 1.0) and capsules, read and made through ctypes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Callable, Optional

CPU, CUDA, CUDA_HOST = 1, 2, 3
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6
READ_ONLY, IS_COPIED = 1, 2


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("ordinal", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

# A capsule keeps the address of its name: these stay.
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}


@dataclass(frozen=True)
class Seen:
    """What a tensor says."""

    address: int  # of the managed tensor
    versioned: bool
    version: tuple[int, int]
    flags: int
    data: int
    device: tuple[int, int]
    dtype: tuple[int, int, int]
    shape: tuple[int, ...]
    strides: Optional[tuple[int, ...]]
    byte_offset: int
    deleter: int

    def delete(self) -> None:
        """Calls the deleter, with the GIL released, as ctypes calls what is foreign."""
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.deleter)(self.address)

    def content(self, count: int) -> bytes:
        """What is there, of a tensor on the host."""
        assert self.device[0] == CPU
        return ctypes.string_at(self.data, count)

    def write(self, content: bytes) -> None:
        assert self.device[0] == CPU
        ctypes.memmove(self.data, content, len(content))


def name_of(capsule: object) -> bytes:
    name: bytes = _api.PyCapsule_GetName(capsule)
    return name


def see(capsule: object) -> Seen:
    """Reads a capsule without consuming it."""
    versioned = name_of(capsule) == NAMES[True]
    address: int = _api.PyCapsule_GetPointer(capsule, NAMES[versioned])
    managed: Any = (Versioned if versioned else Managed).from_address(address)
    tensor = managed.tensor
    return Seen(
        address=address,
        versioned=versioned,
        version=(managed.major, managed.minor) if versioned else (0, 0),
        flags=managed.flags if versioned else 0,
        data=tensor.data or 0,
        device=(tensor.device.kind, tensor.device.ordinal),
        dtype=(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
        shape=tuple(tensor.shape[: tensor.ndim]),
        strides=tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None,
        byte_offset=tensor.byte_offset,
        deleter=managed.deleter or 0,
    )


def consume(capsule: object) -> Seen:
    """Takes the tensor out of a capsule, as the protocol says: the taker calls the deleter."""
    seen = see(capsule)
    _api.PyCapsule_SetName(capsule, USED[seen.versioned])
    return seen


class Producer:
    """A library that exports memory by DLPack, and counts the calls of its deleter.

    What it says can be made wrong: that is what it is for.
    """

    def __init__(
        self,
        content: bytes,
        *,
        dtype: tuple[int, int, int] = (UINT, 8, 1),
        shape: Optional[tuple[int, ...]] = None,
        strides: Optional[tuple[int, ...]] = None,
        byte_offset: int = 0,
        flags: int = 0,
        device: tuple[int, int] = (CPU, 0),
        address: Optional[int] = None,
        versioned: bool = True,
        version: tuple[int, int] = (1, 0),
        knows_versions: bool = True,
        ndim: Optional[int] = None,
    ) -> None:
        self.content = ctypes.create_string_buffer(content, max(1, len(content)))
        self.deleted = 0
        self.asked: list[dict[str, Any]] = []
        self.knows_versions = knows_versions
        self._ndim = ndim
        self._device = device
        self._kept: list[object] = []
        self._make: Callable[[], object] = lambda: self._capsule(
            dtype, (len(content),) if shape is None else shape, strides, byte_offset, flags, address, versioned, version
        )

    def _capsule(
        self,
        dtype: tuple[int, int, int],
        shape: tuple[int, ...],
        strides: Optional[tuple[int, ...]],
        byte_offset: int,
        flags: int,
        address: Optional[int],
        versioned: bool,
        version: tuple[int, int],
    ) -> object:
        sizes = (ctypes.c_int64 * len(shape))(*shape)
        steps = (ctypes.c_int64 * len(strides))(*strides) if strides is not None else None

        def delete(_: Optional[int]) -> None:
            self.deleted += 1

        deleter = Deleter(delete)
        managed: Any = Versioned() if versioned else Managed()
        if versioned:
            managed.major, managed.minor = version
            managed.flags = flags
        managed.deleter = ctypes.cast(deleter, ctypes.c_void_p)
        tensor = managed.tensor
        tensor.data = ctypes.addressof(self.content) if address is None else address
        tensor.device = Device(*self._device)
        tensor.ndim = len(shape) if self._ndim is None else self._ndim
        tensor.dtype = DataType(*dtype)
        tensor.shape = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))
        if steps is not None:
            tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
        tensor.byte_offset = byte_offset
        self._kept += [sizes, steps, deleter, managed]
        # As any tensor's memory, this stays until its deleter is called: here for ever, since some deleters are never called.
        _api.Py_IncRef(ctypes.py_object(self._kept))
        capsule: object = _api.PyCapsule_New(ctypes.addressof(managed), NAMES[versioned], None)
        self.capsule = capsule
        return capsule

    def __dlpack__(self, **asked: Any) -> object:
        self.asked.append(asked)
        if not self.knows_versions and set(asked) - {"stream"}:
            raise TypeError("__dlpack__() got an unexpected keyword argument")
        return self._make()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device
