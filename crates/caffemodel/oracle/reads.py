"""What the Python package, and with it the library's C API, reads from files."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import numpy
import syncedmem


@dataclass
class Blob:
    """A blob: its values, or the sentence that says why they cannot be read."""

    shape: list[int]
    data: Optional[numpy.ndarray] = None
    diff: Optional[numpy.ndarray] = None
    problem: str = ""


@dataclass
class Layer:
    """A layer."""

    type: str
    name: str
    blobs: list[Blob]


@dataclass
class File:
    """A file, or the sentence that says why it was refused."""

    error: str = ""
    kind: str = ""
    name: str = ""
    state: Optional[tuple[int, int, str]] = None
    layers: list[Layer] = field(default_factory=list)

    def blobs(self) -> list[Blob]:
        """All blobs, in order."""
        return [blob for layer in self.layers for blob in layer.blobs]


def file(path: Path) -> File:
    """All of a file."""
    try:
        model = syncedmem.open_caffemodel(path)
    except syncedmem.Error as error:
        return File(error=str(error))
    with model:
        state = model.iter, model.current_step, model.learned_net
        layers = [Layer(layer.type, layer.name, [_blob(found) for found in layer.blobs]) for layer in model.layers]
        return File(kind=model.kind.name, name=model.name, state=state, layers=layers)


def _blob(found: syncedmem.ModelBlob) -> Blob:
    blob = Blob(list(found.shape))
    try:
        blob.data = found.read().cpu_data()
        blob.diff = found.read(diff=True).cpu_data() if found.has_diff else None
    except syncedmem.Error as error:
        blob.problem = str(error)
    return blob
