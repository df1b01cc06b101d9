"""Caffe's model files: `.caffemodel`, `.binaryproto` and `.solverstate`, without Caffe and without protobuf."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Literal, Union

import numpy as np
import numpy.typing as npt

from ._array import SyncedArray
from ._errors import called, check
from ._handle import Holder, owned
from ._library import ffi, lib
from ._memory import SyncedMemory
from ._report import run
from ._tensors import DTYPES, ELEMENT_TYPES, DType, Shape, bytes_of
from ._text import table
from ._types import ModelKind, TorchRole

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Names = Literal["caffe", "torch"]


def _tensor(array: SyncedArray) -> Any:
    torch: Any = importlib.import_module("torch")
    return torch.from_dlpack(array.mutable_cpu())


def _text(string: Any) -> str:
    return str(ffi.string(string).decode())


def _info(c_type: str) -> Any:
    info = ffi.new(f"{c_type} *")
    info.size = ffi.sizeof(c_type)
    return info


def encoded(path: Path) -> bytes:
    """A path as bytes, which the library takes."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError("a path has no NUL in it")
    return name


class _File(Holder):
    """An open model of the library. Layers and blobs refer to it and not to the model, which avoids a reference cycle."""

    __slots__ = ("_pointer", "absolute", "path")

    def __init__(self, name: bytes) -> None:
        self.path = os.fsdecode(name)
        # An absolute path for the command: the program may have changed its folder.
        self.absolute = os.path.join(os.getcwd(), self.path)
        made = ffi.new("syncedmem_model_t **")
        check(lib.syncedmem_model_open(name, made))
        # The last reference closes it: a thread that is reading has one.
        self._pointer: Any = owned(made[0], lib.syncedmem_model_close)

    @property
    def pointer(self) -> Any:
        # Read once: another thread may close the file.
        pointer = self._pointer
        if pointer is None:
            raise ValueError(f"{self.path} was closed, by close() or the end of its `with` block; open it again")
        return pointer

    @property
    def closed(self) -> bool:
        return self._pointer is None

    def close(self) -> None:
        self._pointer = None


class CaffeModel(Holder):
    """A model file that is open. Opening reads its structure; values are read when they are asked for.

    `model.layers` lists the layers in the order of the file, `model["conv1"]` finds one by its name. Threads may share a
    model. The file stays open until `close`, or until nothing refers to the model.
    """

    __slots__ = ("__weakref__", "_file", "current_step", "iter", "kind", "layers", "learned_net", "name")

    name: str
    """The net's name; empty if it has none."""
    kind: ModelKind
    """The kind of file."""
    layers: tuple[ModelLayer, ...]
    """The layers. A file that is not a net has one layer with all blobs: "blobs", or a solver's "history"."""
    iter: int
    """The iteration at which a solver's state was saved; else 0."""
    current_step: int
    """The step of the learning rate of a solver's state; else 0."""
    learned_net: str
    """The `.caffemodel` that was saved with a solver's state; else empty."""

    def __init__(self, path: Path) -> None:
        """Opens a file. Raises `Error` if it cannot be read, is damaged, or has another format."""
        self._file = _File(encoded(path))
        info = _info("syncedmem_model_info_t")
        check(lib.syncedmem_model_info(self._file.pointer, info))
        self.kind = ModelKind(info.kind)
        self.name, self.learned_net = _text(info.name), _text(info.learned_net)
        self.iter, self.current_step = int(info.iter), int(info.current_step)
        count = ffi.new("size_t *")
        check(lib.syncedmem_model_layer_count(self._file.pointer, count))
        self.layers = tuple(ModelLayer(self._file, index) for index in range(count[0]))

    @property
    def path(self) -> str:
        """The file."""
        return self._file.path

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._file.closed

    def close(self) -> None:
        """Closes the file. Memory that was read from it stays."""
        self._file.close()

    def __enter__(self) -> CaffeModel:
        _ = self._file.pointer
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __getitem__(self, name: str) -> ModelLayer:
        """The layer of that name. Raises `KeyError` if there is none, `ValueError` if two with blobs have it."""
        found = [layer for layer in self.layers if layer.name == name]
        with_blobs = [layer for layer in found if layer.blobs]
        if len(with_blobs) > 1:
            raise ValueError(f"{self.path}: {len(with_blobs)} layers with blobs are called {name!r}; use model.layers")
        if not found:
            raise KeyError(name)
        return (with_blobs or found)[0]

    def __contains__(self, name: object) -> bool:
        return any(layer.name == name for layer in self.layers)

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<CaffeModel {self.path!r}: {self.kind.name}, {len(self.layers)} layers{state}>"

    def _repr_html_(self) -> str:
        """The layers and their blobs as a table, for notebooks."""
        rows = ((layer.name, layer.type, *(blob.shape for blob in layer.blobs)) for layer in self.layers)
        return table(repr(self), ("layer", "type", "blobs"), rows)

    def named(self) -> Iterator[tuple[str, ModelLayer]]:
        """Every layer with blobs, and its name. Raises `ValueError` if two of them have the same name."""
        seen: set[str] = set()
        for layer in self.layers:
            if layer.blobs:
                if layer.name in seen:
                    raise ValueError(f"{self.path}: two layers with blobs are called {layer.name!r}; use model.layers")
                seen.add(layer.name)
                yield layer.name, layer

    def blobs(self) -> Iterator[tuple[str, ModelBlob]]:
        """Every blob with its name: the layer's name, a dot and the blob's number; "blobs" in a file of one blob.

        Caffe2's tensors have their own names; a quantized one comes with `NAME.scale` and `NAME.zero_point`. Raises `ValueError` if two
        layers with blobs have one name.
        """
        own = {ModelKind.BLOB: ("",), ModelKind.INIT_NET: ("", ".scale", ".zero_point")}.get(self.kind, ())
        for name, layer in self.named():
            for blob in layer.blobs:
                yield name + (own[blob.index] if own else f".{blob.index}"), blob

    def to_torch(self, names: Names = "caffe") -> dict[str, Any]:
        """Every blob as a PyTorch tensor, by the names of `blobs`. The tensors keep the memory; nothing is copied.

        `names="torch"` gives the names and shapes that PyTorch's modules have (`conv1.weight`, `conv1.bias`, `bn1.running_mean`,
        `bn1.running_var`): the sums of a BatchNorm layer are divided by the factor that Caffe stores beside them, and weights that Caffe
        stores transposed are transposed. Warns of layers without a PyTorch module, and of doubtful averages.
        """
        from ._model_torch import doubts, named_arrays

        for doubt in doubts(self) if names == "torch" else ():
            warnings.warn(doubt, stacklevel=2)
        return {name: _tensor(array) for name, array in named_arrays(self, names)}

    def save_npz(self, path: Path, names: Names = "caffe") -> None:
        """Writes every blob to a NumPy archive, by the names of `to_torch`, as `syncedmem model export` does.

        The command opens the model's file again. Raises `ValueError` with the command's sentence if it fails; the old file then
        stays. Warns of arrays that the command leaves out.
        """
        self._export("npz", path, names)

    def save_safetensors(self, path: Path, names: Names = "caffe") -> None:
        """Writes every blob to a safetensors file; see `save_npz`."""
        self._export("safetensors", path, names)

    def _export(self, form: str, path: Path, names: Names) -> None:
        _ = self._file.pointer
        run("model", "export", f"--to={form}", f"--names={names}", f"--output={os.fsdecode(path)}", "--", self._file.absolute)


class ModelLayer:
    """A layer of a model file."""

    __slots__ = ("blobs", "index", "name", "type")

    index: int
    """The number of the layer, from 0."""
    name: str
    """The name, which another layer may have too. Bytes that are not UTF-8 are percent-encoded, as `%BE`:
    `urllib.parse.unquote_to_bytes` returns the bytes."""
    type: str
    """The type, by Caffe's names since 2015."""
    blobs: tuple[ModelBlob, ...]
    """The blobs: weights before biases."""

    def __init__(self, file: _File, index: int) -> None:
        name, of, blobs = ffi.new("const char **"), ffi.new("const char **"), ffi.new("size_t *")
        check(lib.syncedmem_model_layer(file.pointer, index, name, of, blobs))
        self.index, self.name, self.type = index, _text(name[0]), _text(of[0])
        self.blobs = tuple(ModelBlob(file, index, number) for number in range(blobs[0]))

    def __repr__(self) -> str:
        return f"<ModelLayer {self.index} {self.name!r} ({self.type}): {len(self.blobs)} blobs>"


class ModelBlob(Holder):
    """A blob of a model file, whose values are in the file."""

    __slots__ = ("_file", "_layer", "_torch_role", "_torch_shape", "diff_dtype", "dtype", "has_diff", "index", "net_shape", "shape", "size")

    shape: Shape
    """The dimensions as they are stored."""
    net_shape: Shape
    """The dimensions in the net: without the leading ones of files from before 2015."""
    dtype: DType
    """How its values are stored."""
    size: int
    """The number of values."""
    has_diff: bool
    """Whether its gradients are stored too."""
    diff_dtype: DType
    """How its gradients are stored."""

    def __init__(self, file: _File, layer: int, index: int) -> None:
        info = _info("syncedmem_blob_info_t")
        check(lib.syncedmem_model_blob_info(file.pointer, layer, index, info))
        self._file, self._layer, self.index = file, layer, index
        self.shape = tuple(info.shape[0 : info.axes])
        self.net_shape = tuple(info.net_shape[0 : info.net_axes])
        self.dtype, self.size = DTYPES[info.element_type], int(info.count)
        self.has_diff, self.diff_dtype = bool(info.has_diff), DTYPES[info.diff_element_type]
        self._torch_role = TorchRole(info.torch_role)
        self._torch_shape: Shape = tuple(info.torch_shape[0 : info.torch_axes])

    def read(self, dtype: npt.DTypeLike | None = None, *, diff: bool = False) -> SyncedArray:
        """The values, or the gradients, in a new `SyncedMemory`: in their stored type, or as float32 or float64.

        Raises `Error` if the values do not fit the shape, or the file was cut since it was opened.
        """
        stored = self.diff_dtype if diff else self.dtype
        wanted = np.dtype(dtype) if dtype is not None else stored
        # The shape in a damaged file may be larger than memory: allocate for the values that the file has.
        memory = SyncedMemory(self.size * wanted.itemsize)
        self.read_into(memory, wanted, diff=diff)
        return memory.array(wanted, self.shape)

    def read_into(self, memory: SyncedMemory, dtype: npt.DTypeLike, *, diff: bool = False) -> None:
        """Reads its values, or its gradients, to the start of a memory. The host is then the newest side."""
        wanted = np.dtype(dtype)
        if wanted not in ELEMENT_TYPES:
            values = f"{self._file.path}: values are not read as {wanted}"
            raise TypeError(f"{called()}: {values}; ask for float32, float64 or the stored {self.dtype}")
        handle = memory._handle
        array = lib.SYNCEDMEM_DIFF if diff else lib.SYNCEDMEM_DATA
        with handle.alone:
            place = self._file.pointer, self._layer, self.index
            check(lib.syncedmem_model_read_blob(*place, array, ELEMENT_TYPES[wanted], handle.pointer))

    def to_torch(self) -> Any:
        """The values as a PyTorch tensor, which keeps the memory that they were read into; nothing is copied."""
        return _tensor(self.read())

    @property
    def nbytes(self) -> int:
        """Bytes of its values as they are stored."""
        return bytes_of(self.dtype, (self.size,))

    def __repr__(self) -> str:
        return f"<ModelBlob {self.dtype} {self.shape}>"


def open_caffemodel(path: Path) -> CaffeModel:
    """Opens a model file, and reads no values yet."""
    return CaffeModel(path)
