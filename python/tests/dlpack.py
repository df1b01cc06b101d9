"""DLPack's capsules, read and made as other libraries do. The tests with NumPy and PyTorch check the structures against dlpack.h."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Callable, Optional

from syncedmem import ffi

CPU, CUDA, CUDA_HOST = 1, 2, 3
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6
READ_ONLY, IS_COPIED = 1, 2


_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
TYPES = {False: "DLManagedTensor", True: "DLManagedTensorVersioned"}
# A capsule keeps the address of its name: these names are never freed.
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}


@dataclass(frozen=True)
class Seen:
    """The members of a tensor."""

    address: int  # address of the managed tensor
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
        """Calls the deleter; ctypes releases the GIL."""
        Deleter(self.deleter)(self.address)

    def content(self, count: int) -> bytes:
        """The contents of a tensor on the host."""
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
    managed = ffi.cast(f"{TYPES[versioned]} *", address)
    tensor = managed.dl_tensor
    return Seen(
        address=address,
        versioned=versioned,
        version=(managed.version.major, managed.version.minor) if versioned else (0, 0),
        flags=managed.flags if versioned else 0,
        data=tensor.data,
        device=(tensor.device.device_type, tensor.device.device_id),
        dtype=(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
        shape=tuple(tensor.shape[0 : tensor.ndim]),
        strides=tuple(tensor.strides[0 : tensor.ndim]) if tensor.strides else None,
        byte_offset=tensor.byte_offset,
        deleter=int(ffi.cast("uintptr_t", managed.deleter)),
    )


def consume(capsule: object) -> Seen:
    """Takes the tensor out of a capsule by the protocol: the new owner calls the deleter."""
    seen = see(capsule)
    _api.PyCapsule_SetName(capsule, USED[seen.versioned])
    return seen


class Producer:
    """A library that exports memory by DLPack, and counts the calls of its deleter.

    A test can make its members wrong.
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
        self._device = device

        def delete(_: Optional[int]) -> None:
            self.deleted += 1

        deleter = Deleter(delete)
        lengths = (len(content),) if shape is None else shape
        managed = ffi.new(f"{TYPES[versioned]} *")
        if versioned:
            (managed.version.major, managed.version.minor), managed.flags = version, flags
        managed.deleter = ffi.cast(f"void (*)({TYPES[versioned]} *)", ctypes.cast(deleter, ctypes.c_void_p).value)
        tensor = managed.dl_tensor
        tensor.data = ctypes.addressof(self.content) if address is None else address
        tensor.device.device_type, tensor.device.device_id = device
        tensor.ndim = len(lengths) if ndim is None else ndim
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = dtype
        tensor.shape = sizes = ffi.new("int64_t[]", lengths)
        steps = ffi.new("int64_t[]", strides or ())
        if strides is not None:
            tensor.strides = steps
        tensor.byte_offset = byte_offset
        # A tensor's memory must stay until its deleter is called: keep it for ever, since some deleters are never called.
        _api.Py_IncRef(ctypes.py_object([sizes, steps, deleter, managed, self.content]))
        self._place = int(ffi.cast("uintptr_t", managed)), NAMES[versioned]
        self._make: Callable[[], object] = self._capsule

    def _capsule(self) -> object:
        self.capsule: object = _api.PyCapsule_New(*self._place, None)
        return self.capsule

    def __dlpack__(self, **asked: Any) -> object:
        self.asked.append(asked)
        if not self.knows_versions and set(asked) - {"stream"}:
            raise TypeError("__dlpack__() got an unexpected keyword argument")
        return self._make()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device
