"""`SyncedMemory`."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any, NoReturn, SupportsIndex

import numpy as np
import numpy.typing as npt

from ._arguments import integer, size
from ._array import Accessors, ShapeLike, SyncedArray
from ._handle import Handle
from ._borrowed import Borrowed, as_array
from ._library import ffi, lib
from ._streams import Stream, stream_pointer
from ._tensors import Layout, bytes_of, set_tensor
from ._types import Head, Kind, Side


class SyncedMemory(Accessors):
    """A buffer with a host side and a device side, each of `nbytes` bytes.

    A side is allocated at its first access, and copied only when the other is newer. The object is a
    `caffe::SyncedMemory`: C and C++ code may use it by its `handle`. It ends when nothing refers to it and no array of
    it is in use. Threads may share it: a lock gives it to one call at a time, and calls release the GIL.

    Its own accessors return bytes (`numpy.uint8`); those of `array` return typed data.
    """

    __slots__ = ("__weakref__", "_handle", "_name", "_nbytes")

    def __init__(self, nbytes: SupportsIndex, *, name: str | None = None) -> None:
        """Makes an object of `nbytes` bytes on each side, and allocates neither. Zero is allowed.

        Raises `OutOfMemoryError` for an impossible size, `ValueError` for a negative one.
        """
        # No upper limit: the library reports memory that cannot exist.
        self._nbytes = integer(nbytes, "nbytes", 0, math.inf)
        self._handle = Handle(min(self._nbytes, 2**64 - 1))
        self._name: str | None = None
        if name is not None:
            self.name = name

    def _as_array(self) -> SyncedArray:
        return self.array(np.uint8)

    def array(self, dtype: npt.DTypeLike, shape: ShapeLike | None = None) -> SyncedArray:
        """A typed view: elements of `dtype` in C order, from the first byte on; by default one dimension of all bytes.

        Raises `ValueError` for a shape that does not fit, `TypeError` for a dtype of Python objects.
        """
        return SyncedArray(self, dtype, shape)

    # --- queries ---------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """The size of each side, in bytes."""
        return self._nbytes

    @property
    def head(self) -> Head:
        """Which side has the newest data."""
        return Head(self._handle.head())

    @property
    def name(self) -> str | None:
        """The name in traces and their reports."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a name is text, not {type(name).__name__}")
        text = name.encode("utf-8")
        if b"\0" in text:
            raise ValueError("a name has no NUL in it")
        with self._handle.alone:
            self._handle.call(lib.syncedmem_set_name, text)
            self._name = name

    def set_items(self, items: SupportsIndex) -> None:
        """Records in a trace how many items of the batch it holds, such as 64 for an array of 64 x 3 x 224 x 224: a report then says
        what one more item costs. 0 means that it does not grow with the batch."""
        self._handle.call(lib.syncedmem_set_items, size(items, "items"))

    @property
    def device(self) -> int | None:
        """The ordinal of the device side's device; None without a device side."""
        ordinal = int(self._handle.ask(lib.syncedmem_device_ordinal, "int *"))
        return None if ordinal < 0 else ordinal

    @property
    def is_pinned(self) -> bool:
        """Whether the library allocated its host memory page-locked."""
        return bool(self._handle.ask(lib.syncedmem_is_pinned, "bool *"))

    @property
    def owns_cpu(self) -> bool:
        """Whether it has a host block that is not borrowed."""
        return bool(self._handle.ask(lib.syncedmem_owns_cpu, "bool *"))

    @property
    def owns_gpu(self) -> bool:
        """Whether it has a device block that is not borrowed."""
        return bool(self._handle.ask(lib.syncedmem_owns_gpu, "bool *"))

    @property
    def exports(self) -> tuple[int, int]:
        """Numbers of arrays and tensors in use, of the host side and of the device side."""
        return self._handle.exports()

    @property
    def handle(self) -> Any:
        """The `syncedmem_t *` for functions of `syncedmem.lib`, valid while this object or an array of it lives."""
        return self._handle.pointer

    # --- its end --------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether `close` was called. Calls that need the object then raise `ValueError`."""
        return self._handle.closed

    def close(self) -> None:
        """Ends the object and frees its memory. Raises `BufferError` while arrays or tensors of it are in use."""
        self._handle.close()

    def __enter__(self) -> SyncedMemory:
        _ = self._handle.pointer
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            self.close()
        except BufferError:
            # The frames of the raised exception may hold arrays; it says more than an error of `close`.
            if error is None:
                raise

    def __reduce__(self) -> NoReturn:
        raise TypeError("a SyncedMemory cannot be copied or pickled; copy an array of it")

    def __repr__(self) -> str:
        # One read: another thread may close it.
        with self._handle.alone:
            return self._described()

    def _described(self) -> str:
        name = f" {self._name!r}" if self._name else ""
        if self.closed:
            return f"<SyncedMemory{name} {self._nbytes} bytes, closed>"
        head = self.head
        host = "none"
        if self.owns_cpu or head in (Head.HEAD_AT_CPU, Head.SYNCED):
            host = "pinned" if self.is_pinned else "pageable" if self.owns_cpu or self._nbytes == 0 else "borrowed"
        device = self.device
        where = "none" if device is None else device
        return f"<SyncedMemory{name} {self._nbytes} bytes, {head.name}, host {host}, device {where}>"

    # --- borrowed memory -----------------------------------------------------------------------

    def set_cpu_data(self, data: Any) -> None:
        """Borrows the memory of `data` as the host side, which is then the newest.

        `data` is a NumPy array, or exports its memory by DLPack or the buffer protocol. The memory is kept alive until
        the host side is set or released, or this object ends.

        Raises `BufferError` unless it is writable and contiguous in C order, `ValueError` unless it has `nbytes` bytes.
        """
        self._borrow(data, Side.HOST)

    def set_gpu_data(self, data: Any) -> None:
        """Borrows device memory, exported by DLPack, as the device side: as `set_cpu_data`."""
        self._borrow(data, Side.DEVICE)

    def _borrow(self, data: Any, side: Side) -> None:
        _ = self._handle.pointer
        borrowed = Borrowed(data)
        borrowed.check(side, self._nbytes)
        set_tensor(self._handle, borrowed.taken)

    # --- memory and copies ------------------------------------------------------------------------

    def release_cpu(self) -> None:
        """Frees the host side while the device has the newest data.

        Raises `Error` if it does not, `BufferError` while arrays of the host side are in use.
        """
        self._handle.call(lib.syncedmem_release_cpu)

    def release_gpu(self) -> None:
        """Frees the device side while the host has the newest data.

        Raises `Error` if it does not, `BufferError` while arrays of the device side are in use.
        """
        self._handle.call(lib.syncedmem_release_gpu)

    def discard(self) -> None:
        """Discards the contents and frees the memory: the next write begins with zeros.

        A read before it raises `Error`. Raises `BufferError` while arrays of the memory are in use.
        """
        self._handle.call(lib.syncedmem_discard)

    def async_gpu_push(self, stream: Stream = None) -> None:
        """Starts a copy to the device on a stream. The host must have the newest data.

        The head is SYNCED at once. Synchronize the stream before you use the device data on another one.
        """
        self._handle.call(lib.syncedmem_async_gpu_push, stream_pointer(stream))

    def async_cpu_pull(self, stream: Stream = None) -> None:
        """Starts a copy to the host on a stream. `cpu_data` and `wait` wait for it, `is_ready` tests it."""
        self._handle.call(lib.syncedmem_async_cpu_pull, stream_pointer(stream))

    def wait(self) -> None:
        """Waits for the copy in flight, if there is one."""
        self._handle.call(lib.syncedmem_wait)

    def is_ready(self) -> bool:
        """Whether no copy is in flight."""
        return bool(self._handle.ask(lib.syncedmem_is_ready, "bool *"))

    def record_stream(self, stream: Stream) -> None:
        """Declares that work already in the stream may use the memory, which is not reused before that work is done."""
        self._handle.call(lib.syncedmem_record_stream, stream_pointer(stream))

    def stream_wait(self, stream: Stream) -> None:
        """Makes later work of the stream wait for the library's fills and copies of the device side."""
        self._handle.call(lib.syncedmem_stream_wait, stream_pointer(stream))


def from_dlpack(source: Any, *, copy: bool | None = None) -> SyncedArray:
    """A view of a new `SyncedMemory` that borrows the memory of `source`.

    Raises `BufferError` for memory that cannot be borrowed (read-only, not contiguous, a type that NumPy lacks). With
    `copy=True` it copies the data to the host instead.
    """
    if copy:
        return _copy_of(source)
    borrowed = Borrowed(source)
    borrowed.check(None, borrowed.nbytes)
    memory = SyncedMemory(borrowed.nbytes)
    view = memory.array(borrowed.dtype, borrowed.shape)
    set_tensor(memory._handle, borrowed.taken)
    return view


def _copy_of(source: Any) -> SyncedArray:
    if isinstance(source, np.ndarray) or not hasattr(source, "__dlpack__"):
        return _filled(as_array(source))
    borrowed = Borrowed(source)
    if borrowed.side == Side.HOST:
        return _filled(borrowed.strided())
    if not borrowed.contiguous:
        raise BufferError("device memory that is not contiguous in C's order cannot be copied; copy it where it is")
    # The library reads the tensor's memory, and releases it before the tensor ends.
    between = Handle(borrowed.nbytes)
    between.call(lib.syncedmem_set_gpu_data, ffi.cast("void *", borrowed.address))
    return _filled(Layout(borrowed.dtype, borrowed.shape).on_host(between, Kind.READ))


def _filled(array: npt.NDArray[Any]) -> SyncedArray:
    made = SyncedMemory(bytes_of(array.dtype, array.shape)).array(array.dtype, array.shape)
    made.overwrite_cpu_data()[...] = array
    return made
