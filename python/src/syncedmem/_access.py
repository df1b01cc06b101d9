"""One access: a side, and whether it is read, written or overwritten."""

from __future__ import annotations

from threading import get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy.typing as npt

from ._device import DeviceArray, cuda_array_interface
from ._exporting import DLDevice, Version, export
from ._handle import Holder
from ._tensors import CPU, CUDA, Hold, make_readonly
from ._types import Kind, Side

if TYPE_CHECKING:
    from ._array import SyncedArray

T = TypeVar("T")


class Access(Holder, Generic[T]):
    """An access to one side of an array. Each request for the data performs it.

    As a context manager it returns the array. After the block the array cannot be written to or exported any more. The
    access ends when nothing refers to the array; until then its address stays valid.
    """

    __slots__ = ("__weakref__", "_array", "_given", "_held", "_kind")
    _side: Side

    def __init__(self, array: SyncedArray, kind: Kind) -> None:
        self._array = array
        self._kind = kind
        # Arrays by thread: several threads may be in a `with` block of one access.
        self._given: dict[int, list[T]] = {}
        # The array or access of a consumer that keeps only this object.
        self._held: Any = None

    def _do(self) -> T:
        raise NotImplementedError

    def _end(self, given: T) -> None:
        raise NotImplementedError

    def __enter__(self) -> T:
        given = self._do()
        self._given.setdefault(get_ident(), []).append(given)
        return given

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._end(self._given.get(get_ident(), []).pop())

    def __dlpack_device__(self) -> DLDevice:
        """DLPack's kind of device, kDLCPU (1) or kDLCUDA (2), and its ordinal."""
        raise NotImplementedError

    def __dlpack__(
        self, *, stream: int | None = None, max_version: Version | None = None, dl_device: DLDevice | None = None, copy: bool | None = None
    ) -> Any:  # what checkers know as types.CapsuleType, from Python 3.13 on
        """Performs the access, and returns a capsule of this side. The arguments are those of the array API.

        Raises `BufferError` for a dtype that DLPack lacks, another device, or reading by a consumer from before DLPack
        1.0.
        """
        array = self._array
        source = array.memory._handle, self._side, self._kind, array._layout
        return export(source, self.__dlpack_device__(), stream, max_version, dl_device, copy)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} to {self._kind.name.lower()} {self._array!r}>"


class HostAccess(Access["npt.NDArray[Any]"]):
    """An access to the host side, for `with`, `numpy.asarray` or `numpy.from_dlpack`."""

    __slots__ = ()
    _side = Side.HOST

    def _do(self) -> npt.NDArray[Any]:
        return self._array._on_host(self._kind)

    def _end(self, given: npt.NDArray[Any]) -> None:
        make_readonly(given)

    def __dlpack_device__(self) -> DLDevice:
        return CPU, 0

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's array interface, version 3. The access lasts as long as this object."""
        # The old one ends after the new one begins, so that the address stays the same.
        array = self._held = self._do()
        return dict(array.__array_interface__)


class DeviceAccess(Access[DeviceArray]):
    """An access to the device side, for `with`, CuPy, PyTorch or Numba."""

    __slots__ = ()
    _side = Side.DEVICE

    def _do(self) -> DeviceArray:
        return self._array._on_device(self._kind)

    def _end(self, given: DeviceArray) -> None:
        given._end()

    def __dlpack_device__(self) -> DLDevice:
        device = self._array.memory.device
        if device is None:
            # The block's allocation determines the device.
            device = self._array._on_device(self._kind).device
        return CUDA, device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Numba's CUDA array interface, version 3. The access lasts as long as this object."""
        layout = self._array._layout
        self._held = hold = Hold(self._array.memory._handle, self._kind, layout)
        return cuda_array_interface(hold, layout)
