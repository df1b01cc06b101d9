"""The blobs of model files by the names and with the shapes of PyTorch's modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ._array import SyncedArray
from ._types import ModelKind

if TYPE_CHECKING:
    from ._model import CaffeModel, ModelLayer

_WEIGHTS = ("Convolution", "Deconvolution", "Convolution3D", "Deconvolution3D", "InnerProduct", "Scale", "Embed")
_TORCH = {
    **{(of, number): name for of in _WEIGHTS for number, name in enumerate(("weight", "bias"))},
    ("PReLU", 0): "weight",
    ("Bias", 0): "bias",
}


def named_arrays(model: CaffeModel, names: str) -> Iterator[tuple[str, SyncedArray]]:
    """Every blob in a new memory, by the names of `CaffeModel.blobs` ("caffe") or those of PyTorch's modules ("torch")."""
    if names not in ("caffe", "torch"):
        raise ValueError(f'names are "caffe" or "torch", and not {names!r}')
    if names == "caffe" or model.kind != ModelKind.NET:
        yield from ((name, blob.read()) for name, blob in model.blobs())
        return
    for name, layer in model.named():
        if layer.type == "BatchNorm" and len(layer.blobs) == 3:
            yield from _averages(name, layer)
            continue
        for blob in layer.blobs:
            yield f"{name}.{_TORCH.get((layer.type, blob.index), blob.index)}", blob.read().memory.array(blob.dtype, blob.net_shape)


def _averages(name: str, layer: ModelLayer) -> Iterator[tuple[str, SyncedArray]]:
    """The means and variances of Caffe's BatchNorm, whose last blob is the factor of their sums."""
    factor = float(layer.blobs[2].read(np.float64).cpu_data().flat[0])
    for blob, of in zip(layer.blobs, ("running_mean", "running_var")):
        # Products of halves are floats.
        values = blob.read(blob.dtype if blob.dtype == np.float64 else np.float32)
        array = values.mutable_cpu_data()
        array *= array.dtype.type(1 / factor if factor else 0.0)
        yield f"{name}.{of}", values
