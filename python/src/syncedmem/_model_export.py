"""Model files as files of other formats, written blob by blob and put under their names once they are whole."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import uuid
import zipfile
from collections.abc import Generator, Iterator
from typing import IO, TYPE_CHECKING

import numpy as np

from ._array import SyncedArray
from ._tensors import DType, Shape
from ._types import ModelKind

if TYPE_CHECKING:
    from ._model import CaffeModel, ModelBlob, ModelLayer

_SAFETENSORS = {"float16": "F16", "float32": "F32", "float64": "F64", "bool": "BOOL"} | {
    f"{kind}int{bits}": f"{kind.upper() or 'I'}{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)
}


_WEIGHTS = ("Convolution", "Deconvolution", "Convolution3D", "Deconvolution3D", "InnerProduct", "Scale", "Embed")
_TORCH = {
    **{(of, number): name for of in _WEIGHTS for number, name in enumerate(("weight", "bias"))},
    ("PReLU", 0): "weight",
    ("Bias", 0): "bias",
}


@dataclasses.dataclass(frozen=True)
class Exported:
    """A blob as an array of another format."""

    name: str
    blob: ModelBlob
    dtype: DType
    shape: Shape
    scale: float | None = None
    """What its values are multiplied by."""

    def read(self) -> SyncedArray:
        """Its values, in a new memory."""
        values = self.blob.read(self.dtype).memory.array(self.dtype, self.shape)
        if self.scale is not None:
            array = values.mutable_cpu_data()
            array *= self.dtype.type(self.scale)
        return values


def exported(model: CaffeModel, names: str) -> Iterator[Exported]:
    """Every blob, by the names of `CaffeModel.blobs` ("caffe") or those of PyTorch's modules ("torch")."""
    if names not in ("caffe", "torch"):
        raise ValueError(f'names are "caffe" or "torch", and not {names!r}')
    if names == "caffe" or model.kind != ModelKind.NET:
        for name, blob in model.blobs():
            yield Exported(name, blob, blob.dtype, blob.shape)
        return
    for name, layer in model.named():
        if layer.type == "BatchNorm" and len(layer.blobs) == 3:
            yield from _averages(name, layer)
            continue
        for blob in layer.blobs:
            yield Exported(f"{name}.{_TORCH.get((layer.type, blob.index), blob.index)}", blob, blob.dtype, blob.net_shape)


def _averages(name: str, layer: ModelLayer) -> Iterator[Exported]:
    """The means and variances of Caffe's BatchNorm, whose last blob is the factor of their sums."""
    factor = float(layer.blobs[2].read(np.float64).cpu_data().flat[0])
    for blob, of in zip(layer.blobs, ("running_mean", "running_var")):
        # Products of halves are floats.
        dtype = blob.dtype if blob.dtype == np.float64 else np.dtype(np.float32)
        yield Exported(f"{name}.{of}", blob, dtype, blob.shape, 1 / factor if factor else 0.0)


@contextlib.contextmanager
def _new_file(path: str) -> Generator[IO[bytes], None, None]:
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} is a folder, a pipe or a device; name a regular file")
    temporary = os.path.join(os.path.dirname(path), f".syncedmem-{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            try:
                yield file
                file.flush()
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def save_npz(model: CaffeModel, path: str, names: str) -> None:
    """As `CaffeModel.save_npz`."""
    arrays = list(exported(model, names))
    for name in (array.name for array in arrays):
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"{name!r} in an archive would be unpacked elsewhere; save it as safetensors")
    with _new_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for array in arrays:
            with archive.open(f"{array.name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array.read().cpu_data(), allow_pickle=False)


def save_safetensors(model: CaffeModel, path: str, names: str) -> None:
    """As `CaffeModel.save_safetensors`."""
    arrays = list(exported(model, names))
    header, end = {}, 0
    for array in arrays:
        begin, end = end, end + array.blob.size * array.dtype.itemsize
        header[array.name] = {"dtype": _SAFETENSORS[array.dtype.name], "shape": array.shape, "data_offsets": (begin, end)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with _new_file(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays:
            file.write(array.read().cpu_data().reshape(-1).view(np.uint8).data)
