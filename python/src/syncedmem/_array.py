"""Typed views of a memory, and the accessors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex, Union

import numpy as np
import numpy.typing as npt

from ._access import DeviceAccess, HostAccess
from ._arguments import shape_of
from ._device import DeviceArray
from ._exporting import DLDevice, Version, asked_device, export
from ._handle import Holder
from ._tensors import CPU, CUDA, DType, Layout, Shape, bytes_of
from ._types import Head, Kind, Side

if TYPE_CHECKING:
    from ._memory import SyncedMemory

ShapeLike = Union[SupportsIndex, Iterable[SupportsIndex]]


class Accessors(Holder):
    """The accessors of `caffe::SyncedMemory`, for a memory's bytes or a typed view of it.

    An accessor copies from the other side if that is newer. It raises `OutOfMemoryError` if memory runs out, and
    `Error` if it needs the device and cannot use it.
    """

    __slots__ = ()

    def _as_array(self) -> SyncedArray:
        raise NotImplementedError

    def _on_host(self, kind: Kind) -> npt.NDArray[Any]:
        return self._as_array()._on_host(kind)

    def cpu_data(self) -> npt.NDArray[Any]:
        """The host data for reading, as a read-only NumPy array: zeros before the first write."""
        return self._on_host(Kind.READ)

    def mutable_cpu_data(self) -> npt.NDArray[Any]:
        """The host data for reading and writing. The host is then the newest side.

        Write before the next access to the other side: the library does not see later writes.
        """
        return self._on_host(Kind.WRITE)

    def overwrite_cpu_data(self) -> npt.NDArray[Any]:
        """The host data for writing: neither zeroed nor copied.

        Write all of the memory, including the bytes outside of a smaller view.
        """
        return self._on_host(Kind.OVERWRITE)

    def gpu_data(self) -> DeviceArray:
        """The device data for reading: zeros before the first write."""
        return self._as_array()._on_device(Kind.READ)

    def mutable_gpu_data(self) -> DeviceArray:
        """The device data for reading and writing. The device is then the newest side."""
        return self._as_array()._on_device(Kind.WRITE)

    def overwrite_gpu_data(self) -> DeviceArray:
        """The device data for writing: neither zeroed nor copied.

        Write all of the memory, including the bytes outside of a smaller view.
        """
        return self._as_array()._on_device(Kind.OVERWRITE)

    def cpu(self) -> HostAccess:
        """Access for reading on the host: `with mem.cpu() as a:`, `numpy.from_dlpack(mem.cpu())`."""
        return HostAccess(self._as_array(), Kind.READ)

    def mutable_cpu(self) -> HostAccess:
        """Access for reading and writing on the host: `torch.from_dlpack(mem.mutable_cpu())`."""
        return HostAccess(self._as_array(), Kind.WRITE)

    def overwrite_cpu(self) -> HostAccess:
        """Access for writing all of the host data."""
        return HostAccess(self._as_array(), Kind.OVERWRITE)

    def gpu(self) -> DeviceAccess:
        """Access for reading on the device."""
        return DeviceAccess(self._as_array(), Kind.READ)

    def mutable_gpu(self) -> DeviceAccess:
        """Access for reading and writing on the device: `cupy.from_dlpack(mem.mutable_gpu())`."""
        return DeviceAccess(self._as_array(), Kind.WRITE)

    def overwrite_gpu(self) -> DeviceAccess:
        """Access for writing all of the device data."""
        return DeviceAccess(self._as_array(), Kind.OVERWRITE)


class SyncedArray(Accessors):
    """A typed view of a `SyncedMemory`, in C order, made by `SyncedMemory.array`. It holds no data itself.

    NumPy and DLPack consumers read its data on the side that is current.
    """

    __slots__ = ("__weakref__", "_layout", "_memory")

    def __init__(self, memory: SyncedMemory, dtype: npt.DTypeLike, shape: ShapeLike | None) -> None:
        made = np.dtype(dtype)
        inner: Shape = ()
        if made.subdtype is not None:
            made, inner = made.subdtype
        if made.hasobject:
            raise TypeError(f"{made} refers to Python objects, which a SyncedMemory cannot hold")
        if made.itemsize == 0:
            raise ValueError(f"an element of {made} has no bytes; say its length")
        self._memory = memory
        self._layout = Layout(made, self._fitting(made, shape, inner))

    def _fitting(self, dtype: DType, shape: ShapeLike | None, inner: Shape) -> Shape:
        nbytes = self._memory.nbytes
        if shape is None:
            item = bytes_of(dtype, inner)
            if item == 0 or nbytes % item != 0:
                raise ValueError(f"{nbytes} bytes are no whole number of elements of {item} bytes; say the shape")
            return (nbytes // item, *inner)
        lengths = (*shape_of(shape), *inner)
        if bytes_of(dtype, lengths) > nbytes:
            raise ValueError(f"{lengths} of {dtype} take {bytes_of(dtype, lengths)} bytes, and the memory has {nbytes}")
        if len(lengths) > 32:
            raise ValueError(f"no array has the shape {lengths}")
        return lengths

    def _as_array(self) -> SyncedArray:
        return self

    @property
    def memory(self) -> SyncedMemory:
        """The memory of this view."""
        return self._memory

    @property
    def dtype(self) -> DType:
        """The type of an element."""
        return self._layout.dtype

    @property
    def shape(self) -> Shape:
        """The number of elements along each axis."""
        return self._layout.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._layout.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.nbytes // self._layout.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, at most those of the memory."""
        return self._layout.nbytes

    def _on_host(self, kind: Kind) -> npt.NDArray[Any]:
        return self._layout.on_host(self._memory._handle, kind)

    def _on_device(self, kind: Kind) -> DeviceArray:
        return DeviceArray(self._memory._handle, kind, self._layout)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's array interface, version 3: the host data, read-only."""
        array = self._on_host(Kind.READ)
        interface = dict(array.__array_interface__)
        # A buffer instead of an address: then the consumer keeps the access alive, and not this view, which may live longer.
        interface["data"] = array.reshape(-1).view(np.uint8).data
        return interface

    def __dlpack_device__(self) -> DLDevice:
        """DLPack's kind of device and ordinal, of the current side; of the host if both are current, or neither."""
        device = self._memory.device if self._memory._handle.head() == Head.HEAD_AT_GPU else None
        return (CPU, 0) if device is None else (CUDA, device)

    def __dlpack__(
        self, *, stream: int | None = None, max_version: Version | None = None, dl_device: DLDevice | None = None, copy: bool | None = None
    ) -> Any:  # what checkers know as types.CapsuleType, from Python 3.13 on
        """A capsule of the data for reading: on the side of `dl_device`, by default the current one.

        With `copy=True` the consumer gets a copy. Raises `BufferError` with `copy=False` if that side is not current,
        and for a consumer from before DLPack 1.0 (`max_version` is not given), which does not know read-only tensors.
        """
        handle, layout = self._memory._handle, self._layout
        is_plain = stream is None and dl_device is None and not copy and max_version == (1, 0) and layout.known
        if is_plain and handle.head() != Head.HEAD_AT_GPU:
            # NumPy's call. The general path takes a tenth longer.
            return layout.tensor(handle, Side.HOST, Kind.READ, True)
        device = self.__dlpack_device__()
        if dl_device is not None:
            asked = asked_device(dl_device)
            self._check_side(asked, copy)
            device = asked
        side = Side.DEVICE if device[0] == CUDA else Side.HOST
        source = handle, side, Kind.READ, layout
        return export(source, device, stream, max_version, dl_device, copy)

    def _check_side(self, asked: DLDevice, copy: bool | None) -> None:
        """Refuses a device of neither side, and, with `copy=False`, a side that is not current."""
        memory = self._memory
        stale = {Head.HEAD_AT_CPU: CUDA, Head.HEAD_AT_GPU: CPU}.get(memory.head)
        if copy is False and asked[0] == stale:
            raise BufferError(f"with {memory.head.name} the data would have to be copied to device {asked}, and copy is False")
        own = [(CPU, 0)]
        if asked[0] == CUDA:
            device = memory.device
            if device is None and not copy:
                # The block's allocation determines the device.
                device = self._on_device(Kind.READ).device
            own.append((CUDA, asked[1] if device is None else device))
        if asked not in own:
            raise BufferError(f"no side is on device {asked}, but on {' and '.join(map(str, own))}")

    def __repr__(self) -> str:
        return f"<SyncedArray {self.dtype} {self.shape} of {self._memory!r}>"
