"""Tensors of the library, which keep an object and an address alive while an array or another library uses it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _capsules, _handle
from ._errors import check, failure
from ._handle import Handle
from ._library import ffi, lib
from ._types import Kind, Side

# DLPack's numbers (dmlc.github.io/dlpack, "C API").
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
READ_ONLY, IS_COPIED = 1, 2
_BYTE = (1, 8)  # code and bits
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_KINDS = {code: kind for kind, code in _CODES.items()}
_LONGEST = {"f": 8, "c": 16}  # bytes; C's long double is not an IEEE format

# NumPy 2.1 is the first that accepts tensors with a version, but some later versions make all arrays of tensors read-only.
_NUMPY_READS = tuple(int(number) for number in np.__version__.split(".")[:2]) >= (2, 1)
_NUMPY_WRITES = _NUMPY_READS and np.from_dlpack(np.empty(1)).flags.writeable

_NAMES = ("float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "bool")
DTYPES = {getattr(lib, f"SYNCEDMEM_{name.upper()}"): np.dtype(name) for name in _NAMES}
"""The dtype of each `syncedmem_type_t`."""
ELEMENT_TYPES = {dtype: number for number, dtype in DTYPES.items()}
"""The `syncedmem_type_t` of a dtype."""

if TYPE_CHECKING:
    DType = np.dtype[Any]
else:
    DType = np.dtype  # before NumPy 1.22 it has no parameter
Shape = tuple[int, ...]


def _dlpack_type(dtype: DType) -> tuple[int, int] | None:
    """A dtype as DLPack's code and bits, if DLPack has it."""
    # Other packages add types to a kind, such as floats of 8 bits: accept only built-in ones.
    known = dtype.kind in _CODES and dtype.isbuiltin == 1 and dtype.isnative
    if not known or dtype.itemsize > _LONGEST.get(dtype.kind, 8):
        return None
    return _CODES[dtype.kind], 8 * dtype.itemsize


def numpy_type(code: int, bits: int) -> DType | None:
    """DLPack's code and bits as a dtype, if NumPy has it."""
    kind = _KINDS.get(code)
    if kind is None or bits % 8 != 0:
        return None
    try:
        return np.dtype("?" if kind == "b" else f"{kind}{bits // 8}")
    except TypeError:
        return None


_TENSOR = {True: ffi.typeof("DLManagedTensorVersioned *"), False: ffi.typeof("DLManagedTensor *")}
_exports: Any = ffi.typeof(lib.syncedmem_to_dlpack)


def _exporting(slot: str) -> tuple[Any, Any]:
    """`syncedmem_to_dlpack` with another type of its last argument, which saves a conversion; and that type."""
    arguments = [one.cname for one in _exports.args[:-1]]
    function = ffi.cast(f"{_exports.result.cname}(*)({', '.join([*arguments, slot])})", lib.syncedmem_to_dlpack)
    return function, ffi.typeof(slot)


_ADDRESS, _POINTER = _exporting("uintptr_t *"), _exporting("DLManagedTensorVersioned **")
_allocate, _gc, _hide = ffi.new, ffi.gc, _handle.hide
_new, _CAPSULES, _DESTRUCTOR = _capsules.new, _capsules.NAMES, _capsules.DESTRUCTOR


class Layout:
    """Elements of one type in C order, from the first byte of a memory on."""

    __slots__ = ("_arguments", "_elements", "_numpy_reads", "dtype", "known", "shape")

    def __init__(self, dtype: DType, shape: Shape) -> None:
        self.dtype = dtype
        self.shape = shape
        known = _dlpack_type(dtype)
        self.known = known is not None
        """Whether DLPack has a type for the elements."""
        # False if NumPy has two dtypes of this size, such as long and long long, or the dtype has metadata.
        self._numpy_reads = _NUMPY_READS and known is not None and numpy_type(*known) is dtype
        # Shape and type for the array interface. NumPy has no string for a dtype that it does not read: pass bytes.
        self._elements = (shape, dtype.str) if self._numpy_reads else ((self.nbytes,), "|u1")
        # Type, number of axes and lengths for `syncedmem_to_dlpack`: of the elements, or of their bytes if DLPack lacks the type.
        lengths = (self.nbytes,) if known is None else shape
        self._arguments = *(known or _BYTE), len(lengths), ffi.new("int64_t[]", lengths)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return bytes_of(self.dtype, self.shape)

    def tensor(self, handle: Handle, side: Side, kind: Kind, versioned: bool | None = None) -> Any:
        """Performs an access and returns a new tensor with a version, which ends with the result. If `versioned` is given,
        returns a capsule of a tensor with or without a version.
        """
        function, slot = _POINTER if versioned is None else _ADDRESS
        made = _allocate(slot)
        code, bits, ndim, lengths = self._arguments
        new, gc, destructor = _new, _gc, _DESTRUCTOR
        try:
            # `handle.call`, inlined for speed.
            with handle._lock if handle._forks == _handle._forks else handle.alone:
                pointer = handle.pointer if handle._pointer is None else handle._pointer
                status = function(pointer, side, kind, code, bits, ndim, lengths, versioned is not False, made)
            if status != 0:
                raise failure(status)
            tensor = made[0]
            # Ctrl-C raises an exception after a call, such as a long copy: the tensor has one owner before and after each line.
            if versioned is None:
                deleter = tensor.deleter
                made = None
                # `_handle.owned`, inlined: an exception in its call could come before the owner exists.
                owner = gc(tensor, deleter)
                _hide(owner)
                return owner
            name = _CAPSULES[versioned]
            made = None
            return new(tensor, name, destructor)
        except BaseException:
            if made is not None and made[0]:
                tensor = ffi.cast(_TENSOR[versioned is not False], made[0])
                tensor.deleter(tensor)
            raise

    def on_host(self, handle: Handle, kind: Kind) -> npt.NDArray[Any]:
        """Performs an access and returns a NumPy array of the host side, which keeps the access alive."""
        if self._numpy_reads and (_NUMPY_WRITES or kind is Kind.READ):
            # The fastest path.
            exported = _Exported()
            exported.capsule = self.tensor(handle, Side.HOST, kind, True)
            return np.from_dlpack(exported)
        base = _HostData()
        base.tensor = tensor = self.tensor(handle, Side.HOST, kind)
        shape, typestr = self._elements
        data = tensor.dl_tensor.data, kind is Kind.READ
        base.__array_interface__ = {"shape": shape, "typestr": typestr, "data": data, "version": 3}
        array: npt.NDArray[Any] = np.asarray(base)
        return array if self._numpy_reads else array.view(self.dtype).reshape(self.shape)


class Hold:
    """A performed access to the device: the address stays valid while this lives."""

    __slots__ = ("_tensor", "address", "readonly")

    def __init__(self, handle: Handle, kind: Kind, layout: Layout) -> None:
        # No capsule: its destructor would free device memory with the GIL held.
        self._tensor = layout.tensor(handle, Side.DEVICE, kind)
        self.address: int = self._tensor.dl_tensor.data
        self.readonly = kind is Kind.READ

    @property
    def device(self) -> int:
        """The ordinal of the device."""
        return int(self._tensor.dl_tensor.device.device_id)


class _HostData:
    """The base of a NumPy array. It is not a buffer, so that an array made read-only stays read-only."""

    __slots__ = ("__array_interface__", "tensor")
    __array_interface__: dict[str, Any]
    tensor: Any


class _Exported:
    """A capsule, for `numpy.from_dlpack`."""

    __slots__ = ("capsule",)
    capsule: object

    def __dlpack__(self, *, dl_device: Any = None, copy: Any = None, max_version: Any = None, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0


def make_readonly(array: npt.NDArray[Any]) -> None:
    """Makes an array of `Layout.on_host` permanently read-only."""
    base: object = array
    while isinstance(base, np.ndarray):
        base.flags.writeable = False
        base = base.base


def bytes_of(dtype: DType, shape: Shape) -> int:
    """Bytes of all elements."""
    return dtype.itemsize * math.prod(shape)


def set_tensor(handle: Handle, taken: _capsules.Taken) -> None:
    """Sets a tensor's memory as a side of the object, which calls the deleter when it releases the memory."""
    with handle.alone:
        pointer = handle.pointer
        set_dlpack, tensor, versioned = lib.syncedmem_set_dlpack, taken.tensor, taken.versioned
        # Before the call: if Python is interrupted in between, the tensor has at most one owner.
        try:
            taken.take()
        except BaseException:
            taken.give_back()
            raise
        status = set_dlpack(pointer, tensor, versioned)
        if status != 0:
            taken.give_back()
        check(status)
