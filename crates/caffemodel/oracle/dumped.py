"""What examples/dump.rs, or the library's C API, read from files."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import numpy

DTYPES = {
    "F64": numpy.dtype("<f8"),
    "F32": numpy.dtype("<f4"),
    "F16": numpy.dtype("<f2"),
    "I64": numpy.dtype("<i8"),
    "I32": numpy.dtype("<i4"),
    "I16": numpy.dtype("<i2"),
    "I8": numpy.dtype("i1"),
    "U16": numpy.dtype("<u2"),
    "U8": numpy.dtype("u1"),
    "Bool": numpy.dtype("?"),
}


@dataclass
class Blob:
    """A blob: its values, or the sentence that says why they cannot be read."""

    shape: list[int]
    data: Optional[numpy.ndarray] = None
    diff: Optional[numpy.ndarray] = None
    problem: str = ""


@dataclass
class Layer:
    """A layer, by its name in bytes."""

    type: str
    name: bytes
    blobs: list[Blob] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)


@dataclass
class File:
    """A file, or the sentence that says why it was refused."""

    error: str = ""
    kind: str = ""
    name: bytes = b""
    state: Optional[tuple[int, int, bytes]] = None
    layers: list[Layer] = field(default_factory=list)

    def blobs(self) -> list[Blob]:
        """All blobs, in order."""
        return [blob for layer in self.layers for blob in layer.blobs]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[1:])


def _values(text: str) -> numpy.ndarray:
    kind, values = text.split(" ")
    return numpy.frombuffer(_bytes(values), DTYPES[kind])


def _take(file: File, mark: str, rest: str) -> None:
    if mark == "E":
        file.error = rest
    elif mark == "K":
        kind, name = rest.split(" ")
        file.kind, file.name = kind, _bytes(name)
    elif mark == "S":
        iteration, step, net = rest.split(" ")
        file.state = int(iteration), int(step), _bytes(net)
    elif mark == "L":
        kind, name = rest.split(" ")
        file.layers.append(Layer(_bytes(kind).decode(), _bytes(name)))
    elif mark == "T":
        file.layers[-1].texts.append(_bytes(rest))
    elif mark == "B":
        file.layers[-1].blobs.append(Blob([int(dim) for dim in rest.strip("[]").split(", ") if dim]))
    else:
        blob = file.layers[-1].blobs[-1]
        if mark == "D":
            blob.data = _values(rest)
        elif mark == "G":
            blob.diff = _values(rest)
        else:
            blob.problem = rest


def read(dump: str, paths: list[Path]) -> list[File]:
    """Reads the files, each on its own, by a program or by a library."""
    if dump.endswith(".so"):
        import c_api  # pylint: disable=cyclic-import,import-outside-toplevel

        return c_api.read(dump, paths)
    files: list[File] = []
    for start in range(0, len(paths), 500):
        some = [str(path) for path in paths[start : start + 500]]
        # The libraries of this Python are not the dump's.
        run = subprocess.run([dump, *some], check=True, capture_output=True, text=True, env={})
        for line in run.stdout.splitlines():
            mark, _, rest = line.partition(" ")
            if mark == "F":
                files.append(File())
            else:
                _take(files[-1], mark, rest)
    assert len(files) == len(paths), f"{len(paths)} files were named, {len(files)} were read"
    return files
