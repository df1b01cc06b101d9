"""Tensors of the library, which keep an object and an address alive while an array or another library uses it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _capsules
from ._errors import check
from ._handle import Handle
from ._library import ffi, lib
from ._types import Kind, Side

# DLPack's numbers (dmlc.github.io/dlpack, "C API").
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
READ_ONLY, IS_COPIED = 1, 2
_UNSIGNED, _BYTE_BITS = 1, 8
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_LONGEST = {"f": 8, "c": 16}  # bytes; C's long double is not an IEEE format

if TYPE_CHECKING:
    DType = np.dtype[Any]
else:
    DType = np.dtype  # before NumPy 1.22 it takes no parameter
Shape = tuple[int, ...]


def dlpack_type(dtype: DType) -> tuple[int, int]:
    """A dtype as DLPack's code and bits."""
    # Other packages add types to a kind, such as floats of 8 bits: only built-in ones are known.
    known = dtype.kind in _CODES and dtype.isbuiltin == 1 and dtype.isnative
    if not known or dtype.itemsize > _LONGEST.get(dtype.kind, 8):
        raise BufferError(
            f"DLPack has no type for {dtype}: export other data, or the array's bytes, as mem.array(numpy.uint8)"
        )
    return _CODES[dtype.kind], 8 * dtype.itemsize


def numpy_type(data_type: Any) -> DType:
    """DLPack's code and bits as a dtype."""
    kinds = {code: kind for kind, code in _CODES.items()}
    if data_type.lanes == 1 and data_type.bits % 8 == 0 and data_type.code in kinds:
        kind = kinds[data_type.code]
        try:
            return np.dtype("?" if kind == "b" else f"{kind}{data_type.bits // 8}")
        except TypeError:
            pass
    raise BufferError(
        f"NumPy has no type for DLPack's code {data_type.code} with {data_type.bits} bits and {data_type.lanes} lanes"
    )


def _made(
    handle: Handle,
    side: Side,
    kind: Kind,
    code: int,
    bits: int,
    shape: Shape,
    versioned: bool,
    owner: Callable[[Any], tuple[Any, ...]],
) -> Any:
    """Makes a tensor and its owner, by the call that `owner` returns: a function of C, and its arguments."""
    made, nothing = ffi.new("void **"), ffi.NULL
    c_type = "DLManagedTensorVersioned *" if versioned else "DLManagedTensor *"
    try:
        handle.call(lib.syncedmem_to_dlpack, side, kind, code, bits, len(shape), shape, versioned, made)
        function, *arguments = owner(ffi.cast(c_type, made[0]))
        # Ctrl-C raises an exception after a call, such as a long copy: here the tensor has one owner before and after.
        made[0] = nothing
        return function(*arguments)
    except BaseException:
        if made[0] != nothing:
            tensor = ffi.cast(c_type, made[0])
            tensor.deleter(tensor)
        raise


class Hold:
    """A performed access to all bytes of a side: the address stays valid while this lives."""

    __slots__ = ("_tensor", "address", "device", "nbytes", "readonly")

    def __init__(self, handle: Handle, side: Side, kind: Kind, nbytes: int) -> None:
        # The deleter is native: no Python code runs.
        self._tensor = _made(
            handle, side, kind, _UNSIGNED, _BYTE_BITS, (nbytes,), True, lambda tensor: (ffi.gc, tensor, tensor.deleter)
        )
        described = self._tensor.dl_tensor
        self.address = int(ffi.cast("uintptr_t", described.data))
        self.device = int(described.device.device_id)
        self.nbytes = nbytes
        self.readonly = kind == Kind.READ


class _HostBytes:
    """The base of a NumPy array. It is not a buffer, so that an array made read-only stays read-only."""

    __slots__ = ("__array_interface__", "_hold")

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self.__array_interface__ = {
            "shape": (hold.nbytes,),
            "typestr": "|u1",
            "data": (hold.address, hold.readonly),
            "version": 3,
        }


def host_array(hold: Hold, dtype: DType, shape: Shape) -> npt.NDArray[Any]:
    """A NumPy array of the first elements of a side, which keeps the access alive."""
    whole: npt.NDArray[Any] = np.asarray(_HostBytes(hold))
    array: npt.NDArray[Any] = whole[: bytes_of(dtype, shape)].view(dtype).reshape(shape)
    return array


def make_readonly(array: npt.NDArray[Any]) -> None:
    """Makes a `host_array` permanently read-only."""
    base: object = array
    while isinstance(base, np.ndarray):
        base.flags.writeable = False
        base = base.base


def bytes_of(dtype: DType, shape: Shape) -> int:
    """Bytes of all elements."""
    return dtype.itemsize * math.prod(shape)


def capsule(
    handle: Handle, side: Side, kind: Kind, dtype: DType, shape: Shape, versioned: bool, copied: bool = False
) -> object:
    """Performs an access and returns a capsule of a new tensor."""
    if kind == Kind.READ and not versioned:
        raise BufferError(
            "a tensor for reading cannot be handed to a consumer from before DLPack 1.0 (max_version is not given, or "
            "below 1.0): it would not know that it must not write. Export mutable_cpu() or mutable_gpu(), or use a "
            "consumer that knows DLPack 1.0."
        )
    code, bits = dlpack_type(dtype)

    def owner(tensor: Any) -> tuple[Any, ...]:
        if copied and versioned:
            tensor.flags |= IS_COPIED
        return _capsules.owner(tensor, versioned)

    made: object = _made(handle, side, kind, code, bits, shape, versioned, owner)
    return made


def lend(handle: Handle, taken: _capsules.Taken) -> None:
    """Lends a tensor to the object, which calls its deleter when it releases the memory."""
    with handle.alone:
        pointer = handle.pointer
        lends, tensor, versioned = lib.syncedmem_set_dlpack, taken.tensor, taken.versioned
        # First: if Python is interrupted in between, the tensor has at most one owner.
        try:
            taken.take()
        except BaseException:
            taken.give_back()
            raise
        status = lends(pointer, tensor, versioned)
        if status != 0:
            taken.give_back()
        check(status)
