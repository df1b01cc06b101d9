"""The blobs of model files by the names and with the shapes of PyTorch's modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ._array import SyncedArray
from ._memory import SyncedMemory
from ._types import ModelKind, TorchRole

if TYPE_CHECKING:
    from ._model import CaffeModel, ModelBlob, ModelLayer

_NAMES = {
    TorchRole.WEIGHT: "weight",
    TorchRole.TRANSPOSED_WEIGHT: "weight",
    TorchRole.BIAS: "bias",
    TorchRole.RUNNING_MEAN: "running_mean",
    TorchRole.RUNNING_VAR: "running_var",
}
_LEFT_OUT = (TorchRole.FACTOR, TorchRole.UNUSED)


def named_arrays(model: CaffeModel, names: str) -> Iterator[tuple[str, SyncedArray]]:
    """Every blob in a new memory, by the names of `CaffeModel.blobs` ("caffe") or those of PyTorch's modules ("torch")."""
    if names not in ("caffe", "torch"):
        raise ValueError(f'names are "caffe" or "torch", and not {names!r}')
    if names == "caffe" or model.kind != ModelKind.NET:
        yield from ((name, blob.read()) for name, blob in model.blobs())
        return
    for name, layer in model.named():
        factor = _factor(layer)
        for blob in layer.blobs:
            if blob._torch_role not in _LEFT_OUT:
                yield f"{name}.{_NAMES.get(blob._torch_role, blob.index)}", _array(blob, factor)


def doubts(model: CaffeModel) -> Iterator[str]:
    """Warnings about layers whose values PyTorch's modules may interpret differently from Caffe."""
    for layer in model.layers if model.kind == ModelKind.NET else ():
        called = f"{model.path}: {layer.name} ({layer.type})"
        other = next((blob.index for blob in layer.blobs if blob._torch_role == TorchRole.NONE), None)
        if other is not None:
            yield f"{called} has blobs that are no parameters of a module of PyTorch: they are called {layer.name}.{other} and so on"
        if _factor(layer) == 0:
            yield (
                f"{called} has the factor 0, for which BVLC's Caffe takes its means and variances for zeros, and NVIDIA's as they are: "
                "they are as they are; compare the outputs"
            )


def _factor(layer: ModelLayer) -> float:
    """The stored factor by which the means and variances of a layer must be divided."""
    for blob in layer.blobs:
        if blob._torch_role == TorchRole.FACTOR:
            return float(blob.read(np.float64).cpu_data().flat[0])
    return 1.0


def _array(blob: ModelBlob, factor: float) -> SyncedArray:
    if blob._torch_role == TorchRole.TRANSPOSED_WEIGHT:
        stored = blob.read().cpu_data().reshape(blob._torch_shape)
        swapped = SyncedMemory(stored.nbytes).array(stored.dtype, stored.shape[::-1])
        swapped.overwrite_cpu_data()[...] = stored.T
        return swapped
    if blob._torch_role in (TorchRole.RUNNING_MEAN, TorchRole.RUNNING_VAR) and factor not in (0, 1):
        # NumPy's products of float16 and float32 are float32.
        array = blob.read(blob.dtype if blob.dtype == np.float64 else np.float32)
        values = array.mutable_cpu_data()
        values *= values.dtype.type(1 / factor)
    else:
        array = blob.read()
    return array.memory.array(array.dtype, blob._torch_shape)
