"""Arrays on the device."""

from __future__ import annotations

from typing import Any

from ._exporting import DLDevice, Version, export
from ._handle import Handle, Holder
from ._tensors import CUDA, DType, Hold, Layout, Shape
from ._types import Kind, Side


def cuda_array_interface(hold: Hold, layout: Layout) -> dict[str, Any]:
    """Numba's CUDA array interface, version 3."""
    interface: dict[str, Any] = {
        "shape": layout.shape,
        "typestr": layout.dtype.str,
        "data": (hold.address, hold.readonly),
        "version": 3,
        "strides": None,
        # The library's own work is ordered with the legacy default stream.
        "stream": 1,
    }
    if layout.dtype.names is not None:
        interface["descr"] = layout.dtype.descr
    return interface


class DeviceArray(Holder):
    """The device side of a `SyncedMemory`, which `gpu_data` and the other accessors return.

    It has no arithmetic: pass it to CuPy, PyTorch or Numba (`cupy.asarray`, `torch.from_dlpack`,
    `numba.cuda.as_cuda_array`), or its `ptr` to a kernel. While it lives, the device memory stays in place.
    """

    __slots__ = ("__weakref__", "_ended", "_handle", "_hold", "_kind", "_layout")

    def __init__(self, handle: Handle, kind: Kind, layout: Layout) -> None:
        self._handle = handle
        # An export of overwritten data must not discard it.
        self._kind = kind if kind == Kind.READ else Kind.WRITE
        self._layout = layout
        self._ended = False
        self._hold = Hold(handle, kind, layout)

    @property
    def ptr(self) -> int:
        """The device address; 0 for size 0."""
        return self._hold.address

    @property
    def shape(self) -> Shape:
        """The number of elements along each axis."""
        return self._layout.shape

    @property
    def dtype(self) -> DType:
        """The type of an element."""
        return self._layout.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._layout.nbytes

    @property
    def readonly(self) -> bool:
        """Whether writing to it is forbidden."""
        return self._hold.readonly

    @property
    def device(self) -> int:
        """The ordinal of the device."""
        return self._hold.device

    def _end(self) -> None:
        self._ended = True

    def _check(self) -> None:
        if self._ended:
            raise BufferError("the access of this array has ended with its `with` block: ask for a new one")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self._check()
        return cuda_array_interface(self._hold, self._layout)

    def __dlpack_device__(self) -> DLDevice:
        """DLPack's kind of device, kDLCUDA (2), and its ordinal."""
        return CUDA, self._hold.device

    def __dlpack__(
        self, *, stream: int | None = None, max_version: Version | None = None, dl_device: DLDevice | None = None, copy: bool | None = None
    ) -> Any:  # what checkers know as types.CapsuleType, from Python 3.13 on
        """A capsule of this memory, which keeps the memory alive.

        Raises `BufferError` if it cannot be exported. An export is an access: after a write to the host it copies to
        the device.
        """
        self._check()
        source = self._handle, Side.DEVICE, self._kind, self._layout
        return export(source, self.__dlpack_device__(), stream, max_version, dl_device, copy)

    def __repr__(self) -> str:
        how = "read-only" if self.readonly else "writable"
        return f"<DeviceArray {self.dtype} {self.shape}, device {self.device}, {how}>"
