"""CUDA streams of other libraries."""

from __future__ import annotations

from typing import Any, Protocol, Union

from ._arguments import size
from ._errors import called
from ._handle import Handle
from ._library import ffi, lib


class _CudaStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...


class _Ptr(Protocol):
    @property
    def ptr(self) -> int: ...


class _TorchStream(Protocol):
    @property
    def cuda_stream(self) -> int: ...


Stream = Union[None, int, _CudaStream, _Ptr, _TorchStream]
"""A stream: None (the legacy default stream), its address, or an object of CUDA Python, CuPy or PyTorch."""


def stream_pointer(stream: Stream) -> Any:
    """A stream as a `CUstream_st *`."""
    given: Any = stream
    address: object = stream
    if stream is None:
        address = 0
    elif hasattr(given, "__cuda_stream__"):
        address = given.__cuda_stream__()[1]
    elif hasattr(given, "ptr"):
        address = given.ptr
    elif hasattr(given, "cuda_stream"):
        address = given.cuda_stream
    if isinstance(address, bool) or not hasattr(address, "__index__"):
        raise TypeError(
            f"{called()}: stream is {stream!r}; pass None, an address, or an object with __cuda_stream__(), .ptr or .cuda_stream"
        )
    return ffi.cast("CUstream_st *", size(address, "stream"))


def consumer_stream(stream: object) -> Any:
    """The stream of a DLPack consumer, as the array API numbers them; None if no order is needed."""
    if stream is None or stream == -1:
        return None  # the legacy default stream, on which the library works; or the consumer synchronises itself
    if isinstance(stream, bool):
        raise TypeError(f"{called()}: stream is {stream}; pass None or a number")
    stream = size(stream, "stream")
    if stream == 0:
        raise ValueError("stream 0 may mean two: pass 1 for the legacy default stream, 2 for the per-thread one")
    return None if stream == 1 else stream_pointer(stream)


def order(handle: Handle, stream: Any) -> None:
    """Makes later work of the stream wait for the library's work on the object's device side."""
    handle.call(lib.syncedmem_stream_wait, stream)
