"""Caffe's `Blob`: a shape, and two arrays of it, each in a `SyncedMemory`."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, SupportsIndex

import numpy as np
import numpy.typing as npt

from ._arguments import flag, integer, shape_of
from ._array import ShapeLike, SyncedArray
from ._errors import check_argument
from ._handle import Handle, Holder, owned
from ._library import ffi, lib
from ._memory import SyncedMemory
from ._tensors import ELEMENT_TYPES, DType, Shape
from ._text import table
from ._types import Head, Kind, Status

_DATA, _DIFF = lib.SYNCEDMEM_DATA, lib.SYNCEDMEM_DIFF
_DTYPES = tuple(map(np.dtype, ("float32", "float64", "int32", "uint32")))


def _in_order(locks: Iterable[threading.RLock]) -> list[threading.RLock]:
    """Each lock once."""
    return [lock for _, lock in sorted({id(lock): lock for lock in locks}.items())]


class _BlobHandle(Handle):
    """A blob of the library."""

    __slots__ = ()

    def __init__(self, element_type: int) -> None:
        made = ffi.new("syncedmem_blob_t **")
        check_argument(lib.syncedmem_blob_create(element_type, made))
        self._own(owned(made[0], lib.syncedmem_blob_destroy))


class _HeldHandle(Handle):
    """Memory of a blob, which is not freed while this lives."""

    __slots__ = ()

    def __init__(self, blob: _BlobHandle, array: int) -> None:
        made = ffi.new("syncedmem_t **")
        check_argument(lib.syncedmem_blob_hold_memory(blob.pointer, array, made))
        self._own(owned(made[0], lib.syncedmem_blob_release_memory))

    def close(self) -> None:
        raise BufferError("the memory is that of a Blob, which ends it: delete the Blob, or reshape it beyond its capacity")


class _BlobMemory(SyncedMemory):
    """The memory of an array. It is not freed while this lives, even if the blob gets other memory."""

    __slots__ = ()

    def __init__(self, blob: _BlobHandle, array: int) -> None:
        nbytes = ffi.new("size_t *")
        check_argument(lib.syncedmem_blob_capacity(blob.pointer, array, nbytes))
        self._handle = _HeldHandle(blob, array)
        self._nbytes = int(nbytes[0])
        self._name = None


class BlobArray(SyncedArray):
    """The data or the diff of a `Blob`, as a typed view of its memory.

    `array[key]` reads and `array[key] = values` writes, on the host. The view refers to the memory that the blob had when
    the view was made: ask for a new one after `reshape` and `share_data`.
    """

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        """Elements for reading, as NumPy's indexing returns them: a read-only array, or a number."""
        return self._on_host(Kind.READ)[key]

    def __setitem__(self, key: Any, values: Any) -> None:
        """Writes elements. The host is then the newest side."""
        self._on_host(Kind.WRITE)[key] = values

    def __len__(self) -> int:
        """The length of the first axis."""
        return len(self._on_host(Kind.READ))

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the first axis, for reading."""
        return iter(self._on_host(Kind.READ))


class Blob(Holder):
    """Caffe's `Blob`: a shape of at most 32 axes, and two arrays of it, `data` and `diff`.

    Each array is in a `SyncedMemory`, and blobs may share it. Sums, scaling and
    `update` run on the side that is current. Threads may share a blob: a lock gives it to one call at a time, and calls
    release the GIL.
    """

    __slots__ = ("__weakref__", "_dtype", "_handle", "_memories", "_shape")

    def __init__(self, shape: ShapeLike | None = None, dtype: npt.DTypeLike = np.float32) -> None:
        """Makes a blob of float32, float64, int32 or uint32, and allocates nothing. Without a shape it has no memory.

        Raises `ValueError` for an impossible shape, `TypeError` for another dtype.
        """
        self._dtype: DType = np.dtype(dtype)
        if self._dtype not in _DTYPES:
            raise TypeError(f"a Blob cannot have elements of {self._dtype}; they are float32, float64, int32 or uint32")
        self._handle = _BlobHandle(ELEMENT_TYPES[self._dtype])
        self._memories: dict[int, SyncedMemory] = {}
        self._shape: Shape = ()
        if shape is not None:
            self._reshape(shape)

    # --- its shape ------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The type of an element."""
        return self._dtype

    @property
    def shape(self) -> Shape:
        """The number of elements along each axis."""
        return self._shape

    @property
    def count(self) -> int:
        """The number of elements of each array: 0 without a shape."""
        return self._ask(lib.syncedmem_blob_count)

    @property
    def num(self) -> int:
        """The first of at most four axes; 1 if the blob has none. This and the next three raise `ValueError` for more axes."""
        return self._ask(lib.syncedmem_blob_legacy_shape, 0)

    @property
    def channels(self) -> int:
        """The second of at most four axes; 1 if the blob has fewer."""
        return self._ask(lib.syncedmem_blob_legacy_shape, 1)

    @property
    def height(self) -> int:
        """The third of at most four axes; 1 if the blob has fewer."""
        return self._ask(lib.syncedmem_blob_legacy_shape, 2)

    @property
    def width(self) -> int:
        """The last of at most four axes; 1 if the blob has fewer."""
        return self._ask(lib.syncedmem_blob_legacy_shape, 3)

    def shape_string(self) -> str:
        """The shape and the count as Caffe's log has them, such as "2 3 4 5 (120)"."""
        text = ffi.new("char[]", lib.SYNCEDMEM_BLOB_SHAPE_STRING_BYTES)
        with self._handle.alone:
            check_argument(lib.syncedmem_blob_shape_string(self._handle.pointer, text, len(text)))
        return str(ffi.string(text).decode())

    def reshape(self, *shape: Any) -> None:
        """Changes the shape: `reshape(2, 3)` or `reshape((2, 3))`.

        An array whose memory is large enough keeps it, with its contents. Any other gets new memory of zeros. Raises
        `ValueError` for an impossible shape, and changes nothing then.
        """
        self._reshape(shape[0] if len(shape) == 1 else shape)

    def reshape_like(self, other: Blob) -> None:
        """Takes the shape of another blob."""
        self._reshape(other.shape)

    def offset(self, *indices: SupportsIndex) -> int:
        """The offset of an element in C order; omitted indices are 0. Raises `ValueError` for an index outside of its axis."""
        numbers = [integer(index, "an index") for index in indices]
        return self._ask(lib.syncedmem_blob_offset, len(numbers), numbers)

    def _reshape(self, shape: ShapeLike) -> None:
        lengths = shape_of(shape, most=2**31 - 1)
        with self._alone():
            check_argument(lib.syncedmem_blob_reshape(self._handle.pointer, len(lengths), lengths))
            self._follow()

    # --- its arrays -----------------------------------------------------------------------------

    @property
    def data(self) -> BlobArray:
        """The values. This and `diff` raise `Error` without a shape."""
        return self._array(_DATA)

    @property
    def diff(self) -> BlobArray:
        """Their gradients."""
        return self._array(_DIFF)

    def share_data(self, other: Blob) -> None:
        """Uses the memory of another blob's data. Raises `ValueError` unless that has the same count and dtype."""
        self._share(_DATA, other)

    def share_diff(self, other: Blob) -> None:
        """`share_data`, for the diff."""
        self._share(_DIFF, other)

    def copy_from(self, source: Blob, diff: bool = False, reshape: bool = False) -> None:
        """Copies the data, or the diff, on the side where the source is current.

        With `reshape` the blob takes the shape of the source. Raises `ValueError` if the shapes differ without it.
        """
        with self._alone(source):
            array = _DIFF if diff else _DATA
            try:
                check_argument(lib.syncedmem_blob_copy_from(self._handle.pointer, array, source._handle.pointer, flag(reshape, "reshape")))
            finally:
                # The copy may have failed after the reshape.
                if reshape:
                    self._follow()

    def to_torch(self) -> Any:
        """The data as a PyTorch tensor that shares the memory: on the device if that is newer, else on the CPU."""
        torch: Any = importlib.import_module("torch")
        data = self.data
        return torch.from_dlpack(data.mutable_gpu() if data.memory.head == Head.HEAD_AT_GPU else data.mutable_cpu())

    # --- mathematics ----------------------------------------------------------------------------

    def update(self) -> None:
        """Subtracts the diff from the data, on the side of the data. Raises `Error` if the data was never touched."""
        with self._alone():
            check_argument(lib.syncedmem_blob_update(self._handle.pointer))

    def asum_data(self) -> float:
        """The sum of the absolute values of the data; 0 if it was never touched. Raises `Error` for integers."""
        return self._sum(lib.syncedmem_blob_asum, _DATA)

    def asum_diff(self) -> float:
        """`asum_data`, for the diff."""
        return self._sum(lib.syncedmem_blob_asum, _DIFF)

    def sumsq_data(self) -> float:
        """The sum of the squares of the data; 0 if it was never touched. Raises `Error` for integers."""
        return self._sum(lib.syncedmem_blob_sumsq, _DATA)

    def sumsq_diff(self) -> float:
        """`sumsq_data`, for the diff."""
        return self._sum(lib.syncedmem_blob_sumsq, _DIFF)

    def scale_data(self, factor: float) -> None:
        """Multiplies the data, unless it was never touched. Raises `Error` for integers."""
        self._scale(_DATA, factor)

    def scale_diff(self, factor: float) -> None:
        """`scale_data`, for the diff."""
        self._scale(_DIFF, factor)

    # --- calls of the library -------------------------------------------------------------------

    def _ask(self, function: Any, *arguments: Any) -> int:
        answer = ffi.new("int64_t *")
        with self._handle.alone:
            check_argument(function(self._handle.pointer, *arguments, answer))
        return int(answer[0])

    def _sum(self, function: Any, array: int) -> float:
        total = ffi.new("double *")
        with self._alone():
            check_argument(function(self._handle.pointer, array, total))
        return float(total[0])

    def _scale(self, array: int, factor: float) -> None:
        with self._alone():
            check_argument(lib.syncedmem_blob_scale(self._handle.pointer, array, factor))

    def _share(self, array: int, other: Blob) -> None:
        with self._alone(other):
            check_argument(lib.syncedmem_blob_share(self._handle.pointer, array, other._handle.pointer))
            self._memories[array] = other._memories[array]

    @contextlib.contextmanager
    def _alone(self, *others: Blob) -> Iterator[None]:
        """Takes the locks of the blobs, then those of their memories, each kind in one order (deadlock)."""
        blobs = (self, *others)
        for blob in blobs:
            if not isinstance(blob, Blob):
                raise TypeError(f"the other is a Blob, not {type(blob).__name__}")
        with contextlib.ExitStack() as held:
            for lock in _in_order(blob._handle.alone for blob in blobs):
                held.enter_context(lock)
            for lock in _in_order(memory._handle.alone for blob in blobs for memory in blob._memories.values()):
                held.enter_context(lock)
            yield

    def _array(self, array: int) -> BlobArray:
        with self._handle.alone:
            if not self._memories:
                # The library's sentence says what is wrong.
                check_argument(lib.syncedmem_blob_memory(self._handle.pointer, array, ffi.new("syncedmem_t **")))
            return BlobArray(self._memories[array], self._dtype, self._shape)

    def _follow(self) -> None:
        """Reads the shape, and the memories that the blob has now."""
        blob = self._handle.pointer
        axes, length, memory = ffi.new("size_t *"), ffi.new("int64_t *"), ffi.new("syncedmem_t **")
        check_argument(lib.syncedmem_blob_axes(blob, axes))
        lengths = []
        for axis in range(axes[0]):
            check_argument(lib.syncedmem_blob_shape(blob, axis, length))
            lengths.append(int(length[0]))
        self._shape = tuple(lengths)
        for array in (_DATA, _DIFF):
            if lib.syncedmem_blob_memory(blob, array, memory) == Status.INVALID_STATE:
                return  # no shape yet
            known = self._memories.get(array)
            if known is None or known.handle != memory[0]:
                self._memories[array] = _BlobMemory(self._handle, array)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Blob cannot be copied or pickled; use copy_from, or copy an array of it")

    def __repr__(self) -> str:
        heads = ", ".join(
            f"{name} {self._memories[array].head.name}" for name, array in (("data", _DATA), ("diff", _DIFF)) if array in self._memories
        )
        return f"<Blob {self._dtype} {self.shape_string()}{', ' if heads else ''}{heads}>"

    def _repr_html_(self) -> str:
        """Where its memory is, as a table, for notebooks."""
        names = {_DATA: "data", _DIFF: "diff"}
        with self._handle.alone:
            memories = list(self._memories.items())
        rows = ((names[array], memory.nbytes, memory.head.name) for array, memory in memories)
        return table(repr(self), ("", "bytes", "head"), rows)
