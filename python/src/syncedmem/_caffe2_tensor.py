"""Caffe2's `Tensor`: a shape, a type, and memory that the first write allocates."""

from __future__ import annotations

import weakref
from typing import Any, NoReturn, SupportsIndex

import numpy as np
import numpy.typing as npt

from ._arguments import flag, integer, shape_of
from ._array import ShapeLike
from ._device import DeviceArray
from ._errors import check_argument
from ._exporting import DLDevice, Source, Version, export
from ._handle import Handle, Holder, common, hide, owned
from ._borrowed import Borrowed, as_array
from ._library import ffi, lib
from ._tensors import CPU, CUDA, DTYPES, ELEMENT_TYPES, DType, Layout, Shape
from ._types import Kind, Side


class TensorHandle(Handle):
    """A tensor of the library. All Python objects for one tensor share this handle and its lock."""

    __slots__ = ("__weakref__",)

    def __init__(self, held: Any) -> None:
        self._own(owned(held, lib.syncedmem_tensor_destroy))
        # A finaliser may ask for the tensor, and must find this handle.
        hide(self)

    def change(self, function: Any, *arguments: Any) -> None:
        """Calls a function on the tensor, without the GIL."""
        with self.alone:
            check_argument(function(self.pointer, *arguments))

    def info(self) -> Any:
        """C's `syncedmem_tensor_info_t`. Its dimensions are valid until the tensor's shape changes.

        The result owns its members: `meta` is only valid while it lives.
        """
        info = ffi.new("syncedmem_tensor_info_t *")
        self.change(lib.syncedmem_tensor_info, info)
        return info


_handles: weakref.WeakValueDictionary[int, TensorHandle] = weakref.WeakValueDictionary()


def tensor_of(held: Any) -> Tensor:
    """The tensor of a handle of the library. The tensor takes over the reference."""
    address = int(ffi.cast("uintptr_t", held))
    handle = _handles.get(address)
    if handle is None:
        handle = TensorHandle(held)
        # Two threads must not have different handles, and so different locks, for one tensor.
        with common():
            handle = _handles.setdefault(address, handle)
    else:
        lib.syncedmem_tensor_destroy(held)
    made = Tensor.__new__(Tensor)
    made._handle = handle
    return made


class _Memory(Handle):
    """The memory of a tensor, for arrays that use it after the tensor has other memory."""

    __slots__ = ("_keeper",)

    def __init__(self, tensor: TensorHandle, side: Side) -> None:
        # Another tensor that shares the memory.
        made = ffi.new("syncedmem_tensor_t **")
        check_argument(lib.syncedmem_tensor_create(side, made))
        self._keeper = TensorHandle(made[0])
        with tensor.alone:
            self._keeper.change(lib.syncedmem_tensor_resize_like, tensor.pointer)
            self._keeper.change(lib.syncedmem_tensor_share_data, tensor.pointer)
        memory = ffi.new("syncedmem_t **")
        self._keeper.change(lib.syncedmem_tensor_memory, memory)
        self._own(memory[0])
        # The keeper must live until the pointer ends.
        hide(self)


def name_of(meta: Any) -> str | None:
    """The name of a `syncedmem_typemeta_t`; None for no type."""
    return None if meta.id == ffi.NULL else str(ffi.string(meta.name).decode("utf-8", "replace"))


class Tensor(Holder):
    """Caffe2's tensor: items of one type in contiguous memory, on the host or on a device.

    The first `mutable_data` allocates memory, and a resize keeps it if it is large enough. Tensors may share memory with each
    other, with C and C++, and through DLPack; the last reference frees it. Threads may share a tensor: a lock
    gives it to one call at a time, and calls release the GIL.
    """

    __slots__ = ("__weakref__", "_handle")
    _handle: TensorHandle

    def __init__(self, shape: ShapeLike | None = None, *, device: bool = False) -> None:
        """Makes a tensor without a type, on the host or the device, and allocates nothing."""
        made = ffi.new("syncedmem_tensor_t **")
        check_argument(lib.syncedmem_tensor_create(Side.DEVICE if device else Side.HOST, made))
        self._handle = TensorHandle(made[0])
        _handles[int(ffi.cast("uintptr_t", made[0]))] = self._handle
        if shape is not None:
            self.resize(shape)

    # --- queries -----------------------------------------------------------------------------

    @property
    def shape(self) -> Shape | None:
        """The number of items along each axis; None without a shape."""
        with self._handle.alone:
            info = self._handle.info()
            return None if info.size < 0 else tuple(info.dims[axis] for axis in range(info.ndim))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self._handle.info().ndim)

    @property
    def size(self) -> int:
        """The number of items; -1 without a shape."""
        return int(self._handle.info().size)

    @property
    def dtype(self) -> DType | None:
        """The type of an item; None before the first `mutable_data`. Raises `Error` for a type that only C++ has."""
        info = self._handle.info()
        if info.meta.id == ffi.NULL:
            return None
        number = ffi.new("int32_t *")
        check_argument(lib.syncedmem_typemeta_element(ffi.addressof(info.meta), number))
        return DTYPES[number[0]]

    @property
    def type_name(self) -> str | None:
        """The name of the items' type, in the language that chose it; None before the first `mutable_data`."""
        info = self._handle.info()
        return name_of(info.meta)

    @property
    def itemsize(self) -> int:
        """Bytes of an item; 0 without a type."""
        info = self._handle.info()
        return int(info.meta.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all items."""
        return int(self._handle.info().nbytes)

    @property
    def capacity(self) -> int:
        """Bytes of the memory; 0 before it is allocated."""
        return int(self._handle.info().capacity_nbytes)

    @property
    def shares_data(self) -> bool:
        """Whether the memory came from another tensor, or from outside the library."""
        return bool(self._handle.info().shares_data)

    @property
    def on_device(self) -> bool:
        """Whether its memory is a device's."""
        return bool(self._handle.info().side == Side.DEVICE)

    @property
    def handle(self) -> Any:
        """The `syncedmem_tensor_t *` for functions of `syncedmem.lib`, valid while this object lives."""
        return self._handle.pointer

    # --- its shape ------------------------------------------------------------------------------

    def resize(self, *shape: Any) -> None:
        """Takes another shape: `resize(2, 3)` or `resize((2, 3))`; `resize(())` makes a scalar.

        The items stay if their number does not change. Memory is freed if it is too small, or by `set_keep_on_shrink`.
        """
        lengths = shape_of(shape[0] if len(shape) == 1 else shape)
        self._handle.change(lib.syncedmem_tensor_resize, len(lengths), lengths)

    def reshape(self, *shape: Any) -> None:
        """Takes another shape of the same number of items, which stay."""
        lengths = shape_of(shape[0] if len(shape) == 1 else shape)
        self._handle.change(lib.syncedmem_tensor_reshape, len(lengths), lengths)

    def shrink(self, length: SupportsIndex) -> None:
        """Cuts the first axis to `length`. Memory and items stay where they are."""
        self._handle.change(lib.syncedmem_tensor_shrink, integer(length, "length", 0))

    def extend(self, more: SupportsIndex, *, growth: float = 0.0) -> None:
        """Adds `more` to the first axis. The items stay; memory that is too small grows by `growth` percent or more."""
        self._handle.change(lib.syncedmem_tensor_extend, integer(more, "more", 0), growth)

    def reserve(self, shape: ShapeLike) -> None:
        """Allocates memory for the items of `shape`. Shape and items stay."""
        lengths = shape_of(shape)
        self._handle.change(lib.syncedmem_tensor_reserve, len(lengths), lengths)

    def free_memory(self) -> None:
        """Releases its memory. Shape and type stay."""
        self._handle.change(lib.syncedmem_tensor_free_memory)

    # --- its items ------------------------------------------------------------------------------

    def data(self) -> Any:
        """The items for reading: a read-only NumPy array, or a `DeviceArray` of a tensor on the device.

        Raises `Error` before the memory is allocated.
        """
        return self._view(Kind.READ)

    def mutable_data(self, dtype: npt.DTypeLike | None = None) -> Any:
        """The items for reading and writing, as `dtype`, by default the present type: a NumPy array or a `DeviceArray`.

        Allocates memory, with zeros on the host, unless the tensor has memory for the type. Memory of another type is
        reused if it is large enough; arrays that were made of it before see what is written.
        """
        address, meta = ffi.new("void **"), self._meta(dtype)
        # One locked step: another thread may change the tensor's type.
        with self._handle.alone:
            self._handle.change(lib.syncedmem_tensor_mutable_data, meta, address)
            return self._view(Kind.WRITE)

    @staticmethod
    def _meta(dtype: npt.DTypeLike | None) -> Any:
        if dtype is None:
            return ffi.NULL
        asked = np.dtype(dtype)
        if asked not in ELEMENT_TYPES:
            raise TypeError(f"a Tensor has no items of {asked}; they are {', '.join(map(str, ELEMENT_TYPES))}")
        meta = ffi.new("syncedmem_typemeta_t *")
        check_argument(lib.syncedmem_typemeta(ELEMENT_TYPES[asked], meta))
        return meta

    def _source(self, kind: Kind) -> Source | None:
        """The memory with its type and shape; None without items."""
        with self._handle.alone:
            address = ffi.new("const void **")
            self._handle.change(lib.syncedmem_tensor_data, ffi.NULL, address)
            shape, dtype = self.shape, self.dtype
            if shape is None or dtype is None or 0 in shape:
                return None
            side = Side.DEVICE if self.on_device else Side.HOST
            return _Memory(self._handle, side), side, kind, Layout(dtype, shape)

    def _view(self, kind: Kind) -> Any:
        with self._handle.alone:
            source = self._source(kind)
            if source is None:
                empty = np.empty(self.shape or 0, self.dtype or np.float32)
                empty.flags.writeable = kind is not Kind.READ
                return empty
            handle, side, _, layout = source
            return DeviceArray(handle, kind, layout) if side is Side.DEVICE else layout.on_host(handle, kind)

    def copy_from(self, source: Any) -> None:
        """Takes the shape, the type and a copy of the items of another tensor, of either side, or of an array."""
        if isinstance(source, Tensor):
            # Two threads may copy in both directions.
            first, second = sorted((self._handle, source._handle), key=id)
            with first.alone, second.alone:
                self._handle.change(lib.syncedmem_tensor_copy_from, source._handle.pointer)
            return
        array = as_array(source)
        made = Tensor(array.shape)
        made.mutable_data(array.dtype)[...] = array
        self.copy_from(made)

    def share(self, source: Any) -> None:
        """Uses the memory of another tensor with as many items, or of an object with DLPack or the buffer protocol.

        It also takes the shape and the type of such an object. The memory lives as long as either uses it. A resize
        beyond the memory, or `free_memory`, ends the sharing for this tensor.

        Raises `BufferError` for memory that is read-only, not contiguous, or on the other side.
        """
        if isinstance(source, Tensor):
            first, second = sorted((self._handle, source._handle), key=id)
            with first.alone, second.alone:
                self._handle.change(lib.syncedmem_tensor_share_data, source._handle.pointer)
            return
        borrowed = Borrowed(source)
        borrowed.check(Side.DEVICE if self.on_device else Side.HOST, borrowed.nbytes)
        meta = self._meta(borrowed.dtype)
        with self._handle.alone:
            self.resize(borrowed.shape)
            pointer, taken = self._handle.pointer, borrowed.taken
            # Before the call: if Python is interrupted in between, the tensor has at most one owner.
            try:
                taken.take()
            except BaseException:
                taken.give_back()
                raise
            status = lib.syncedmem_tensor_share_dlpack(pointer, meta, taken.tensor, taken.versioned)
            if status != 0:
                taken.give_back()
            check_argument(status)

    def __dlpack_device__(self) -> DLDevice:
        """DLPack's kind of device, kDLCPU (1) or kDLCUDA (2), and its ordinal."""
        return (CUDA, self._view(Kind.READ).device) if self.on_device else (CPU, 0)

    def __dlpack__(
        self, *, stream: int | None = None, max_version: Version | None = None, dl_device: DLDevice | None = None, copy: bool | None = None
    ) -> Any:  # what checkers know as types.CapsuleType, from Python 3.13 on
        """A capsule of the items for reading, which keeps the memory alive; those of `mutable_data` may be written."""
        with self._handle.alone:
            source = self._source(Kind.READ)
            if source is None:
                return np.empty(self.shape or 0, self.dtype or np.float32).__dlpack__()
        return export(source, self.__dlpack_device__(), stream, max_version, dl_device, copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's array interface, version 3: the items, read-only. Raises `Error` for a tensor on the device."""
        if self.on_device:
            raise AttributeError("a Tensor on the device has no array interface; copy it to one on the host")
        array = self._view(Kind.READ)
        interface = dict(array.__array_interface__)
        # A buffer instead of an address: then the consumer keeps the access alive, and not this tensor, which may live longer.
        interface["data"] = array.reshape(-1).view(np.uint8).data
        return interface

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Tensor cannot be copied or pickled; use copy_from, or copy its data")

    def __repr__(self) -> str:
        where = "device" if self.on_device else "host"
        shared = ", shared" if self.shares_data else ""
        memory = f"{self.nbytes} of {self.capacity} bytes{shared}"
        return f"<Tensor {self.type_name or 'without a type'} {self.shape}, {where}, {memory}>"


def set_keep_on_shrink(keep: bool, most_unused_bytes: int = 2**63 - 1) -> None:
    """Sets for the process whether a resize keeps memory that is then unused, and at most how many bytes."""
    check_argument(lib.syncedmem_tensor_set_keep_on_shrink(flag(keep, "keep"), integer(most_unused_bytes, "most_unused_bytes")))


def get_keep_on_shrink() -> tuple[bool, int]:
    """The values of `set_keep_on_shrink`; at first True, without a limit."""
    keep, most = ffi.new("bool *"), ffi.new("int64_t *")
    check_argument(lib.syncedmem_tensor_get_keep_on_shrink(keep, most))
    return bool(keep[0]), int(most[0])
