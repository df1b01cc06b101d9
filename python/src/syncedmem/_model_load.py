"""Whole model files at once, as dictionaries and lists of `Blob`s; HDF5 files through h5py."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
from typing import Any, Union
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ._blob import Blob
from ._errors import Error, called, check
from ._library import lib
from ._model import CaffeModel, ModelBlob, Path, encoded
from ._text import escaped
from ._types import ModelKind

_HDF5 = b"\x89HDF\r\n\x1a\n"


@dataclasses.dataclass(frozen=True)
class SolverState:
    """The state that a solver saves with the net."""

    iter: int
    """The iteration at which it was saved."""
    current_step: int
    """The step of its learning rate."""
    learned_net: str
    """The `.caffemodel` that was saved with it, as the program named it."""
    history: list[Blob]
    """The history of its updates."""


def load_caffemodel(path: Path) -> dict[str, list[Blob]]:
    """The blobs of every layer that has some, by the layer's name: weights before biases, with the gradients that the file has.

    Values are float32, or float64 if they are stored so. Files that Caffe saved as HDF5 are read through h5py, if that is
    installed. Raises `ValueError` if two layers with blobs have the same name (`open_caffemodel` lists both), and for an HDF5
    file that Caffe has not saved.
    """
    if _is_hdf5(path):
        return _layers_of_hdf5(path)
    with CaffeModel(path) as model:
        found: dict[str, list[Blob]] = {}
        for name, layer in model.named():
            found[name] = [_loaded(blob) for blob in layer.blobs]
        return found


def load_binaryproto(path: Path, dtype: npt.DTypeLike = np.float32) -> Blob:
    """The blob of a `.binaryproto`, such as a mean image. Raises `Error` for any other file."""
    blob = Blob(dtype=dtype)
    with blob._alone():
        check(lib.syncedmem_blob_read(blob._handle.pointer, encoded(path)))
        blob._follow()
    return blob


def save_binaryproto(path: Path, blob: Blob, diff: bool = False) -> None:
    """Writes the data of a blob, and on request its diff, to a `.binaryproto`, which gets its name once it is whole."""
    with blob._alone():
        check(lib.syncedmem_blob_write(blob._handle.pointer, diff, encoded(path)))


def load_solverstate(path: Path) -> SolverState:
    """The state of a solver. Raises `ValueError` for any other file."""
    if _is_hdf5(path):
        return _state_of_hdf5(path)
    with CaffeModel(path) as model:
        if model.kind != ModelKind.SOLVER_STATE:
            raise ValueError(f"{model.path} is no .solverstate: it is of the kind {model.kind.name}")
        history = [_loaded(blob) for blob in model.layers[0].blobs]
        return SolverState(model.iter, model.current_step, model.learned_net, history)


def _loaded(stored: ModelBlob) -> Blob:
    # A Blob cannot hold float16.
    dtype = np.dtype(np.float32) if stored.dtype == np.float16 else stored.dtype
    blob = Blob(stored.shape, dtype)
    stored.read_into(blob.data.memory, dtype)
    if stored.has_diff:
        stored.read_into(blob.diff.memory, dtype, diff=True)
    return blob


# --- HDF5 ---------------------------------------------------------------------------------------


def _is_hdf5(path: Path) -> bool:
    try:
        # Opening a pipe does not wait for a writer, and reading it ends at once.
        with open(os.fsdecode(path), "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            return file.read(len(_HDF5)) == _HDF5
    except OSError:
        return False  # The library says why.


def _h5py() -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        raise ImportError("HDF5 files are read through h5py, which is not installed: pip install h5py") from error


@contextlib.contextmanager
def _opened_hdf5(path: Path) -> Iterator[Any]:
    name = os.fsdecode(path)
    try:
        file = _h5py().File(name, "r")
    except OSError as error:
        raise OSError(f"{called()}: {name}: cannot be read as HDF5 ({error}); fetch or copy it again") from None
    with file:
        try:
            yield file
        except (AttributeError, Error, IndexError, KeyError, TypeError) as error:
            # The file has a group where Caffe has values, or the reverse, or other types or shapes.
            raise ValueError(f"{called()}: {name} is HDF5, but not as Caffe saves it ({error}); fetch or copy it again") from error


def _copied(values: Any, diff: Any) -> Blob:
    blob = Blob(values.shape, values.dtype)
    values.read_direct(blob.data.overwrite_cpu_data())
    if diff is not None:
        diff.read_direct(blob.diff.overwrite_cpu_data())
    return blob


def _items(group: Any) -> dict[str, Any]:
    """All datasets and groups below a group, by their paths."""
    found: dict[str, Any] = {}

    def visit(name: Union[str, bytes], item: Any) -> None:
        found[escaped(name)] = item

    group.visititems(visit)
    return found


def _layers_of_hdf5(path: Path) -> dict[str, list[Blob]]:
    with _opened_hdf5(path) as file:
        if "data" not in file:
            raise ValueError(f"{os.fsdecode(path)} is HDF5, but no model that Caffe saved: it has no group data")
        diffs = _items(file["diff"]) if "diff" in file else {}
        layers: dict[str, dict[int, Blob]] = {}
        for name, values in _items(file["data"]).items():
            # A layer's name may contain slashes: the blob's number follows the last one.
            layer, _, number = name.rpartition("/")
            if layer and number.isdigit() and isinstance(values, _h5py().Dataset):
                layers.setdefault(layer, {})[int(number)] = _copied(values, diffs.get(name))
        return {layer: [blobs[number] for number in sorted(blobs)] for layer, blobs in layers.items()}


def _state_of_hdf5(path: Path) -> SolverState:
    with _opened_hdf5(path) as file:
        if "iter" not in file or "history" not in file:
            raise ValueError(f"{os.fsdecode(path)} is HDF5, but no solver's state that Caffe saved")
        history = [_copied(file["history"][number], None) for number in sorted(file["history"], key=int)]
        learned = file["learned_net"][()] if "learned_net" in file else b""
        step = int(np.ravel(file["current_step"][()])[0]) if "current_step" in file else 0
        return SolverState(int(np.ravel(file["iter"][()])[0]), step, escaped(learned), history)
