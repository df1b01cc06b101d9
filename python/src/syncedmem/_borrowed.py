"""Memory of other libraries that a `SyncedMemory` borrows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ._capsules import Taken
from ._library import ffi
from ._tensors import CPU, CUDA, CUDA_HOST, CUDA_MANAGED, READ_ONLY, DType, Shape, numpy_type
from ._types import Side

# The library's limits, in axes and in bytes.
_MOST_AXES = 64
_ADDRESS_SPACE = 1 << 56
_SIDES = {CPU: Side.HOST, CUDA_HOST: Side.HOST, CUDA: Side.DEVICE, CUDA_MANAGED: Side.DEVICE}

# The library calls deleters without the GIL, as DLPack allows. NumPy 1.22's and 1.23's do not acquire it.
_NUMPY_CAN_BE_BORROWED = tuple(int(number) for number in np.__version__.split(".")[:2]) >= (1, 24)


class Borrowed:
    """Memory that an object exports by DLPack or by the buffer protocol, before a `SyncedMemory` borrows it."""

    __slots__ = ("_whole", "nbytes", "readonly", "shape", "side", "strides", "taken")

    def __init__(self, source: Any) -> None:
        whole = _whole_buffer(source) if isinstance(source, np.ndarray) or not hasattr(source, "__dlpack__") else None
        self.taken = Taken(_capsule_of(source) if whole is None else _capsule_of_array(whole))
        if self.taken.versioned and self.taken.tensor.version.major != 1:
            raise BufferError(f"the tensor is of DLPack {self.taken.tensor.version.major}, and 1 is the latest known here")
        tensor = self.taken.tensor.dl_tensor
        kind = int(tensor.device.device_type)
        if kind not in _SIDES:
            raise BufferError(f"memory of DLPack's device {kind} is neither the CPU's nor CUDA's")
        self.side = _SIDES[kind]
        if not 0 <= tensor.ndim <= _MOST_AXES or (tensor.ndim > 0 and tensor.shape == ffi.NULL):
            raise BufferError(f"the tensor's shape makes no sense: {tensor.ndim} dimensions at {tensor.shape}")
        axes = range(tensor.ndim)
        self._whole = whole
        data_type = tensor.dtype
        bits = data_type.bits * data_type.lanes if whole is None else 8 * whole.dtype.itemsize
        self.shape: Shape = tuple(tensor.shape[axis] for axis in axes) if whole is None else whole.shape
        strided = whole is None and tensor.strides != ffi.NULL
        self.strides: Shape | None = tuple(tensor.strides[axis] for axis in axes) if strided else None
        self.nbytes = -(-bits * math.prod(self.shape) // 8)
        self.readonly = self.taken.versioned and bool(self.taken.tensor.flags & READ_ONLY)
        self._refuse_impossible(-(-bits // 8))

    def _refuse_impossible(self, itemsize: int) -> None:
        """Refuses a tensor whose shape, strides and offset lead out of the address space, before anything is read."""
        tensor = self.taken.tensor.dl_tensor
        lengths = [max(1, length) for length in self.shape]
        if min(self.shape, default=0) < 0 or math.prod(lengths) * itemsize > _ADDRESS_SPACE:
            raise BufferError(f"the tensor's shape makes no sense: {self.shape}, of elements of {itemsize} bytes")
        if self.nbytes and not tensor.data:
            raise BufferError(f"the tensor has {self.nbytes} bytes, and its data is NULL")
        # On aarch64 the highest bits of an address may hold a tag.
        first = last = tensor.data % _ADDRESS_SPACE + tensor.byte_offset
        if self.strides is None or not self.nbytes:
            last += self.nbytes
        else:
            reaches = [itemsize * stride * (length - 1) for stride, length in zip(self.strides, self.shape)]
            first, last = first + sum(min(0, reach) for reach in reaches), last + sum(max(0, reach) for reach in reaches) + itemsize
        if first < 0 or last > _ADDRESS_SPACE:
            raise BufferError(
                f"the tensor reaches beyond the address space: shape {self.shape}, strides {self.strides}, byte_offset "
                f"{tensor.byte_offset}; correct what its maker says of it"
            )

    @property
    def dtype(self) -> DType:
        """The type of an element. Raises `BufferError` if NumPy has none; the memory can be borrowed without it."""
        if self._whole is not None:
            return self._whole.dtype
        given = self.taken.tensor.dl_tensor.dtype
        made = numpy_type(given.code, given.bits) if given.lanes == 1 else None
        if made is None:
            raise BufferError(f"NumPy has no type for DLPack's code {given.code} with {given.bits} bits and {given.lanes} lanes")
        return made

    @property
    def address(self) -> int:
        """The address of the first element, on its side."""
        tensor = self.taken.tensor.dl_tensor
        return int(tensor.data) + int(tensor.byte_offset)

    def check(self, side: Side | None, nbytes: int) -> None:
        """Refuses memory that cannot be borrowed as a side of `nbytes` bytes."""
        if side is not None and self.side != side:
            where = {Side.HOST: "the host", Side.DEVICE: "a device"}
            raise BufferError(f"the memory is on {where[self.side]}, and {where[side]}'s was asked for")
        if self.readonly:
            raise BufferError("the memory is read-only, and copies from the other side are written to it")
        if not self.contiguous:
            raise BufferError(f"the memory is not contiguous in C's order: shape {self.shape}, strides {self.strides}")
        if self.nbytes != nbytes:
            raise ValueError(f"the memory has {self.nbytes} bytes, and the SyncedMemory has {nbytes}")

    def strided(self) -> npt.NDArray[Any]:
        """A NumPy array of host memory, valid while this lives."""
        item = self.dtype.itemsize
        # The stride of one element does not matter, and may be any number.
        steps = None if self.strides is None or 0 in self.shape else zip(self.strides, self.shape)
        strides = None if steps is None else tuple(item * stride if length > 1 else item for stride, length in steps)
        return np.asarray(_Strided(self, strides))

    @property
    def contiguous(self) -> bool:
        """Whether the elements are contiguous in C order."""
        if self.strides is None or 0 in self.shape:
            return True
        step = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides)):
            if length != 1 and stride != step:
                return False
            step *= length
        return True


class _Strided:
    """Host memory of another library, for NumPy."""

    __slots__ = ("__array_interface__", "_borrowed")

    def __init__(self, borrowed: Borrowed, strides: Shape | None) -> None:
        self._borrowed = borrowed
        self.__array_interface__ = {
            "shape": borrowed.shape,
            "typestr": borrowed.dtype.str,
            "data": (borrowed.address, True),
            "strides": strides,
            "version": 3,
        }


def _capsule_of(source: Any) -> object:
    """A capsule of an object with `__dlpack__`."""
    arguments: dict[str, Any] = {}
    if source.__dlpack_device__()[0] in (CUDA, CUDA_MANAGED):
        # The library's own work is ordered with the legacy default stream.
        arguments["stream"] = 1
    try:
        return source.__dlpack__(max_version=(1, 0), **arguments)
    except TypeError:
        return source.__dlpack__(**arguments)


def as_array(source: Any) -> npt.NDArray[Any]:
    """The source as a NumPy array, through the buffer protocol."""
    given: Any = source
    if not isinstance(source, np.ndarray):
        try:
            given = memoryview(source)
        except TypeError:
            raise TypeError(
                f"{type(source).__name__} exports its memory neither by DLPack (__dlpack__) nor by the buffer protocol"
            ) from None
    array: npt.NDArray[Any] = np.asarray(given)
    return array


def _whole_buffer(source: Any) -> npt.NDArray[Any]:
    """The source as a NumPy array that can be borrowed, through the buffer protocol."""
    whole = as_array(source)
    if whole.dtype.hasobject:
        raise TypeError(f"{whole.dtype} refers to Python objects, which a SyncedMemory cannot hold")
    if not whole.flags.writeable:
        raise BufferError("the memory is read-only, and copies from the other side are written to it")
    if not whole.flags.c_contiguous:
        raise BufferError("the memory is not contiguous in C's order")
    return whole


def _capsule_of_array(array: npt.NDArray[Any]) -> object:
    """A capsule of an array's bytes, because NumPy has dtypes that DLPack lacks."""
    if not _NUMPY_CAN_BE_BORROWED:
        raise BufferError(
            f"NumPy {np.__version__} does not let others borrow its memory: 1.24 is the first that takes it back from a thread without the GIL"
        )
    return array.reshape(-1).view(np.uint8).__dlpack__()
