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

# NumPy 2.1 is the first that takes tensors with a version, but some later ones make all arrays of tensors read-only.
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
    DType = np.dtype  # before NumPy 1.22 it takes no parameter
Shape = tuple[int, ...]


def _dlpack_type(dtype: DType) -> tuple[int, int] | None:
    """A dtype as DLPack's code and bits, if DLPack has it."""
    # Other packages add types to a kind, such as floats of 8 bits: only built-in ones are known.
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


# `syncedmem_to_dlpack`, which writes the tensor's address as a number: nothing is left to convert.
_exports: Any = ffi.typeof(lib.syncedmem_to_dlpack)
_to_dlpack = ffi.cast(
    f"{_exports.result.cname}(*)({', '.join(one.cname for one in _exports.args[:-1])}, uintptr_t *)",
    lib.syncedmem_to_dlpack,
)
_new, _CAPSULES, _DESTRUCTOR = _capsules.new, _capsules.NAMES, _capsules.DESTRUCTOR
_SLOT = ffi.typeof("uintptr_t *")
_TENSOR = {True: ffi.typeof("DLManagedTensorVersioned *"), False: ffi.typeof("DLManagedTensor *")}
# Place of the data's address in a tensor with a version, in words.
_DATA = ffi.offsetof("DLManagedTensorVersioned", "dl_tensor") // ffi.sizeof("uintptr_t")


class Layout:
    """Elements of one type in C order, from the first byte of a memory on."""

    __slots__ = ("_arguments", "_known", "_numpy_reads", "_typestr", "dtype", "shape")

    def __init__(self, dtype: DType, shape: Shape) -> None:
        self.dtype = dtype
        self.shape = shape
        known = _dlpack_type(dtype)
        self._known = known is not None
        # Not if NumPy has two dtypes of this size, such as long and long long, or the dtype has metadata.
        self._numpy_reads = _NUMPY_READS and known is not None and numpy_type(*known) is dtype
        self._typestr = dtype.str
        # Type, number of axes and lengths, as `syncedmem_to_dlpack` takes them: of the elements, or else of their bytes.
        lengths = (self.nbytes,) if known is None else shape
        self._arguments = *(known or _BYTE), len(lengths), ffi.new("int64_t[]", lengths)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return bytes_of(self.dtype, self.shape)

    def tensor(self, handle: Handle, side: Side, kind: Kind, versioned: bool = True) -> tuple[object, int]:
        """Performs an access and returns a capsule of a new tensor, and the tensor's address."""
        made = ffi.new(_SLOT)
        code, bits, ndim, lengths = self._arguments
        new, name, destructor = _new, _CAPSULES[versioned], _DESTRUCTOR
        try:
            # As `handle.call`, without the cost of a call.
            with handle._lock if handle._forks == _handle._forks else handle.alone:
                pointer = handle._pointer or handle.pointer
                status = _to_dlpack(pointer, side, kind, code, bits, ndim, lengths, versioned, made)
            if status != 0:
                raise failure(status)
            # Ctrl-C raises an exception after a call, such as a long copy: here the tensor has one owner before and after.
            tensor, made[0] = made[0], 0
            return new(tensor, name, destructor), tensor
        except BaseException:
            if made[0] != 0:
                tensor = ffi.cast(_TENSOR[versioned], made[0])
                tensor.deleter(tensor)
            raise

    def capsule(self, handle: Handle, side: Side, kind: Kind, versioned: bool) -> object:
        """Performs an access and returns a capsule of a new tensor."""
        if kind is Kind.READ and not versioned:
            raise BufferError(
                "a tensor for reading cannot be handed to a consumer from before DLPack 1.0 (max_version is not given, or "
                "below 1.0): it would not know that it must not write. Export mutable_cpu() or mutable_gpu(), or use a "
                "consumer that knows DLPack 1.0."
            )
        if not self._known:
            raise BufferError(
                f"DLPack has no type for {self.dtype}: export other data, or the array's bytes, as "
                "mem.array(numpy.uint8)"
            )
        return self.tensor(handle, side, kind, versioned)[0]

    def on_host(self, handle: Handle, kind: Kind) -> npt.NDArray[Any]:
        """Performs an access and returns a NumPy array of the host side, which keeps the access alive."""
        capsule, tensor = self.tensor(handle, Side.HOST, kind)
        if self._numpy_reads and (_NUMPY_WRITES or kind is Kind.READ):
            # The quickest way.
            return np.from_dlpack(_Exported(capsule))
        address = ffi.cast(_SLOT, tensor)[_DATA]
        if self._numpy_reads:
            typed: npt.NDArray[Any] = np.asarray(_HostData(capsule, address, kind is Kind.READ, self.shape, self._typestr))
            return typed
        whole: npt.NDArray[Any] = np.asarray(_HostData(capsule, address, kind is Kind.READ, (self.nbytes,), "|u1"))
        array: npt.NDArray[Any] = whole.view(self.dtype).reshape(self.shape)
        return array


class Hold:
    """A performed access to the device: the address stays valid while this lives."""

    __slots__ = ("_tensor", "address", "readonly")

    def __init__(self, handle: Handle, kind: Kind, layout: Layout) -> None:
        taken = _capsules.Taken(layout.tensor(handle, Side.DEVICE, kind)[0])
        deleter = taken.tensor.deleter
        # The tensor's owner is not the capsule, which would free device memory with the GIL. If Python is interrupted in
        # between, the tensor has one owner.
        try:
            taken.take()
        except BaseException:
            taken.give_back()
            raise
        self._tensor = ffi.gc(taken.tensor, deleter)
        described = self._tensor.dl_tensor
        self.address = int(ffi.cast("uintptr_t", described.data))
        self.readonly = kind is Kind.READ

    @property
    def device(self) -> int:
        """The ordinal of the device."""
        return int(self._tensor.dl_tensor.device.device_id)


class _HostData:
    """The base of a NumPy array. It is not a buffer, so that an array made read-only stays read-only."""

    __slots__ = ("__array_interface__", "_capsule")

    def __init__(self, capsule: object, address: int, readonly: bool, shape: Shape, typestr: str) -> None:
        self._capsule = capsule
        self.__array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (address, readonly),
            "version": 3,
        }


class _Exported:
    """A capsule, for `numpy.from_dlpack`."""

    __slots__ = ("_capsule",)

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, *, dl_device: Any = None, copy: Any = None, max_version: Any = None, **_: Any) -> Any:
        return self._capsule

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
